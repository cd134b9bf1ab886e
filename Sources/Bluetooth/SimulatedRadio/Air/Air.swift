import BluetoothWire
import Essentials
import Simulation

/// A world with the ports through which hosts reach its controllers.
///
/// Packets of controllers wait at their ports until the world has finished its step, so that a
/// host's answer doesn't reach a controller that is still sending. Confined to one loop or lock,
/// like the world.
final class Air {
  let world: World
  /// Advances the world's clock to the current time before a host interacts with it; real time
  /// only.
  var willInteract: (() -> Void)?
  /// Updates the timer of the world's next event after a host interacted with it; real time only.
  var didInteract: (() -> Void)?
  /// Called after each step, when the packets of controllers were passed on; virtual time only.
  var didStep: (() -> Void)?
  private(set) var isRunning = false
  private var waiting: [ControllerPort] = []
  private var spare: [ControllerPort] = []

  init(world: World) { self.world = world }

  /// Runs all events that are due until `end`, one point in time after the other.
  func run(until end: Instant) {
    guard !isRunning else { return }
    isRunning = true
    defer { isRunning = false }
    settle()
    while let next = world.nextEventTime, next <= end {
      world.run(until: next)
      settle()
    }
    world.run(until: end)
  }

  /// Lets the next thing happen, if it is due until `end`; false where nothing was.
  func step(until end: Instant) -> Bool {
    guard !isRunning else { return false }
    isRunning = true
    defer { isRunning = false }
    settle()
    guard let next = world.nextEventTime, next <= end else {
      world.run(until: end)
      return false
    }
    world.run(until: next)
    settle()
    return true
  }

  /// Does something to the world from outside of it.
  func interact(_ body: (World) -> Void) {
    if isRunning {
      body(world)
    } else {
      willInteract?()
      body(world)
      // Due events run at once: a timer would fire a turn of the loop later.
      let isDue = world.nextEventTime.map { $0 <= world.now } ?? false
      if isDue || !waiting.isEmpty { run(until: world.now) }
      didInteract?()
    }
  }

  /// Adds a controller, with a port for its host.
  func makePort(name: String, address: DeviceAddress, at position: Position) -> ControllerPort {
    makePort(name: name, address: address, at: HostPlace(name: name, motion: .still(position)))
  }

  /// Adds a controller with the position or motion of a place, and a port for its host.
  func makePort(name: String, address: DeviceAddress, at place: HostPlace) -> ControllerPort {
    let controller = world.makeController(name: name, address: address, at: place)
    return ControllerPort(controller, name: name, in: self)
  }

  /// The port has something for its host.
  fileprivate func hasNews(_ port: ControllerPort) { waiting.append(port) }

  private func settle() {
    while !waiting.isEmpty {
      swap(&waiting, &spare)
      for port in spare { port.passOn() }
      spare.removeAll(keepingCapacity: true)
    }
    didStep?()
  }
}

/// The connection between one controller and its host.
final class ControllerPort {
  let controller: SimulatedController
  /// Receives the controller's packets, in batches.
  var onPackets: (([HCIPacket]) -> Void)?
  /// Called when the controller lost its power, except by `disconnect`.
  var onPowerLoss: (() -> Void)?
  let name: String
  private let air: Air
  private var fromController: [HCIPacket] = []
  private var toController: [HCIPacket] = []
  /// Whether it is without power because it is without a host.
  private var isParked = false
  private var hasLostPower = false
  private var isWaiting = false

  init(_ controller: SimulatedController, name: String, in air: Air) {
    self.controller = controller
    self.air = air
    self.name = name
    controller.onPacket = { [unowned self] packet in controllerSaid(packet) }
    controller.onPowerChange = { [unowned self] isOn in powerChanged(isOn) }
  }

  deinit {
    controller.onPacket = nil
    controller.onPowerChange = nil
  }

  /// Keeps a packet for the controller until `flush`.
  func send(_ packet: HCIPacket) { toController.append(packet) }

  /// The same with several.
  func send(_ packets: [HCIPacket]) { toController.append(contentsOf: packets) }

  /// Passes the host's packets to the controller.
  func flush() {
    guard !toController.isEmpty else { return }
    air.interact { _ in
      for packet in toController { controller.receive(packet) }
      toController.removeAll(keepingCapacity: true)
    }
  }

  /// Gives the controller power, unless the world has switched it off; returns whether it has
  /// power.
  func connect() -> Bool {
    if isParked {
      isParked = false
      air.interact { _ in controller.powerOn() }
    }
    return controller.isPoweredOn
  }

  /// Takes the power away until `connect`: a controller without a host is off the air.
  func disconnect() {
    onPackets = nil
    onPowerLoss = nil
    fromController = []
    toController = []
    hasLostPower = false
    guard controller.isPoweredOn else { return }
    isParked = true
    air.interact { _ in controller.powerOff() }
  }

  private func controllerSaid(_ packet: HCIPacket) {
    fromController.append(packet)
    wait()
  }

  private func powerChanged(_ isOn: Bool) {
    guard !isOn, !isParked else { return }
    hasLostPower = true
    wait()
  }

  private func wait() {
    if !isWaiting { air.hasNews(self) }
    isWaiting = true
  }

  fileprivate func passOn() {
    isWaiting = false
    if !fromController.isEmpty {
      let packets = fromController
      fromController = []
      onPackets?(packets)
      // The same storage again, unless more came or the receiver kept it.
      if fromController.isEmpty {
        fromController = packets
        fromController.removeAll(keepingCapacity: true)
      }
    }
    if hasLostPower {
      hasLostPower = false
      onPowerLoss?()
    }
  }
}

public import BluetoothHost
public import BluetoothMachines
public import BluetoothWire
public import Essentials
import EventLoop
import Foundation
import Logging
public import Simulation
import Synchronization

/// A radio in virtual time, which advances only by `advance`: for fast and reproducible tests.
///
/// ```swift
/// let radio = VirtualRadio(seed: 7)
/// let phone = radio.makeHost(name: "phone")
/// let strap = radio.makeHost(name: "strap", at: Position(x: 3, y: 0))
/// radio.advance(by: .seconds(5))
/// ```
///
/// Hosts, their clients and `advance` may be used from any thread. Requests of clients are executed
/// during `advance`, and events delivered, on the thread that called it. Between two points of
/// virtual time, `advance` waits for clients with a `settle` closure of `makeClient`. They may read
/// and change the world, but must not call `advance`, which then ends the process.
public final class VirtualRadio: @unchecked Sendable {
  // Sendable because `inbox` has a lock of its own and everything else is accessed under `lock`.
  // Recursive, so that events, which are delivered during `advance`, may use `withWorld`.
  private let lock = NSRecursiveLock()
  /// How many times the thread that holds `lock` has locked it.
  private var depth = 0
  /// Also held by the thread that runs the world, even while it lends `lock` to the clients that it
  /// waits for. Taken before `lock`, or only tried.
  private let turn = NSLock()
  private let air: Air
  private var random: SeededGenerator
  private var hostCount: UInt64 = 0
  /// By their hosts' drivers.
  private var controllers: [ObjectIdentifier: SimulatedController] = [:]
  private var unsettled: [ClientSlot] = []
  private let inbox = Mutex(Inbox())

  private struct Inbox: Sendable {
    var work: [@Sendable () -> Void] = []
    /// A caller needs the work to be done even if time does not advance.
    var isRunRequested = false
  }

  /// Creates a radio without hosts and devices.
  ///
  /// - Parameters:
  ///   - seed: The same seed and the same calls produce the same run, byte for byte.
  ///   - model: The propagation and the faults of the radio.
  public init(seed: UInt64, model: RadioModel = RadioModel()) {
    let world = World(seed: seed, radio: model)
    SimulatedRadio.installKeyAgreement()
    world.keyAgreement = KeyAgreementPlugIn.current
    air = Air(world: world)
    random = SeededGenerator(seed: seed ^ 0x686F_7374)  // not the sequence that the world uses
    air.didStep = { [unowned self] in settle() }
  }

  /// The virtual time.
  public var now: Instant { locked { air.world.now } }

  /// Adds a host with a new controller.
  ///
  /// - Parameters:
  ///   - name: The GAP device name.
  ///   - position: The position of the controller.
  ///   - address: The public address; generated if nil.
  ///   - configuration: The configuration of the host; `name` overrides its name.
  ///   - capturePath: A btsnoop file to write, with the host's traffic.
  /// - Throws: `CaptureError` if the capture file cannot be created.
  public func makeHost(
    name: String, at position: Position = Position(), address: DeviceAddress? = nil,
    configuration: HostConfiguration = HostConfiguration(), captureTo capturePath: String
  ) throws(CaptureError) -> BluetoothHost {
    let capture = try Capture(path: capturePath)
    return makeHost(
      name: name, at: position, address: address, configuration: configuration, capture: capture)
  }

  /// Adds a host with a new controller.
  ///
  /// - Parameters:
  ///   - name: The GAP device name.
  ///   - position: The position of the controller.
  ///   - address: The public address; generated if nil.
  ///   - configuration: The configuration of the host; `name` overrides its name.
  public func makeHost(
    name: String, at position: Position = Position(), address: DeviceAddress? = nil,
    configuration: HostConfiguration = HostConfiguration()
  ) -> BluetoothHost {
    makeHost(
      name: name, at: position, address: address, configuration: configuration, capture: nil)
  }

  private func makeHost(
    name: String, at position: Position, address: DeviceAddress?,
    configuration: HostConfiguration, capture: Capture?
  ) -> BluetoothHost {
    locked {
      hostCount += 1
      let address = address ?? DeviceAddress(bits: 0xA0B1_0000_0000 + hostCount, kind: .public)
      let port = PortBox(air.makePort(name: name, address: address, at: position))
      var configuration = configuration
      configuration.name = name
      let host = BluetoothHost(
        RadioSelection(.simulated(.init(isPopulated: false))), configuration: configuration,
        random: random.fork(), loop: VirtualLoop(radio: self), capture: capture,
        logger: .bluetooth
      ) { SimulatedTransport(port.port) }
      controllers[host.identity] = port.port.controller
      return host
    }
  }

  /// Advances time by this span and runs the events in it.
  ///
  /// Must not be called from within an event, from a client that `advance` waits for, or from
  /// within `withWorld`.
  public func advance(by span: TimeSpan) {
    running { air.run(until: air.world.now + span) }
  }

  /// Advances time until the condition holds, which is checked after each event.
  ///
  /// Must not be called from within an event, from a client that `advance` waits for, or from
  /// within `withWorld`.
  /// - Returns: Whether the condition was met before the limit.
  @discardableResult
  public func advance(within limit: TimeSpan, until condition: () -> Bool) -> Bool {
    running {
      let end = air.world.now + limit
      while !condition() {
        guard air.step(until: end) else { return condition() }
      }
      return true
    }
  }

  /// Changes the world, for example to add devices, to move them, or to inject faults.
  public func withWorld<Result>(_ body: (World) throws -> Result) rethrows -> Result {
    try locked { try body(air.world) }
  }

  /// Moves the controller of one of this radio's hosts, or changes its faults.
  public func withController<Result>(
    of host: BluetoothHost, _ body: (SimulatedController) throws -> Result
  ) rethrows -> Result {
    try locked {
      guard let controller = controllers[host.identity] else {
        preconditionFailure("the host belongs to another radio")
      }
      return try body(controller)
    }
  }

  /// Does something under the lock, and after that what could not run because of it.
  private func locked<Result>(_ body: () throws -> Result) rethrows -> Result {
    defer { if inbox.withLock({ $0.isRunRequested }) { runPending() } }
    enter()
    defer { leave() }
    return try body()
  }

  /// Runs the world, unless another thread does.
  private func running<Result>(_ body: () -> Result) -> Result {
    precondition(
      !EventThread.isCurrent && !isInside,
      "advance was called from within a callback of the virtual radio")
    turn.lock()
    return locked {
      // Before the lock: a thread that finds it taken relies on a look at `isRunRequested`.
      defer { turn.unlock() }
      return body()
    }
  }

  private func enter() {
    lock.lock()
    depth += 1
  }

  private func leave() {
    depth -= 1
    lock.unlock()
  }

  /// Whether this thread has the lock.
  private var isInside: Bool {
    guard lock.try() else { return false }
    defer { lock.unlock() }
    return depth > 0
  }

  /// Lets others have the lock meanwhile.
  private func lending(_ body: () -> Void) {
    let lent = depth
    depth = 0
    for _ in 0..<lent { lock.unlock() }
    body()
    for _ in 0..<lent { lock.lock() }
    depth = lent
  }

  // MARK: The loop of its hosts

  /// Runs what hosts and clients asked for and waits for clients, until none has a request left
  /// at this point of time.
  private func settle() {
    for _ in 0..<Limits.roundsPerInstant {
      let work = inbox.withLock { inbox in
        defer { inbox = Inbox() }
        return inbox.work
      }
      for item in work { item() }
      let slots = unsettled
      unsettled = []
      if !slots.isEmpty {
        lending { EventThread.run { for slot in slots { slot.settle?() } } }
      }
      if work.isEmpty && slots.isEmpty { return }
    }
  }

  fileprivate var worldTime: Instant { air.world.now }

  fileprivate func execute(_ work: @escaping @Sendable () -> Void) {
    inbox.withLock { $0.work.append(work) }
  }

  /// Runs the enqueued work, unless another thread has the lock or the turn and will do it.
  fileprivate func runPending() {
    inbox.withLock { $0.isRunRequested = true }
    while inbox.withLock({ $0.isRunRequested }), lock.try() {
      depth += 1
      let isMyTurn = turn.try()
      if isMyTurn {
        air.run(until: air.world.now)
        turn.unlock()
      }
      leave()
      if !isMyTurn { break }
    }
  }

  fileprivate func schedule(at time: Instant, _ work: @escaping @Sendable () -> Void) {
    air.world.schedule(at: max(time, air.world.now), work)
  }

  fileprivate func delivered(to slot: ClientSlot) {
    guard slot.settle != nil, !unsettled.contains(where: { $0 === slot }) else { return }
    unsettled.append(slot)
  }

  /// Carries a port into the closure that makes transports, which runs under the radio's lock.
  private struct PortBox: @unchecked Sendable {
    // Sendable because the port is used under the radio's lock only.
    let port: ControllerPort
    init(_ port: ControllerPort) { self.port = port }
  }
}

/// The radio's time and lock as a host's loop.
private struct VirtualLoop: HostLoop {
  let radio: VirtualRadio

  var isVirtual: Bool { true }
  var now: Instant { radio.worldTime }
  var calendarTime: Double { (radio.now - .zero).seconds }
  func execute(_ work: @escaping @Sendable () -> Void) { radio.execute(work) }
  func runPending() { radio.runPending() }
  func makeTimer(onFire: @escaping @Sendable () -> Void) -> any LoopTimer {
    VirtualTimer(radio: radio, onFire: onFire)
  }
  func delivered(to slot: ClientSlot) { radio.delivered(to: slot) }
  func hasWork(_ slot: ClientSlot) { radio.execute { radio.delivered(to: slot) } }
}

// Sendable because it is used under the radio's lock only.
private final class VirtualTimer: LoopTimer, @unchecked Sendable {
  private weak var radio: VirtualRadio?
  private let onFire: @Sendable () -> Void
  /// Tells the last setting from earlier ones, which the world cannot forget.
  private var generation = 0

  init(radio: VirtualRadio, onFire: @escaping @Sendable () -> Void) {
    self.radio = radio
    self.onFire = onFire
  }

  func set(_ time: Instant) {
    generation += 1
    let setting = generation
    // Like a timer of a real loop, it is retained until it fires.
    radio?.schedule(at: time) { [self] in
      if generation == setting { onFire() }
    }
  }

  func cancel() { generation += 1 }
}

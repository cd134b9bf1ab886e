import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import Simulation

/// A host machine with one client on a simulated controller, in virtual time.
final class SimulatedHost<Role: HostRole> {
  let world: World
  let controller: SimulatedController
  var role: Role
  /// Called with each packet from the controller.
  var onPacket: ((HCIPacket) -> Void)?
  private var machine: HostMachine
  private var actions: [HostMachine.Action] = []
  private var inputs: [HostMachine.Input] = []
  private var isBusy = false
  private var wakeSetFor: Instant?
  private let client = ClientID(rawValue: 1)

  init(
    _ role: Role, named name: String, number: UInt64, in world: World,
    at position: Position = .origin, mtuMax: Int = 23
  ) {
    self.world = world
    self.role = role
    var configuration = HostConfiguration()
    configuration.name = name
    configuration.mtuMax = mtuMax
    machine = HostMachine(configuration: configuration, random: SeededGenerator(seed: number))
    let address = DeviceAddress(bits: 0xA0BE_0000_0000 + number, kind: .public)
    controller = world.makeController(name: name, address: address, at: position)
    controller.onPacket = { [unowned self] packet in
      onPacket?(packet)
      take(.packet(packet))
    }
    take(.transportOpened)
    take(.clientOpened(client))
  }

  /// Changes the role from outside and performs its requests.
  func withRole(_ body: (inout Role, (HostRequest) -> Void) -> Void) {
    body(&role) { inputs.append(.request(client, $0)) }
    work()
  }

  func take(_ input: HostMachine.Input) {
    inputs.append(input)
    work()
  }

  private func work() {
    guard !isBusy else { return }
    isBusy = true
    var index = 0
    while index < inputs.count {
      machine.handle(inputs[index], now: world.now, into: &actions)
      index += 1
      perform()
    }
    inputs.removeAll(keepingCapacity: true)
    isBusy = false
    scheduleWake()
  }

  private func perform() {
    for action in actions {
      switch action {
      case .send(let packet): controller.receive(packet)
      case .deliver(_, let event):
        role.handle(event) { inputs.append(.request(client, $0)) }
      case .reopenTransport: inputs.append(.transportOpened)
      case .pauseReceiving, .resumeReceiving, .computeKey, .storeBond, .bondNotKept, .bondEvicted,
        .updateBonds, .removeBond, .clientLate:
        break
      }
    }
    actions.removeAll(keepingCapacity: true)
  }

  private func scheduleWake() {
    guard let wake = machine.nextWake else { return }
    if let wakeSetFor, wakeSetFor <= wake { return }
    wakeSetFor = wake
    world.schedule(at: max(wake, world.now)) { [weak self] in
      guard let self, wakeSetFor == wake else { return }
      wakeSetFor = nil
      machine.wake(now: world.now, into: &actions)
      perform()
      work()
    }
  }
}

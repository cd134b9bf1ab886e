import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BlueZMachines

/// Sessions of several programs, as a hub has them.
struct ProgramTests {
  private static let third = BlueZSessionID(rawValue: 3)

  /// A bench whose first session is this program's own, and whose second and third are of two programs. The second
  /// has a link.
  private func served() -> BlueZBench {
    var bench = BlueZBench()
    bench.start()
    for (id, program) in [(BlueZSessionID.second, UInt64(7)), (Self.third, 8)] {
      bench.handle(
        .opened(id, acknowledgesEvents: true, program: BlueZProgramID(rawValue: program)))
    }
    bench.connect()
    bench.request(.disconnect(.peer))
    bench.changeDevice(["Connected": .boolean(false)])
    bench.reply(to: "Disconnect")
    bench.request(.connect(.peer, ConnectOptions()), of: .second)
    bench.changeDevice(["Connected": .boolean(true), "ServicesResolved": .boolean(true)])
    bench.reply(to: "Connect")
    bench.events = [:]
    return bench
  }

  private func prompts(_ events: [HostEvent]) -> Int {
    events.count { if case .pairingPrompt = $0 { true } else { false } }
  }

  @Test func `A program is asked about the pairing that it causes, and no other one is`() {
    var bench = served()
    bench.request(.setPairingAgent(.keyboardDisplay), of: .second)
    bench.request(.setPairingAgent(.displayYesNo), of: Self.third)
    bench.request(.pair(.peer, RequestToken(rawValue: 1)), of: .second)
    #expect(bench.agentCalls.last?.arguments.last == .string("KeyboardDisplay"))
    bench.call(
      BlueZMachine.agentPath, BusName.agent, "RequestConfirmation",
      [.path(devicePath), .uint32(7)])
    #expect(prompts(bench.takeEvents(of: .second)) == 1)
    #expect(prompts(bench.takeEvents(of: Self.third)) == 0)
    bench.reply(to: "Pair")
    #expect(bench.takeEvents(of: .second).contains(.pairingEnded(.peer, nil)))
    #expect(!bench.takeEvents(of: Self.third).contains(.pairingEnded(.peer, nil)))
    #expect(bench.takeEvents().contains(.pairingEnded(.peer, nil)))
  }

  @Test func `A program without an agent pairs by Just Works, whatever agent another one has`() {
    var bench = served()
    bench.request(.setPairingAgent(.keyboardDisplay), of: Self.third)
    bench.request(.pair(.peer, RequestToken(rawValue: 1)), of: .second)
    #expect(bench.agentCalls.last?.arguments.last == .string("NoInputNoOutput"))
    let consent = bench.call(
      BlueZMachine.agentPath, BusName.agent, "RequestAuthorization", [.path(devicePath)])
    #expect(bench.answers[consent] == .success([]))
    #expect(prompts(bench.takeEvents(of: Self.third)) == 0)
  }

  @Test func `The serving program's agent answers for a program that has none`() {
    var bench = served()
    bench.request(.setPairingAgent(.displayYesNo))
    bench.request(.pair(.peer, RequestToken(rawValue: 1)), of: .second)
    bench.call(
      BlueZMachine.agentPath, BusName.agent, "RequestConfirmation",
      [.path(devicePath), .uint32(7)])
    #expect(prompts(bench.takeEvents()) == 1)
  }

  @Test func `An operation of another program leaves the agent of a pairing as it is`() {
    var bench = served()
    bench.request(.setPairingAgent(.keyboardDisplay), of: .second)
    bench.request(.pair(.peer, RequestToken(rawValue: 1)), of: .second)
    bench.agentCalls = []
    bench.request(.setPairingAgent(.noInputNoOutput), of: Self.third)
    bench.request(.connect(.peer, ConnectOptions()), of: Self.third)
    bench.gatt(.read(0x0C), token: 2, of: Self.third)
    #expect(bench.agentCalls.isEmpty)
  }

  @Test func `A program that wants all links leaves a half, and its attempts leave slots`() {
    var bench = BlueZBench()
    bench.start()
    for (id, program) in [(BlueZSessionID.second, UInt64(7)), (Self.third, 8)] {
      bench.handle(
        .opened(id, acknowledgesEvents: true, program: BlueZProgramID(rawValue: program)))
    }
    for number in 0..<BlueZLimits.linkCountMax {
      bench.add(
        adapterPath + "/dev_\(number)", BusName.device,
        [
          "Address": .string(DeviceAddress(bits: UInt64(number), kind: .random).description),
          "AddressType": .string("random"),
        ])
    }
    func want(_ number: Int, _ id: BlueZSessionID) {
      let peer = DeviceAddress(bits: UInt64(number), kind: .random)
      bench.request(.connect(peer, ConnectOptions()), of: id)
    }
    for number in 0..<200 { want(number, .second) }
    #expect(bench.machine.links.count == BlueZLimits.linkCountMax / 2)
    #expect(bench.count(of: "Connect") == BlueZLimits.connectingCountMax / 2)
    want(220, Self.third)
    #expect(bench.machine.links.count == BlueZLimits.linkCountMax / 2 + 1)
    #expect(bench.calls.last?.call.path == adapterPath + "/dev_220")
    let refused = bench.takeEvents(of: .second).count { event in
      if case .connectionFailed(_, .limitReached) = event { true } else { false }
    }
    #expect(refused == 200 - BlueZLimits.linkCountMax / 2)
  }

  @Test func `The serving program itself may have all services, and another one a half`() {
    var bench = served()
    let value = CharacteristicDefinition(
      uuid: BluetoothUUID(0x2A37), properties: [.read], permissions: .readable)
    let definition = ServiceDefinition(uuid: BluetoothUUID(0x180D), characteristics: [value])
    for number in 0..<100 as Range<UInt64> {
      bench.request(.addService(definition, RequestToken(rawValue: number)), of: .second)
    }
    #expect(bench.machine.services.count == BlueZLimits.serviceCountMax / 2)
    for number in 0..<100 as Range<UInt64> {
      bench.request(.addService(definition, RequestToken(rawValue: number)))
    }
    #expect(bench.machine.services.count == BlueZLimits.serviceCountMax)
  }

  @Test func `The snapshot has each session's scan, link, subscription and loss`() {
    var bench = served()
    bench.subscribe(of: .second)
    bench.reply(to: "StartNotify")
    bench.startScan()
    bench.request(.startScan(ScanOptions()), of: Self.third)
    for _ in 0..<BlueZLimits.unhandledEventCountMax + 5 { bench.notify([1]) }
    let snapshot = bench.machine.snapshot
    #expect(snapshot.state == .poweredOn)
    #expect(snapshot.address == "00:1A:7D:DA:71:13")
    #expect(snapshot.scans == [.first, Self.third])
    #expect(snapshot.lateClients == [.second])
    #expect(snapshot.droppedValueCount > 0)
    let link = snapshot.links.first
    #expect(snapshot.links.count == 1 && link?.stage == "open" && link?.role == .central)
    #expect(link?.clients == [.second] && link?.subscribers == [.second])
  }
}

import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BlueZMachines

/// Random requests, signals and replies, in any order.
struct RandomRunTests {
  @Test(arguments: 0..<60 as Range<UInt64>)
  func `Whatever bluetoothd does, each request ends once, and tables agree`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var bench = BlueZBench()
    bench.start()
    if seed % 2 == 0 {
      bench.add(
        adapterPath, BusName.monitorManager, MonitorTests.manager(inController: seed % 4 == 0))
    }
    let other = BlueZProgramID(rawValue: 7)
    bench.handle(.opened(.second, acknowledgesEvents: false, program: other))
    var lastToken: UInt64 = 0
    var ends: [UInt64: Int] = [:]
    for _ in 0..<400 {
      Self.step(&bench, &random, &lastToken)
      for event in bench.takeEvents() + bench.takeEvents(of: .second) {
        if case .completed(let token, _) = event { ends[token.rawValue, default: 0] += 1 }
      }
    }
    // All calls fail, and the radio is gone.
    for call in bench.calls { bench.handle(.reply(call.id, .failure(BusError("x", "y")))) }
    bench.ownerChanged(to: "")
    for event in bench.takeEvents() + bench.takeEvents(of: .second) {
      if case .completed(let token, _) = event { ends[token.rawValue, default: 0] += 1 }
    }
    #expect(ends.count == Int(lastToken), "seed \(seed)")
    #expect(ends.values.allSatisfy { $0 == 1 }, "seed \(seed)")
  }

  private static func step(
    _ bench: inout BlueZBench, _ random: inout SeededGenerator, _ lastToken: inout UInt64
  ) {
    let id: BlueZSessionID = Bool.random(using: &random) ? .first : .second
    switch Int.random(in: 0..<34, using: &random) {
    case 0: bench.request(.startScan(ScanOptions()), of: id)
    case 1: bench.request(.stopScan, of: id)
    case 2, 3: bench.request(.connect(.peer, ConnectOptions()), of: id)
    case 4: bench.request(.disconnect(.peer), of: id)
    case 5, 6:
      lastToken += 1
      bench.gatt(.read(0x0C), token: lastToken, of: id)
    case 7:
      lastToken += 1
      bench.subscribe(token: lastToken, of: id)
    case 8:
      lastToken += 1
      bench.gatt(.discoverServices(nil), token: lastToken, of: id)
    case 9:
      lastToken += 1
      bench.request(.pair(.peer, RequestToken(rawValue: lastToken)), of: id)
      if Bool.random(using: &random) { bench.request(.setPairingAgent(.displayYesNo), of: id) }
    case 10: bench.hear()
    case 11: bench.remove(devicePath, BusName.device)
    case 12, 13: bench.changeDevice(["Connected": .boolean(true)])
    case 14: bench.changeDevice(["Connected": .boolean(false)])
    case 15: bench.changeDevice(["ServicesResolved": .boolean(Bool.random(using: &random))])
    case 16: bench.addService()
    case 17: bench.notify([UInt8.random(in: 0...9, using: &random)])
    case 18: bench.change(adapterPath, BusName.adapter, ["Powered": .boolean(true)])
    case 19:
      let isOn = Int.random(in: 0..<4, using: &random) > 0
      bench.change(adapterPath, BusName.adapter, ["Powered": .boolean(isOn)])
    case 20:
      lastToken += 1
      bench.gatt(.writeWithoutResponse(0x0C, [1]), token: lastToken, of: id)
    case 21: callAgent(&bench, of: id)
    case 22:
      lastToken += 1
      readRSSI(&bench, &random, token: lastToken, of: id)
    case 23, 24, 25: useChannel(&bench, &random, &lastToken, of: id)
    case 26:
      var options = ScanOptions()
      options.seeksBeacons = true
      bench.request(.startScan(options), of: id)
    case 27, 28: callMonitor(&bench, &random)
    case 29: bench.advance(by: .milliseconds(Int64.random(in: 0..<9_000, using: &random)))
    default:
      guard let index = bench.calls.indices.randomElement(using: &random) else { return }
      let id = bench.calls.remove(at: index).id
      let result: Result<[BusValue], BusError> =
        Bool.random(using: &random)
        ? .success([.bytes([1])]) : .failure(BusError(BlueZErrorName.inProgress, ""))
      bench.handle(.reply(id, result))
    }
  }

  private static func callAgent(_ bench: inout BlueZBench, of id: BlueZSessionID) {
    let call = bench.call(
      BlueZMachine.agentPath, BusName.agent, "RequestConfirmation",
      [.path(devicePath), .uint32(1)])
    bench.handle(.connections([]))
    guard call.rawValue % 2 == 0 else { return }
    let prompt = PairingPromptID(rawValue: call.rawValue / 2)
    bench.request(.answerPairing(prompt, .accept), of: id)
  }

  /// A call for the latest monitor, if there is one.
  private static func callMonitor(_ bench: inout BlueZBench, _ random: inout SeededGenerator) {
    guard let path = bench.machine.monitors?.path(0) else { return }
    let members = ["Activate", "Activate", "DeviceFound", "DeviceFound", "DeviceLost", "Release"]
    let member = members.randomElement(using: &random) ?? "Activate"
    bench.call(path, BusName.monitor, member, [.path(devicePath)])
  }

  /// A request for a channel, or a report of a socket that may be gone.
  private static func useChannel(
    _ bench: inout BlueZBench, _ random: inout SeededGenerator, _ lastToken: inout UInt64,
    of id: BlueZSessionID
  ) {
    let channel = ChannelID(rawValue: UInt64.random(in: 1...8, using: &random))
    switch Int.random(in: 0..<6, using: &random) {
    case 0:
      lastToken += 1
      bench.request(.openChannel(.peer, psm: 0x80, RequestToken(rawValue: lastToken)), of: id)
    case 1:
      lastToken += 1
      bench.request(
        .sendOnChannel(channel, [1, 2, 3], RequestToken(rawValue: lastToken)), of: id)
    case 2: bench.request(.closeChannel(channel), of: id)
    case 3: bench.handle(.channel(channel, .opened(peerMTU: 64)))
    case 4:
      let count = Int.random(in: -1...9, using: &random)
      bench.handle(.channel(channel, .sent(count)))
      bench.handle(.channel(channel, .received([1])))
    default: bench.handle(.channel(channel, .ended(.closedByPeer)))
    }
  }

  private static func readRSSI(
    _ bench: inout BlueZBench, _ random: inout SeededGenerator, token: UInt64,
    of id: BlueZSessionID
  ) {
    bench.request(.readRSSI(.peer, RequestToken(rawValue: token)), of: id)
    let connection = ControllerConnection(
      handle: 1, addressBits: DeviceAddress.peer.bits, isCentral: true)
    bench.handle(.connections([connection]))
    if Bool.random(using: &random) { bench.handle(.controller(.rssi(handle: 1, -5))) }
  }
}

import AppMachines
import BluetoothInterface
import BluetoothWire
import Essentials
import HubMachines
import Testing

@testable import AppHubMachines

/// Random lives of an app whose peer sends numbered values, on the radio of hubs that are killed: no process gets one that
/// another one got, and each gets them in their order.
@Suite
struct RandomSystemTests {
  @Test(arguments: 0..<40)
  func `Values reach the processes of an app in order, and never twice`(_ seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    var system = TestSystem()
    var sent: UInt8 = 0
    var isConnected = false
    var told: [UInt8] = []
    /// How many events of the process that runs are in `told`.
    var seenCount = 0
    var seenProcess: AppProcessID?
    func note(_ system: TestSystem) {
      if system.process?.id != seenProcess { seenCount = 0 }
      seenProcess = system.process?.id
      let events = system.process?.events ?? []
      for event in events.dropFirst(seenCount) {
        if case .valueUpdated(_, handle: _, let bytes) = event, let number = bytes.first {
          told.append(number)
        }
      }
      seenCount = events.count
    }
    for _ in 0..<200 {
      switch random.next(upperBound: UInt64(11)) {
      case 0:
        system.person(.opened)
        system.request(.connect(TestSystem.peer, ConnectOptions()))
      case 1: system.person(.sentToBackground)
      case 2: system.handle(.life(.memoryPressure(.critical)))
      case 3: if random.next(upperBound: UInt64(4)) == 0 { system.crash() }
      case 4: system.advance(by: .seconds(Int64(random.next(upperBound: UInt64(60)))))
      case 5: system.process?.handles = random.next(upperBound: UInt64(2)) == 0
      case 6:
        isConnected.toggle()
        system.host(
          isConnected
            ? [
              .linkOpened(LinkInfo(peer: TestSystem.peer, role: .central)),
              .connected(TestSystem.peer),
            ]
            : [
              .disconnected(TestSystem.peer, .cancelled, reconnecting: false),
              .linkClosed(TestSystem.peer, .cancelled),
            ])
      case 7:
        // The hub whose radio the system uses is killed, and the next one serves it.
        system.host(Self.endOfHub(connected: isConnected))
        isConnected = false
        if random.next(upperBound: UInt64(2)) == 0 { system.advance(by: .seconds(3)) }
        system.host([.stateChanged(.poweredOn)])
      default:
        guard sent < 250, system.hostSession != nil else { continue }
        sent += 1
        system.host([system.value(sent)])
      }
      note(system)
    }
    #expect(zip(told, told.dropFirst()).allSatisfy { $0 < $1 }, "seed \(seed): \(told)")
    #expect(!told.isEmpty || sent == 0, "seed \(seed)")
    #expect(system.acknowledgedCount == system.sentCount, "seed \(seed)")
  }

  /// The last events of a hub that is killed.
  private static func endOfHub(connected: Bool) -> [HostEvent] {
    let error = HostError.disconnected(.connectionTimeout)
    let links: [HostEvent] = [
      .disconnected(TestSystem.peer, error, reconnecting: false),
      .linkClosed(TestSystem.peer, error),
    ]
    return (connected ? links : []) + [.stateChanged(.resetting)]
  }
}

import AppMachines
import BluetoothInterface
import BluetoothWire
import Essentials
import HubMachines
import Testing

@testable import AppHubMachines

@Suite
struct AppHubMachineTests {
  /// An app that is connected, and suspended.
  private func suspended(_ modes: BackgroundModes = .bluetoothCentral) -> TestSystem {
    var system = TestSystem(modes)
    system.person(.opened)
    system.request(.connect(TestSystem.peer, ConnectOptions()))
    system.host([
      .linkOpened(LinkInfo(peer: TestSystem.peer, role: .central)), .connected(TestSystem.peer),
    ])
    system.person(.sentToBackground)
    #expect(system.state == .suspended)
    return system
  }

  @Test func `The host's events are acknowledged when they arrive`() {
    var system = suspended([])
    system.host((1...20).map(system.value))
    #expect(system.acknowledgedCount == system.sentCount)
  }

  @Test func `A value wakes a suspended app, which is suspended when it has handled it`() {
    var system = suspended()
    system.host([system.value(1)])
    #expect(system.process?.events.last == system.value(1))
    #expect(system.state == .suspended)
    #expect(system.lifeActions.contains { if case .thaw = $0 { true } else { false } })
  }

  @Test func `An app that doesn't handle an event is suspended after ten seconds`() {
    var system = suspended()
    system.process?.handles = false
    system.host([system.value(1)])
    #expect(system.state == .background)
    system.advance(by: .seconds(9))
    #expect(system.state == .background)
    system.advance(by: .seconds(2))
    #expect(system.state == .suspended)
  }

  @Test func `A change of a link wakes no app and precedes the next event`() {
    var system = suspended()
    let before = system.process?.events.count
    var info = LinkInfo(peer: TestSystem.peer, role: .central)
    for mtu in 24...40 {
      info.mtu = mtu
      system.host([.linkUpdated(info)])
    }
    #expect(system.process?.events.count == before)
    system.host([system.value(1)])
    #expect(system.process?.events.suffix(2) == [.linkUpdated(info), system.value(1)])
  }

  @Test func `A value launches an app that was terminated, with what it held`() throws {
    var system = suspended()
    system.handle(.life(.memoryPressure(.critical)))
    #expect(system.state == .notRunning)
    #expect(system.machine.radioUse(of: TestSystem.app).connections.count == 1)
    #expect(system.machine.radioUse(of: TestSystem.app).keptSessionCount == 1)
    system.host([system.value(1)])
    #expect(system.startCount == 2)
    let attachment = try #require(system.process?.attachments.first)
    #expect(attachment.holdings?.links.map(\.peer) == [TestSystem.peer])
    #expect(attachment.holdings?.links.map(\.isConnected) == [true])
    #expect(
      system.process?.events.filter { if case .stateChanged(.unknown) = $0 { false } else { true } }
        == [
          .linkOpened(LinkInfo(peer: TestSystem.peer, role: .central)), .stateChanged(.poweredOn),
          system.value(1),
        ])
    #expect(system.state == .suspended)
  }

  @Test func `A session of an app that its person ends is closed`() {
    var system = suspended()
    system.person(.forceQuit)
    #expect(system.hostSessions.isEmpty)
    #expect(system.machine.radioUse(of: TestSystem.app) == AppRadioUse())
  }

  @Test func `A session of an app without the mode is closed when its process ends`() {
    var system = suspended([])
    system.handle(.life(.memoryPressure(.critical)))
    #expect(system.hostSessions.isEmpty)
  }

  @Test func `A removed app leaves no session, in the foreground or suspended`() {
    for isSuspended in [true, false] {
      var system = suspended()
      if !isSuspended { system.person(.opened) }
      system.handle(.life(.removed(TestSystem.app)))
      system.advance(by: .seconds(60))
      #expect(system.hostSessions.isEmpty)
      #expect(system.machine.life.state(of: TestSystem.app) == nil)
    }
  }

  @Test func `Requests of a suspended app reach the host when it is woken`() {
    var system = suspended()
    _ = system.takeRequests()
    system.request(.disconnect(TestSystem.peer))
    #expect(system.takeRequests().isEmpty)
    system.host([system.value(1)])
    #expect(system.takeRequests() == [.disconnect(TestSystem.peer)])
  }

  @Test func `A completion for an ended process launches no app`() {
    var system = suspended()
    system.handle(.life(.memoryPressure(.critical)))
    system.host([.completed(RequestToken(rawValue: 1), .success(.done))])
    #expect(system.startCount == 1)
    #expect(system.state == .notRunning)
  }

  @Test func `The radio's state launches no app, which gets the last one`() {
    var system = suspended()
    system.handle(.life(.memoryPressure(.critical)))
    for _ in 0..<1_000 { system.host([.stateChanged(.poweredOff), .stateChanged(.poweredOn)]) }
    system.host([.stateChanged(.poweredOff)])
    #expect(system.startCount == 1)
    system.person(.opened)
    #expect(system.process?.events.last == .stateChanged(.poweredOff))
  }

  @Test
  func `Links that come and go unheard leave nothing, and other events are bounded and counted`() {
    var system = suspended()
    system.handle(.life(.memoryPressure(.critical)))
    for number in 0..<1_000 {
      let peer = DeviceAddress(bits: UInt64(number), kind: .random)
      system.host([
        .linkOpened(LinkInfo(peer: peer, role: .central)), .linkClosed(peer, .cancelled),
      ])
    }
    #expect(system.machine.droppedCount == 0)
    for number in 0..<1_000 {
      let peer = DeviceAddress(bits: UInt64(number), kind: .random)
      system.host([.pairingEnded(peer, nil)])
    }
    #expect(system.machine.droppedCount == 1_000 - AppRadioSession.heldBackCountMax)
  }

  @Test func `All processes are gone after the device was started again`() {
    var system = suspended()
    system.handle(.life(.rebooted))
    #expect(system.state == .notRunning)
    #expect(system.machine.radioUse(of: TestSystem.app).keptSessionCount == 1)
    system.host([system.value(1)])
    #expect(system.startCount == 1)
    system.handle(.life(.unlocked))
    #expect(system.startCount == 2)
  }

  @Test(arguments: [ConnectionAlerts.connection, .disconnection, .notification])
  func `Each alert of a connection is shown for its own event, while the app is suspended`(
    _ alert: ConnectionAlerts
  ) {
    var system = TestSystem()
    var options = ConnectOptions()
    options.alerts = alert
    system.person(.opened)
    system.request(.connect(TestSystem.peer, options))
    system.person(.sentToBackground)
    #expect(system.state == .suspended)
    var shown: [ConnectionAlerts] = []
    let steps: [(ConnectionAlerts, [HostEvent])] = [
      (
        .connection,
        [
          .linkOpened(LinkInfo(peer: TestSystem.peer, role: .central)),
          .connected(TestSystem.peer),
        ]
      ),
      (.notification, [system.value(1)]),
      (
        .disconnection,
        [.disconnected(TestSystem.peer, .attTimeout, reconnecting: false)]
      ),
    ]
    for (kind, events) in steps {
      let count = system.alertCount
      system.host(events)
      if system.alertCount > count { shown.append(kind) }
      #expect(system.state == .suspended)
    }
    #expect(shown == [alert])
  }

  @Test func `A scan follows the state of its app at once`() {
    var system = TestSystem()
    system.person(.opened)
    var scan = ScanOptions()
    scan.services = [0x180D]
    scan.allowsDuplicates = true
    system.request(.startScan(scan))
    #expect(system.takeRequests() == [.startScan(scan)])
    system.person(.sentToBackground)
    scan.allowsDuplicates = false
    scan.isInBackground = true
    #expect(system.takeRequests() == [.startScan(scan)])
    system.person(.opened)
    scan.allowsDuplicates = true
    scan.isInBackground = false
    #expect(system.takeRequests() == [.startScan(scan)])
  }

  @Test func `A change of a link reaches an app in the foreground at once`() {
    var system = TestSystem()
    system.person(.opened)
    let info = LinkInfo(peer: TestSystem.peer, role: .central)
    system.host([.linkOpened(info)])
    #expect(system.process?.events.last == .linkOpened(info))
  }
}

import BluetoothInterface
import BluetoothWire
import Essentials
import HubWire
import Testing

@testable import HubClientMachines

@Suite("The connection with the hub")
struct ConnectionTests {
  private static let status = HubStatus(
    version: "1.2.3", processID: 1, uptime: .zero,
    radio: HubStatus.Radio(name: "hci0", state: .poweredOn, isSimulated: false))
  private static let bluetooth = HubWelcome(version: 1, abilities: .bluetooth, isSimulated: true)

  @Test("the greeting opens the first 64 sessions, and messages open the others")
  func greeting() {
    var rig = MachineRig()
    for number: UInt64 in 1...70 { rig.openSession(HubSessionID(rawValue: number)) }
    #expect(rig.actions == [.open])
    rig.handle(.opened)
    guard case .greeting(let greeting) = rig.takeSent().first else {
      Issue.record("the first message is not a greeting")
      return
    }
    #expect(greeting.app == "test" && greeting.versions == HubProtocol.versions)
    #expect(greeting.openings.map(\.id.rawValue) == Array(1...64))
    #expect(greeting.openings.allSatisfy { $0.acknowledgesEvents })
    rig.hub(.welcome(Self.bluetooth))
    let opened = rig.takeSent().map {
      if case .openSession(let opening) = $0 { opening.id.rawValue } else { UInt64(0) }
    }
    #expect(opened == Array(65...70))
    #expect(rig.actions.last == .connected(Self.bluetooth))
  }

  @Test("a session that is closed before the hub has answered the greeting is closed with the hub")
  func closedEarly() {
    var rig = MachineRig()
    rig.openSession(MachineRig.one)
    rig.openSession(MachineRig.two)
    rig.handle(.opened)
    rig.handle(.sessionClosed(MachineRig.one))
    _ = rig.takeSent()
    rig.hub(.welcome(Self.bluetooth))
    #expect(rig.takeSent() == [.closeSession(MachineRig.one)])
    rig.hub(.events(MachineRig.one, HubEvents([.stateChanged(.poweredOn)])))
    #expect(rig.failures.isEmpty && rig.takeEvents() == [.stateChanged(.unknown)])
  }

  @Test(
    "a hub of a version or without an ability that the app needs is left, and asked again later")
  func otherHubs() {
    let cases: [(HubMessage, HubFailure, RadioState)] = [
      (
        .welcome(HubWelcome(version: 2, abilities: .bluetooth, isSimulated: true)),
        .otherVersion(2), .unsupported
      ),
      (
        .welcome(HubWelcome(version: 1, abilities: [], isSimulated: true)), .noBluetooth,
        .unsupported
      ),
      (
        .refusal(HubRefusal(.denied, "Not you.")), .refused(HubRefusal(.denied, "Not you.")),
        .unauthorized
      ),
      (
        .refusal(HubRefusal(.limitReached, "Full.")),
        .refused(HubRefusal(.limitReached, "Full.")), .poweredOff
      ),
    ]
    for (answer, failure, state) in cases {
      var rig = MachineRig()
      rig.openSession(MachineRig.one)
      rig.handle(.opened)
      rig.hub(answer)
      #expect(rig.failures == [failure])
      #expect(rig.takeEvents() == [.stateChanged(.unknown), .stateChanged(state)])
      #expect(rig.actions.count { $0 == .open } == 1)
      rig.sleep(HubClientLimits.refusalPause)
      #expect(rig.actions.count { $0 == .open } == 2)
    }
  }

  @Test("a refusal that arrives before the socket is reported as connected keeps its reason")
  func earlyRefusal() {
    var rig = MachineRig()
    rig.openSession(MachineRig.one)
    rig.hub(.refusal(HubRefusal(.denied, "Not you.")))
    // The ends of the socket and of the attempt to connect it are reported afterwards.
    rig.handle(.opened)
    rig.handle(.closed(.ended))
    #expect(rig.failures == [.refused(HubRefusal(.denied, "Not you."))])
    #expect(rig.takeEvents() == [.stateChanged(.unknown), .stateChanged(.unauthorized)])
    #expect(rig.takeSent().isEmpty)
  }

  @Test("what no hub sends ends the connection with a reason")
  func hostileHub() {
    let id = MachineRig.one
    let unknown = HubSessionID(rawValue: 99)
    let on = HubEvents([.stateChanged(.poweredOn)])
    let cases: [(HubMessage, String)] = [
      (.welcome(Self.bluetooth), "a second welcome"),
      (.pong(3), "an answer to no ping"),
      (.status(3, Self.status), "an answer to no question about the hub"),
      (.events(unknown, on), "events of an unknown session"),
      (
        .events(id, HubEvents([.completed(1_000, .success(.done))])),
        "the completion of a request that is not open"
      ),
    ]
    for (message, text) in cases {
      var rig = MachineRig.connected()
      rig.hub(message)
      #expect(rig.failures == [.unexpected(text)])
      #expect(rig.takeEvents().last == .stateChanged(.poweredOff))
    }
    var early = MachineRig()
    early.openSession(id)
    early.handle(.opened)
    early.hub(.events(id, on))
    #expect(early.failures == [.unexpected("events before the welcome")])
  }

  @Test(
    "bytes that are no message end the connection, also a message too long for a greeting's answer")
  func garbage() {
    for bytes: [UInt8] in [[0, 0, 0, 0], [1, 0, 0, 0, 0xFF], [0xFF, 0xFF, 0xFF, 0xFF]] {
      var rig = MachineRig.connected()
      rig.handle(.received(bytes))
      guard case .invalidMessage? = rig.failures.first else {
        Issue.record("\(bytes): \(rig.failures)")
        continue
      }
    }
    var rig = MachineRig()
    rig.openSession(MachineRig.one)
    rig.handle(.opened)
    rig.handle(.received([1, 0, 2, 0]))
    #expect(rig.failures == [.invalidMessage(.invalidLength(1 << 17 + 1))])
  }

  @Test("a hub that reports more links than a controller has is left")
  func tooManyLinks() {
    var rig = MachineRig.connected()
    for number in 0...HubClientLimits.linksMax where rig.failures.isEmpty {
      var link = LinkInfo.sample
      link.peer = .init(bits: UInt64(number), kind: .public)
      rig.hub(.linkOpened(link))
    }
    #expect(rig.failures == [.tooMany("links")])
  }

  // MARK: Silence

  @Test("a hub that was sent something is left within five seconds when it does not answer")
  func silentHub() {
    var rig = MachineRig.connected()
    rig.sleep(.seconds(1))
    rig.hub(.stateChanged(.poweredOn))
    rig.request(.barrier(1))
    _ = rig.takeSent()
    rig.sleep(HubClientLimits.silence)
    #expect(rig.takeSent() == [.ping(1)])
    #expect(rig.failures.isEmpty)
    rig.sleep(.seconds(3))
    #expect(rig.failures == [.silent])
  }

  @Test("a hub that is silent after its welcome is left within five seconds")
  func silentAfterWelcome() {
    var rig = MachineRig()
    rig.openSession(MachineRig.one)
    rig.connect()
    rig.sleep(.seconds(5))
    #expect(rig.failures == [.silent])
  }

  @Test("a hub is left within five seconds of silence while a program wants something of the radio")
  func silentScan() {
    var rig = MachineRig.connected()
    rig.request(.startScan(ScanOptions()))
    rig.sleep(HubClientLimits.silence)
    #expect(rig.takeSent().last == .ping(1))
    rig.hub(.pong(1))
    rig.sleep(.seconds(5))
    #expect(rig.failures == [.silent])
  }

  @Test(
    "a hub is left within five seconds when it sends only messages that the program does not know")
  func unknownMessages() {
    var rig = MachineRig.connected()
    rig.request(.barrier(1))
    for _ in 0..<50 {
      // A kind below 0x80 may be skipped.
      rig.handle(.received([2, 0, 0, 0, 0x7F, 1]))
      rig.sleep(.milliseconds(100))
    }
    #expect(rig.failures == [.silent])
  }

  @Test("a hub is left when it sends events for half a minute, and answers nothing")
  func eventsOnly() {
    var rig = MachineRig.connected()
    rig.request(.barrier(1))
    for _ in 0..<400 where rig.failures.isEmpty {
      rig.hub(.valueUpdated(MachineRig.peer, handle: 3, [1]))
      rig.sleep(.milliseconds(90))
    }
    #expect(rig.failures == [.silent])
  }

  @Test("a hub whose events arrive with gaps of two seconds has half a minute for its answer")
  func busyHub() {
    var rig = MachineRig.connected()
    rig.request(.barrier(1))
    for _ in 0..<14 {
      rig.hub(.valueUpdated(MachineRig.peer, handle: 3, [1]))
      rig.sleep(.seconds(2))
    }
    for case .ping(let number) in rig.takeSent() { rig.hub(.pong(number)) }
    #expect(rig.failures.isEmpty)
  }

  @Test("a hub of which a program wants nothing is asked once a minute whether it is there")
  func idle() {
    var rig = MachineRig.connected()
    rig.sleep(HubClientLimits.silence)
    for case .ping(let number) in rig.takeSent() { rig.hub(.pong(number)) }
    rig.sleep(.seconds(59))
    #expect(rig.takeSent().isEmpty)
    rig.sleep(.seconds(1))
    #expect(rig.takeSent() == [.ping(2)])
    rig.sleep(.seconds(3))
    #expect(rig.failures == [.silent])
  }

  @Test("a silent hub of which nothing is wanted is left in five seconds if people get a report")
  func reportedSilence() {
    var rig = MachineRig()
    rig.machine = HubClientMachine(app: "test", idleSilence: HubClientLimits.silence)
    rig.openSession(MachineRig.one)
    rig.connect()
    rig.hub(.events(MachineRig.one, HubEvents([.stateChanged(.poweredOn)])))
    for _ in 0..<10 {
      rig.sleep(.seconds(2))
      for case .ping(let number) in rig.takeSent() { rig.hub(.pong(number)) }
    }
    #expect(rig.failures.isEmpty)
    rig.sleep(.seconds(5))
    #expect(rig.failures == [.silent])
  }

  @Test("a hub that answers its pings is not left")
  func answeringHub() {
    var rig = MachineRig.connected()
    for _ in 0..<100 {
      rig.sleep(.seconds(1))
      for case .ping(let number) in rig.takeSent() { rig.hub(.pong(number)) }
    }
    #expect(rig.failures.isEmpty)
  }

  @Test("a process that was stopped while it waited reads the answer before it leaves the hub")
  func stoppedProcess() {
    var rig = MachineRig.connected()
    rig.request(.barrier(1))
    rig.sleep(HubClientLimits.silence)
    rig.now = rig.now + .seconds(60)
    rig.wake()
    #expect(rig.failures.isEmpty)
    rig.hub(.pong(1))
    rig.sleep(.seconds(1))
    #expect(rig.failures.isEmpty)
  }

  @Test("a hub that does not answer the greeting is left within six seconds")
  func silentGreeting() {
    var rig = MachineRig()
    rig.openSession(MachineRig.one)
    rig.sleep(.seconds(1))
    rig.handle(.opened)
    rig.sleep(.seconds(5))
    #expect(rig.failures == [.silent])
    #expect(rig.takeEvents() == [.stateChanged(.unknown), .stateChanged(.poweredOff)])
  }

  // MARK: Attempts

  @Test(
    "the pauses between attempts double up to a second, and are short again after a good connection"
  )
  func pauses() {
    var rig = MachineRig()
    rig.openSession(MachineRig.one)
    var pauses: [Int64] = []
    for _ in 0..<7 {
      rig.handle(.closed(.notReached(.transport("no hub"))))
      let due = rig.machine.nextWake ?? .zero
      pauses.append((due - rig.now).nanoseconds / 1_000_000)
      rig.sleep(due - rig.now)
    }
    #expect(pauses == [50, 100, 200, 400, 800, 1_000, 1_000])
    rig.connect()
    rig.sleep(HubClientLimits.stableAfter)
    rig.handle(.closed(.ended))
    #expect(rig.machine.nextWake == rig.now + .milliseconds(50))
  }

  @Test("a hub whose socket is closed to the user is a denied radio, and is tried again less often")
  func closedSocket() {
    var rig = MachineRig()
    rig.openSession(MachineRig.one)
    rig.handle(.closed(.notReached(.unauthorized("This user may not."))))
    #expect(rig.takeEvents() == [.stateChanged(.unknown), .stateChanged(.unauthorized)])
    #expect(rig.machine.nextWake == rig.now + HubClientLimits.refusalPause)
  }

  @Test("a connection without sessions ends after a moment, and without a new attempt")
  func unused() {
    var rig = MachineRig.connected()
    rig.handle(.sessionClosed(MachineRig.one))
    #expect(rig.takeSent().last == .closeSession(MachineRig.one))
    rig.sleep(.seconds(60))
    #expect(rig.actions.last == .close && rig.failures.isEmpty)
    #expect(rig.machine.nextWake == nil)
  }

  @Test("a question about the radio connects without a session")
  func wanted() {
    var rig = MachineRig()
    rig.handle(.wanted)
    rig.connect()
    #expect(rig.actions.first == .open && rig.actions.contains { $0 != .open })
    rig.sleep(.seconds(60))
    #expect(rig.actions.last == .close)
  }

  @Test("a hub that can't be used is not tried, and its radio is reported as unsupported")
  func unusable() {
    var rig = MachineRig()
    rig.machine = HubClientMachine(app: "test", problem: .unsupported("AMBIT_HUB: no"))
    rig.openSession(MachineRig.one)
    rig.request(.addService(ServiceDefinition(uuid: 0x180D), 1))
    rig.sleep(.seconds(60))
    #expect(rig.actions.isEmpty)
    #expect(
      rig.takeEvents() == [
        .stateChanged(.unsupported), .completed(1, .failure(.unsupported("AMBIT_HUB: no"))),
      ])
  }
}

import BluetoothInterface
import BluetoothWire
import Essentials
import HubWire
import Testing

@testable import HubMachines

@Suite("Rules about the programs that may use a hub")
struct RuleTests {
  private static let guest: UInt32 = 2_000
  private static let overflow: UInt32 = 65_534

  private static func peer(
    _ user: UInt32 = guest, groups: [UInt32]? = [], units: [String]? = [], socket: String? = nil
  ) -> HubPeer {
    HubPeer(userID: user, processID: 1, groupIDs: groups, units: units, socket: socket)
  }

  private static func isAllowed(_ rules: [HubRules.Rule], _ peer: HubPeer) -> Bool {
    guard case .allowed = HubRules(rules).verdict(on: peer, hubUserID: TestHub.user) else {
      return false
    }
    return true
  }

  @Test("the first rule that matches decides, in both orders")
  func order() {
    let allow = HubRules.Rule(.allow, userID: Self.guest)
    let deny = HubRules.Rule(.deny, groupID: 50)
    let peer = Self.peer(groups: [50])
    #expect(Self.isAllowed([allow, deny], peer))
    #expect(!Self.isAllowed([deny, allow], peer))
    #expect(Self.isAllowed([deny, allow], Self.peer(groups: [51])))
  }

  @Test("without a rule that matches, the hub's user and root may use it, and others may not")
  func withoutMatch() {
    let rules = [HubRules.Rule(.allow, userID: Self.guest)]
    #expect(Self.isAllowed(rules, Self.peer(TestHub.user)))
    #expect(Self.isAllowed(rules, Self.peer(0)))
    #expect(!Self.isAllowed(rules, Self.peer(Self.guest + 1)))
  }

  @Test("a rule may deny the hub's own user and root")
  func ownUser() {
    #expect(!Self.isAllowed([HubRules.Rule(.deny, userID: 0)], Self.peer(0)))
    #expect(!Self.isAllowed([HubRules.Rule(.deny)], Self.peer(TestHub.user)))
  }

  @Test("all conditions of a rule must hold")
  func conditions() {
    let rule = HubRules.Rule(
      .allow, userID: Self.guest, groupID: 50, unit: "guide.service", socket: "guests")
    let right = Self.peer(groups: [7, 50], units: ["guide.service"], socket: "guests")
    #expect(Self.isAllowed([rule], right))
    for change in [
      { $0.userID += 1 }, { $0.groupIDs = [7] }, { $0.units = ["other.service"] },
      { $0.socket = "others" }, { $0.socket = nil },
    ] as [(inout HubPeer) -> Void] {
      var other = right
      change(&other)
      #expect(!Self.isAllowed([rule], other), "\(other)")
    }
  }

  @Test("a condition that can't be decided never allows a program, and denies it")
  func unknown() {
    for (rule, peer) in [
      (HubRules.Rule(.allow, unit: "guide.service"), Self.peer(units: nil)),
      (HubRules.Rule(.allow, groupID: 50), Self.peer(groups: nil)),
      (HubRules.Rule(.allow, groupID: 50), Self.peer(groups: [Self.overflow])),
    ] {
      let others = HubRules.Rule(.allow, userID: Self.guest)
      #expect(!Self.isAllowed([rule], peer))
      #expect(Self.isAllowed([rule, others], peer), "a later rule about the user decides")
      var denying = rule
      denying.access = .deny
      #expect(!Self.isAllowed([denying, others], peer))
      // Unless another condition of the rule does not hold.
      denying.userID = Self.guest + 1
      #expect(Self.isAllowed([denying, others], peer))
    }
  }

  @Test("a program of an unknown user is allowed only by a rule about its socket")
  func overflowUser() {
    let peer = Self.peer(Self.overflow, groups: [Self.overflow], socket: "containers")
    #expect(Self.isAllowed([HubRules.Rule(.allow, socket: "containers")], peer))
    #expect(!Self.isAllowed([HubRules.Rule(.allow)], peer))
    #expect(!Self.isAllowed([HubRules.Rule(.allow, userID: Self.overflow)], peer))
    #expect(
      !Self.isAllowed(
        [HubRules.Rule(.allow, userID: Self.guest, socket: "containers")], peer))
    let verdict = HubRules().verdict(on: peer, hubUserID: Self.overflow)
    guard case .denied = verdict else {
      Issue.record("a hub of the overflow user takes others for its own")
      return
    }
  }

  @Test("user 65534 is an account like others where the hub knows all users")
  func accountNobody() {
    let nobody = Self.peer(Self.overflow, groups: [Self.overflow])
    func verdict(_ rules: [HubRules.Rule]) -> Bool {
      let rules = HubRules(rules, knowsAllAccounts: true)
      guard case .allowed = rules.verdict(on: nobody, hubUserID: TestHub.user) else { return false }
      return true
    }
    #expect(verdict([HubRules.Rule(.allow, userID: Self.overflow)]))
    #expect(verdict([HubRules.Rule(.allow, groupID: Self.overflow)]))
    #expect(!verdict([HubRules.Rule(.deny, userID: Self.overflow), HubRules.Rule(.allow)]))
    // A rule about others is not in doubt any more.
    #expect(
      verdict([
        HubRules.Rule(.deny, userID: Self.guest), HubRules.Rule(.deny, groupID: 50),
        HubRules.Rule(.allow),
      ]))
    #expect(!verdict([]), "without a rule it is not the hub's user")
  }

  @Test("a program that is denied gets the rule as its reason, and costs the hub nothing")
  func refusal() throws {
    var hub = TestHub(rules: HubRules([HubRules.Rule(.deny, userID: Self.guest)]))
    let id = hub.connect(user: Self.guest)
    #expect(
      try hub.messages(for: id) == [
        .refusal(HubRefusal(.denied, "The hub's rules deny it: rules[0]."))
      ])
    #expect(hub.takeActions().contains(.close(id)))
    #expect(hub.machine.counts.connectionCount == 0)
    let other = hub.connect(user: Self.guest + 1)
    #expect(try hub.refusal(of: other) == .denied)
  }

  @Test("a program that a rule allows is served as the hub's own user is")
  func served() throws {
    var hub = TestHub(rules: HubRules([HubRules.Rule(.allow, userID: Self.guest)]))
    let id = hub.connect(user: Self.guest)
    try hub.send(.greeting(HubGreeting(app: "guide", abilities: .bluetooth)), from: id)
    guard case .welcome = try hub.messages(for: id).first else {
      Issue.record("the program is not welcome")
      return
    }
  }

  // MARK: Units

  @Test(
    "the unit of a process is the first of its control group, and the one within it",
    arguments: [
      ("0::/system.slice/guide.service\n", ["guide.service"]),
      ("0::/system.slice/system-getty.slice/getty@tty1.service", ["getty@tty1.service"]),
      (
        "0::/user.slice/user-1000.slice/user@1000.service/app.slice/guide.service/sub",
        ["user@1000.service", "user@1000.service/guide.service"]
      ),
      ("0::/user.slice/user-1000.slice/session-2.scope", ["session-2.scope"]),
      // Names that the kernel uses itself have an underscore before them.
      ("0::/system.slice/_cpu.service", ["cpu.service"]),
      // A hierarchy of systemd's own, with others around it.
      (
        "12:cpu,cpuacct:/\n1:name=systemd:/system.slice/guide.service\n0::/other.service\n",
        ["guide.service"]
      ),
      // No systemd.
      ("0::/", []), ("0::/docker/0123abc", []), ("0::/lxc/guide.service", []),
      ("0::/.service/guide.service", []),
      // A group's name that begins with a combining mark.
      ("0::/user.slice/user-1000.slice/user@1000.service/\u{301}x", ["user@1000.service"]),
      // A process outside of the namespace, a group that is gone, and texts of another form.
      ("0::/../system.slice/guide.service", nil),
      ("0::/system.slice/guide.service (deleted)", nil), ("", nil), ("guide.service", nil),
      ("0::guide.service", nil), ("3:cpu:/system.slice/guide.service", nil),
    ] as [(String, [String]?)])
  func units(text: String, units: [String]?) {
    #expect(ControlGroups.units(of: Array(text.utf8)) == units)
  }

  @Test("a text of control groups that is too long, or no UTF-8, shows no unit")
  func hostileControlGroups() {
    let line = Array("0::/system.slice/guide.service\n".utf8)
    #expect(ControlGroups.units(of: line + [0xFF]) == nil)
    let long = line + [UInt8](repeating: 0x20, count: ControlGroups.byteCountMax)
    #expect(ControlGroups.units(of: long) == nil)
  }

  // MARK: Quotas

  /// A hub with one rule, which allows its own user within quotas.
  private static func hub(_ change: (inout HubQuotas) -> Void) -> TestHub {
    var quotas = HubQuotas()
    change(&quotas)
    return TestHub(
      rules: HubRules([HubRules.Rule(.allow, userID: TestHub.user, quotas: quotas)]))
  }

  private static func peer(_ number: UInt64) -> DeviceAddress {
    DeviceAddress(bits: 0xC0FF_EE00_0000 | number, kind: .public)
  }

  @Test("the connections of a process are limited by its quota, and those of root by the hub")
  func connections() throws {
    var hub = Self.hub { $0.connectionCount = 2 }
    let ids = (0..<3).map { _ in hub.connect() }
    #expect(try ids.map { try hub.refusal(of: $0) } == [nil, nil, .limitReached])
    for _ in 0..<3 {
      let id = hub.connect(user: 0, process: 2)
      #expect(try hub.refusal(of: id) == nil)
    }
  }

  @Test("links beyond the quota fail, and another program has the hub's limit")
  func links() throws {
    var hub = Self.hub { $0.linkCount = 1 }
    let id = try hub.serve()
    for number in 1...2 as ClosedRange<UInt64> {
      try hub.send(.connect(Self.peer(number), ConnectOptions()), from: id)
    }
    guard
      case .connectionFailed(Self.peer(2), .limitReached) = try hub.events(for: id).first
    else {
      Issue.record("the second link was requested")
      return
    }
    let root = hub.connect(user: 0, process: 2)
    try hub.send(
      .greeting(
        HubGreeting(
          app: "root", abilities: .bluetooth,
          openings: [SessionOpening(id: HubSessionID(rawValue: 1), acknowledgesEvents: true)])),
      from: root)
    for number in 1...2 as ClosedRange<UInt64> {
      try hub.send(.connect(Self.peer(number), ConnectOptions()), from: root)
    }
    #expect(try hub.events(for: root).isEmpty)
  }

  /// The requests of sessions that reached the host.
  private static func sent(_ hub: inout TestHub) -> [UInt64] {
    hub.takeActions().compactMap {
      if case .send(let key, _) = $0 { key.session.rawValue } else { nil }
    }
  }

  @Test("a scan beyond the quota is not started, until another session has stopped its own")
  func scans() throws {
    var hub = Self.hub { $0.scanCount = 1 }
    let id = try hub.serve(sessions: [1, 2])
    func send(_ request: HostRequest, _ session: UInt64, _ hub: inout TestHub) throws {
      try hub.send(.request(HubSessionID(rawValue: session), .known(request)), from: id)
    }
    try send(.startScan(ScanOptions()), 1, &hub)
    try send(.startScan(ScanOptions()), 2, &hub)
    #expect(Self.sent(&hub) == [1])
    #expect(hub.machine.counts.limitedRequestCount == 1)
    // Another filter for the same scan.
    try send(.startScan(ScanOptions()), 1, &hub)
    try send(.stopScan, 1, &hub)
    try send(.startScan(ScanOptions()), 2, &hub)
    #expect(Self.sent(&hub) == [1, 1, 2])
  }

  @Test("scans of a program beyond its quota are reported once, and all are counted in the state")
  func refusedScans() throws {
    var hub = Self.hub { $0.scanCount = 1 }
    let id = try hub.serve("guide", sessions: [1, 2])
    for session in [1, 2, 2, 2] as [UInt64] {
      let session = HubSessionID(rawValue: session)
      try hub.send(.request(session, .known(.startScan(ScanOptions()))), from: id)
    }
    let reports = hub.takeActions().compactMap { action in
      if case .report(let report) = action { report } else { nil }
    }
    #expect(reports == [.scanRefused(id, app: "guide")])
    let status = try #require(hub.machine.status(StatusTests.host, for: id, now: hub.now))
    #expect(status.counts.limitedRequestCount == 3)
  }

  @Test("an advertisement beyond the quota fails, also if the program reuses a token")
  func advertisements() throws {
    var hub = Self.hub { $0.advertisementCount = 1 }
    let id = try hub.serve(sessions: [1, 2])
    let token = RequestToken(rawValue: 9)
    func start(_ session: UInt64, _ hub: inout TestHub) throws {
      try hub.send(
        .request(
          HubSessionID(rawValue: session), .known(.startAdvertising(AdvertisingOptions(), token))),
        from: id)
    }
    try start(1, &hub)
    try start(2, &hub)
    #expect(Self.sent(&hub) == [1])
    guard case .completed(token, .failure(.limitReached)) = try hub.events(for: id).first else {
      Issue.record("the second advertisement was not refused")
      return
    }
    // A read of the same token that fails doesn't hide the advertisement.
    try hub.send(.readRSSI(Self.peer(1), token), from: id)
    for result in [.failure(.notConnected), .success(.done)] as [Result<HostReply, HostError>] {
      hub.handle(.delivered(HubSessionKey(id), [.completed(token, result)]))
    }
    _ = hub.takeActions()
    try start(2, &hub)
    #expect(Self.sent(&hub).isEmpty)
    try hub.send(.stopAdvertising, from: id)
    try start(2, &hub)
    #expect(Self.sent(&hub) == [1, 2])
  }

  @Test("an advertisement that could not begin makes room for another one")
  func failedAdvertisement() throws {
    var hub = Self.hub { $0.advertisementCount = 1 }
    let id = try hub.serve(sessions: [1, 2])
    let token = RequestToken(rawValue: 9)
    try hub.send(.startAdvertising(AdvertisingOptions(), token), from: id)
    hub.handle(
      .delivered(HubSessionKey(id), [.completed(token, .failure(.radioNotReady))]))
    _ = hub.takeActions()
    try hub.send(
      .request(
        HubSessionID(rawValue: 2), .known(.startAdvertising(AdvertisingOptions(), token))),
      from: id)
    #expect(Self.sent(&hub) == [2])
  }

  @Test("an advertisement that goes on when the host refuses another one still counts")
  func refusedAdvertisement() throws {
    var hub = Self.hub { $0.advertisementCount = 1 }
    let id = try hub.serve(sessions: [1, 2])
    let (first, second) = (RequestToken(rawValue: 9), RequestToken(rawValue: 10))
    for (token, result) in [(first, .success(.done)), (second, .failure(.limitReached("bytes")))]
      as [(RequestToken, Result<HostReply, HostError>)]
    {
      try hub.send(.startAdvertising(AdvertisingOptions(), token), from: id)
      hub.handle(.delivered(HubSessionKey(id), [.completed(token, result)]))
    }
    _ = hub.takeActions()
    try hub.send(
      .request(
        HubSessionID(rawValue: 2), .known(.startAdvertising(AdvertisingOptions(), first))),
      from: id)
    #expect(Self.sent(&hub) == [])
  }

  @Test("services beyond the quotas of number and size fail")
  func services() throws {
    let tokens = (1...2).map { RequestToken(rawValue: $0) }
    let service = ServiceDefinition(uuid: BluetoothUUID(0x180D as UInt16))
    for change in [{ $0.serviceCount = 1 }, { $0.serviceByteCount = 20 }]
      as [(inout HubQuotas) -> Void]
    {
      var hub = Self.hub(change)
      let id = try hub.serve()
      for token in tokens { try hub.send(.addService(service, token), from: id) }
      guard
        case .completed(tokens[1], .failure(.limitReached))? = try hub.events(for: id).first
      else {
        Issue.record("the second service was not refused")
        continue
      }
    }
  }

  @Test("a program's requests wait at a quarter of its quota of bytes, and beyond it, it ends")
  func queuedBytes() throws {
    var hub = Self.hub { $0.queuedByteCount = 100_000 }
    let id = try hub.serve()
    hub.stuck = [id]
    let value = HostEvent.valueUpdated(
      Self.peer(1), handle: 3, ArraySlice([UInt8](repeating: 7, count: 500)))
    var byteCount = 0
    while !hub.actions.contains(.setReading(id, false)) {
      hub.handle(.delivered(HubSessionKey(id), [value]))
      byteCount += 500
      try #require(byteCount < 100_000)
    }
    #expect(20_000...30_000 ~= byteCount)
    while hub.machine.counts.connectionCount > 0 {
      hub.handle(.delivered(HubSessionKey(id), [value]))
      byteCount += 500
      try #require(byteCount < 110_000)
    }
    #expect(try hub.refusal(of: id) == .limitReached)
    #expect(byteCount > 90_000)
  }

  @Test("a quota never exceeds the hub's own limits")
  func maxima() {
    var quotas = HubQuotas()
    quotas.connectionCount = .max
    quotas.linkCount = .max
    quotas.scanCount = .max
    quotas.serviceCount = .max
    quotas.serviceByteCount = .max
    quotas.advertisementCount = .max
    quotas.queuedByteCount = .max
    let hub = HubLimits()
    let limits = quotas.limits(hub)
    #expect(limits.connectionCountPerProcessMax == hub.connectionCountPerProcessMax)
    #expect(limits.linkCountMax == hub.linkCountMax)
    #expect(limits.scanCountMax == hub.scanCountMax)
    #expect(limits.serviceCountMax == hub.serviceCountMax)
    #expect(limits.serviceByteCountMax == hub.serviceByteCountMax)
    #expect(limits.advertisementCountMax == hub.advertisementCountMax)
    #expect(limits.waitingByteCountMax == hub.waitingByteCountMax)
    #expect(limits.waitingByteCountHigh == hub.waitingByteCountHigh)
    #expect(limits.waitingByteCountLow == hub.waitingByteCountLow)
  }
}

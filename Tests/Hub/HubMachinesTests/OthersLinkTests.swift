import BluetoothInterface
import BluetoothWire
import Essentials
import HubWire
import Testing

@testable import HubMachines

/// What a program of a hub sees of links that other programs use.
struct OthersLinkTests {
  private static let peer = DeviceAddress(bits: 0xC0FF_EE00_0001, kind: .public)

  private static func link(_ role: LinkInfo.Role) -> LinkInfo {
    var link = LinkInfo(peer: peer, role: role)
    link.mtu = 247
    link.intervalUnits = 24
    link.latency = 4
    link.timeoutUnits = 600
    link.transmitPHY = .le2M
    link.sentPacketByteCountMax = 251
    link.encryption = EncryptionInfo(
      keyByteCount: 16, isAuthenticated: true, isSecureConnections: true)
    link.name = "Lock"
    link.services = [BluetoothUUID(0x180F)]
    return link
  }

  @Test func `A program sees address, name and services of a link that it has not requested`()
    throws
  {
    var hub = TestHub()
    let (user, other) = (try hub.serve("lock"), try hub.serve("other", process: 2))
    try hub.send(.connect(Self.peer, ConnectOptions()), from: user)
    let link = Self.link(.central)
    for id in [user, other] {
      hub.handle(
        .delivered(HubSessionKey(id), [.linkOpened(link), .linkUpdated(link)]))
    }
    #expect(try hub.events(for: user) == [.linkOpened(link), .linkUpdated(link)])
    var seen = LinkInfo(peer: Self.peer, role: .central)
    seen.name = "Lock"
    seen.services = link.services
    #expect(try hub.events(for: other) == [.linkOpened(seen), .linkUpdated(seen)])
  }

  @Test func `A program sees all of a link from its request until it has given the link up`()
    throws
  {
    var hub = TestHub()
    // Any session of a program may request it.
    let id = try hub.serve(sessions: [1, 2])
    let key = HubSessionKey(id, HubSessionID(rawValue: 2))
    let link = Self.link(.central)
    try hub.send(.connect(Self.peer, ConnectOptions()), from: id)
    hub.handle(.delivered(key, [.linkUpdated(link)]))
    #expect(try hub.events(for: id) == [.linkUpdated(link)])
    try hub.send(.disconnect(Self.peer), from: id)
    hub.handle(.delivered(key, [.linkUpdated(link)]))
    guard case .linkUpdated(let seen)? = try hub.events(for: id).first else {
      Issue.record("no event")
      return
    }
    #expect(seen.encryption == nil && seen.intervalUnits == 0 && seen.name == "Lock")
  }

  @Test func `A program sees the MTU and the interval of a central, and not its encryption`()
    throws
  {
    var hub = TestHub()
    let id = try hub.serve()
    hub.handle(.delivered(HubSessionKey(id), [.linkOpened(Self.link(.peripheral))]))
    guard case .linkOpened(let seen)? = try hub.events(for: id).first else {
      Issue.record("no event")
      return
    }
    #expect(seen.mtu == 247 && seen.intervalUnits == 24)
    #expect(seen.encryption == nil && seen.latency == 0 && seen.transmitPHY == .le1M)
  }
}

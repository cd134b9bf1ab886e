import BluetoothHost
import BluetoothInterface
import EventLoop
import Glibc
import HubMachines
import HubWire
import SimulatedRadio
import Testing

@testable import HubHost

@Suite("Rules of a hub on a socket", .timeLimit(.minutes(5)))
struct RulesTests {
  private static let guest: UInt32 = 23_456
  private let folder: String
  private var path: String { folder + "/hub" }

  init() throws {
    SimulatedRadio.install()
    folder = try temporaryFolder()
  }

  /// Programs of this process appear as another user's.
  private static func guests(_ change: @escaping @Sendable (inout HubPeer) -> Void = { _ in })
    -> PeerReader
  {
    PeerReader { descriptor, rules in
      guard var peer = PeerReader.system.peer(descriptor, rules) else { return nil }
      peer.userID = guest
      change(&peer)
      return peer
    }
  }

  private func withHub(
    at socket: HubSocket? = nil, _ rules: [HubRules.Rule], _ peers: PeerReader,
    _ body: () async throws -> Void
  ) async throws {
    let host = try BluetoothHost(radio: .standard)
    let server = try await HubServer.start(
      at: socket ?? .path(path), host, rules: HubRules(rules), peers: peers)
    try await body()
    await server.close()
    await host.close()
    for name in ["hub", "other", "hub.lock"] { unlink(folder + "/" + name) }
    rmdir(folder)
  }

  @Test("another user's program is refused with the reason, and served where a rule allows it")
  func otherUser() async throws {
    try await withHub([HubRules.Rule(.allow, groupID: 50)], Self.guests()) {
      let program = try await TestProgram(at: path)
      #expect(await program.refusal()?.reason == .denied)
    }
    let other = try RulesTests()
    try await other.withHub([HubRules.Rule(.allow, userID: Self.guest)], Self.guests()) {
      let program = try await TestProgram.served("guide", at: other.path)
      #expect(try await program.ask { .barrier($0) } == .done)
    }
  }

  @Test("all users can connect where a rule may allow others, and only the hub's user elsewhere")
  func permissions() async throws {
    for (rules, mode) in [([HubRules.Rule(.allow, socket: "x")], 0o666), ([], 0o600)] {
      let test = try RulesTests()
      try await test.withHub(rules, .system) {
        var information = stat()
        #expect(lstat(test.path, &information) == 0)
        #expect(information.st_mode & 0o777 == mode)
      }
    }
    rmdir(folder)
  }

  @Test("only a socket is opened to others, also where a link has taken its path")
  func replaced() throws {
    let file = folder + "/secret"
    let descriptor = creat(file, 0o600)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    try #require(symlink(file, path) == 0)
    for path in [file, path] {
      #expect(throws: SystemError(number: EPERM)) {
        try UNIXSocketFile.setPermissions(0o666, of: path)
      }
    }
    var information = stat()
    #expect(fstat(descriptor, &information) == 0 && information.st_mode & 0o777 == 0o600)
    for path in [file, path] { unlink(path) }
    rmdir(folder)
  }

  @Test("the hub's own folder is open to others only while the rules may allow them")
  func ownFolder() async throws {
    let own = folder + "/ambit"
    // Root's folder is as service managers make it.
    let closed: mode_t = geteuid() == 0 ? 0o755 : 0o700
    for (rules, mode) in [
      ([], closed), ([HubRules.Rule(.allow, userID: Self.guest)], 0o755), ([], closed),
    ] {
      let host = try BluetoothHost(radio: .standard)
      let server = try await HubServer.start(
        at: .ownFolder(path: own + "/hub"), host, rules: HubRules(rules))
      var information = stat()
      #expect(lstat(own, &information) == 0)
      #expect(information.st_mode & 0o777 == mode)
      await server.close()
      await host.close()
    }
    unlink(own + "/hub.lock")
    rmdir(own)
    rmdir(folder)
  }

  @Test("a rule about a socket holds for programs that connect there, and not at another one")
  func sockets() async throws {
    let paths = ["hub", "other"].map { folder + "/" + $0 }
    let sockets = try zip(paths, ["guests", nil]).map {
      HubSocket.OpenSocket(descriptor: try listeningSocket(at: $0), name: $1)
    }
    let rules = [HubRules.Rule(.allow, socket: "guests")]
    try await withHub(at: .open(sockets), rules, Self.guests { $0.userID = 65_534 }) {
      let program = try await TestProgram.served("guide", at: paths[0])
      #expect(try await program.ask { .barrier($0) } == .done)
      let refused = try await TestProgram(at: paths[1])
      #expect(await refused.refusal()?.reason == .denied)
    }
  }

  @Test("a service manager's names belong to its sockets in order, if there is one for each")
  func names() {
    #expect(ServiceManager.names("a:b", count: 2) == ["a", "b"])
    #expect(ServiceManager.names("a:", count: 2) == ["a", nil])
    #expect(ServiceManager.names("ambit-hub.socket", count: 1) == ["ambit-hub.socket"])
    #expect(ServiceManager.names("a:b:c", count: 2) == [nil, nil])
    #expect(ServiceManager.names(nil, count: 2) == [nil, nil])
    rmdir(folder)
  }

  // MARK: The system's knowledge

  @Test(
    "groups and units of a program are the system's, and groups are read only if a rule needs them"
  )
  func facts() throws {
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    defer { for end in ends { close(end) } }
    let needed = HubRules([HubRules.Rule(.deny, groupID: 1, unit: "x.service")])
    let peer = try #require(PeerReader.system.peer(ends[0], needed))
    #expect(peer.userID == geteuid() && peer.processID == getpid())
    var groups = [gid_t](repeating: 0, count: Int(max(0, getgroups(0, nil))))
    try #require(getgroups(Int32(groups.count), &groups) >= 0)
    #expect(Set(try #require(peer.groupIDs)) == Set(groups + [getegid()]))
    // Nil on a kernel before 6.5.
    if PinnedPeer(of: ends[0]) != nil {
      let text = try contents(of: "/proc/self/cgroup")
      #expect(peer.units == ControlGroups.units(of: text))
    } else {
      #expect(peer.units == nil)
    }
    let bare = try #require(PeerReader.system.peer(ends[0], HubRules()))
    #expect(bare.groupIDs == nil && bare.units == peer.units)
    rmdir(folder)
  }

  @Test(
    "a program that rules deny, or that the system doesn't know, is not admitted to another service"
  )
  func admission() {
    let guest = PeerReader { _, _ in HubPeer(userID: Self.guest, processID: 1) }
    var quotas = HubQuotas()
    quotas.networkRequestCount = 7
    let rule = HubRules.Rule(.allow, userID: Self.guest, quotas: quotas)
    #expect(guest.quotas(-1, HubRules([rule])) == quotas)
    #expect(guest.quotas(-1, HubRules([HubRules.Rule(.deny, userID: Self.guest)])) == nil)
    let own = PeerReader { _, _ in HubPeer(userID: geteuid(), processID: 1) }
    #expect(own.quotas(-1, HubRules()) == HubQuotas())
    #expect(PeerReader { _, _ in nil }.quotas(-1, HubRules()) == nil)
    rmdir(folder)
  }

  @Test("users and groups of the machine have their numbers, and unknown names have none")
  func accounts() {
    let accounts = SystemAccounts()
    #expect(accounts.userID(of: "root") == 0)
    #expect(accounts.groupID(of: "root") == 0)
    #expect(accounts.userID(of: "no such user") == nil)
    #expect(accounts.groupID(of: "no such group") == nil)
    rmdir(folder)
  }
}

/// A folder of the user's own.
func temporaryFolder() throws -> String {
  var template = Array(("/tmp/ambit-hub-" + String(repeating: "X", count: 6)).utf8CString)
  let name = unsafe template.withUnsafeMutableBufferPointer { buffer -> String? in
    guard let start = buffer.baseAddress, unsafe mkdtemp(start) != nil else { return nil }
    return unsafe String(cString: start)
  }
  return try #require(name)
}

/// A socket as a service manager opens it.
private func listeningSocket(at path: String) throws -> Int32 {
  let flags = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
  let descriptor = socket(AF_UNIX, flags, 0)
  let address = try #require(SocketAddress(path: path))
  try #require(address.with { unsafe bind(descriptor, $0, $1) } == 0)
  try #require(listen(descriptor, 16) == 0)
  return descriptor
}

private func contents(of path: String) throws -> [UInt8] {
  let descriptor = open(path, O_RDONLY)
  try #require(descriptor >= 0)
  defer { close(descriptor) }
  return try FileBytes.read(descriptor, byteCountMax: 1 << 20)
}

import Connections
import DNSWire
import DiscoveryMachines
import Essentials
import Foundation
import Testing

@testable import Bonjour

@Suite("Connections that wait, and their paths", .timeLimit(.minutes(5)))
struct NWConnectionTests {
  private let discovery = ScriptedDiscovery()
  private let queue = DispatchQueue(label: "test")
  private let states = Events<NWConnection.State>()
  private let servers = Events<NWConnection>()

  /// A listener on one address of the loopback interface, and its port.
  private func listener(
    _ parameters: NWParameters = .tcp, on port: NWEndpoint.Port = .any
  ) async throws -> (NWListener, NWEndpoint.Port) {
    parameters.requiredLocalEndpoint = .hostPort(host: "127.0.0.1", port: .any)
    let listener = try NWListener(using: parameters, on: port)
    let states = Events<NWListener.State>()
    listener.stateUpdateHandler = { states.add($0) }
    listener.newConnectionHandler = { [servers] in servers.add($0) }
    listener.start(queue: queue)
    #expect(await states.next() == .ready)
    return (listener, try #require(listener.port))
  }

  private func connection(
    to endpoint: NWEndpoint, _ parameters: NWParameters = .tcp
  ) -> NWConnection {
    let connection = DiscoveryContext.$override.withValue(discovery) {
      NWConnection(to: endpoint, using: parameters)
    }
    connection.stateUpdateHandler = { [states] in states.add($0) }
    return connection
  }

  private func notify(port: NWEndpoint.Port, text: TXTRecord = TXTRecord()) throws {
    let name = try ServiceName.lamp()
    discovery.notify(
      .resolve(name),
      .resolved(.init(name: name, host: .lampHost, port: port.rawValue, text: text)))
  }

  private func notify(_ addresses: Inet4Address...) { notify(addresses) }

  private func notify(_ addresses: [Inet4Address]) {
    discovery.notify(
      .addresses(.lampHost, versions: [.v4, .v6]),
      addresses.map { .addressAdded(.v4($0), ttlSeconds: 120) })
  }

  private static let lamp = NWEndpoint.service(
    name: "Desk lamp", type: "_lamp._tcp", domain: "local.", interface: nil)

  @Test("an address that becomes known after others did not answer is tried, too")
  func lateAddress() async throws {
    let (listener, port) = try await listener()
    let client = connection(to: Self.lamp)
    client.start(queue: queue)
    #expect(await states.next() == .preparing)
    try notify(port: port)
    // No socket listens there.
    notify(.init(127, 0, 0, 2), .init(127, 0, 0, 3))
    await discovery.passOnceSecondIsAwaited(seconds: 0.9)
    notify(.init(127, 0, 0, 1))
    #expect(await states.next() == .ready)
    #expect(client.currentPath?.remoteEndpoint == .hostPort(host: "127.0.0.1", port: port))
    #expect(discovery.requests.isEmpty && discovery.timerCount == 0)
    withExtendedLifetime(listener) {}
  }

  @Test("a service of which no address answers is waited for, and for other addresses")
  func waitsForAddress() async throws {
    let (listener, port) = try await listener()
    let client = connection(to: Self.lamp)
    client.start(queue: queue)
    try notify(port: port)
    notify(.init(127, 0, 0, 2))
    await discovery.passOnceSecondIsAwaited(seconds: 1)
    #expect(await states.next(2) == [.preparing, .waiting(.posix(.ECONNREFUSED))])
    notify(.init(127, 0, 0, 1))
    #expect(await states.next() == .ready)
    withExtendedLifetime(listener) {}
  }

  @Test("a service that is not there is waited for, and connected to when it comes")
  func waitsForService() async throws {
    let (listener, port) = try await listener()
    let client = connection(to: Self.lamp)
    client.start(queue: queue)
    discovery.pass(seconds: 30)
    #expect(await states.next(2) == [.preparing, .waiting(.posix(.ETIMEDOUT))])
    try notify(port: port)
    notify(.init(127, 0, 0, 1))
    #expect(await states.next() == .ready)
    withExtendedLifetime(listener) {}
  }

  @Test("a connection that waits is tried again when the network changed, and on request")
  func triesAgain() async throws {
    let (gone, port) = try await listener()
    gone.cancel()
    let client = connection(to: .hostPort(host: "127.0.0.1", port: port))
    client.start(queue: queue)
    let refused = NWConnection.State.waiting(.posix(.ECONNREFUSED))
    #expect(await states.next(2) == [.preparing, refused])
    client.restart()
    #expect(await states.next(2) == [.preparing, refused])
    let (listener, _) = try await listener(on: port)
    discovery.changeNetwork()
    #expect(await states.next(2) == [.preparing, .ready])
    // One that is there stays.
    client.restart()
    discovery.changeNetwork()
    client.cancel()
    #expect(await states.next() == .cancelled)
    #expect(discovery.networkObserverCount == 0)
    withExtendedLifetime(listener) {}
  }

  @Test("a connection that is being made while the network changes is tried again")
  func networkChangesMeanwhile() async throws {
    let client = connection(to: Self.lamp)
    client.start(queue: queue)
    discovery.changeNetwork()
    discovery.pass(seconds: 30)
    let late = NWConnection.State.waiting(.posix(.ETIMEDOUT))
    #expect(await states.next(3) == [.preparing, late, .preparing])
    // Only once for one change.
    while discovery.timerCount == 0 { await Task.yield() }
    discovery.pass(seconds: 30)
    #expect(await states.next() == late)
    client.cancel()
    #expect(await states.next() == .cancelled)
    #expect(discovery.requests.isEmpty && discovery.timerCount == 0)
  }

  @Test("a service of which only the text changes is waited for no longer for that")
  func nothingNew() async throws {
    let (gone, port) = try await listener()
    gone.cancel()
    let client = connection(to: Self.lamp)
    client.start(queue: queue)
    try notify(port: port)
    notify(.init(127, 0, 0, 2))
    await discovery.passOnceSecondIsAwaited(seconds: 0.6)
    try notify(port: port, text: TXTRecord(strings: [Array("a=b".utf8)]))
    discovery.pass(seconds: 0.6)
    #expect(await states.next(2) == [.preparing, .waiting(.posix(.ECONNREFUSED))])
    withExtendedLifetime(client) {}
  }

  @Test("only 64 of a host's addresses are tried")
  func addressLimit() async throws {
    let (listener, port) = try await listener()
    let client = connection(to: Self.lamp)
    client.start(queue: queue)
    try notify(port: port)
    notify((1...64).map { .init(127, 0, 1, $0) } + [.init(127, 0, 0, 1)])
    await discovery.passOnceSecondIsAwaited(seconds: 1)
    #expect(await states.next(2) == [.preparing, .waiting(.posix(.ECONNREFUSED))])
    withExtendedLifetime((listener, client)) {}
  }

  @Test("an end is on the interface of its scope, and all of 127/8 on that of loopback")
  func interfaceOfEnd() throws {
    let linkLocal = InetAddress.v6(.init(high: 0xFE80 << 48, low: 1))
    let lo = NetworkPath.Interface(name: "lo", index: 1, addresses: [.v4(.init(127, 0, 0, 1))])
    let one = NetworkPath.Interface(name: "eth1", index: 2, addresses: [linkLocal])
    let other = NetworkPath.Interface(name: "eth2", index: 3, addresses: [linkLocal])
    let path = NetworkPath(interfaces: [lo, one, other], source: nil)
    #expect(path.interface(of: SocketEndpoint(linkLocal, port: 9, scope: 2)) == one)
    #expect(path.interface(of: SocketEndpoint(linkLocal, port: 9, scope: 3)) == other)
    #expect(path.interface(of: SocketEndpoint(linkLocal, port: 9, scope: 1)) == nil)
    #expect(path.interface(of: SocketEndpoint(.v4(.init(127, 9, 9, 9)), port: 9)) == lo)
    #expect(path.interface(of: SocketEndpoint(.v4(.init(192, 0, 2, 1)), port: 9)) == nil)
  }

  @Test("the path is reported when the connection is established, and when it changes")
  func ways() async throws {
    let (listener, port) = try await listener()
    let client = connection(to: .hostPort(host: "127.0.0.1", port: port))
    let here = SocketEndpoint(.v4(.init(127, 0, 0, 1)), port: 9)
    let there = SocketEndpoint(.v4(.init(192, 0, 2, 1)), port: 9)
    let lo = NetworkPath.Interface(name: "lo", index: 1, addresses: [here.address])
    let cable = NetworkPath.Interface(name: "eth9", index: 9, addresses: [there.address])
    discovery.changeNetwork(NetworkPath(interfaces: [lo], source: here))
    let told = Events<String>()
    client.pathUpdateHandler = { told.add("\($0.status) \($0.availableInterfaces)") }
    client.viabilityUpdateHandler = { told.add("viable: \($0)") }
    client.betterPathUpdateHandler = { told.add("better: \($0)") }
    client.start(queue: queue)
    #expect(await told.next(2) == ["satisfied [lo]", "viable: true"])
    let path = try #require(client.currentPath)
    #expect(path.usesInterfaceType(.loopback) && !path.usesInterfaceType(.wifi))
    #expect(path.supportsIPv4 && !path.supportsIPv6 && !path.isExpensive && !path.isConstrained)

    discovery.changeNetwork(NetworkPath(interfaces: [cable, lo], source: there))
    #expect(await told.next() == "better: true")
    discovery.changeNetwork(NetworkPath(interfaces: [cable], source: nil))
    #expect(await told.next(3) == ["unsatisfied []", "viable: false", "better: false"])
    discovery.changeNetwork(NetworkPath(interfaces: [lo], source: here))
    #expect(await told.next(2) == ["satisfied [lo]", "viable: true"])
    #expect(client.state == .ready)
    withExtendedLifetime(listener) {}
  }

  @Test("interfaces, addresses and versions that the parameters want are used, and no others")
  func parameters() async throws {
    let (listener, port) = try await listener()
    let endpoint = NWEndpoint.hostPort(host: "127.0.0.1", port: port)
    let parameters = NWParameters.tcp
    parameters.requiredInterface = NWInterface(.first)
    parameters.requiredLocalEndpoint = .hostPort(host: "127.0.0.3", port: .any)
    let client = connection(to: endpoint, parameters)
    client.start(queue: queue)
    #expect(await states.next(2) == [.preparing, .ready])
    let server = try #require(await servers.next())
    guard case .hostPort(host: "127.0.0.3", _) = server.endpoint else {
      Issue.record("it comes from \(server.endpoint)")
      return
    }

    let elsewhere = NWParameters.tcp
    elsewhere.prohibitedInterfaces = [NWInterface(.first)].compactMap { $0 }
    let notHere = connection(to: endpoint, elsewhere)
    notHere.start(queue: queue)
    #expect(await states.next(2) == [.preparing, .waiting(.posix(.EADDRNOTAVAIL))])

    let other = NWParameters.tcp
    let ip = try #require(other.defaultProtocolStack.internetProtocol as? NWProtocolIP.Options)
    ip.version = .v6
    let copy = other.copy()
    ip.version = .any
    let notLikeThis = connection(to: endpoint, copy)
    notLikeThis.start(queue: queue)
    #expect(await states.next(2) == [.preparing, .waiting(.posix(.EADDRNOTAVAIL))])

    let invalid = NWParameters.tcp
    invalid.requiredLocalEndpoint = Self.lamp
    let never = connection(to: endpoint, invalid)
    never.start(queue: queue)
    #expect(await states.next(2) == [.preparing, .failed(.posix(.EINVAL))])
    withExtendedLifetime((listener, client, notHere, notLikeThis, never)) {}
  }

  @Test("TCP options are set on the sockets of both ends")
  func options() async throws {
    let options = NWProtocolTCP.Options()
    options.noDelay = true
    options.enableKeepalive = true
    options.keepaliveIdle = 11
    options.keepaliveInterval = 7
    options.keepaliveCount = 3
    options.connectionDropTime = 9
    options.connectionTimeout = 2
    let parameters = NWParameters(tls: nil, tcp: options)
    let ip = parameters.defaultProtocolStack.internetProtocol as? NWProtocolIP.Options
    ip?.hopLimit = 17
    let (listener, port) = try await listener(parameters)
    let mine = parameters.copy()
    mine.requiredLocalEndpoint = nil
    let client = connection(to: .hostPort(host: "127.0.0.1", port: port), mine)
    client.start(queue: queue)
    #expect(await states.next(2) == [.preparing, .ready])
    let server = try #require(await servers.next())
    let sockets = Self.sockets(ofPort: port.rawValue).filter(\.isConnected)
    #expect(sockets.count >= 2)
    for socket in sockets {
      #expect(socket.option(Int32(IPPROTO_TCP), TCP_NODELAY) == 1)
      #expect(socket.option(SOL_SOCKET, SO_KEEPALIVE) == 1)
      #expect(socket.option(Int32(IPPROTO_TCP), TCP_KEEPIDLE) == 11)
      #expect(socket.option(Int32(IPPROTO_TCP), TCP_KEEPINTVL) == 7)
      #expect(socket.option(Int32(IPPROTO_TCP), TCP_KEEPCNT) == 3)
      #expect(socket.option(Int32(IPPROTO_TCP), TCP_USER_TIMEOUT) == 9_000)
      #expect(socket.option(Int32(IPPROTO_IP), IP_TTL) == 17)
    }
    withExtendedLifetime((listener, server)) {}
  }

  /// A descriptor of this process.
  private struct Socket {
    var number: Int32
    var isConnected: Bool

    func option(_ level: Int32, _ name: Int32) -> Int32? {
      var value: Int32 = 0
      var length = socklen_t(MemoryLayout<Int32>.size)
      return getsockopt(number, level, name, &value, &length) == 0 ? value : nil
    }
  }

  /// The sockets of this process that have a port on this side or on the other.
  private static func sockets(ofPort port: UInt16) -> [Socket] {
    func portOf(
      _ number: Int32,
      _ ask: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> UInt16? {
      var address = sockaddr_in()
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let result = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { ask(number, $0, &length) }
      }
      guard result == 0, Int32(address.sin_family) == AF_INET else { return nil }
      return UInt16(bigEndian: address.sin_port)
    }
    return (Int32(0)..<1_024).compactMap { number in
      let (local, remote) = (portOf(number, getsockname), portOf(number, getpeername))
      guard local == port || remote == port else { return nil }
      return Socket(number: number, isConnected: remote != nil)
    }
  }

  @Test("a message is all that comes up to the end, if that is not too much")
  func message() async throws {
    let (listener, port) = try await listener()
    for (byteCount, isTooLong) in [(0, false), (200_000, false), (16 << 20 + 1, true)] {
      let client = connection(to: .hostPort(host: "127.0.0.1", port: port))
      client.start(queue: queue)
      let server = try #require(await servers.next())
      server.start(queue: queue)
      let last = NWConnection.ContentContext(identifier: "last", isFinal: true)
      client.send(content: Data(count: byteCount), contentContext: last, completion: .idempotent)
      let (content, error) = await withCheckedContinuation { continuation in
        server.receiveMessage { content, _, _, error in
          continuation.resume(returning: (content, error))
        }
      }
      #expect(content?.count == (isTooLong || byteCount == 0 ? nil : byteCount))
      #expect(error == (isTooLong ? .posix(.EMSGSIZE) : nil))
    }
    withExtendedLifetime(listener) {}
  }
}

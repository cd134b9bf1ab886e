import Essentials
import Glibc
import EventLoop
import Testing

@testable import BonjourHost

@Suite("Interfaces of this machine", .timeLimit(.minutes(5)))
struct InterfaceMonitorTests {
  @Test("a monitor without a socket reports that once, and all interfaces when there is one")
  func shortage() async throws {
    let loop = EpollLoop.shared
    let (events, continuation) = AsyncStream.makeStream(of: String.self)
    let monitor = try await loop.make {
      var attempts = 0
      let monitor = InterfaceMonitor(
        on: loop, pauses: RetryPauses(from: .milliseconds(1), to: .milliseconds(2)),
        openSocket: { () throws(SystemError) in
          attempts += 1
          guard attempts > 3 else { throw SystemError(number: ENFILE) }
          return try InterfaceMonitor.openSystemSocket()
        }, onTrouble: { continuation.yield("error \($0.number)") },
        onChange: { continuation.yield("\($0.contains { $0.name == "lo" })") })
      monitor.start()
      return monitor
    }
    var iterator = events.makeAsyncIterator()
    #expect(await iterator.next() == "error \(ENFILE)")
    #expect(await iterator.next() == "true")
    try await loop.run { monitor.value.stop() }
  }

  @Test("the monitor reports all interfaces, with the addresses that every machine has")
  func loopback() async throws {
    let loop = EpollLoop.shared
    let (interfaces, continuation) = AsyncStream.makeStream(of: [SystemInterface].self)
    let monitor = try await loop.make {
      let monitor = InterfaceMonitor(on: loop) { continuation.yield($0) }
      monitor.start()
      return monitor
    }
    let first = await interfaces.first { _ in true }
    try await loop.run { monitor.value.stop() }
    let loopback = try #require(first?.first { $0.flags.contains(.loopback) })
    #expect(loopback.name == "lo")
    #expect(!loopback.isSuitable)
    if loopback.flags.contains(.up) {
      let own = SystemInterface.Address(.v4(Inet4Address(127, 0, 0, 1)), prefixBitCount: 8)
      #expect(loopback.addresses.contains(own))
    }
  }

  /// Two ends of a socket that keeps messages apart, as netlink(7) does: the monitor's, and the kernel's.
  private static func socketPair() throws -> (monitors: Int32, kernel: Peer) {
    var pair: [Int32] = [-1, -1]
    let type = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    guard unsafe socketpair(AF_UNIX, type, 0, &pair) == 0 else { throw SystemError.current }
    return (pair[0], Peer(pair[1]))
  }

  private static func done(_ sequence: UInt32, isInterrupted: Bool = false) -> [UInt8] {
    Kernel.message(3, flags: isInterrupted ? 0x10 : 0, sequence: sequence, [0, 0, 0, 0])
  }

  private static func expectRequest(
    _ request: RouteMessage.Request, _ sequence: UInt32, at kernel: Peer
  ) async throws {
    let bytes = try await kernel.read()
    try #require(bytes == RouteMessage.encode(request, sequence: sequence))
  }

  /// A monitor whose sockets are these, one after the other, and the names of what it reports.
  private static func start(
    _ sockets: [Int32]
  ) async throws -> (OnLoop<InterfaceMonitor>, AsyncStream<[String]>) {
    let (reports, continuation) = AsyncStream.makeStream(of: [String].self)
    let monitor = try await EpollLoop.shared.make {
      var left = sockets
      let monitor = InterfaceMonitor(
        on: .shared, pauses: RetryPauses(from: .milliseconds(1), to: .milliseconds(2)),
        openSocket: { () throws(SystemError) in
          guard !left.isEmpty else { throw SystemError(number: EMFILE) }
          return left.removeFirst()
        }, onChange: { continuation.yield($0.map { "\($0.name) \($0.addresses.count)" }) })
      monitor.start()
      return monitor
    }
    return (monitor, reports)
  }

  @Test("a list that changed while the kernel wrote it is not believed, but asked for anew")
  func interrupted() async throws {
    let (descriptor, kernel) = try Self.socketPair()
    let (monitor, reports) = try await Self.start([descriptor])
    try await Self.expectRequest(.links, 1, at: kernel)
    try kernel.write(
      Kernel.link(index: 3, flags: 0x1043, name: "gone0") + Self.done(1, isInterrupted: true))
    try await Self.expectRequest(.links, 2, at: kernel)
    // An answer to an earlier request ends nothing.
    try kernel.write(Self.done(1))
    try kernel.write(Kernel.link(index: 4, flags: 0x1043, name: "eth0") + Self.done(2))
    try await Self.expectRequest(.addresses, 3, at: kernel)
    try kernel.write(
      Kernel.address(index: 4, [10, 0, 0, 5], prefix: 24) + Self.done(3, isInterrupted: true))
    try await Self.expectRequest(.links, 4, at: kernel)
    try kernel.write(Kernel.link(index: 4, flags: 0x1043, name: "eth0") + Self.done(4))
    try await Self.expectRequest(.addresses, 5, at: kernel)
    try kernel.write(Self.done(5))
    #expect(await reports.first { _ in true } == ["eth0 0"])
    try await EpollLoop.shared.run { monitor.value.stop() }
  }

  @Test("a message that is cut short makes the monitor ask for everything again")
  func cut() async throws {
    let (descriptor, kernel) = try Self.socketPair()
    let (monitor, _) = try await Self.start([descriptor])
    try await Self.expectRequest(.links, 1, at: kernel)
    try kernel.write(Kernel.link(index: 3, flags: 0x1043, name: "gone0").dropLast(5) + [])
    try await Self.expectRequest(.links, 2, at: kernel)
    try await EpollLoop.shared.run { monitor.value.stop() }
  }

  @Test("after an error of its socket, and after a refusal, the monitor asks over another one")
  func lost() async throws {
    // To send to a port without a listener is an error of the next read.
    let unheard = try Self.unheardSocket()
    let (first, refusing) = try Self.socketPair()
    let (second, kernel) = try Self.socketPair()
    let (monitor, reports) = try await Self.start([unheard, first, second])
    try await Self.expectRequest(.links, 2, at: refusing)
    try refusing.write(Kernel.message(2, sequence: 2, [0xF0, 0xFF, 0xFF, 0xFF]))
    try await Self.expectRequest(.links, 3, at: kernel)
    try kernel.write(Kernel.link(index: 4, flags: 0x1043, name: "eth0") + Self.done(3))
    try await Self.expectRequest(.addresses, 4, at: kernel)
    try kernel.write(Self.done(4))
    #expect(await reports.first { _ in true } == ["eth0 0"])
    try await EpollLoop.shared.run { monitor.value.stop() }
  }

  /// A socket that is connected to a port of this machine without a listener.
  private static func unheardSocket() throws -> Int32 {
    let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let (descriptor, other) = (socket(AF_INET, type, 0), socket(AF_INET, type, 0))
    defer { close(other) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    var byteCount = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        let isBound = unsafe bind(other, pointer, byteCount) == 0
        let isNamed = unsafe getsockname(other, pointer, &byteCount) == 0
        return unsafe isBound && isNamed ? connect(descriptor, pointer, byteCount) : -1
      }
    }
    guard status == 0 else { throw SystemError.current }
    return descriptor
  }
}

import Essentials
import Glibc
import HostEssentials
import NIOCore
import NIOPosix
import Testing

@testable import BonjourHost

@Suite("Interfaces of this machine", .timeLimit(.minutes(1)))
struct InterfaceMonitorTests {
  @Test("a monitor that gets no socket says why once, and tells all as soon as there is one")
  func shortage() async throws {
    let eventLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
    let (events, continuation) = AsyncStream.makeStream(of: String.self)
    let monitor = try await eventLoop.submit {
      var attempts = 0
      let monitor = InterfaceMonitor(
        on: eventLoop, pauses: RetryPauses(from: .milliseconds(1), to: .milliseconds(2)),
        openSocket: { () throws(SystemError) in
          attempts += 1
          guard attempts > 3 else { throw SystemError(number: ENFILE) }
          return try InterfaceMonitor.openSystemSocket()
        }, onTrouble: { continuation.yield("error \($0.number)") },
        onChange: { continuation.yield("\($0.contains { $0.name == "lo" })") })
      monitor.start()
      return NIOLoopBound(monitor, eventLoop: eventLoop)
    }.get()
    var iterator = events.makeAsyncIterator()
    #expect(await iterator.next() == "error \(ENFILE)")
    #expect(await iterator.next() == "true")
    try await eventLoop.submit { monitor.value.stop() }.get()
  }

  @Test("the monitor tells all interfaces, with the addresses that every machine has")
  func loopback() async throws {
    let eventLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
    let (interfaces, continuation) = AsyncStream.makeStream(of: [SystemInterface].self)
    let monitor = try await eventLoop.submit {
      let monitor = InterfaceMonitor(on: eventLoop) { continuation.yield($0) }
      monitor.start()
      return NIOLoopBound(monitor, eventLoop: eventLoop)
    }.get()
    let first = await interfaces.first { _ in true }
    try await eventLoop.submit { monitor.value.stop() }.get()
    let loopback = try #require(first?.first { $0.flags.contains(.loopback) })
    #expect(loopback.name == "lo")
    #expect(!loopback.isSuitable)
    if loopback.flags.contains(.up) {
      let own = SystemInterface.Address(.v4(IPv4Address(127, 0, 0, 1)), prefixBitCount: 8)
      #expect(loopback.addresses.contains(own))
    }
  }
}

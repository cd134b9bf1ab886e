import Essentials
import Glibc
import EventLoop
import Testing

@testable import BonjourHost

@Suite("Interfaces of this machine", .timeLimit(.minutes(1)))
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
}

import Essentials
import HostEssentials
import Testing

@testable import BonjourHost

@Suite("Interfaces of this machine", .timeLimit(.minutes(1)))
struct InterfaceMonitorTests {
  @Test("the monitor tells all interfaces, with the addresses that every machine has")
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
      let own = SystemInterface.Address(.v4(IPv4Address(127, 0, 0, 1)), prefixBitCount: 8)
      #expect(loopback.addresses.contains(own))
    }
  }
}

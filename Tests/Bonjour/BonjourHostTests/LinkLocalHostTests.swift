import Essentials
import Glibc
import EventLoop
import Testing

@testable import BonjourHost

@Suite("Link-local addresses on interfaces of this machine")
struct LinkLocalHostTests {
  private func start(_ name: String) async -> LinkLocalError? {
    do throws(LinkLocalError) {
      let host = try await LinkLocalHost.start(on: name) { _ in }
      await host.close()
      return nil
    } catch { return error }
  }

  @Test("an unknown interface is an error with its name")
  func missing() async {
    #expect(await start("no-such-if") == .noInterface("no-such-if"))
  }

  @Test("the loopback interface gets no address, and without the rights nothing does")
  func loopback() async throws {
    let error = try #require(await start("lo"))
    switch error.reason {
    case .noHardwareAddress("lo"), .notPermitted: break
    default: Issue.record("\(error)")
    }
  }

  /// The listing of the documentation. Not run: it is about an interface that the machine may need.
  private func listing() async throws -> LinkLocalHost {
    let host = try await LinkLocalHost.start(on: "eth0") { event in
      switch event {
      case .claimed(let address): print("eth0 has the address", address)
      case .released(let address, _): print("eth0 no longer has", address)
      default: break
      }
    }
    return host
  }

  @Test("one program at a time holds the lock of an interface")
  func lock() throws {
    let name = "t\(UInt32.random(in: 0 ... .max))"
    do {
      let first = try InterfaceLock(name)
      let error = #expect(throws: SystemError.self) { _ = try InterfaceLock(name) }
      #expect(error?.number == EADDRINUSE)
      _ = consume first
    }
    _ = try InterfaceLock(name)
  }

  @Test("every error is one sentence with its interface or cause")
  func sentences() {
    let errors: [(LinkLocalError, String)] = [
      (.noInterface("eth7"), "eth7"), (.noHardwareAddress("lo"), "lo is not an Ethernet"),
      (.alreadyManaged("eth0"), "eth0"), (.notPermitted(.administration), "lacks CAP_NET_ADMIN"),
      (.refused(EINVAL), "invalid argument"),
    ]
    for (error, words) in errors {
      #expect(error.description.contains(words))
      #expect(!error.description.hasSuffix("."))
    }
  }
}

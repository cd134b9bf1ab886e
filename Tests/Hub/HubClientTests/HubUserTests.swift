import BluetoothInterface
import Essentials
import EventLoop
import Glibc
import HubWire
import Testing

@testable import HubClient

@Suite("The user of a hub's process", .timeLimit(.minutes(5)))
struct HubUserTests {
  /// Reads the state of a hub of this process.
  private static func read(
    after begun: () -> Void = {}
  ) async throws -> (status: HubStatus, userID: UInt32?) {
    let path = TestHub.makePath()
    let hub = try await TestHub.start(at: path) { message, connection in
      switch message {
      case .greeting:
        connection.send(
          .welcome(HubWelcome(version: 1, abilities: .status, isSimulated: false)))
      case .status(let number):
        let radio = HubStatus.Radio(name: "hci0", state: .poweredOn, isSimulated: false)
        connection.send(
          .status(
            number, HubStatus(version: "1.2.3", processID: 1, uptime: .zero, radio: radio)))
      default: break
      }
    }
    begun()
    let result = try await HubStatusReader.readWithUser(at: path, within: .seconds(50))
    await hub.kill()
    return result
  }

  @Test func `A state comes with the user whose process has sent it`() async throws {
    let (status, userID) = try await Self.read()
    #expect(status.version == "1.2.3" && userID == getuid())
  }

  @Test(.enabled(if: geteuid() == 0))
  func `A user's process behind a socket that root has opened is not taken for root's`() async {
    // A process of its own, whose user it changes after it listens.
    await #expect(processExitsWith: .success) {
      let (_, userID) = try await Self.read { #expect(setreuid(23_456, .max) == 0) }
      #expect(userID == 23_456)
    }
  }
}

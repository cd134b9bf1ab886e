import BluetoothHost
import BluetoothInterface
import BluetoothWire
import Essentials
import Glibc
import HubHost
import HubMachines
import HubWire
import SimulatedRadio
import Testing

@Suite("Programs of a hub that want everything", .timeLimit(.minutes(5)))
struct HostileProgramTests {
  /// Runs a hub on a simulated radio.
  private func withHub(_ body: (String) async throws -> Void) async throws {
    SimulatedRadio.install()
    let folder = try temporaryFolder()
    let path = folder + "/hub"
    let host = try BluetoothHost(radio: .standard)
    let server = try await HubServer.start(at: .path(path), host)
    try await body(path)
    await server.close()
    await host.close()
    unlink(path + ".lock")
    rmdir(folder)
  }

  @Test("a program that scans, advertises and publishes as often as it can holds up no other one")
  func wants() async throws {
    try await withHub { path in
      let hostile = try await TestProgram.served("hostile", at: path)
      var advertising = AdvertisingOptions()
      advertising.data = [2, 1, 6]
      for number in 1...10_000 as ClosedRange<UInt64> {
        let token = RequestToken(rawValue: number)
        switch number % 5 {
        case 0: try await hostile.send(.startScan(ScanOptions()))
        case 1: try await hostile.send(.stopScan)
        case 2: try await hostile.send(.startAdvertising(advertising, token))
        case 3: try await hostile.send(.stopAdvertising)
        default:
          let service = ServiceDefinition(
            uuid: BluetoothUUID(0x180F as UInt16), characteristics: [])
          try await hostile.send(.addService(service, token))
        }
      }
      let other = try await TestProgram.served("other", at: path)
      _ = try await other.subscribe()
      _ = try await other.notification()
      #expect(try await other.publishBattery().start > 0)
      await hostile.close()
      #expect(try await other.ask { .barrier($0) } == .done)
    }
  }
}

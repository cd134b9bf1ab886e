import BluetoothSessions
import CoreBluetooth
import CoreLocation
import Foundation
import HubClient
import HubWire
import Testing

@Suite("The names of an app's sessions with a hub", .timeLimit(.minutes(5)))
struct SessionNameTests {
  @Test("a hub gets the restore identifiers of managers, and the name of Core Location's session")
  func names() async throws {
    let path = TestHub.makePath()
    let log = MessageLog()
    let hub = try await TestHub.start(at: path) { message, connection in
      log.append(message)
      if case .greeting = message { connection.send(.accepted) }
    }
    // The answer decides whether Core Location has a store; a busy machine may need long for it.
    let provider = HubSessionProvider(
      path: path, app: "lock", loop: TestHub.loop, logger: .silent, answerMilliseconds: 30_000)
    let queue = DispatchQueue(label: "lock")
    let (managers, location) = CurrentHost.$override.withValue(provider) {
      let managers: [CBManager] = [
        CBCentralManager(
          delegate: nil, queue: queue,
          options: [CBCentralManagerOptionRestoreIdentifierKey: "lock"]),
        CBPeripheralManager(
          delegate: nil, queue: queue,
          options: [CBPeripheralManagerOptionRestoreIdentifierKey: "lock"]),
        CBCentralManager(delegate: nil, queue: queue),
      ]
      return (managers, CLLocationManager(queue: queue))
    }
    // The sessions are opened in the greeting and behind it, depending on when it is sent.
    var names: [UInt64: String] = [:]
    while names.count < 4, let message = await log.next() {
      switch message {
      case .greeting(let greeting):
        for opening in greeting.openings { names[opening.id.rawValue] = opening.manager }
      case .openSession(let opening): names[opening.id.rawValue] = opening.manager
      default: break
      }
    }
    #expect(names == [1: "central:lock", 2: "peripheral:lock", 3: "", 4: "location"])
    withExtendedLifetime((managers, location)) {}
    await provider.close()
    await hub.kill()
  }
}

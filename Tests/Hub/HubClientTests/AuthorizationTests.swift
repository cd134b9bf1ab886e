import BluetoothInterface
import BluetoothSessions
import CoreBluetooth
import CoreLocation
import Foundation
import HubClient
import HubWire
import Testing

/// An app that wants to know whether it may use location services.
private final class Guide: NSObject, CLLocationManagerDelegate, @unchecked Sendable {
  // Unchecked: constant.
  private let continuation: AsyncStream<CLAuthorizationStatus>.Continuation

  init(_ continuation: AsyncStream<CLAuthorizationStatus>.Continuation) {
    self.continuation = continuation
  }

  func locationManagerDidChangeAuthorization(_ manager: CLLocationManager) {
    continuation.yield(manager.authorizationStatus)
  }
}

@Suite("The authorization of an app whose hub has rules", .timeLimit(.minutes(5)))
struct AuthorizationTests {
  private let path = TestHub.makePath()

  /// - Parameter answerMilliseconds: Long, as a busy machine may need it.
  private func provider(answerMilliseconds: Int = 30_000) -> HubSessionProvider {
    HubSessionProvider(
      path: path, app: "guide", loop: TestHub.loop, logger: .silent,
      answerMilliseconds: answerMilliseconds)
  }

  private func manager() -> CLLocationManager {
    CLLocationManager(queue: DispatchQueue(label: "guide"))
  }

  /// A hub that denies itself to every program.
  private func denyingHub() async throws -> TestHub {
    try await TestHub.start(at: path) { _, connection in
      connection.send(.refusal(HubRefusal(.denied, "The rules deny it.")))
    }
  }

  /// A hub whose radio is on.
  private func servingHub() async throws -> TestHub {
    try await TestHub.start(at: path) { message, connection in
      let on = HubEvents([.stateChanged(.poweredOn)])
      switch message {
      case .greeting(let greeting):
        connection.send(.accepted)
        for opening in greeting.openings { connection.send(.events(opening.id, on)) }
      case .openSession(let opening): connection.send(.events(opening.id, on))
      default: break
      }
    }
  }

  @Test("a hub that denies itself is an authorization that is denied, before there is a manager")
  func denied() async throws {
    let hub = try await denyingHub()
    let provider = provider()
    CurrentHost.$override.withValue(provider) {
      #expect(CBManager.authorization == .denied)
      #expect(CBCentralManager.authorization == .denied)
      #expect(CBPeripheralManager.authorization == .denied)
      #expect(manager().authorizationStatus == .denied)
    }
    let log = SessionLog(provider)
    #expect(await log.wait(for: .stateChanged(.unauthorized)))
    await provider.close()
    await hub.kill()
  }

  @Test("a hub that serves the app is an authorization, and so is one that isn't there")
  func allowed() async throws {
    let hub = try await servingHub()
    let served = provider()
    CurrentHost.$override.withValue(served) {
      #expect(CBManager.authorization == .allowedAlways)
      #expect(manager().authorizationStatus == .authorizedAlways)
    }
    await served.close()
    await hub.kill()
    let alone = provider()
    CurrentHost.$override.withValue(alone) { #expect(CBManager.authorization == .allowedAlways) }
    await alone.close()
  }

  @Test(
    "a hub that gives no answer holds the authorization up for half a second, and denies nothing")
  func silent() async throws {
    let hub = try await TestHub.start(at: path) { _, _ in }
    let provider = provider(answerMilliseconds: HubSessionProvider.answerMillisecondsMax)
    let start = ContinuousClock.now
    CurrentHost.$override.withValue(provider) { #expect(CBManager.authorization == .allowedAlways) }
    #expect(ContinuousClock.now - start >= .milliseconds(450))
    await provider.close()
    await hub.kill()
  }

  @Test("an app is called when the next hub allows what the last one denied, and not when one ends")
  func change() async throws {
    let denying = try await denyingHub()
    let provider = provider()
    let (statuses, continuation) = AsyncStream.makeStream(of: CLAuthorizationStatus.self)
    let guide = Guide(continuation)
    // The delegate is set before its first call.
    let queue = DispatchQueue(label: "guide")
    queue.suspend()
    let manager = CurrentHost.$override.withValue(provider) { CLLocationManager(queue: queue) }
    manager.delegate = guide
    queue.resume()
    var iterator = statuses.makeAsyncIterator()
    #expect(await iterator.next() == .denied)
    await denying.kill()
    let log = SessionLog(provider)
    let serving = try await servingHub()
    #expect(await iterator.next() == .authorizedAlways)
    #expect(await log.wait(for: .stateChanged(.poweredOn)))
    await serving.kill()
    #expect(await log.wait(for: .stateChanged(.poweredOff)))
    #expect(manager.authorizationStatus == .authorizedAlways)
    #expect(!provider.isDenied)
    withExtendedLifetime(guide) {}
    await provider.close()
  }
}

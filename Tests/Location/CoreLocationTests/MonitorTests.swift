import BluetoothHost
import CoreBluetooth
import CoreLocation
import Essentials
import SimulatedRadio
import Simulation
import Testing

@Suite("CLMonitor")
struct MonitorTests {
  private let room = BeaconRoom()
  private let all = CLMonitor.BeaconIdentityCondition(uuid: BeaconRoom.uuid)

  private func makeMonitor(
    _ name: String = "museum", policy: LocationPolicy = .always
  ) async -> CLMonitor {
    await BluetoothHost.$current.withValue(room.phone) {
      await LocationPolicy.$override.withValue(policy) { await CLMonitor(name) }
    }
  }

  /// What waits, taken without waiting for more than that.
  private func take(_ count: Int, of monitor: CLMonitor) async throws -> [CLMonitor.Event] {
    var events: [CLMonitor.Event] = []
    if count == 0 { return events }
    for try await event in await monitor.events {
      events.append(event)
      if events.count == count { break }
    }
    return events
  }

  @Test("a condition is satisfied by the beacon that is heard, and no longer when it is gone")
  func events() async throws {
    let monitor = await makeMonitor()
    await monitor.add(all, identifier: "hall")
    #expect(await monitor.identifiers == ["hall"])
    #expect(await monitor.record(for: "hall")?.lastEvent.state == .unknown)
    #expect(await monitor.record(for: "room") == nil)
    room.radio.advance(by: .seconds(1))
    let beacon = room.addBeacon(major: 7, minor: 9)
    room.radio.advance(by: .seconds(1))
    let satisfied = try #require(try await take(1, of: monitor).first)
    #expect(satisfied.identifier == "hall" && satisfied.state == .satisfied)
    #expect(
      satisfied.refinement as? CLMonitor.BeaconIdentityCondition
        == .init(uuid: BeaconRoom.uuid, major: 7, minor: 9))
    beacon.stopAdvertising()
    room.radio.advance(by: .seconds(35))
    let unsatisfied = try #require(try await take(1, of: monitor).first)
    #expect(unsatisfied.state == .unsatisfied && unsatisfied.refinement == nil)
    #expect(unsatisfied.date > satisfied.date)
    #expect(await monitor.record(for: "hall")?.lastEvent.state == .unsatisfied)
  }

  @Test("only the last event of each condition is kept until it is awaited")
  func bounded() async throws {
    let monitor = await makeMonitor()
    await monitor.add(all, identifier: "all")
    await monitor.add(
      CLMonitor.BeaconIdentityCondition(uuid: BeaconRoom.uuid, major: 2), identifier: "second")
    let beacon = room.addBeacon(minor: 1)
    room.radio.advance(by: .seconds(40))
    beacon.stopAdvertising()
    room.radio.advance(by: .seconds(40))
    let events = try await take(2, of: monitor)
    #expect(events.map(\.identifier) == ["second", "all"])
    #expect(events.map(\.state) == [.unsatisfied, .unsatisfied])
  }

  @Test("a state that the program knows is not news")
  func assuming() async throws {
    let monitor = await makeMonitor()
    await monitor.add(all, identifier: "hall", assuming: .unsatisfied)
    room.radio.advance(by: .seconds(60))
    room.addBeacon(minor: 1)
    room.radio.advance(by: .seconds(1))
    #expect(try await take(1, of: monitor).map(\.state) == [.satisfied])
  }

  @Test("the 21st condition and one on the globe get events with the reason")
  func limits() async throws {
    let monitor = await makeMonitor()
    for number in 0..<21 {
      await monitor.add(
        CLMonitor.BeaconIdentityCondition(uuid: BeaconRoom.uuid, major: UInt16(number)),
        identifier: "\(number)")
    }
    await monitor.add(
      CLMonitor.CircularGeographicCondition(center: .init(), radius: 1), identifier: "globe")
    room.radio.advance(by: .seconds(1))
    let events = try await take(2, of: monitor)
    #expect(events.map(\.identifier) == ["20", "globe"])
    #expect(events[0].conditionLimitExceeded && !events[0].conditionUnsupported)
    #expect(events[1].conditionUnsupported && events.allSatisfy { $0.state == .unmonitored })
  }

  @Test("conditions are not monitored without authorization, and the event has the reason")
  func denied() async throws {
    let monitor = await makeMonitor(policy: .denied)
    await monitor.add(all, identifier: "hall")
    room.addBeacon(minor: 1)
    room.radio.advance(by: .seconds(2))
    let event = try #require(try await take(1, of: monitor).first)
    #expect(event.state == .unmonitored && event.authorizationDenied)
  }

  @Test("conditions outlive their monitor, and removed ones have no events")
  func lasting() async throws {
    var monitor: CLMonitor? = await makeMonitor()
    // Keeps what the monitors of this host share.
    let other = await makeMonitor("other")
    await monitor?.add(all, identifier: "hall")
    await monitor?.add(all, identifier: "gone")
    room.addBeacon(minor: 1)
    room.radio.advance(by: .seconds(1))
    await monitor?.remove("gone")
    monitor = nil
    let again = await makeMonitor()
    #expect(await again.identifiers == ["hall"])
    #expect(try await take(1, of: again).map(\.identifier) == ["hall"])
    #expect(await other.identifiers == [])
  }

  @Test("a second monitor of a name takes the first one's place, whose events end")
  func oneOfAName() async throws {
    let first = await makeMonitor()
    await first.add(all, identifier: "hall")
    let second = await makeMonitor()
    var events = await first.events.makeAsyncIterator()
    #expect(try await events.next() == nil)
    room.addBeacon(minor: 1)
    room.radio.advance(by: .seconds(1))
    #expect(try await take(1, of: second).map(\.identifier) == ["hall"])
  }

  @Test("sessions are accepted, and their diagnostics end with them")
  func sessions() async throws {
    let activity = CLBackgroundActivitySession()
    let service = BluetoothHost.$current.withValue(room.phone) {
      CLServiceSession(authorization: .whenInUse)
    }
    activity.invalidate()
    service.invalidate()
    for try await _ in activity.diagnostics { Issue.record("a diagnostic") }
    for try await _ in service.diagnostics { Issue.record("a diagnostic") }
  }
}

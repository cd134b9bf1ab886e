import BluetoothHost
import CoreBluetooth
import CoreLocation
import CoreLocationAsync
import CoreLocationReactive
import Essentials
import Reactive
import SimulatedRadio
import Simulation
import Synchronization
import Testing

@Suite("Beacons as producers")
struct CoreLocationReactiveTests {
  private let room = BeaconRoom()
  private let recorder = LocationRecorder()
  private let manager: CLLocationManager
  private let region = CLBeaconRegion(uuid: BeaconRoom.uuid, major: 1, identifier: "hall")

  init() {
    manager = room.makeManager(recorder)
    _ = recorder.take()
  }

  /// The events of a run, as text.
  private final class Events: Sendable {
    private let storage = Mutex<[String]>([])
    func add(_ text: String) { storage.withLock { $0.append(text) } }
    func take() -> [String] {
      storage.withLock { texts in
        defer { texts = [] }
        return texts
      }
    }
  }

  private func start<Value: Sendable>(
    _ producer: SignalProducer<Value, CLError>, _ text: @escaping @Sendable (Value) -> String
  ) -> (Events, any Disposable) {
    let events = Events()
    let run = producer.start { event in
      switch event {
      case .value(let value): events.add(text(value))
      case .failed(let error): events.add("failed \(error.code)")
      case .completed: events.add("completed")
      case .interrupted: events.add("interrupted")
      }
    }
    return (events, run)
  }

  @Test("a run ranges, and the delegate that was there hears of it, too")
  func ranging() {
    room.addBeacon(minor: 7)
    let (events, run) = start(
      manager.reactive.ranged(satisfying: region.beaconIdentityConstraint)
    ) { "\($0.map { $0.minor.intValue })" }
    room.radio.advance(by: .seconds(3))
    #expect(events.take().suffix(2) == ["[7]", "[7]"])
    #expect(recorder.take().last == "ranged [7]")
    run.dispose()
    #expect(manager.rangedBeaconConstraints == [])
    #expect(manager.delegate === recorder)
    room.radio.advance(by: .seconds(3))
    #expect(events.take() == ["interrupted"])
  }

  @Test("a delegate that is set during a run is called, and the run goes on")
  func delegateDuringRun() {
    room.addBeacon(minor: 7)
    let (events, run) = start(
      manager.reactive.ranged(satisfying: region.beaconIdentityConstraint)
    ) { "\($0.map { $0.minor.intValue })" }
    room.radio.advance(by: .seconds(3))
    _ = (events.take(), recorder.take())
    let other = LocationRecorder()
    manager.delegate = other
    #expect(manager.delegate === other)
    room.radio.advance(by: .seconds(3))
    #expect(events.take().last == "[7]")
    #expect(other.take().last == "ranged [7]")
    #expect(recorder.take() == [])
    manager.delegate = nil
    room.radio.advance(by: .seconds(3))
    #expect(events.take().last == "[7]")
    #expect(other.take() == [])
    run.dispose()
    #expect(manager.delegateProxy == nil && manager.delegate == nil)
  }

  @Test("the manager of beacons as sequences has producers and a delegate, too")
  func managerOfSequences() async throws {
    let beacons = BluetoothHost.$current.withValue(room.phone) {
      LocationPolicy.$override.withValue(LocationPolicy.always) { Beacons() }
    }
    let manager = beacons.locationManager
    room.radio.advance(by: .seconds(1))
    room.addBeacon(minor: 7)
    let constraint = region.beaconIdentityConstraint
    var reports = beacons.ranged(satisfying: constraint).makeAsyncIterator()
    let (events, run) = start(manager.reactive.ranged(satisfying: constraint)) {
      "\($0.map { $0.minor.intValue })"
    }
    let delegate = LocationRecorder()
    manager.delegate = delegate
    room.radio.advance(by: .seconds(3))
    #expect(try await reports.next()?.map { $0.minor.intValue } == [7])
    #expect(events.take().last == "[7]")
    #expect(delegate.take().last == "ranged [7]")
    run.dispose()
    room.radio.advance(by: .seconds(3))
    #expect(try await reports.next()?.map { $0.minor.intValue } == [7])
    #expect(delegate.take().last == "ranged [7]")
    withExtendedLifetime((beacons, delegate)) {}
  }

  @Test("a sequence that ends leaves the ranging to a producer of the same constraint")
  func endOfSequence() async throws {
    let beacons = BluetoothHost.$current.withValue(room.phone) {
      LocationPolicy.$override.withValue(LocationPolicy.always) { Beacons() }
    }
    let manager = beacons.locationManager
    room.radio.advance(by: .seconds(1))
    room.addBeacon(minor: 7)
    let constraint = region.beaconIdentityConstraint
    var reports: AsyncThrowingStream<[CLBeacon], any Error>? =
      beacons.ranged(satisfying: constraint)
    let (events, run) = start(manager.reactive.ranged(satisfying: constraint)) {
      "\($0.map { $0.minor.intValue })"
    }
    room.radio.advance(by: .seconds(3))
    _ = events.take()
    reports = nil
    room.radio.advance(by: .seconds(3))
    #expect(events.take().last == "[7]")
    run.dispose()
    #expect(manager.rangedBeaconConstraints.isEmpty)
    withExtendedLifetime((beacons, reports)) {}
  }

  @Test("all runs of one region share its monitoring, and receive its state and crossings")
  func statesAndCrossings() {
    let (states, first) = start(manager.reactive.states(of: region)) { "\($0)" }
    let (crossings, second) = start(manager.reactive.crossings(of: region)) { "\($0)" }
    room.radio.advance(by: .seconds(1))
    let beacon = room.addBeacon(minor: 1)
    room.radio.advance(by: .seconds(5))
    beacon.stopAdvertising()
    room.radio.advance(by: .seconds(40))
    // The second run has the state determined, too, which is not news for the first.
    #expect(states.take().filter { $0 != "unknown" } == ["inside", "outside"])
    #expect(crossings.take() == ["entered", "exited"])
    first.dispose()
    #expect(manager.monitoredRegions == [region])
    second.dispose()
    #expect(manager.monitoredRegions == [])
  }

  @Test("a run fails with the error that monitoring has")
  func failure() {
    for number in 0..<20 {
      manager.startMonitoring(for: CLBeaconRegion(uuid: BeaconRoom.uuid, identifier: "\(number)"))
    }
    let (events, _) = start(manager.reactive.states(of: region)) { "\($0)" }
    room.radio.advance(by: .seconds(1))
    #expect(events.take() == ["failed regionMonitoringFailure"])
    #expect(manager.monitoredRegions.count == 20)
  }

  @Test("the authorization is sent now and when it changes")
  func authorization() {
    let other = BeaconRoom()
    let asking = other.makeManager(nil, policy: .ask)
    let events = Events()
    asking.reactive.authorizations.startWithValues { events.add("\($0)") }
    asking.requestAlwaysAuthorization()
    other.radio.advance(by: .seconds(1))
    #expect(events.take() == ["notDetermined", "authorizedAlways"])
  }

  @Test("a monitor's events are sent, also those that waited")
  func monitor() async {
    let monitor = await BluetoothHost.$current.withValue(room.phone) { await CLMonitor("museum") }
    await monitor.add(
      CLMonitor.BeaconIdentityCondition(uuid: BeaconRoom.uuid), identifier: "hall")
    room.addBeacon(minor: 1)
    room.radio.advance(by: .seconds(2))
    let state = await withCheckedContinuation { (done: CheckedContinuation<String, Never>) in
      monitor.reactive.events.take(first: 1).startWithResult { result in
        done.resume(returning: (try? result.get()).map { "\($0.identifier) \($0.state)" } ?? "?")
      }
    }
    #expect(state == "hall satisfied")
  }
}

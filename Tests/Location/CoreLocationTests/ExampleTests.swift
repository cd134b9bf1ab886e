import BeaconMachines
import BluetoothHost
import CoreBluetooth
import CoreLocation
import Essentials
import SimulatedRadio
import Simulation
import Synchronization
import Testing

@testable import BeaconExamples

@Suite("Listings about beacons")
struct ExampleTests {
  /// The output of examples, from any thread.
  private final class Lines: Sendable {
    private let storage = Mutex<[String]>([])
    var all: [String] { storage.withLock(\.self) }
    func add(_ line: String) { storage.withLock { $0.append(line) } }
  }

  @Test("the follower ranges while it is inside, and prints the beacons nearby")
  func follower() {
    let room = BeaconRoom()
    let said = Lines()
    let follower = BluetoothHost.$current.withValue(room.phone) {
      ExhibitFollower(uuid: BeaconRoom.uuid, queue: DispatchQueue(label: "follower")) {
        said.add($0)
      }
    }
    room.radio.advance(by: .seconds(1))
    let beacon = room.addBeacon(minor: 7, metres: 1)
    room.radio.advance(by: .seconds(5))
    let lines = said.all
    #expect(lines.first == "entered museum")
    #expect(lines.dropFirst().allSatisfy { $0.hasPrefix("exhibit 7 within ") } && lines.count > 2)
    beacon.stopAdvertising()
    room.radio.advance(by: .seconds(40))
    #expect(said.all.last == "left museum")
    withExtendedLifetime(follower) {}
  }

  @Test("the nearest exhibit is shown as a loop sees it")
  func nearest() async throws {
    let room = BeaconRoom()
    room.addBeacon(minor: 7, metres: 1)
    room.addBeacon(minor: 8, metres: 10)
    let shown = Lines()
    let task = BluetoothHost.$current.withValue(room.phone) {
      Task { try await followNearest(BeaconRoom.uuid) { shown.add($0.map { "\($0)" } ?? "none") } }
    }
    for _ in 0..<100_000 where shown.all.last != "7" {
      room.radio.advance(by: .milliseconds(100))
      await Task.yield()
    }
    #expect(shown.all.last == "7")
    task.cancel()
    try await task.value
  }

  @Test("the journal has the monitor's events")
  func journal() async throws {
    let room = BeaconRoom()
    room.addBeacon(major: 1, minor: 7)
    let written = Lines()
    let task = BluetoothHost.$current.withValue(room.phone) {
      Task {
        try await keepJournal(of: BeaconRoom.uuid) { name, isInside in
          written.add("\(name) \(isInside)")
        }
      }
    }
    for _ in 0..<100_000 where written.all.isEmpty {
      room.radio.advance(by: .milliseconds(100))
      await Task.yield()
    }
    #expect(written.all == ["hall true"])
    task.cancel()
    try await task.value
  }

  /// A walk through the hall, as four receivers with a path loss of 2 hear it.
  private func walk(on plan: FloorPlan, isSurveyed: Bool) -> PositionTrace {
    var readings: [TraceReading] = []
    for second in 0..<40 {
      let place = FloorPoint(x: 1 + Double(second) / 4, y: 1 + 6 * Double(second % 10) / 10, z: 1)
      for receiver in plan.receivers {
        let distance = receiver.position.distance(to: place)
        readings.append(
          TraceReading(
            time: Instant(nanoseconds: Int64(second) * 1_000_000_000 + 500_000_000),
            receiver: receiver.id, beacon: "b",
            rssi: Int8((-59 - 20 * log10(distance)).rounded()), truth: isSurveyed ? place : nil))
      }
    }
    return PositionTrace(readings)
  }

  @Test("a walk is followed, after a survey and after receivers heard each other")
  func locating() throws {
    let plan = try #require(makeHall())
    let fixes = try follow(
      walk(on: plan, isSurveyed: false), taughtBy: walk(on: plan, isSurveyed: true), on: plan)
    #expect(fixes.count == 40)
    #expect(fixes.first?.rooms.first?.name == "West" && fixes.last?.rooms.first?.name == "East")
    var links: [ReceiverLink] = []
    for from in 0..<4 {
      for to in 0..<4 where from != to {
        let distance = plan.receivers[from].position.distance(to: plan.receivers[to].position)
        links.append(ReceiverLink(from: from, to: to, rssi: -59 - 20 * log10(distance)))
      }
    }
    #expect(abs(calibrate(plan, from: links).exponent - 2) < 0.1)
    #expect(calibrate(plan, from: []).exponent == 2)
  }
}

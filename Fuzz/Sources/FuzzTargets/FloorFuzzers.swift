import BeaconMachines
import Essentials
import PeripheralFiles
import Simulation

extension FuzzTarget {
  /// Maps and traces, which people write and pass on.
  static let floors: [FuzzTarget] = [floorFile, positionTrace]

  /// The bytes as a file, and as the indices of words in a floor's file. A valid file is loaded
  /// into a simulated world, where a second passes.
  private static let floorFile = FuzzTarget(name: "FloorFile") { bytes in
    let words = bytes.flatMap { floorWords[Int($0) % floorWords.count].utf8 }
    for text in [bytes, words, Array("{\"units\":\"m\",".utf8) + words] {
      let floor: FloorFile
      do throws(PeripheralFileError) { floor = try FloorFile(text) } catch {
        precondition(!error.description.isEmpty, "a file was refused without a reason")
        continue
      }
      precondition(floor.receivers.count <= FloorFile.Limits.receiverCount, "too many receivers")
      precondition(floor.beacons.count <= FloorFile.Limits.beaconCount, "too many beacons")
      precondition(floor.rooms.allSatisfy { $0.corners.count >= 3 }, "a room without an inside")
      let world = World(seed: 1)
      world.add(floor)
      precondition(
        world.hostPlaces.count
          == floor.receivers.count + floor.walkers.count(where: \.hasPhone),
        "a host has no place, or two")
      world.run(for: .seconds(1))
    }
  }

  private static let floorWords =
    [
      "{", "}", "[", "]", ",", ":", "0", "1", "-3.5", "1e3", "1000", "1e308", "true", "null",
      "\"a\"",
    ]
    + [
      "units", "beaconHeight", "receivers", "rooms", "walls", "beacons", "walkers", "id", "name",
      "x", "y", "z", "gain", "corners", "from", "to", "attenuation", "path", "speed", "repeats",
      "phone", "stay", "uuid", "major", "minor", "measuredPower", "error", "interval", "carriedBy",
    ].map { "\"\($0)\":" }
    + [
      "[0,0]", "[[0,0],[1,0],[1,1]]", "{\"x\":1,\"y\":2}", "\"x\":1,\"y\":2,\"z\":3",
      "{\"id\":\"a\",\"x\":1,\"y\":2,\"z\":3}", "{\"name\":\"r\",\"corners\":[[0,0],[1,0],[1,1]]}",
      "{\"name\":\"a\",\"phone\":true,\"path\":[{\"x\":0,\"y\":0},{\"x\":9,\"y\":0,\"stay\":1}]}",
      "\"uuid\":\"E2C56DB5-DFFB-48D2-B060-D0F5A71096E0\",\"major\":1,\"minor\":2,",
    ]

  /// What receivers heard, as a file; its windows on a plan of two receivers.
  private static let positionTrace = FuzzTarget(name: "PositionTrace") { bytes in
    let receivers = ["a", "b"].map { FloorReceiver(id: $0, position: FloorPoint(x: 0, y: 0)) }
    guard let plan = FloorPlan(receivers: receivers) else {
      preconditionFailure("a plan of two receivers was refused")
    }
    do throws(TraceError) {
      let trace = try PositionTrace(text: bytes[...])
      let times = trace.readings.map(\.time)
      precondition(zip(times, times.dropFirst()).allSatisfy { $0 <= $1 }, "not in order")
      var estimator = PositionEstimator(plan: plan, calibration: PositionCalibration(plan: plan))
      for window in try trace.windows(on: plan).prefix(20) {
        let fix = estimator.update(window)
        precondition(fix.position.x.isFinite && fix.position.y.isFinite, "a place is no number")
      }
    } catch {
      precondition(error.line > 0 && !error.reason.isEmpty, "a line was refused without a reason")
    }
  }
}

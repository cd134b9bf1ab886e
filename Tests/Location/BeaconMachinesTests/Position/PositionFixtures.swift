import BeaconMachines
import Essentials
import Foundation

/// A hall of 20 m by 15 m with receivers that hear by path loss, with offsets and noise.
struct SyntheticHall {
  static let offsets = [-60.0, -55, -63, -58, -61, -57]
  static let exponent = 2.2
  static let plan: FloorPlan = {
    let places = [(1.0, 1.0), (19, 1), (1, 14), (19, 14), (10, 1), (10, 14)]
    let receivers = places.enumerated().map {
      FloorReceiver(id: "r\($0)", position: FloorPoint(x: $1.0, y: $1.1, z: 2.3))
    }
    let rooms = [("west", 0.0, 10.0), ("east", 10, 20)].map { name, low, high in
      FloorRoom(
        name: name,
        corners: [
          FloorPoint(x: low, y: 0), FloorPoint(x: high, y: 0), FloorPoint(x: high, y: 15),
          FloorPoint(x: low, y: 15),
        ])
    }
    guard let plan = FloorPlan(receivers: receivers, rooms: rooms) else {
      preconditionFailure("the hall's plan is sound")
    }
    return plan
  }()

  var generator: SeededGenerator

  init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  /// A number of the normal distribution (Box and Muller).
  mutating func normal() -> Double {
    let radius = (-2 * log(max(generator.unit(), 1e-12))).squareRoot()
    return radius * cos(2 * .pi * generator.unit())
  }

  /// The readings of a beacon in one second.
  mutating func window(at place: FloorPoint, second: Int64, noise: Double) -> ReadingWindow {
    let heard = Self.plan.receivers.enumerated().map { index, receiver in
      let level =
        Self.offsets[index]
        - 10 * Self.exponent * log10(receiver.position.distance(to: place))
      return ReadingWindow.Heard(receiver: index, rssi: level + noise * normal(), count: 2)
    }
    return ReadingWindow(
      end: Instant(nanoseconds: second * 1_000_000_000), heard: heard, truth: place)
  }

  /// A walk back and forth through the hall at 1 m/s.
  mutating func walk(seconds: Int64, noise: Double) -> [ReadingWindow] {
    (0..<seconds).map { second in
      let along = abs(Double(second % 32) - 16)
      let across = abs(Double(second % 22) - 11)
      return window(
        at: FloorPoint(x: 2 + along, y: 2 + across, z: 1.75), second: second + 1, noise: noise)
    }
  }
}

/// The public tracks in Benchmarks/Data.
enum PublicTracks {
  static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../../../Benchmarks/Data/BLE-RSSI").standardizedFileURL
  static let names = [
    "rectangular-without-rotation", "straight-01", "straight-03", "zigzagging-without-rotation",
  ]

  private struct Map: Decodable {
    struct Receiver: Decodable { var id: String; var x, y, z: Double }
    var receivers: [Receiver]
  }

  static func plan() throws -> FloorPlan? {
    let data = try Data(contentsOf: folder.appending(path: "map.json"))
    let receivers = try JSONDecoder().decode(Map.self, from: data).receivers
    return FloorPlan(
      receivers: receivers.map {
        FloorReceiver(id: $0.id, position: FloorPoint(x: $0.x, y: $0.y, z: $0.z))
      })
  }

  static func windows(_ name: String, on plan: FloorPlan) throws -> [ReadingWindow] {
    let data = try Data(contentsOf: folder.appending(path: name + ".csv"))
    return try PositionTrace(text: [UInt8](data)[...]).windows(on: plan)
  }
}

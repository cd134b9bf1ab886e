import BeaconMachines
import BluetoothWire
import Essentials
import Foundation
import JSONWire

/// Formats beacons as text and as JSON.
enum BeaconText {
  /// The columns that fit a terminal. The numbers stay, and a name loses its middle: its end tells beacons of one
  /// UUID apart.
  struct Columns {
    private(set) var name = 48
    private(set) var hasFormat = true
    private(set) var hasBattery = true
    private(set) var hasProximity = true
    private(set) var historyMax = Int.max

    /// All of them, where nothing cuts lines.
    static let all = Columns()
    private static let nameMin = 20

    private init() {}

    init(of width: Int) {
      // With the blanks behind each.
      let (format, proximity, distance, level, battery) = (11, 11, 15, 4, 9)
      var room = width - 2 - distance - level
      func take(_ columns: Int) -> Bool {
        guard room - columns >= Self.nameMin else { return false }
        room -= columns
        return true
      }
      hasProximity = take(proximity)
      hasFormat = take(format)
      hasBattery = take(battery)
      name = max(1, min(name, room))
      historyMax = max(0, room - name - 2)
    }
  }

  static func header(_ columns: Columns = .all) -> String {
    row(columns, "FORMAT", "BEACON", "PROXIMITY", "DISTANCE", "DBM", "BATTERY", "")
  }

  private static func row(
    _ columns: Columns, _ format: String, _ name: String, _ proximity: String, _ distance: String,
    _ level: String, _ battery: String, _ history: String
  ) -> String {
    [
      columns.hasFormat ? Fit.column(format, 9) : nil,
      Fit.column(Fit.shortened(name, columns.name), columns.name),
      columns.hasProximity ? Fit.column(proximity, 9) : nil,
      Fit.column(distance, 13), Fit.column(level, 4, alignedRight: true),
      columns.hasBattery ? Fit.column(battery, 7, alignedRight: true) : nil,
      String(history.suffix(columns.historyMax)),
    ].compactMap(\.self).joined(separator: "  ").trimmingSuffix(" ")
  }

  static func line(_ row: BeaconSurvey.Row, _ columns: Columns = .all) -> String {
    self.row(
      columns, row.format.rawValue, Fit.safe(row.name), "\(row.beacon.proximity)",
      row.beacon.distance.map(interval) ?? "", row.levels.last.map(String.init) ?? "",
      row.telemetry?.batteryVolts.map { String(format: "%.2f V", $0) } ?? "",
      sparkline(row.levels))
  }

  /// `1.2–3.4 m`: where the beacon is in 68 of 100 cases.
  static func interval(_ distance: DistanceEstimate) -> String {
    let range = distance.interval
    return "\(number(range.lowerBound))–\(number(range.upperBound)) m"
  }

  private static func number(_ metres: Double) -> String {
    metres < 9.95 ? String(format: "%.1f", metres) : String(format: "%.0f", min(metres, 9999))
  }

  /// A column for each level, from -100 dBm to -40 dBm.
  static func sparkline(_ levels: [Int]) -> String {
    let columns = Array("▁▂▃▄▅▆▇█")
    return String(
      levels.map { level in
        columns[max(0, min(columns.count - 1, (level + 100) * columns.count / 60))]
      })
  }

  static func json(_ row: BeaconSurvey.Row) -> JSON {
    let beacon = row.beacon
    let hasUUID = row.format != .eddystone
    return .object([
      "event": .string("ranged"), "time": .time(Date()),
      "format": .string(row.format.rawValue), "beacon": .string(row.name),
      "uuid": hasUUID ? .string(beacon.identity.uuid.fullDescription) : nil,
      "major": hasUUID ? .integer(Int64(beacon.identity.major)) : nil,
      "minor": hasUUID ? .integer(Int64(beacon.identity.minor)) : nil,
      "address": .string(beacon.address.description),
      "proximity": .string("\(beacon.proximity)"),
      "distance": beacon.distance.map { distance in
        .object([
          "from": .number(rounded(distance.interval.lowerBound)),
          "to": .number(rounded(distance.interval.upperBound)),
          "median": .number(rounded(distance.metres)),
        ])
      },
      "accuracy": beacon.distance.map { .number(rounded($0.accuracyMetres)) },
      "rssi": beacon.rssi == 0 ? nil : .integer(Int64(beacon.rssi)),
      "level": beacon.level == 0 ? nil : .number((beacon.level * 10).rounded() / 10),
      "battery": row.telemetry?.batteryVolts.map(JSON.number),
      "temperature": row.telemetry?.celsius.map { .number(rounded($0)) },
    ])
  }

  /// The event for a higher count of malformed advertisements.
  static func malformedJSON(_ count: Int) -> JSON {
    .object([
      "event": .string("malformed"), "time": .time(Date()), "count": .integer(Int64(count)),
    ])
  }

  /// One sentence about malformed advertisements.
  static func malformed(_ count: Int) -> String {
    count == 1
      ? "1 beacon advertisement was malformed."
      : "\(count) beacon advertisements were malformed."
  }

  private static func rounded(_ value: Double) -> Double { (value * 100).rounded() / 100 }
}

extension EddystoneTelemetry {
  /// The voltage of the battery; nil if it isn't measured, as by a beacon that has none: 0, or all bits
  /// are set.
  var batteryVolts: Double? {
    [0, .max].contains(batteryMillivolts) ? nil : Double(batteryMillivolts) / 1_000
  }

  /// The temperature of the beacon; nil if it isn't measured.
  var celsius: Double? {
    temperature256ths == .min ? nil : Double(temperature256ths) / 256
  }
}

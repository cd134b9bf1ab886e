import BluetoothWire
import Essentials

/// Draws the table of what is nearby as lines of text: a pure function of what it is given.
struct NearbyScreen {
  /// How much room there is.
  struct Size: Hashable, Sendable {
    var columns: Int
    var rows: Int

    static let unknown = Size(columns: 100, rows: 40)
  }

  var size: Size
  var style: Style
  /// What the radio is called: `simulated radio`.
  var radio: String
  /// What is wrong with the radio, if something is.
  var problem: String?

  /// The whole screen, at most `size.rows` lines, none wider than `size.columns`.
  func lines(_ table: NearbyTable, now: Instant) -> [String] {
    let devices = table.ordered(now: now)
    let columns = Columns(width: size.columns)
    var lines = [header(count: devices.count), ""]
    if let problem {
      lines[1] = style.red(Fit.truncated("  " + Fit.safe(problem), size.columns))
    }
    if devices.isEmpty {
      lines.append(style.dim(Fit.truncated("  Listening …", size.columns)))
      return lines + [footer]
    }
    lines.append(style.dim(columns.row("NAME", "STRENGTH", "", "SERVICES", "HEARD", "ID")))
    let room = max(0, size.rows - lines.count - 1)
    var body: [String] = []
    var section = -1
    for device in devices {
      let next = NearbyTable.section(device, now: now)
      if section >= 0, next != section { body.append("") }
      section = next
      body.append(row(device, columns, now: now))
    }
    let hidden = body.count - room
    if hidden > 0 {
      body = Array(body.prefix(max(0, room - 1)))
      body.append(style.dim(Fit.truncated("  … and more below the edge", size.columns)))
    }
    if lines.count + body.count + 2 <= size.rows { body.append("") }
    return lines + body + [footer]
  }

  /// One device without escapes, for plain output.
  static func plainRow(_ device: NearbyTable.Device, now: Instant) -> String {
    let columns = Columns(width: 120)
    let screen = NearbyScreen(size: .unknown, style: .plain, radio: "")
    return screen.row(device, columns, now: now).trimmingSuffix(" ")
  }

  /// The names of the columns, for plain output.
  static var plainHeader: String {
    Columns(width: 120).row("NAME", "STRENGTH", "", "SERVICES", "HEARD", "ID").trimmingSuffix(" ")
  }

  private func header(count: Int) -> String {
    let title = "  ambit"
    let rest = " · \(Fit.safe(radio)) · \(count) nearby"
    return style.bold(title) + style.dim(Fit.truncated(rest, max(0, size.columns - title.count)))
  }

  private var footer: String {
    style.dim(Fit.truncated("  q quit · ambit inspect ID · ambit --help", size.columns))
  }

  private func row(_ device: NearbyTable.Device, _ columns: Columns, now: Instant) -> String {
    let isQuiet = device.isQuiet(now: now)
    let name = device.sighting.name.map(Fit.safe)
    var strength = ""
    var trend = " "
    if let heard = device.strength, !isQuiet {
      let bar = Strength.bar(rssi: heard.shown, columns: 8)
      let level = Fit.column("\(heard.shown)", 4, alignedRight: true)
      strength = bar + " " + level + " dBm"
      trend = heard.trend == .rising ? "↑" : heard.trend == .falling ? "↓" : " "
    }
    let id = columns.showsWholeID ? device.sighting.identifier : device.sighting.shortID
    let cells = columns.cells(
      name ?? "–", strength, trend, Fit.safe(device.sighting.summary),
      Age.text(now - device.lastHeard), id)
    if isQuiet { return style.dim(cells.joined(separator: " ")) }
    return [
      name == nil ? style.dim(cells[0]) : style.bold(cells[0]),
      coloured(cells[1], device.strength?.zone), cells[2], cells[3], style.dim(cells[4]),
      style.dim(cells[5]),
    ].joined(separator: " ")
  }

  private func coloured(_ text: String, _ zone: Strength.Zone?) -> String {
    switch zone {
    case .near: style.green(text)
    case .around: style.cyan(text)
    case .far, nil: style.dim(text)
    }
  }
}

extension Sighting {
  /// The part of the identifier that tells devices apart, which every command takes for an ID.
  var shortID: String { identifier.split(separator: "-").last.map(String.init) ?? identifier }
}

/// The widths of the columns for a given width of the screen.
struct Columns {
  static let strengthWidth = 17
  static let ageWidth = 7

  let nameWidth: Int
  let servicesWidth: Int
  let idWidth: Int
  let showsWholeID: Bool

  init(width: Int) {
    showsWholeID = width >= 130
    idWidth = showsWholeID ? 36 : 12
    // Two blanks before the name, one between columns, one column for the trend.
    let room = max(0, width - 2 - Self.strengthWidth - 1 - Self.ageWidth - idWidth - 5)
    nameWidth = min(28, max(min(room, 8), room * 2 / 5))
    servicesWidth = max(0, room - nameWidth)
  }

  func cells(
    _ name: String, _ strength: String, _ trend: String, _ services: String, _ age: String,
    _ id: String
  ) -> [String] {
    [
      "  " + Fit.column(name, nameWidth), Fit.column(strength, Self.strengthWidth),
      Fit.column(trend, 1), Fit.column(services, servicesWidth),
      Fit.column(age, Self.ageWidth, alignedRight: true), Fit.column(id, idWidth),
    ]
  }

  func row(
    _ name: String, _ strength: String, _ trend: String, _ services: String, _ age: String,
    _ id: String
  ) -> String {
    cells(name, strength, trend, services, age, id).joined(separator: " ")
  }
}

/// How long ago something was heard, in steps that don't flicker.
enum Age {
  static func text(_ span: TimeSpan) -> String {
    let seconds = Int(max(0, span.seconds))
    switch seconds {
    case ..<5: return "now"
    case ..<60: return "\(seconds / 5 * 5) s"
    case ..<3600: return "\(seconds / 60) min"
    default: return "\(seconds / 3600) h"
    }
  }
}

extension String {
  func trimmingSuffix(_ character: Character) -> String {
    var text = self[...]
    while text.last == character { text = text.dropLast() }
    return String(text)
  }
}

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
  func lines(_ table: NearbyTable, _ network: NetworkTable, now: Instant) -> [String] {
    let devices = table.ordered(now: now)
    let columns = Columns(width: size.columns)
    var lines = [header(devices.count, onNetwork: network.count), ""]
    if let problem {
      lines[1] = style.red(Fit.truncated("  " + Fit.safe(problem), size.columns))
    }
    if devices.isEmpty, network.count == 0 {
      lines.append(style.dim(Fit.truncated("  Listening …", size.columns)))
      lines += Array(repeating: "", count: max(0, size.rows - lines.count - 1))
      return lines + [footer]
    }
    lines.append(style.dim(columns.row("NAME", "STRENGTH", "SERVICES", "HEARD", "ID")))
    let room = max(0, size.rows - lines.count - 1)
    var body = grouped(devices, network.ordered, columns, now: now)
    if body.count > room {
      body = Array(body.prefix(max(0, room - 1)))
      body.append(style.dim(Fit.truncated("  … and more below the edge", size.columns)))
    }
    // The last line stays where it is, however many devices there are.
    body += Array(repeating: "", count: max(0, room - body.count))
    return lines + body + [footer]
  }

  /// The rows of all devices and services, under the titles of their groups: what can be heard, what
  /// is on the network, what fell silent.
  private func grouped(
    _ devices: [NearbyTable.Device], _ services: [NetworkTable.Row], _ columns: Columns,
    now: Instant
  ) -> [String] {
    var groups: [(title: String, rows: [String])] = []
    for device in devices {
      let title = Self.title(ofSection: NearbyTable.section(device, now: now))
      if groups.last?.title != title { groups.append((title, [])) }
      groups[groups.count - 1].rows.append(row(device, columns, now: now))
    }
    if !services.isEmpty {
      let heardCount = groups.last?.title == Self.quietTitle ? groups.count - 1 : groups.count
      let rows = services.map { row($0, columns) }
      groups.insert(("On the network", rows), at: heardCount)
    }
    let parts = groups.map { group in
      [style.dim(Fit.truncated("  " + group.title, size.columns))] + group.rows
    }
    return Array(parts.joined(separator: [""]))
  }

  private static let quietTitle = "Quiet now"

  private static func title(ofSection section: Int) -> String {
    switch Strength.Zone(rawValue: section) {
    case .near: "Near"
    case .around: "Around"
    case .far: "Far"
    case nil: quietTitle
    }
  }

  /// One device without escapes, for plain output.
  static func plainRow(_ device: NearbyTable.Device, now: Instant) -> String {
    let columns = Columns(width: 120)
    let screen = NearbyScreen(size: .unknown, style: .plain, radio: "")
    return screen.row(device, columns, now: now).trimmingSuffix(" ")
  }

  /// The names of the columns, for plain output.
  static var plainHeader: String {
    Columns(width: 120).row("NAME", "STRENGTH", "SERVICES", "HEARD", "ID").trimmingSuffix(" ")
  }

  /// What goes by one name on the network, without escapes, for plain output.
  static func plainRow(_ service: NetworkTable.Row) -> String {
    NearbyScreen(size: .unknown, style: .plain, radio: "").row(service, Columns(width: 120))
      .trimmingSuffix(" ")
  }

  private func header(_ count: Int, onNetwork serviceCount: Int) -> String {
    let title = "  ambit"
    let services = serviceCount == 0 ? "" : ", \(serviceCount) on the network"
    let rest = " · \(Fit.safe(radio)) · \(count) nearby\(services)"
    return style.bold(title) + style.dim(Fit.truncated(rest, max(0, size.columns - title.count)))
  }

  private var footer: String {
    style.dim(
      Fit.truncated(
        "  q quit · ambit inspect ID · ambit resolve NAME SERVICE · ambit --help", size.columns))
  }

  private func row(_ device: NearbyTable.Device, _ columns: Columns, now: Instant) -> String {
    let isQuiet = device.isQuiet(now: now)
    let name = device.sighting.name.map(Fit.safe)
    let id = columns.showsWholeID ? device.sighting.identifier : device.sighting.shortID
    let cells = columns.cells(
      name ?? "–", "", Fit.safe(device.sighting.summary), Age.text(now - device.lastHeard), id)
    if isQuiet { return style.dim(cells.joined(separator: Columns.gap)) }
    return [
      name == nil ? style.dim(cells[0]) : style.bold(cells[0]),
      device.strength.map(strength) ?? cells[1], cells[2], style.dim(cells[3]),
      style.dim(cells[4]),
    ].joined(separator: Columns.gap)
  }

  /// In the column of the strength stands where it was found.
  private func row(_ service: NetworkTable.Row, _ columns: Columns) -> String {
    let cells = columns.cells(
      Fit.safe(service.name), Fit.safe(service.interfaces.joined(separator: ", ")),
      Fit.safe(service.types.joined(separator: ", ")), "", "")
    return [style.bold(cells[0]), style.dim(cells[1]), cells[2], cells[3], cells[4]]
      .joined(separator: Columns.gap)
  }

  /// The bar, the number and where it is going, in `Columns.strengthWidth` columns.
  private func strength(_ strength: Strength) -> String {
    let bar = Strength.bar(rssi: strength.shown, columns: Columns.barWidth)
    let level = Fit.column("\(strength.shown)", 4, alignedRight: true) + " dBm "
    let trend = strength.trend == .rising ? "↑" : strength.trend == .falling ? "↓" : " "
    return coloured(bar.full, strength.zone) + style.dim(bar.track) + " " + level + trend
  }

  private func coloured(_ text: String, _ zone: Strength.Zone) -> String {
    switch zone {
    case .near: style.green(text)
    case .around: style.cyan(text)
    case .far: style.dim(text)
    }
  }
}

extension Sighting {
  /// The part of the identifier that tells devices apart, which every command takes for an ID.
  var shortID: String { identifier.split(separator: "-").last.map(String.init) ?? identifier }
}

/// The widths of the columns for a given width of the screen.
struct Columns {
  static let gap = "  "
  static let barWidth = 10
  /// Bar, blank, four for the number, ` dBm `, one for the trend.
  static let strengthWidth = barWidth + 11
  static let ageWidth = 6

  let nameWidth: Int
  let servicesWidth: Int
  let idWidth: Int
  let showsWholeID: Bool

  init(width: Int) {
    showsWholeID = width >= 140
    idWidth = showsWholeID ? 36 : 12
    // A gap before the name and four between the columns.
    let room = max(0, width - Self.strengthWidth - Self.ageWidth - idWidth - 5 * Self.gap.count)
    nameWidth = min(28, max(min(room, 8), room * 2 / 5))
    servicesWidth = max(0, room - nameWidth)
  }

  func cells(
    _ name: String, _ strength: String, _ services: String, _ age: String, _ id: String
  ) -> [String] {
    [
      Self.gap + Fit.column(name, nameWidth), Fit.column(strength, Self.strengthWidth),
      Fit.column(services, servicesWidth), Fit.column(age, Self.ageWidth, alignedRight: true),
      Fit.column(id, idWidth),
    ]
  }

  func row(
    _ name: String, _ strength: String, _ services: String, _ age: String, _ id: String
  ) -> String {
    cells(name, strength, services, age, id).joined(separator: Self.gap)
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

import BeaconMachines
import BluetoothWire
package import Essentials

/// Draws the table of nearby devices and services as lines of text: a pure function of its inputs.
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
  /// The problem of the radio, if any.
  var problem: String?
  /// The selection and the filter; not used in plain output.
  var view = LiveView()

  /// A line of the list.
  private enum Row {
    case blank
    case title(String)
    case device(NearbyTable.Device)
    case beacon(BeaconSurvey.Row)
    case service(NetworkTable.Row)
  }

  /// The whole screen, at most `size.rows` lines, none wider than `size.columns`. Only the rows that
  /// are seen are drawn, however many there are.
  func lines(
    _ table: NearbyTable, _ network: NetworkTable, beacons: BeaconList = BeaconList(), now: Instant
  ) -> [String] {
    let lines = viewLines(table, network, beacons, now: now)
    guard let question = view.pairing else { return lines }
    return lines.dropLast() + [line(question)]
  }

  private func viewLines(
    _ table: NearbyTable, _ network: NetworkTable, _ beacons: BeaconList, now: Instant
  ) -> [String] {
    if view.showsHelp { return helpLines }
    if let detail = view.detail { return lines(detail) }
    let all = table.ordered(now: now).filter { !beacons.shows($0, now: now) }
    let devices = view.filtered(all)
    let columns = Columns(width: size.columns)
    var lines = [header(all.count, beacons, onNetwork: network.count), ""]
    if let problem = problem ?? view.message {
      lines[1] = style.red(Fit.truncated("  " + Fit.safe(problem), size.columns))
    }
    if all.isEmpty, beacons.rows.isEmpty, network.count == 0 {
      lines.append(style.dim(Fit.truncated("  Listening …", size.columns)))
    } else {
      let titles = columns.row("NAME", "STRENGTH", "SERVICES", "HEARD", "ID")
      lines.append(style.dim(Fit.truncated(titles, size.columns)))
      let services = view.filter.isEmpty ? network.ordered : []
      let rows = grouped(devices, view.filtered(beacons.rows), services, now: now)
      let room = max(0, size.rows - lines.count - 1)
      lines += visible(rows, room, columns, now: now)
    }
    // The last line stays where it is, however many devices there are.
    lines += Array(repeating: "", count: max(0, size.rows - lines.count - 1))
    return Array(lines.prefix(max(0, size.rows - 1))) + [footer]
  }

  /// The rows around the selected one, as many as there is room for.
  private func visible(
    _ rows: [Row], _ room: Int, _ columns: Columns, now: Instant
  ) -> [String] {
    let selected = rows.firstIndex { row in
      guard case .device(let device) = row else { return false }
      return device.sighting.identifier == view.selected
    }
    guard rows.count > room else { return rows.map { line($0, columns, now: now) } }
    let shown = max(0, room - 1)
    let first = Self.firstRow(selected: selected, count: rows.count, room: shown)
    let below = rows.count - first - shown
    let lines = rows.dropFirst(first).prefix(shown).map { line($0, columns, now: now) }
    let rest = below > 0 ? "  … and more below the edge" : ""
    return Array((lines + [style.dim(Fit.truncated(rest, size.columns))]).prefix(room))
  }

  private func line(_ row: Row, _ columns: Columns, now: Instant) -> String {
    switch row {
    case .blank: return ""
    case .title(let title): return style.dim(Fit.truncated("  " + title, size.columns))
    case .beacon(let beacon):
      return isNarrow
        ? Fit.truncated(plain.row(beacon, columns), size.columns) : self.row(beacon, columns)
    case .service(let service):
      return isNarrow
        ? Fit.truncated(plain.row(service, columns), size.columns) : self.row(service, columns)
    case .device(let device):
      if device.sighting.identifier == view.selected {
        return selectedLine(Fit.column(plain.row(device, columns, now: now), size.columns))
      }
      return isNarrow
        ? Fit.truncated(plain.row(device, columns, now: now), size.columns)
        : self.row(device, columns, now: now)
    }
  }

  /// Whether the columns may not fit; then lines are cut, which goes without colours only.
  private var isNarrow: Bool { size.columns < Columns.narrowWidth }

  private var plain: NearbyScreen {
    var plain = self
    plain.style = .plain
    return plain
  }

  /// All rows, under the titles of their groups: devices in range, beacons in range, services on
  /// the network, silent devices.
  private func grouped(
    _ devices: [NearbyTable.Device], _ beacons: [BeaconSurvey.Row],
    _ services: [NetworkTable.Row], now: Instant
  ) -> [Row] {
    var groups: [(title: String, rows: [Row])] = []
    for device in devices {
      let title = Self.title(ofSection: NearbyTable.section(device, now: now))
      if groups.last?.title != title { groups.append((title, [])) }
      groups[groups.count - 1].rows.append(.device(device))
    }
    let others: [(title: String, rows: [Row])] = [
      ("Beacons", beacons.map { .beacon($0) }), ("On the network", services.map { .service($0) }),
    ]
    let heardCount = groups.last?.title == Self.quietTitle ? groups.count - 1 : groups.count
    groups.insert(contentsOf: others.filter { !$0.rows.isEmpty }, at: heardCount)
    return Array(groups.map { [Row.title($0.title)] + $0.rows }.joined(separator: [.blank]))
  }

  private var helpLines: [String] {
    let lines = LiveView.help.prefix(max(0, size.rows)).map { Fit.truncated($0, size.columns) }
    return lines + Array(repeating: "", count: max(0, size.rows - lines.count))
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

  /// The width of plain output: 120 columns, or those of a narrower terminal.
  static var plainWidth: Int { min(120, Terminal.tableWidth) }

  /// One device without escapes, for plain output.
  static func plainRow(
    _ device: NearbyTable.Device, now: Instant, width: Int = plainWidth
  ) -> String {
    let columns = Columns(width: width)
    let screen = NearbyScreen(size: .unknown, style: .plain, radio: "")
    return screen.row(device, columns, now: now).trimmingSuffix(" ")
  }

  /// The names of the columns, for plain output.
  static var plainHeader: String {
    Columns(width: plainWidth).row("NAME", "STRENGTH", "SERVICES", "HEARD", "ID").trimmingSuffix(
      " ")
  }

  /// What goes by one name on the network, without escapes, for plain output.
  static func plainRow(_ service: NetworkTable.Row) -> String {
    NearbyScreen(size: .unknown, style: .plain, radio: "")
      .row(service, Columns(width: plainWidth))
      .trimmingSuffix(" ")
  }

  private func header(
    _ count: Int, _ beacons: BeaconList, onNetwork serviceCount: Int
  ) -> String {
    let title = "  ambit"
    let beaconCount = beacons.rows.count
    let beaconText =
      beaconCount == 0 ? "" : ", \(beaconCount) beacon\(beaconCount == 1 ? "" : "s")"
    let services = serviceCount == 0 ? "" : ", \(serviceCount) on the network"
    let malformed = beacons.malformedCount == 0 ? "" : " · \(beacons.malformedCount) malformed"
    let rest = " · \(Fit.safe(radio)) · \(count) nearby\(beaconText)\(services)\(malformed)"
    return style.bold(Fit.truncated(title, size.columns))
      + style.dim(Fit.truncated(rest, max(0, size.columns - title.count)))
  }

  private var footer: String {
    if view.isTypingFilter {
      return Fit.truncated("  /" + Fit.safe(view.filter), max(0, size.columns - 1))
        + (style.isEnabled ? "\u{1B}[7m \u{1B}[0m" : "_")
    }
    let filter = view.filter.isEmpty ? "" : "  /\(Fit.safe(view.filter)) ·"
    return style.dim(
      Fit.truncated(
        filter + "  ↑↓ select · Enter open · / filter · ? help · q quit", size.columns))
  }

  private func row(_ device: NearbyTable.Device, _ columns: Columns, now: Instant) -> String {
    let isQuiet = device.isQuiet(now: now)
    let name = device.sighting.name.map(Fit.safe)
    let id = columns.showsWholeID ? device.sighting.identifier : device.sighting.shortID
    let cells = columns.cells(
      name ?? "–", "", Fit.safe(device.sighting.summary), Age.text(now - device.lastHeard), id)
    if isQuiet { return style.dim(Columns.line(cells)) }
    return Columns.line([
      name == nil ? style.dim(cells[0]) : style.bold(cells[0]),
      device.strength.map { strength($0, columns) } ?? cells[1], cells[2], style.dim(cells[3]),
      style.dim(cells[4]),
    ])
  }

  /// The strength column has the recent strength, the services column the distance.
  private func row(_ beacon: BeaconSurvey.Row, _ columns: Columns) -> String {
    let cells = columns.cells(
      Fit.safe(BeaconList.name(beacon)), "", BeaconList.distance(beacon), "",
      beacon.format.rawValue)
    return Columns.line([
      style.bold(cells[0]), strength(beacon, columns), cells[2], cells[3], style.dim(cells[4]),
    ])
  }

  /// The sparkline in place of a device's bar, and the number.
  private func strength(_ beacon: BeaconSurvey.Row, _ columns: Columns) -> String {
    guard columns.strengthWidth > 0 else { return "" }
    let level = beacon.levels.last.map { Fit.column("\($0)", 4, alignedRight: true) + " dBm" } ?? ""
    guard columns.showsBar else { return Fit.column(level, columns.strengthWidth) }
    let line = BeaconText.sparkline(beacon.levels.suffix(Columns.barWidth))
    let blank = String(repeating: " ", count: max(0, Columns.barWidth - line.count))
    let shown =
      switch beacon.beacon.proximity {
      case .immediate, .near: style.green(line)
      case .far: style.cyan(line)
      case .unknown: style.dim(line)
      }
    return shown + blank + " "
      + Fit.column(level, columns.strengthWidth - Columns.barWidth - 1)
  }

  /// The strength column has the interfaces.
  private func row(_ service: NetworkTable.Row, _ columns: Columns) -> String {
    let cells = columns.cells(
      Fit.safe(service.name), Fit.safe(service.interfaces.joined(separator: ", ")),
      Fit.safe(service.types.joined(separator: ", ")), "", "")
    return Columns.line([
      style.bold(cells[0]), style.dim(cells[1]), cells[2], cells[3], cells[4],
    ])
  }

  /// The bar, the number and where it is going, in `columns.strengthWidth` columns.
  private func strength(_ strength: Strength, _ columns: Columns) -> String {
    guard columns.strengthWidth > 0 else { return "" }
    let bar = Strength.bar(rssi: strength.shown, columns: Columns.barWidth)
    let level = Fit.column("\(strength.shown)", 4, alignedRight: true) + " dBm "
    let trend = strength.trend == .rising ? "↑" : strength.trend == .falling ? "↓" : " "
    guard columns.showsBar else { return level + trend }
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
  /// The distinctive part of the identifier, which every command accepts as an ID.
  package var shortID: String {
    identifier.split(separator: "-").last.map(String.init) ?? identifier
  }
}

/// The widths of the columns for a given width of the screen.
struct Columns {
  static let gap = "  "
  static let barWidth = 10
  /// Below this, some columns are left out.
  static let narrowWidth = 64
  /// Below this, only names and strengths in numbers are left.
  static let narrowestWidth = 48
  /// Four for the number, ` dBm `, one for the trend.
  static let levelWidth = 10

  let nameWidth: Int
  let showsBar: Bool
  let strengthWidth: Int
  let ageWidth: Int
  let servicesWidth: Int
  let idWidth: Int
  let showsWholeID: Bool

  init(width: Int) {
    showsWholeID = width >= 140
    // Where there is little room, names are worth more: a device is opened by selecting it.
    idWidth = showsWholeID ? 36 : width >= Self.narrowWidth ? 12 : 0
    // A gap before the name and four between the columns.
    showsBar = width >= Self.narrowestWidth
    guard showsBar else {
      strengthWidth = width >= 2 * Self.levelWidth ? Self.levelWidth : 0
      nameWidth = max(0, width - strengthWidth - (strengthWidth > 0 ? 2 : 1) * Self.gap.count)
      ageWidth = 0
      servicesWidth = 0
      return
    }
    strengthWidth = Self.barWidth + 1 + Self.levelWidth
    ageWidth = 6
    let room = max(0, width - strengthWidth - ageWidth - idWidth - 5 * Self.gap.count)
    nameWidth = min(28, max(min(room, 8), room * 2 / 5))
    servicesWidth = max(0, room - nameWidth)
  }

  func cells(
    _ name: String, _ strength: String, _ services: String, _ age: String, _ id: String
  ) -> [String] {
    [
      Self.gap + Fit.column(name, nameWidth), Fit.column(strength, strengthWidth),
      Fit.column(services, servicesWidth), Fit.column(age, ageWidth, alignedRight: true),
      Fit.column(id, idWidth),
    ]
  }

  func row(
    _ name: String, _ strength: String, _ services: String, _ age: String, _ id: String
  ) -> String {
    Self.line(cells(name, strength, services, age, id))
  }

  /// The cells with gaps between them; columns without any width leave none.
  static func line(_ cells: [String]) -> String {
    cells.filter { !$0.isEmpty }.joined(separator: gap)
  }
}

/// How long ago something was heard, in steps that don't flicker.
package enum Age {
  package static func text(_ span: TimeSpan) -> String {
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
  package func trimmingSuffix(_ character: Character) -> String {
    var text = self[...]
    while text.last == character { text = text.dropLast() }
    return String(text)
  }
}

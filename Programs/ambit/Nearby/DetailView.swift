package import BluetoothWire
package import CoreBluetooth
import Essentials

/// The pane of one device: its services, characteristics and values.
package struct DetailView: Sendable {
  /// A line of the pane.
  package struct Row: Hashable, Sendable {
    /// Nil for a service.
    package var key: KeptDevice.Key?
    package var name: String
    package var type: BluetoothUUID
    var properties = ""
    package var isReadable = false
    package var isWriteable = false
    package var canBeFollowed = false
    var value: ValueText?
    /// Why there is no value.
    var refusal: String?
    package var isFollowed = false
    /// How many values came since it is followed.
    var count = 0
  }

  /// Generic Access and Generic Attribute.
  private static let systemServices: Set<BluetoothUUID> = [0x1800, 0x1801]

  var title: String
  /// The state of the link: `connecting …`.
  var state: String
  package var rows: [Row] = []
  /// The error of the last request.
  var message: String?
  /// The value that is being typed; nil if none is.
  var input: String?
  private(set) var selection = 0

  package init(title: String, state: String) {
    self.title = title
    self.state = state
  }

  var selectedRow: Row? { rows[safe: selection] }

  /// Shows discovered services, with the values that are already known.
  package mutating func show(_ services: [CBService], followed: Set<KeptDevice.Key>) {
    let known = rows
    rows = []
    // Services of every host come last.
    let numbered = services.enumerated().map { ($0.offset, $0.element) }
    let isSystem = { (service: CBService) in
      Self.systemServices.contains(BluetoothUUID(service.uuid))
    }
    let ordered = numbered.filter { !isSystem($0.1) } + numbered.filter { isSystem($0.1) }
    for (number, service) in ordered {
      let uuid = BluetoothUUID(service.uuid)
      rows.append(
        Row(name: AssignedNumbers.serviceName(uuid) ?? "Service", type: uuid))
      for (place, characteristic) in (service.characteristics ?? []).enumerated() {
        let key = KeptDevice.Key(service: number, characteristic: place)
        var row = Row(characteristic, key, isFollowed: followed.contains(key))
        if let before = known.first(where: { $0.key == key && $0.type == row.type }) {
          row.value = before.value
          row.refusal = before.refusal
          row.count = before.count
        }
        rows.append(row)
      }
    }
    selection = min(selection, max(0, rows.count - 1))
    // A service has nothing to do; the first characteristic has.
    if selectedRow?.key == nil, let first = rows.firstIndex(where: { $0.key != nil }),
      selection == 0
    {
      selection = first
    }
  }

  /// Changes the row of a characteristic.
  mutating func update(_ key: KeptDevice.Key, _ change: (inout Row) -> Void) {
    guard let index = rows.firstIndex(where: { $0.key == key }) else { return }
    change(&rows[index])
  }

  /// Moves the selection over characteristics; services are passed over.
  mutating func select(moved key: Key, page: Int) {
    let places = rows.indices.filter { rows[$0].key != nil }
    guard !places.isEmpty else { return }
    let index = places.firstIndex { $0 >= selection } ?? places.count - 1
    selection = places[LiveView.moved(index, key, places.count, page)]
    message = nil
  }
}

extension DetailView.Row {
  init(_ characteristic: CBCharacteristic, _ key: KeptDevice.Key, isFollowed: Bool) {
    let uuid = BluetoothUUID(characteristic.uuid)
    let properties = characteristic.properties
    self.init(
      key: key, name: AssignedNumbers.characteristicName(uuid) ?? "Characteristic",
      type: uuid)
    isReadable = properties.contains(.read)
    isWriteable = !properties.isDisjoint(
      with: [.write, .writeWithoutResponse, .authenticatedSignedWrites])
    canBeFollowed = characteristic.canBeFollowed
    let letters: [(Bool, String)] = [
      (isReadable, "r"), (isWriteable, "w"), (canBeFollowed, "s"),
    ]
    self.properties = letters.map { $0.0 ? $0.1 : "·" }.joined()
    self.isFollowed = isFollowed
  }
}

extension NearbyScreen {
  /// The pane of a device, at most `size.rows` lines, none wider than `size.columns`.
  func lines(_ detail: DetailView) -> [String] {
    let title = "  " + Fit.truncated(Fit.safe(detail.title), max(0, size.columns - 4))
    let rest = max(0, size.columns - Fit.width(title))
    var lines = [
      style.bold(title) + style.dim(Fit.truncated(" · " + Fit.safe(detail.state), rest)), "",
    ]
    if let problem = problem ?? detail.message {
      lines[1] = style.red(Fit.truncated("  " + Fit.safe(problem), size.columns))
    }
    let room = max(0, size.rows - lines.count - 1)
    let first = Self.firstRow(selected: detail.selection, count: detail.rows.count, room: room)
    for (index, row) in detail.rows.enumerated().dropFirst(first).prefix(room) {
      lines.append(line(row, isSelected: index == detail.selection))
    }
    lines += Array(repeating: "", count: max(0, size.rows - lines.count - 1))
    return Array(lines.prefix(max(0, size.rows - 1))) + [footer(detail)]
  }

  /// The first row to show so that the selected one is seen, in the middle where that goes.
  static func firstRow(selected: Int?, count: Int, room: Int) -> Int {
    guard let selected else { return 0 }
    return max(0, min(selected - room / 2, count - room))
  }

  private func footer(_ detail: DetailView) -> String {
    if let input = detail.input {
      // Shows the end of the input if it is too long.
      let label = "  write: "
      let room = max(0, size.columns - label.count - 1)
      var shown = Substring(Fit.safe(input))
      while Fit.width(String(shown)) > room { shown = shown.dropFirst() }
      return Fit.truncated(label + shown, max(0, size.columns - 1))
        + (style.isEnabled ? "\u{1B}[7m \u{1B}[0m" : "_")
    }
    return style.dim(
      Fit.truncated("  Enter read · s follow · w write · Esc back · ? help · q quit", size.columns))
  }

  private func line(_ row: DetailView.Row, isSelected: Bool) -> String {
    guard row.key != nil else {
      return style.bold(Fit.truncated("  \(row.name)", size.columns))
        + style.dim(
          Fit.truncated("  \(row.type)", max(0, size.columns - row.name.count - 2)))
    }
    let nameWidth = min(30, max(8, size.columns * 3 / 8))
    let mark = row.isFollowed ? "●" : " "
    let head = "  \(mark) " + Fit.column(row.name, nameWidth) + " " + row.properties + "  "
    let uuid = row.name == "Characteristic" ? "\(row.type)  " : ""
    var value = ""
    if let text = row.value {
      value = text.line(.plain, byteCountMax: 24) + (row.count > 0 ? "  ×\(row.count)" : "")
    } else if let refusal = row.refusal {
      value = refusal
    }
    let text = Fit.column(Fit.safe(head + uuid + value), max(0, size.columns))
    if isSelected { return selectedLine(text) }
    return row.refusal != nil && row.value == nil ? style.dim(text) : text
  }

  /// Reverse video; where there are no colours, a mark at the beginning.
  func selectedLine(_ text: String) -> String {
    style.isEnabled ? "\u{1B}[7m\(text)\u{1B}[0m" : ">" + text.dropFirst()
  }
}

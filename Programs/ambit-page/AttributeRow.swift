import AmbitCLI
import Binding
import BluetoothWire
import CoreBluetooth
import Essentials
import PeripheralFiles
import Reactive

/// A service or a characteristic of a connected device, as a row of the page: what it is, its value, and
/// what can be done with it.
final class AttributeRow: ViewModel, Identifiable {
  /// What a row does with its device.
  struct Operations: Sendable {
    var read: @Sendable (KeptDevice.Key) async throws -> [UInt8]
    /// Writes the input; returns the value as it is read afterwards, if it is readable.
    var write: @Sendable (KeptDevice.Key, ValueInput) async throws -> [UInt8]?
    var follow: @MainActor @Sendable (KeptDevice.Key, Bool) -> Void
  }

  /// Why an operation failed, for people.
  struct Failure: Error {
    let text: String
  }

  /// The maximum length of the input: the longest value (Core 5.4, Vol 3, Part F, §3.2.9) in
  /// hexadecimal, with a space between bytes.
  private nonisolated static let inputCountMax = 2_048

  let id: String
  /// Nil for a service.
  let key: KeptDevice.Key?
  let type: BluetoothUUID
  let name: String
  let isService: Bool
  let uuid: String
  let isReadable: Bool
  let isWriteable: Bool
  let canBeFollowed: Bool
  let input = MutableProperty("")
  /// The format of the input: a `ValueFormat`; empty for the standard's.
  let format = MutableProperty("")
  let isFollowed = MutableProperty(false)
  let read: Action<Void, Never, Failure>
  let write: Action<Void, Never, Failure>
  /// What went wrong without anybody's asking.
  let message = MutableProperty<String?>(nil)

  private let value: MutableProperty<ShownValue>
  let decoded: Property<String>
  let text: Property<String>
  let number: Property<String>
  let hex: Property<String>
  let count: Property<String>
  let hasChart: Property<Bool>
  let chart: Property<String>
  let chartTop: Property<String>
  let chartBottom: Property<String>
  let chartLabel: Property<String>

  static let bindings: Bindings<AttributeRow> = [
    "name": .value(\.name), "uuid": .value(\.uuid), "isService": .value(\.isService),
    "isReadable": .value(\.isReadable), "isWriteable": .value(\.isWriteable),
    "canBeFollowed": .value(\.canBeFollowed), "input": .twoWay(\.input),
    "format": .twoWay(\.format),
    "isFollowed": .twoWay(\.isFollowed), "read": .action(\.read, error: \.text),
    "write": .action(\.write, error: \.text), "message": .oneWay(\.message),
    "decoded": .oneWay(\.decoded), "text": .oneWay(\.text), "number": .oneWay(\.number),
    "hex": .oneWay(\.hex), "count": .oneWay(\.count), "hasChart": .oneWay(\.hasChart),
    "chart": .oneWay(\.chart), "chartTop": .oneWay(\.chartTop),
    "chartBottom": .oneWay(\.chartBottom), "chartLabel": .oneWay(\.chartLabel),
  ]

  init(_ row: DetailView.Row, _ id: String, _ operations: Operations) {
    self.id = id
    key = row.key
    type = row.type
    name = row.name
    isService = row.key == nil
    uuid = "\(row.type)"
    isReadable = row.isReadable
    isWriteable = row.isWriteable
    canBeFollowed = row.canBeFollowed
    isFollowed.value = row.isFollowed
    let (key, type, input, format) = (row.key, row.type, input, format)
    let value = MutableProperty(ShownValue())
    self.value = value
    read = Action {
      Self.producer {
        guard let key else { return }
        let bytes = try await operations.read(key)
        value.modify { $0.show(bytes, of: type) }
      }
    }
    write = Action {
      let typed = input.value
      guard typed.count <= Self.inputCountMax else {
        return SignalProducer(error: Failure(text: "the value is too long"))
      }
      let chosen = ValueFormat(rawValue: format.value)
      guard chosen != nil || format.value.isEmpty else {
        return SignalProducer(error: Failure(text: "unknown format"))
      }
      return Self.producer {
        guard let key else { return }
        let bytes = try await operations.write(key, ValueInput(typed: typed, format: chosen))
        if let bytes { value.modify { $0.show(bytes, of: type) } }
        // Keeps text that was typed during the write.
        if input.value == typed { input.value = "" }
      }
    }
    decoded = value.map { $0.text?.decoded ?? "" }.skipRepeats()
    text = value.map { $0.text?.text.map { "“\($0)”" } ?? "" }.skipRepeats()
    number = value.map { $0.number }.skipRepeats()
    hex = value.map { $0.hex }.skipRepeats()
    count = value.map { $0.count > 0 ? "\($0.count) values" : "" }.skipRepeats()
    let chart = value.map { $0.chart }
    // Only notified values are charted, from the second value on.
    hasChart = value.map { $0.count > 0 && $0.chart.values.count > 1 }.skipRepeats()
    self.chart = chart.map { $0.points }.skipRepeats()
    chartTop = chart.map { $0.label(of: $0.values.max()) }.skipRepeats()
    chartBottom = chart.map { $0.label(of: $0.values.min()) }.skipRepeats()
    let name = row.name
    chartLabel = chart.map {
      "\(name): \($0.values.count) values from \($0.label(of: $0.values.min())) to "
        + $0.label(of: $0.values.max())
    }.skipRepeats()
    isFollowed.signal.skipRepeats().observeValues(on: UIScheduler()) { isFollowed in
      if let key { operations.follow(key, isFollowed) }
    }
  }

  /// Takes a value that came by itself.
  func show(_ arrived: ArrivedValues.Arrived) {
    value.modify {
      $0.show(arrived.value, of: type)
      $0.count += arrived.count
    }
  }

  private nonisolated static func producer(
    _ body: @escaping @Sendable () async throws -> Void
  ) -> SignalProducer<Never, Failure> {
    SignalProducer { input async throws(Failure) in
      do {
        let done: Void? = try await race(Session.workTime.duration) { try await body() }
        if done == nil { throw CommandFailure(.timedOut, "the device does not answer") }
      } catch {
        throw Failure(text: (error as? CommandFailure)?.reason ?? "\(error)")
      }
    }
  }
}

/// A value in the ways in which the page shows it, and those before it.
struct ShownValue: Sendable {
  private(set) var text: ValueText?
  private(set) var number = ""
  private(set) var hex = ""
  private(set) var chart = ValueChart()
  /// How many came by themselves.
  var count = 0

  mutating func show(_ bytes: [UInt8], of type: BluetoothUUID) {
    let text = ValueText(bytes, characteristic: type)
    self.text = text
    hex = bytes.isEmpty ? "(empty)" : DetailField.spaced(bytes)
    // A text by the standard, or by its look where it is long, is no number.
    let isText = text.text != nil && (text.decoded == text.text || bytes.count > 4)
    let value = isText ? nil : Self.integer(bytes)
    // More than 4 bytes that the standard decodes are several numbers, and not shown as one.
    number = bytes.count <= 4 || text.decoded == nil ? value.map { "\($0)" } ?? "" : ""
    let decoded = isText ? nil : text.decoded.flatMap(ValueChart.number(in:))
    // Not `Double.init`, which takes the number for the bits of one.
    if let point = decoded ?? value.map({ Double($0) }) { chart.add(point) }
  }

  /// The bytes as a number without a sign, the least significant first, as most values have it.
  private static func integer(_ bytes: [UInt8]) -> UInt64? {
    guard (1...8).contains(bytes.count) else { return nil }
    return bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}

/// The last values of a characteristic as a line.
struct ValueChart: Hashable, Sendable {
  static let count = 120
  /// The height of the line; its width is `count` steps.
  static let height = 48.0

  private(set) var values: [Double] = []

  mutating func add(_ value: Double) {
    guard value.isFinite else { return }
    values.append(value)
    if values.count > Self.count { values.removeFirst() }
  }

  /// The points of a line, as SVG writes them, 238 wide and 48 high; the newest to the right.
  var points: String {
    guard let least = values.min(), let most = values.max() else { return "" }
    let span = most - least
    let gap = Self.count - values.count
    return values.enumerated().map { index, value in
      let share = span > 0 ? (value - least) / span : 0.5
      let y = (Self.height - 2) - (Self.height - 4) * share
      return "\(2 * (gap + index)),\(Int(y.rounded()))"
    }.joined(separator: " ")
  }

  /// A number with no more digits than it needs.
  func label(of value: Double?) -> String {
    guard let value else { return "" }
    let rounded = (value * 100).rounded() / 100
    return rounded == rounded.rounded() && abs(rounded) < 1e15
      ? "\(Int64(rounded))" : "\(rounded)"
  }

  /// The first number in a text: `72` of `72 bpm`.
  static func number(in text: String) -> Double? {
    let isPart = { (character: Character) in
      character.isASCII && (character.isNumber || "-.".contains(character))
    }
    let words = text.split { !isPart($0) }
    return words.lazy.compactMap { Double($0) }.first
  }
}

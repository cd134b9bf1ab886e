import Essentials

/// The lines of a trace that were left out for one reason.
public struct TraceLinesLeftOut: Hashable, Sendable {
  /// Why a line can't be used.
  public enum Reason: String, CaseIterable, Hashable, Sendable {
    /// It has too few fields, as the last line of a recording that was ended.
    case fields
    /// A field is too long, or not UTF-8.
    case text
    /// The time is not a number of seconds, or out of range.
    case time
    /// The receiver or the beacon has no name.
    case name
    /// The RSSI is not a number.
    case rssi
    /// The receiver didn't measure: an RSSI of 127 or 0 dBm.
    case unmeasured
    /// No receiver can have measured the RSSI: more than 20 dBm, or less than −127 (Core 5.4, Vol 4,
    /// Part E, §7.7.65.2).
    case implausible
    /// The true position is not three numbers, or out of range.
    case position
    /// The receiver is not on the map.
    case receiver

    /// Whether the line is no reception, which text of another format isn't, either.
    var isMalformed: Bool {
      switch self {
      case .fields, .text, .time, .name, .rssi, .position: true
      case .unmeasured, .implausible, .receiver: false
      }
    }
  }

  /// Why they can't be used.
  public var reason: Reason
  /// The number of the lines.
  public var count: Int
  /// The first of them, starting at 1.
  public var firstLine: Int
  /// The mistake in the first of them, with its text, without a full stop.
  public var explanation: String
}

/// The reason why a line of a trace can't be used.
struct TraceDefect: Error {
  var reason: TraceLinesLeftOut.Reason
  var explanation: String
  /// Whether the line may be the names of the fields: neither time nor RSSI is a number.
  var isOfHeader = false

  init(_ reason: TraceLinesLeftOut.Reason, _ explanation: String) {
    (self.reason, self.explanation) = (reason, explanation)
  }
}

/// The lines of a trace's text, but for empty ones and remarks.
struct TraceLines {
  private var rest: ArraySlice<UInt8>
  /// That of the last line, starting at 1.
  private(set) var number = 0

  init(_ text: ArraySlice<UInt8>) {
    let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    rest = text.starts(with: byteOrderMark) ? text.dropFirst(3) : text
  }

  /// The next line without spaces around it; nil at the end.
  mutating func next() -> ArraySlice<UInt8>? {
    while !rest.isEmpty {
      let end = rest.firstIndex { $0 == Self.lineFeed || $0 == Self.carriageReturn }
      let line = Self.trimmed(rest[..<(end ?? rest.endIndex)])
      rest = rest[(end ?? rest.endIndex)...]
      // A line ends with \n, \r\n, or \r alone.
      let isPair = rest.first == Self.carriageReturn && rest.dropFirst().first == Self.lineFeed
      rest = rest.dropFirst(isPair ? 2 : 1)
      number += 1
      if let first = line.first, first != UInt8(ascii: "#") { return line }
    }
    return nil
  }

  private static let lineFeed = UInt8(ascii: "\n")
  private static let carriageReturn = UInt8(ascii: "\r")
  private static let comma = UInt8(ascii: ",")
  private static let quotationMark = UInt8(ascii: "\"")
  private static let fieldsMax = 7
  private static let fieldBytesMax = 64

  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let isSpace: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    var bytes = bytes.drop(while: isSpace)
    while let last = bytes.last, isSpace(last) { bytes.removeLast() }
    return bytes
  }

  /// The reception of a line.
  static func reading(_ line: ArraySlice<UInt8>, number: Int) throws(TraceDefect) -> TraceReading {
    let texts = try texts(line)
    guard texts.count >= 4 else {
      throw TraceDefect(
        .fields,
        "expected time, receiver, beacon and RSSI, and x, y and z or nothing, "
          + "found \(texts.count) field\(texts.count == 1 ? "" : "s")")
    }
    let (time, rssi) = (Double(texts[0]), Double(texts[3]))
    guard let seconds = time, (0...9e9).contains(seconds) else {
      var defect = TraceDefect(.time, "\"\(texts[0])\" is not a time in seconds")
      defect.isOfHeader = time == nil && rssi == nil && !texts[3].isEmpty
      throw defect
    }
    guard !texts[1].isEmpty, !texts[2].isEmpty else {
      throw TraceDefect(.name, "a receiver or a beacon has no name")
    }
    let level = try level(rssi, texts[3])
    return TraceReading(
      time: Instant(nanoseconds: Int64(seconds * 1e9)), receiver: texts[1], beacon: texts[2],
      rssi: level, truth: try truth(texts[4...]), line: number)
  }

  private static func level(_ rssi: Double?, _ text: String) throws(TraceDefect) -> Int8 {
    guard let rssi, rssi.isFinite else {
      throw TraceDefect(.rssi, "\"\(text)\" is not an RSSI in dBm")
    }
    guard rssi != 127, rssi != 0 else {
      throw TraceDefect(.unmeasured, "an RSSI of \(text) means that none was measured")
    }
    guard rssi.magnitude < 1_000, let level = MeasuredStrength.rssi(Int(rssi.rounded())) else {
      throw TraceDefect(.implausible, "no receiver measures an RSSI of \(text) dBm")
    }
    return level
  }

  /// The true position; nil where its fields are absent or empty.
  private static func truth(_ texts: ArraySlice<String>) throws(TraceDefect) -> FloorPoint? {
    guard texts.contains(where: { !$0.isEmpty }) else { return nil }
    let numbers = texts.compactMap(Double.init)
    guard texts.count == 3, numbers.count == 3, numbers.allSatisfy({ $0.magnitude <= 1_000 })
    else {
      throw TraceDefect(
        .position, "\"\(texts.joined(separator: ","))\" is not a position in metres")
    }
    return FloorPoint(x: numbers[0], y: numbers[1], z: numbers[2])
  }

  /// The first seven fields, without spaces and quotation marks around them.
  private static func texts(_ line: ArraySlice<UInt8>) throws(TraceDefect) -> [String] {
    let fields =
      line.contains(quotationMark)
      ? quotedFields(line)
      : line.split(separator: comma, maxSplits: fieldsMax, omittingEmptySubsequences: false)
    var texts: [String] = []
    for field in fields.prefix(fieldsMax) {
      let field = trimmed(field)
      guard field.count <= fieldBytesMax, let text = String(validating: field, as: UTF8.self)
      else { throw TraceDefect(.text, "a field is too long or not UTF-8") }
      texts.append(text)
    }
    return texts
  }

  /// The fields of a line with quotation marks, between which a comma belongs to its field, and of
  /// which two in a row are one (RFC 4180).
  private static func quotedFields(_ line: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
    var fields: [ArraySlice<UInt8>] = [[]]
    var (isQuoted, wasQuoted) = (false, false)
    for byte in line {
      if byte == quotationMark {
        if wasQuoted { fields[fields.count - 1].append(byte) }
        isQuoted.toggle()
        wasQuoted = isQuoted == false
        continue
      }
      wasQuoted = false
      if byte == comma, !isQuoted {
        if fields.count == fieldsMax { break }
        fields.append([])
      } else {
        fields[fields.count - 1].append(byte)
      }
    }
    return fields
  }
}

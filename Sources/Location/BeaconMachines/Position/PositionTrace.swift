public import Essentials

/// One reception by one receiver, with the true position of the beacon if it is known.
public struct TraceReading: Hashable, Sendable {
  /// The time in nanoseconds, by the clock of the recording.
  public var time: Instant
  /// The receiver's name.
  public var receiver: String
  /// The beacon's name.
  public var beacon: String
  /// The level in dBm.
  public var rssi: Int8
  /// The true position of the beacon.
  public var truth: FloorPoint?
  /// The line of the file, starting at 1.
  public var line: Int

  /// Creates a reading.
  public init(
    time: Instant, receiver: String, beacon: String, rssi: Int8, truth: FloorPoint? = nil,
    line: Int = 0
  ) {
    self.time = time
    self.receiver = receiver
    self.beacon = beacon
    self.rssi = rssi
    self.truth = truth
    self.line = line
  }
}

/// The reason why a line of a trace is invalid.
public struct TraceError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The line, starting at 1.
  public var line: Int
  /// The mistake, without a full stop.
  public var reason: String

  /// `line 3: …`, without a full stop.
  public var description: String { "line \(line): \(reason)" }
}

/// The readings of one walk, in order of time.
///
/// The text has one reception per line, with comma-separated fields: time in seconds, receiver,
/// beacon, RSSI in dBm, and optionally the true x, y and z in metres. Additional fields, empty
/// lines and lines that begin with `#` are ignored. This is the format of the Position-Annotated
/// BLE RSSI Dataset.
public struct PositionTrace: Hashable, Sendable {
  /// The maximum number of receptions: a day of ten receivers with twelve a second each.
  public static let readingsMax = 10_000_000
  private static let fieldBytesMax = 64

  /// The readings, in order of time.
  public private(set) var readings: [TraceReading]
  /// The number of lines that were left out because their receiver didn't measure: an RSSI of 127 or
  /// 0 dBm.
  public private(set) var unmeasuredCount = 0
  /// The number of lines that were left out because no receiver can have measured their RSSI
  /// (``MeasuredStrength/rssiRange``).
  public private(set) var implausibleCount = 0

  /// Creates a trace from readings in any order.
  public init(_ readings: [TraceReading]) {
    // Those of one instant stay in the order of the text: the line decides.
    self.readings = readings.sorted { ($0.time, $0.line) < ($1.time, $1.line) }
  }

  /// Parses a text. Lines without a plausible RSSI are counted and left out.
  ///
  /// - Throws: The error of the first invalid line.
  public init(text: ArraySlice<UInt8>) throws(TraceError) {
    self.init([])
    var number = 0
    var rest = text
    while !rest.isEmpty {
      let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
      var line = rest[..<end]
      if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
      rest = rest[end...].dropFirst()
      number += 1
      guard let first = line.first, first != UInt8(ascii: "#") else { continue }
      guard readings.count < Self.readingsMax else {
        throw TraceError(line: number, reason: "more than \(Self.readingsMax) receptions")
      }
      try add(line, number: number)
    }
    readings.sort { ($0.time, $0.line) < ($1.time, $1.line) }
  }

  /// Reads one line.
  private mutating func add(_ line: ArraySlice<UInt8>, number: Int) throws(TraceError) {
    let fields = line.split(
      separator: UInt8(ascii: ","), maxSplits: 7, omittingEmptySubsequences: false)
    guard fields.count == 4 || fields.count >= 7 else {
      throw TraceError(
        line: number,
        reason: "expected time, receiver, beacon and RSSI, and x, y and z or nothing, "
          + "found \(fields.count) fields")
    }
    var texts: [String] = []
    for field in fields.prefix(7) {
      guard field.count <= Self.fieldBytesMax, let text = String(validating: field, as: UTF8.self)
      else { throw TraceError(line: number, reason: "a field is too long or not UTF-8") }
      texts.append(text)
    }
    guard let seconds = Double(texts[0]), (0...9e9).contains(seconds) else {
      throw TraceError(line: number, reason: "\"\(texts[0])\" is not a time in seconds")
    }
    guard !texts[1].isEmpty, !texts[2].isEmpty else {
      throw TraceError(line: number, reason: "a receiver or a beacon has no name")
    }
    guard let rssi = Int(texts[3]) else {
      throw TraceError(line: number, reason: "\"\(texts[3])\" is not an RSSI in dBm")
    }
    var truth: FloorPoint?
    if texts.count == 7 {
      let numbers = texts[4...].compactMap(Double.init)
      guard numbers.count == 3, numbers.allSatisfy({ $0.magnitude <= 1_000 }) else {
        throw TraceError(
          line: number,
          reason: "\"\(texts[4]),\(texts[5]),\(texts[6])\" is not a position in metres")
      }
      truth = FloorPoint(x: numbers[0], y: numbers[1], z: numbers[2])
    }
    if rssi == 127 || rssi == 0 {
      unmeasuredCount += 1
    } else if let level = MeasuredStrength.rssi(rssi) {
      readings.append(
        TraceReading(
          time: Instant(nanoseconds: Int64(seconds * 1e9)), receiver: texts[1], beacon: texts[2],
          rssi: level, truth: truth, line: number))
    } else {
      implausibleCount += 1
    }
  }

  /// The beacons in the trace, in the order of their first readings.
  public var beacons: [String] {
    var known: Set<String> = []
    return readings.map(\.beacon).filter { known.insert($0).inserted }
  }

  /// The trace with the readings of some beacons only.
  public func filtered(_ isWanted: (String) -> Bool) -> PositionTrace {
    var trace = self
    trace.readings = readings.filter { isWanted($0.beacon) }
    return trace
  }

  /// Divides the trace into windows, starting at its first reading. Windows without a reading are
  /// left out.
  ///
  /// - Throws: The error of the line that names a receiver that isn't in the plan.
  public func windows(
    on plan: FloorPlan, length: TimeSpan = .seconds(1)
  ) throws(TraceError) -> [ReadingWindow] {
    precondition(length > .zero, "a window has a length")
    guard let start = readings.first?.time else { return [] }
    var windows: [ReadingWindow] = []
    var collected = WindowCollector(plan: plan)
    var number: Int64 = 0
    for reading in readings {
      guard let receiver = plan.index(ofReceiver: reading.receiver) else {
        throw TraceError(
          line: reading.line, reason: "receiver \"\(reading.receiver)\" is not on the map")
      }
      let its = (reading.time - start).nanoseconds / length.nanoseconds
      if its != number {
        windows += [collected.end(at: start + length * (number + 1))].compactMap(\.self)
        number = its
      }
      collected.add(reading, from: receiver)
    }
    return windows + [collected.end(at: start + length * (number + 1))].compactMap(\.self)
  }
}

/// The readings of one beacon during a period, usually one second.
public struct ReadingWindow: Hashable, Sendable {
  /// The readings of one receiver.
  public struct Heard: Hashable, Sendable {
    /// The index of the receiver in the plan.
    public var receiver: Int
    /// The mean level in dBm.
    public var rssi: Double
    /// The number of receptions.
    public var count: Int

    /// Creates the readings of a receiver.
    public init(receiver: Int, rssi: Double, count: Int) {
      self.receiver = receiver
      self.rssi = rssi
      self.count = count
    }
  }

  /// The end of the period.
  public var end: Instant
  /// The readings, at most one element for each receiver, in the order of the plan.
  public var heard: [Heard]
  /// The mean of the known true positions.
  public var truth: FloorPoint?
  /// Receivers whose radios were off, so that the absence of a reading has no meaning.
  public var deaf: Set<Int>

  /// Creates a window.
  public init(end: Instant, heard: [Heard], truth: FloorPoint? = nil, deaf: Set<Int> = []) {
    self.end = end
    self.heard = heard
    self.truth = truth
    self.deaf = deaf
  }

  /// The number of all receptions.
  public var count: Int { heard.reduce(0) { $0 + $1.count } }
}

/// Collects the readings of one window.
public struct WindowCollector: Sendable {
  private var sums: [Double]
  private var counts: [Int]
  private var truth = FloorPoint(x: 0, y: 0)
  private var truthCount = 0

  /// Creates a collector without readings.
  public init(plan: FloorPlan) {
    sums = Array(repeating: 0, count: plan.receivers.count)
    counts = Array(repeating: 0, count: plan.receivers.count)
  }

  /// Adds a reading of a receiver of the plan.
  public mutating func add(_ reading: TraceReading, from receiver: Int) {
    sums[receiver] += Double(reading.rssi)
    counts[receiver] += 1
    guard let place = reading.truth else { return }
    truth = FloorPoint(x: truth.x + place.x, y: truth.y + place.y, z: truth.z + place.z)
    truthCount += 1
  }

  /// Ends the window and starts the next. Returns nil if it has no readings.
  public mutating func end(at end: Instant) -> ReadingWindow? {
    let heard = counts.indices.filter { counts[$0] > 0 }.map {
      ReadingWindow.Heard(receiver: $0, rssi: sums[$0] / Double(counts[$0]), count: counts[$0])
    }
    guard !heard.isEmpty else { return nil }
    let n = Double(truthCount)
    let place =
      truthCount == 0 ? nil : FloorPoint(x: truth.x / n, y: truth.y / n, z: truth.z / n)
    for index in counts.indices { (sums[index], counts[index]) = (0, 0) }
    (truth, truthCount) = (FloorPoint(x: 0, y: 0), 0)
    return ReadingWindow(end: end, heard: heard, truth: place)
  }
}

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

/// The reason why a trace is refused.
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
/// lines, lines that begin with `#` and a line with the names of the fields are ignored. This is the
/// format of the Position-Annotated BLE RSSI Dataset. As other programs write them, fields may have
/// spaces or quotation marks around them, an RSSI may have a fraction, which is rounded, and the text
/// may begin with a byte order mark and have any line ends.
public struct PositionTrace: Hashable, Sendable {
  /// The maximum number of receptions: a day of ten receivers with twelve a second each.
  public static let readingsMax = 10_000_000

  /// The readings, in order of time.
  public private(set) var readings: [TraceReading]
  /// The lines that were left out, by reason, in the order of their first lines.
  public private(set) var leftOut: [TraceLinesLeftOut] = []

  /// Creates a trace from readings in any order.
  public init(_ readings: [TraceReading]) {
    // Those of one instant stay in the order of the text: the line decides.
    self.readings = readings.sorted { ($0.time, $0.line) < ($1.time, $1.line) }
  }

  /// Parses a text. Lines that can't be used are counted and left out.
  ///
  /// - Throws: The error of the first line that is no reception, if more than half of the lines are
  ///   none: then the text has another format.
  public init(text: ArraySlice<UInt8>) throws(TraceError) {
    self.init([])
    var lines = TraceLines(text)
    var count = 0
    var hasHeader = false
    while let line = lines.next() {
      guard readings.count < Self.readingsMax else {
        throw TraceError(line: lines.number, reason: "more than \(Self.readingsMax) receptions")
      }
      do throws(TraceDefect) {
        readings.append(try TraceLines.reading(line, number: lines.number))
      } catch {
        if count == 0, !hasHeader, error.isOfHeader {
          hasHeader = true
          continue
        }
        leaveOut(error, line: lines.number)
      }
      count += 1
    }
    let malformed = leftOut.filter(\.reason.isMalformed)
    let malformedCount = malformed.reduce(0) { $0 + $1.count }
    if let first = malformed.first, malformedCount * 2 > count {
      let rest = count == 1 ? "" : ", and \(malformedCount) of \(count) lines are no receptions"
      throw TraceError(line: first.firstLine, reason: first.explanation + rest)
    }
    readings.sort { ($0.time, $0.line) < ($1.time, $1.line) }
  }

  private mutating func leaveOut(_ defect: TraceDefect, line: Int) {
    if let index = leftOut.firstIndex(where: { $0.reason == defect.reason }) {
      leftOut[index].count += 1
    } else {
      leftOut.append(
        TraceLinesLeftOut(
          reason: defect.reason, count: 1, firstLine: line, explanation: defect.explanation))
    }
  }

  /// The number of lines that were left out for a reason.
  public func leftOutCount(_ reason: TraceLinesLeftOut.Reason) -> Int {
    leftOut.first { $0.reason == reason }?.count ?? 0
  }

  /// Leaves out and counts the readings of receivers that a plan lacks.
  public mutating func leaveOutReceivers(notOn plan: FloorPlan) {
    let known = Set(plan.receivers.map(\.id))
    let others = readings.filter { !known.contains($0.receiver) }.sorted { $0.line < $1.line }
    guard !others.isEmpty else { return }
    for reading in others {
      leaveOut(
        TraceDefect(.receiver, "receiver \"\(reading.receiver)\" is not on the map"),
        line: reading.line)
    }
    leftOut.sort { $0.firstLine < $1.firstLine }
    readings.removeAll { !known.contains($0.receiver) }
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

  /// Divides the trace into windows, starting at its first reading. Windows without a reading, and
  /// readings of receivers that aren't in the plan, are left out.
  ///
  /// - Throws: The error of the first line, if no receiver of the trace is in the plan.
  public func windows(
    on plan: FloorPlan, length: TimeSpan = .seconds(1)
  ) throws(TraceError) -> [ReadingWindow] {
    precondition(length > .zero, "a window has a length")
    guard let first = readings.first else { return [] }
    let known = Dictionary(
      plan.receivers.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
    guard readings.contains(where: { known[$0.receiver] != nil }) else {
      throw TraceError(
        line: first.line, reason: "receiver \"\(first.receiver)\" is not on the map")
    }
    let start = first.time
    var windows: [ReadingWindow] = []
    var collected = WindowCollector(plan: plan)
    var number: Int64 = 0
    for reading in readings {
      guard let receiver = known[reading.receiver] else { continue }
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

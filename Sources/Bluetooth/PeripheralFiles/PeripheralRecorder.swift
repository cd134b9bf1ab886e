import BluetoothInterface
public import BluetoothWire
public import Essentials

/// The result of a recording.
public struct PeripheralRecording: Hashable, Sendable {
  /// The file. It can be written as text and parsed again by `PeripheralFile.init(_:)`.
  public var file: PeripheralFile
  /// Number of parts that are missing from the file, because they exceed its limits, or because the
  /// format can't represent them, such as notifications of a characteristic without that property.
  public var droppedCount: Int
}

/// Creates a peripheral file from a device's advertisements and responses, live or in a capture.
///
/// Values are stored unchanged, including secrets.
public struct PeripheralRecorder: Sendable {
  /// The index of a characteristic of the file.
  public typealias Index = PeripheralFile.CharacteristicIndex

  /// The time after a write within which notifications count as its answers. Devices answer within
  /// a few connection intervals, which are at most 4 s long and mostly below 100 ms.
  public static let answerTime = TimeSpan.seconds(1)
  /// The shortest gap between two advertising events; what follows closer is the scan response.
  private static let shortestGap = TimeSpan.milliseconds(10)
  /// The mean of the random delay after each interval (Core 5.4, Vol 6, Part B, §4.4.2.2.1).
  private static let meanDelay = TimeSpan.milliseconds(5)
  /// Gaps that are looked at to estimate the interval.
  private static let gapCount = 1_000

  private struct Write: Sendable {
    var index: Index
    var time: Instant
    var answer: PeripheralFile.Answer
  }

  private struct Payloads: Hashable, Sendable {
    var data: [UInt8] = []
    var scanResponse: [UInt8] = []
  }

  /// The file as recorded so far; the caller adds attributes to it.
  public var file = PeripheralFile()
  private var isConnectable = false
  private var firstHeard: Instant?
  private var lastHeard: Instant?
  private var gaps: [TimeSpan] = []
  private var strengths: [Int] = []
  private var payloads: [(time: Instant, payloads: Payloads, isCut: Bool)] = []
  private var timelineStart: Instant?
  private var timelineEnd: Instant?
  private var notifications: [Index: [(time: Instant, value: [UInt8])]] = [:]
  private var notificationCount = 0
  private var writes: [Write] = []
  /// The last write to a characteristic that was taken.
  private var lastWrites: [Index: Int] = [:]
  /// Characteristics that were read without an error at least once.
  private var readable: Set<Index> = []
  /// The weakest protection of a link over which an access succeeded.
  private var protections: [Index: [PeripheralFile.Access: PeripheralFile.Protection]] = [:]
  /// The strongest protection of a link over which something was written that is not answered.
  private var unansweredWrites: [Index: PeripheralFile.Protection] = [:]
  /// The room that is left in the file for events.
  private var room = TextRoom()
  /// The number of parts that exceeded a limit so far.
  public private(set) var droppedCount = 0

  /// Creates a recorder without recorded data.
  public init() {}

  // MARK: Advertising

  /// Records an advertisement. An unknown scan response is empty.
  public mutating func heard(
    data: [UInt8], scanResponse: [UInt8], isConnectable: Bool, rssi: Int?, at time: Instant
  ) {
    self.isConnectable = isConnectable
    if let rssi, rssi <= 20, strengths.count < Self.gapCount { strengths.append(rssi) }
    if let lastHeard, time - lastHeard >= Self.shortestGap, gaps.count < Self.gapCount {
      gaps.append(time - lastHeard)
    }
    if lastHeard.map({ time - $0 >= Self.shortestGap }) ?? true { lastHeard = time }
    firstHeard = firstHeard ?? time
    let limited = PeripheralFile.Advertising.limited(data, scanResponse)
    let heard = Payloads(data: limited.data, scanResponse: limited.scanResponse)
    guard let last = payloads.last?.payloads else {
      return append(heard, isCut: limited.isCut, at: time)
    }
    guard last != heard else {
      if limited.isCut, payloads.last?.isCut == false {
        payloads[payloads.count - 1].isCut = true
        countDropped(1)
      }
      return
    }
    // The scan response comes a moment later, and is missing now and then: that is no change.
    if last.data == heard.data, last.scanResponse.isEmpty || heard.scanResponse.isEmpty {
      if last.scanResponse.isEmpty {
        payloads[payloads.count - 1].payloads.scanResponse = heard.scanResponse
      }
    } else {
      append(heard, isCut: limited.isCut, at: time)
    }
  }

  private mutating func append(_ heard: Payloads, isCut: Bool, at time: Instant) {
    guard payloads.count <= PeripheralFile.Limits.advertisingChangeCount,
      room.take(.change(heard.data, heard.scanResponse))
    else { return countDropped(1) }
    payloads.append((time, heard, isCut))
    if isCut { countDropped(1) }
  }

  private var advertising: PeripheralFile.Advertising? {
    guard let first = payloads.first, let firstHeard, let lastHeard else { return nil }
    var advertising = PeripheralFile.Advertising()
    advertising.isConnectable = isConnectable
    advertising.data = first.payloads.data
    advertising.scanResponse = first.payloads.scanResponse
    advertising.rssi = strengths.isEmpty ? nil : strengths.sorted()[strengths.count / 2]
    if let interval { advertising.interval = interval }
    advertising.changes = payloads.dropFirst().map {
      PeripheralFile.Advertising.Change(
        time: ($0.time - firstHeard).rounded, data: $0.payloads.data,
        scanResponse: $0.payloads.scanResponse)
    }
    if let last = advertising.changes.last {
      advertising.duration =
        max((lastHeard - firstHeard).rounded, last.time)
        + advertising.interval
    }
    return advertising
  }

  /// A quarter of the gaps are shorter: some advertisements are missed, which makes gaps longer.
  private var interval: TimeSpan? {
    guard gaps.count >= 3 else { return nil }
    let gap = gaps.sorted()[gaps.count / 4]
    let interval = TimeSpan(nanoseconds: gap.nanoseconds - Self.meanDelay.nanoseconds)
    return min(max(interval.rounded, .milliseconds(20)), .seconds(10_485))
  }

  // MARK: Values

  /// Records that the device allowed an access over a link with this protection. The file demands the
  /// weakest that was enough: of what was only tried over a protected link it can't be known that it
  /// takes less, and a value that may be secret must not be given to everyone.
  public mutating func allowed(
    _ access: PeripheralFile.Access, to index: Index, over protection: PeripheralFile.Protection
  ) {
    protections[index, default: [:]][access] = min(
      protections[index]?[access] ?? protection, protection)
  }

  /// Records a write that the device does not answer, over a link with this protection. It may have
  /// ignored it, so this does not show what is enough: without an answered write the file demands
  /// the strongest protection that there was.
  public mutating func wroteUnanswered(
    to index: Index, over protection: PeripheralFile.Protection
  ) {
    unansweredWrites[index] = max(unansweredWrites[index] ?? protection, protection)
  }

  /// Records a write that the device refused, over a link with this protection. If it did so for lack of
  /// protection, the file demands more than none, unless another write was taken without.
  public mutating func refusedWrite(
    to index: Index, _ error: ATTErrorCode, over protection: PeripheralFile.Protection
  ) {
    guard [.insufficientAuthentication, .insufficientEncryption].contains(error) else { return }
    wroteUnanswered(to: index, over: max(protection, .encryption))
  }

  /// Adds to the number of parts that the caller left out of the file.
  public mutating func countDropped(_ count: Int) { droppedCount += count }

  /// Records the first subscription, from which times of notifications count.
  public mutating func beginTimeline(at time: Instant) { timelineStart = timelineStart ?? time }

  /// Ends the timeline: later notifications are answers to writes, or are ignored.
  public mutating func endTimeline(at time: Instant) { timelineEnd = timelineEnd ?? time }

  /// Records the outcome of a read. A value that an earlier write has changed is not recorded as
  /// the initial value.
  public mutating func read(_ index: Index, _ result: Result<[UInt8], ATTErrorCode>) {
    switch result {
    case .success(let value):
      readable.insert(index)
      guard value.count <= PeripheralFile.Limits.valueByteCount else { return countDropped(1) }
      if let last = lastWrites[index] {
        if value != writes[last].answer.written { writes[last].answer.value = value }
      } else if file[index].values.isEmpty, notifications[index] == nil {
        file[index].values = [value]
      }
      // Refused at first, as before the link was encrypted.
      file[index].readError = nil
    case .failure(let error):
      if !readable.contains(index) { file[index].readError = error }
    }
  }

  /// Records a notification or indication.
  public mutating func notified(_ index: Index, _ value: [UInt8], at time: Instant) {
    guard value.count <= PeripheralFile.Limits.valueByteCount,
      notificationCount < PeripheralFile.Limits.notificationCount,
      room.take(.notification(value))
    else { return countDropped(1) }
    notificationCount += 1
    notifications[index, default: []].append((time, value))
  }

  /// Records a write. The outcome is nil if it is not known, as for writes without response.
  public mutating func wrote(
    _ index: Index, _ value: [UInt8], error: ATTErrorCode?, at time: Instant
  ) {
    guard value.count <= PeripheralFile.Limits.valueByteCount,
      writes.count < PeripheralFile.Limits.answerCount,
      room.take(.answer(written: value, value: nil))
    else { return countDropped(1) }
    var answer = PeripheralFile.Answer(written: value)
    answer.error = error
    if error == nil { lastWrites[index] = writes.count }
    writes.append(Write(index: index, time: time, answer: answer))
  }

  /// Returns the recording up to `end`.
  public func finished(at end: Instant) -> PeripheralRecording {
    var file = file
    for (index, protection) in unansweredWrites {
      file[index].require(protection, for: .write)
    }
    for (index, accesses) in protections {
      for (access, protection) in accesses { file[index].require(protection, for: access) }
    }
    file.advertising = advertising
    file.advertisedServices = file.services.filter(\.isPrimary).map(\.uuid)
    let start = timelineStart ?? notifications.values.compactMap(\.first?.time).min() ?? end
    let answers = place(notificationsFrom: start, to: timelineEnd ?? end, in: &file)
    var dropped = 0
    var known: [Index: [[UInt8]: Int]] = [:]
    for (index, answer) in answers {
      if let number = known[index]?[answer.written] {
        dropped += file[index].answers[number].merge(answer)
      } else {
        known[index, default: [:]][answer.written] = file[index].answers.count
        file[index].answers.append(answer)
      }
    }
    if file.characteristicIndices.contains(where: { !file[$0].notifications.isEmpty }) {
      file.duration = ((timelineEnd ?? end) - start).rounded
    }
    dropped += file.normalize()
    return PeripheralRecording(file: file, droppedCount: droppedCount + dropped)
  }

  /// Stores notifications as answers to writes, if all of their characteristic can be answers,
  /// otherwise in the characteristic's timeline.
  private func place(
    notificationsFrom start: Instant, to end: Instant, in file: inout PeripheralFile
  ) -> [(index: Index, answer: PeripheralFile.Answer)] {
    var answers = writes.map { (index: $0.index, answer: $0.answer) }
    let writes = WritesByService(writes)
    for index in notifications.keys.sorted() {
      let heard = notifications[index] ?? []
      let answered = heard.map { writes.last(before: $0.time, near: index) }
      if answered.allSatisfy({ $0 != nil }) {
        for (notification, write) in zip(heard, answered) {
          guard let write else { continue }
          answers[write.number].answer.notifications.append(
            PeripheralFile.Answer.Notification(
              time: (notification.time - write.time).rounded, target: index,
              value: notification.value))
        }
      } else {
        file[index].notifications = heard.filter { $0.time <= end }.map {
          PeripheralFile.TimedValue(
            time: max(.zero, ($0.time - start).rounded), value: $0.value)
        }
      }
    }
    return answers
  }

  /// The writes that were taken, in the order of time.
  private struct WritesByService {
    private var all: [Int: [(time: Instant, number: Int)]] = [:]

    init(_ writes: [Write]) {
      for (number, write) in writes.enumerated() where write.answer.error == nil {
        all[write.index.service, default: []].append((write.time, number))
      }
      for service in all.keys { all[service]?.sort { ($0.time, $0.number) < ($1.time, $1.number) } }
    }

    /// The write to the same service that a notification may answer.
    func last(before time: Instant, near index: Index) -> (time: Instant, number: Int)? {
      guard let writes = all[index.service] else { return nil }
      let end = writes.partitionIndex { $0.time > time }
      guard let write = writes[safe: end - 1], time - write.time <= answerTime else { return nil }
      return write
    }
  }
}

extension RandomAccessCollection {
  /// The first index whose element is in the second part, of elements that are ordered so that
  /// those of the first part come first.
  func partitionIndex(where isSecond: (Element) -> Bool) -> Index {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = index(low, offsetBy: distance(from: low, to: high) / 2)
      if isSecond(self[middle]) { high = middle } else { low = index(after: middle) }
    }
    return low
  }
}

extension TimeSpan {
  /// Rounded to milliseconds, the precision of hosts.
  fileprivate var rounded: TimeSpan {
    .milliseconds((nanoseconds + 500_000) / 1_000_000)
  }
}

extension PeripheralFile.Answer {
  /// Takes another answer to the same write: a file has one for each value. One that was taken is
  /// worth more than one that was refused, as before the link was encrypted.
  ///
  /// - Returns: How much is left out.
  fileprivate mutating func merge(_ later: PeripheralFile.Answer) -> Int {
    let isBetter = error != nil && later.error == nil
    let lost = isBetter ? self : later
    if isBetter { self = later }
    return (lost == self ? 0 : 1) + lost.notifications.count
  }
}

import BluetoothMachines
public import BluetoothWire
public import Essentials

/// Makes a peripheral file from what was heard of a device and what it answered, live or in a
/// capture.
///
/// Values are stored as they are, secrets included.
public struct PeripheralRecorder: Sendable {
  /// Names a characteristic of the file.
  public typealias Index = PeripheralFile.CharacteristicIndex

  /// What belongs to an answer comes within this time after the write. Devices answer within a few
  /// connection intervals, which are at most 4 s long and mostly below 100 ms.
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

  /// What is known so far; attributes are put in here.
  public var file = PeripheralFile()
  private var isConnectable = false
  private var firstHeard: Instant?
  private var lastHeard: Instant?
  private var gaps: [TimeSpan] = []
  private var strengths: [Int] = []
  private var payloads: [(time: Instant, payloads: Payloads)] = []
  private var timelineStart: Instant?
  private var timelineEnd: Instant?
  private var notifications: [Index: [(time: Instant, value: [UInt8])]] = [:]
  private var notificationCount = 0
  private var writes: [Write] = []
  /// What found no room within the bounds of a file.
  public private(set) var droppedCount = 0

  /// Nothing is known yet.
  public init() {}

  // MARK: Advertising

  /// Takes an advertisement. A scan response that is not known yet is empty.
  public mutating func heard(
    data: [UInt8], scanResponse: [UInt8], isConnectable: Bool, rssi: Int?, at time: Instant
  ) {
    self.isConnectable = isConnectable
    if let rssi, strengths.count < Self.gapCount { strengths.append(rssi) }
    if let lastHeard, time - lastHeard >= Self.shortestGap, gaps.count < Self.gapCount {
      gaps.append(time - lastHeard)
    }
    if lastHeard.map({ time - $0 >= Self.shortestGap }) ?? true { lastHeard = time }
    firstHeard = firstHeard ?? time
    let limit = PeripheralFile.Limits.advertisingByteCount
    let heard = Payloads(
      data: Array(data.prefix(limit)), scanResponse: Array(scanResponse.prefix(limit)))
    guard let last = payloads.last?.payloads, last != heard else {
      if payloads.isEmpty { payloads.append((time, heard)) }
      return
    }
    // The scan response comes a moment later, and is missing now and then: that is no change.
    if last.data == heard.data, last.scanResponse.isEmpty || heard.scanResponse.isEmpty {
      if last.scanResponse.isEmpty {
        payloads[payloads.count - 1].payloads.scanResponse = heard.scanResponse
      }
    } else if payloads.count <= PeripheralFile.Limits.advertisingChangeCount {
      payloads.append((time, heard))
    } else {
      droppedCount += 1
    }
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

  /// Takes that the first subscription stands: times of notifications count from here.
  public mutating func beginTimeline(at time: Instant) { timelineStart = timelineStart ?? time }

  /// Takes that what is notified from here on answers writes, or is of no interest.
  public mutating func endTimeline(at time: Instant) { timelineEnd = timelineEnd ?? time }

  /// Takes the outcome of a read. What a write changed before is not its first value.
  public mutating func read(_ index: Index, _ result: Result<[UInt8], ATTErrorCode>) {
    switch result {
    case .success(let value):
      if let last = writes.lastIndex(where: { $0.index == index && $0.answer.error == nil }) {
        if value != writes[last].answer.written { writes[last].answer.value = value }
      } else if file[index].values.isEmpty, notifications[index] == nil {
        file[index].values = [value]
      }
    case .failure(let error):
      if file[index].values.isEmpty { file[index].readError = error }
    }
  }

  /// Takes a notification or indication.
  public mutating func notified(_ index: Index, _ value: [UInt8], at time: Instant) {
    guard notificationCount < PeripheralFile.Limits.notificationCount else {
      droppedCount += 1
      return
    }
    notificationCount += 1
    notifications[index, default: []].append((time, value))
  }

  /// Takes a write; nil where its outcome is not known, as for writes without response.
  public mutating func wrote(
    _ index: Index, _ value: [UInt8], error: ATTErrorCode?, at time: Instant
  ) {
    guard writes.count < PeripheralFile.Limits.answerCount else {
      droppedCount += 1
      return
    }
    var answer = PeripheralFile.Answer(written: value)
    answer.error = error
    writes.append(Write(index: index, time: time, answer: answer))
  }

  /// The file.
  public func finished(at end: Instant) -> PeripheralFile {
    var file = file
    file.advertising = advertising
    file.advertisedServices = file.services.filter(\.isPrimary).map(\.uuid)
    var writes = writes
    let start = timelineStart ?? notifications.values.compactMap(\.first?.time).min() ?? end
    for index in notifications.keys.sorted() {
      let heard = notifications[index] ?? []
      let answered = heard.map { lastWrite(before: $0.time, near: index) }
      if answered.allSatisfy({ $0 != nil }) {
        for (notification, number) in zip(heard, answered) {
          guard let number else { continue }
          writes[number].answer.notifications.append(
            PeripheralFile.Answer.Notification(
              time: (notification.time - writes[number].time).rounded, target: index,
              value: notification.value))
        }
      } else {
        file[index].notifications = heard.filter { $0.time <= timelineEnd ?? end }.map {
          PeripheralFile.TimedValue(
            time: max(.zero, ($0.time - start).rounded), value: $0.value)
        }
      }
    }
    for write in writes
    where !file[write.index].answers.contains(where: { $0.written == write.answer.written }) {
      file[write.index].answers.append(write.answer)
    }
    if file.characteristicIndices.contains(where: { !file[$0].notifications.isEmpty }) {
      let last = file.characteristicIndices.compactMap { file[$0].notifications.last?.time }.max()
      file.duration = max(
        ((timelineEnd ?? end) - start).rounded, last ?? .zero,
        PeripheralFile.Limits.shortestInterval)
    }
    return file
  }

  /// The write to the same service that a notification may answer.
  private func lastWrite(before time: Instant, near index: Index) -> Int? {
    writes.lastIndex {
      $0.index.service == index.service && $0.time <= time && time - $0.time <= Self.answerTime
        && $0.answer.error == nil
    }
  }
}

extension TimeSpan {
  /// In milliseconds, as exact as hosts can tell.
  fileprivate var rounded: TimeSpan {
    .milliseconds((nanoseconds + 500_000) / 1_000_000)
  }
}

import AppMachines
package import Essentials

/// The background tasks and notifications of one app.
struct AppServices: Sendable {
  /// The maximum number of notifications, each pending, delivered and waiting.
  static let noticeCountMax = 64
  /// The length of a device token, Apple's.
  static let tokenByteCount = 32
  /// Apple's maximum numbers of pending requests to refresh and to process.
  static let refreshCountMax = 1
  static let processingCountMax = 10
  /// In bytes of UTF-8.
  static let identifierByteCountMax = 1_024
  /// Of the contents of a local notification.
  static let contentsByteCountMax = 1 << 16
  /// Of the contents of all notifications in one of the lists.
  static let listByteCountMax = 1 << 18

  /// A local notification that is not due.
  struct Pending: Sendable {
    var notice: AppNotice
    var due: Instant
    var interval: Double
    var repeats: Bool
  }

  private(set) var tasks: [AppTaskNote] = []
  private(set) var fetchInterval: Double?
  private(set) var nextFetch: Instant?
  private(set) var isAuthorized: Bool?
  private(set) var pending: [Pending] = []
  private(set) var delivered: [AppNotice] = []
  private(set) var token: [UInt8]?
  private(set) var isRegistered = false
  private(set) var waitingPushes: [AppPushNote] = []
  private(set) var badge = 0
  /// When it was woken for a silent notification, as far as that counts now.
  private var silentTimes: [Instant] = []
  /// When a task of each kind may be launched again.
  private var nextTask: [Bool: Instant] = [:]
  /// The numbers of identifiers, by which waiting events are replaced, in their order.
  private var keys: [(identifier: String, key: UInt64)] = []
  private var lastKey: UInt64 = 0
  /// The notifications of alerts that the person was shown, in their order.
  private(set) var alerts: [(event: AppEventID, notice: AppNotice)] = []

  init() {}

  // MARK: Tasks

  mutating func submit(_ task: AppTaskNote, permitted: [String]) -> AppServiceReply {
    guard permitted.contains(task.identifier) else { return .refused(.notPermitted) }
    tasks.removeAll { $0.identifier == task.identifier }
    let count = tasks.count { $0.isProcessing == task.isProcessing }
    let limit = task.isProcessing ? Self.processingCountMax : Self.refreshCountMax
    guard count < limit else { return .refused(.tooMany) }
    tasks.append(Self.bounded(task))
    return .done
  }

  /// In seconds since 1970: about the year 5100, behind Foundation's distant future.
  private static let earliestBeginMax = 1e11

  /// A task whose time is a date: a process may send any number.
  private static func bounded(_ task: AppTaskNote) -> AppTaskNote {
    var task = task
    task.earliestBegin = task.earliestBegin.flatMap { seconds in
      seconds.isNaN ? nil : min(max(0, seconds), earliestBeginMax)
    }
    return task
  }

  mutating func cancelTask(_ identifier: String?) {
    tasks.removeAll { identifier == nil || $0.identifier == identifier }
  }

  /// When a task may be launched, but for its conditions.
  func dueTime(of task: AppTaskNote, _ calendar: AppCalendar) -> Instant {
    let earliest = task.earliestBegin.map { calendar.instant(at: $0) } ?? .zero
    return max(earliest, nextTask[task.isProcessing] ?? .zero)
  }

  mutating func launched(_ task: AppTaskNote, now: Instant, _ limits: AppServiceLimits) {
    cancelTask(task.identifier)
    nextTask[task.isProcessing] = now + limits.taskInterval
  }

  mutating func setFetchInterval(_ seconds: Double?, now: Instant, _ limits: AppServiceLimits) {
    fetchInterval = seconds.map { $0.isFinite ? max(0, $0) : 0 }
    nextFetch = fetchInterval.map { now + max(limits.taskInterval, .bounded(seconds: $0)) }
  }

  mutating func fetched(now: Instant, _ limits: AppServiceLimits) {
    setFetchInterval(fetchInterval, now: now, limits)
  }

  // MARK: Notifications

  mutating func authorize() -> Bool {
    let isGranted = isAuthorized ?? true
    isAuthorized = isGranted
    return isGranted
  }

  mutating func add(
    _ notice: AppNotice, after seconds: Double, repeats: Bool, now: Instant,
    _ limits: AppServiceLimits
  ) -> AppServiceReply {
    guard isAuthorized == true else { return .refused(.notPermitted) }
    guard Self.fits(notice) else { return .refused(.tooLong) }
    removePending([notice.identifier])
    let byteCount = pending.reduce(notice.contents.count) { $0 + $1.notice.contents.count }
    guard pending.count < Self.noticeCountMax, byteCount <= Self.listByteCountMax else {
      return .refused(.tooMany)
    }
    let interval = seconds.isFinite ? max(0, seconds) : 0
    pending.append(
      Pending(
        notice: notice, due: now + .bounded(seconds: interval), interval: interval,
        repeats: repeats && interval >= limits.repeatIntervalMin))
    return .done
  }

  /// Whether a notification of an app is short enough to be kept.
  static func fits(_ notice: AppNotice) -> Bool {
    notice.identifier.utf8.count <= identifierByteCountMax
      && notice.contents.count <= contentsByteCountMax
  }

  /// Takes a notification that is due. One that repeats is pending again.
  mutating func takeDue(now: Instant) -> AppNotice? {
    guard
      let index = pending.indices.filter({ pending[$0].due <= now })
        .min(by: { pending[$0].due < pending[$1].due })
    else { return nil }
    let notice = pending[index].notice
    if pending[index].repeats {
      // After a pause of the system once, not as often as was missed.
      pending[index].due = now + .bounded(seconds: pending[index].interval)
    } else {
      pending.remove(at: index)
    }
    return notice
  }

  /// Removes the oldest elements until the number and the size of the others are within the bounds.
  private static func bound<Element>(_ list: inout [Element], _ byteCount: (Element) -> Int) {
    var total = list.reduce(0) { $0 + byteCount($1) }
    while list.count > noticeCountMax || total > listByteCountMax, let first = list.first {
      total -= byteCount(first)
      list.removeFirst()
    }
  }

  mutating func removePending(_ identifiers: [String]?) {
    pending.removeAll { identifiers?.contains($0.notice.identifier) ?? true }
  }

  mutating func removeDelivered(_ identifiers: [String]?) {
    delivered.removeAll { identifiers?.contains($0.identifier) ?? true }
  }

  /// The app takes its notifications back from the person.
  mutating func withdraw(_ identifiers: [String]?) {
    removeDelivered(identifiers)
    alerts.removeAll { identifiers?.contains($0.notice.identifier) ?? true }
  }

  mutating func shown(_ notice: AppNotice) {
    removeDelivered([notice.identifier])
    delivered.append(notice)
    Self.bound(&delivered) { $0.contents.count }
  }

  mutating func setBadge(_ number: Int) { badge = max(0, number) }

  // MARK: Alerts

  mutating func noteAlert(_ event: AppEventID, _ notice: AppNotice) {
    alerts.removeAll { $0.notice.identifier == notice.identifier }
    alerts.append((event, notice))
    Self.bound(&alerts) { $0.notice.contents.count }
  }

  func notice(ofAlert event: AppEventID) -> AppNotice? {
    alerts.first { $0.event == event }?.notice
  }

  mutating func openedAlert(_ event: AppEventID) {
    guard let index = alerts.firstIndex(where: { $0.event == event }) else { return }
    removeDelivered([alerts.remove(at: index).notice.identifier])
  }

  // MARK: Remote notifications

  /// Returns the token, which is the same until the app is removed.
  mutating func register(random: [UInt8]) -> [UInt8] {
    let token = token ?? random
    self.token = token
    isRegistered = true
    return token
  }

  mutating func unregister() {
    isRegistered = false
    waitingPushes = []
  }

  /// The number of an identifier. A number is not given to another one.
  mutating func key(of identifier: String) -> UInt64 {
    if let known = keys.first(where: { $0.identifier == identifier }) { return known.key }
    lastKey += 1
    keys.append((identifier, lastKey))
    if keys.count > Self.noticeCountMax { keys.removeFirst() }
    return lastKey
  }

  /// Whether a silent notification may wake the app now; it counts if so.
  mutating func mayWake(now: Instant, _ limits: AppServiceLimits) -> Bool {
    silentTimes.removeAll { $0 + limits.silentPeriod <= now }
    guard silentTimes.count < limits.silentCountMax else { return false }
    silentTimes.append(now)
    return true
  }

  /// When a waiting notification may wake the app.
  func nextSilent(_ limits: AppServiceLimits) -> Instant? {
    guard !waitingPushes.isEmpty else { return nil }
    guard silentTimes.count >= limits.silentCountMax, let first = silentTimes.first else {
      return .zero
    }
    return first + limits.silentPeriod
  }

  mutating func wait(_ push: AppPushNote) {
    waitingPushes.removeAll {
      $0.collapseIdentifier == push.collapseIdentifier && push.collapseIdentifier != nil
    }
    waitingPushes.append(push)
    Self.bound(&waitingPushes) { $0.notice.contents.count }
  }

  mutating func takeWaitingPush() -> AppPushNote? {
    waitingPushes.isEmpty ? nil : waitingPushes.removeFirst()
  }

  mutating func removeExpired(_ calendar: Double) {
    waitingPushes.removeAll { $0.expiration.map { $0 <= calendar } ?? false }
  }

  // MARK: A restart of the system

  func record(_ calendar: AppCalendar) -> AppServiceRecord {
    var record = AppServiceRecord()
    record.tasks = tasks
    record.fetchInterval = fetchInterval
    record.isAuthorized = isAuthorized
    record.pending = pending.map {
      AppServiceRecord.Pending(
        notice: $0.notice, due: calendar.seconds(at: $0.due), interval: $0.interval,
        repeats: $0.repeats)
    }
    record.delivered = delivered
    record.token = token
    record.isRegistered = isRegistered
    record.waitingPushes = waitingPushes
    record.badge = badge
    record.alerts = alerts.map(\.notice)
    return record
  }

  init(
    _ record: AppServiceRecord, now: Instant, _ calendar: AppCalendar, _ limits: AppServiceLimits
  ) {
    tasks = record.tasks.prefix(Self.processingCountMax + Self.refreshCountMax).map(Self.bounded)
    setFetchInterval(record.fetchInterval, now: now, limits)
    isAuthorized = record.isAuthorized
    pending = record.pending.prefix(Self.noticeCountMax).map {
      // The calendar may have been set back meanwhile.
      let due = min(calendar.instant(at: $0.due), now + .bounded(seconds: $0.interval))
      let repeats = $0.repeats && $0.interval >= limits.repeatIntervalMin
      return Pending(notice: $0.notice, due: due, interval: $0.interval, repeats: repeats)
    }
    delivered = record.delivered
    Self.bound(&delivered) { $0.contents.count }
    token = record.token.flatMap { $0.count == Self.tokenByteCount ? $0 : nil }
    isRegistered = record.isRegistered
    waitingPushes = record.waitingPushes
    Self.bound(&waitingPushes) { $0.notice.contents.count }
    badge = record.badge
  }

  func violations() -> [String] {
    var found: [String] = []
    if tasks.count > Self.processingCountMax + Self.refreshCountMax {
      found.append("an app has too many tasks")
    }
    for count in [pending.count, delivered.count, waitingPushes.count, alerts.count, keys.count]
    where count > Self.noticeCountMax { found.append("an app has too many notifications") }
    return found
  }
}

/// The calendar, beside the monotonic clock.
struct AppCalendar: Hashable, Sendable {
  /// Seconds since 1970 at the origin of instants.
  private var origin = 0.0

  mutating func set(_ seconds: Double, at now: Instant) { origin = seconds - Self.seconds(now) }

  func seconds(at instant: Instant) -> Double { origin + Self.seconds(instant) }

  func instant(at seconds: Double) -> Instant { .zero + .bounded(seconds: seconds - origin) }

  private static func seconds(_ instant: Instant) -> Double { (instant - .zero).seconds }
}

extension TimeSpan {
  /// A time of at most thirty years, and of thirty years for no number.
  package static func bounded(seconds: Double) -> TimeSpan {
    let bound = 1e9
    guard seconds < bound else { return .seconds(Int64(bound)) }
    return seconds > -bound ? .milliseconds(Int64(seconds * 1_000)) : .seconds(-Int64(bound))
  }
}

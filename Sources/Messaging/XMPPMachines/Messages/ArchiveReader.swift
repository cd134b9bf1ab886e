#if Messaging
  import Essentials

  /// Reads the own archive from the entries that were read last, page by page. The last entries are
  /// read again, and must come again: an archive that has lost or renumbered entries is recognised.
  struct ArchiveReader: Sendable {
    /// What a page or a failure leads to.
    enum Step: Hashable {
      case query(ArchiveRequest)
      /// The archive does not continue where it ended. It is read from a time; a gap is reported.
      case gap(since: WallTime, ArchiveRequest)
      /// The history of a new store begins with this query. `end`: its last entry; nil if the archive is empty. `cut`: the
      /// time before which entries are left out; nil if none are.
      case history(end: ArchiveMark?, cut: WallTime?, ArchiveRequest)
      case done(isWhole: Bool)
      case stalled
      /// The answer belongs to no query that runs.
      case ignored
    }

    private enum Anchor { case overlap, last, date }

    /// The search for the beginning of the history, from the end of the archive.
    private struct Search: Hashable {
      var oldestDate: WallTime
      var end: ArchiveMark?
      var oldest: ArchiveMark?
      var entryCount = 0
      var pageCount = 0
    }

    let limits: MessageLimits
    /// The last entries that were read, oldest first.
    private(set) var marks: [ArchiveMark]
    private(set) var query: ArchiveRequest?
    private(set) var deadline: Instant?
    /// When to begin again after a failure, or with the next reading.
    private(set) var nextStart: Instant?
    /// When the reading that runs or failed began, and when the archive answered last.
    private(set) var startedAt: Instant?
    private(set) var progressAt: Instant?
    private var anchor = Anchor.overlap
    private var expected: Set<String> = []
    private var entryCount = 0
    private var pageCount = 0
    private var failureCount = 0
    private var lastPage: Set<String> = []
    private var latestDate: WallTime?
    private var backwardCount = 0
    private var search: Search?
    /// Whether the store has never read the archive.
    private(set) var isNew: Bool
    private var lastQuery: UInt64

    /// - Parameters:
    ///   - isNew: Whether the store has never read the archive: what it has is history.
    ///   - firstQuery: Another one in each process: a session that is resumed brings the rest of the answers to queries of
    ///     the process before.
    init(limits: MessageLimits, marks: [ArchiveMark], isNew: Bool, firstQuery: UInt64) {
      self.limits = limits
      self.marks = marks
      self.isNew = isNew && marks.isEmpty
      lastQuery = firstQuery
    }

    var isRunning: Bool { query != nil }
    var wake: Instant? { query == nil ? nextStart : deadline }
    /// Whether the pages of the query that runs only show where the history begins.
    var isSearching: Bool { search != nil && isRunning }

    /// - Parameter wall: The time, which decides what is too old for the history of a new store.
    mutating func start(now: Instant, wall: WallTime) -> ArchiveRequest {
      failureCount = 0
      startedAt = now
      progressAt = nil
      return restart(now, wall)
    }

    mutating func stop() {
      query = nil
      deadline = nil
      nextStart = nil
    }

    /// The connection has ended, and the session may be resumed: a reading under way is due again at once, the next one at
    /// its time.
    mutating func interrupt(now: Instant) {
      if isRunning { nextStart = now }
      query = nil
      deadline = nil
    }

    func isDue(now: Instant) -> Bool { !isRunning && nextStart.map { $0 <= now } ?? false }

    private mutating func restart(_ now: Instant, _ wall: WallTime) -> ArchiveRequest {
      search = nil
      if isNew {
        search = Search(oldestDate: wall - limits.historyAge)
        return next(.last, now)
      }
      anchor = .overlap
      return begin(marks.first.map { .after($0.id) } ?? .beginning, marks.dropFirst(), now)
    }

    private mutating func begin(
      _ start: ArchiveRequest.Start, _ known: ArraySlice<ArchiveMark>, _ now: Instant
    ) -> ArchiveRequest {
      expected = Set(known.map(\.id))
      entryCount = 0
      pageCount = 0
      lastPage = []
      latestDate = nil
      backwardCount = 0
      return next(start, now)
    }

    private mutating func next(_ start: ArchiveRequest.Start, _ now: Instant) -> ArchiveRequest {
      lastQuery += 1
      let query = ArchiveRequest(id: lastQuery, start: start, countMax: limits.pageCount)
      self.query = query
      deadline = now + limits.queryPatience
      nextStart = nil
      return query
    }

    /// Whether a page answers the query that runs.
    func isCurrent(_ page: ArchivePage) -> Bool { query?.id == page.query }

    /// Takes a page whose entries the machine has handled.
    mutating func handle(_ page: ArchivePage, now: Instant) -> Step {
      guard isCurrent(page) else { return .ignored }
      progressAt = now
      if let search { return look(page, search, now) }
      let ids = Set(page.entries.map(\.mark.id))
      expected.subtract(ids)
      entryCount += page.entries.count
      pageCount += 1
      let isAtEnd = page.isComplete || page.entries.isEmpty
      if !expected.isEmpty, isAtEnd || entryCount >= 2 * limits.overlapCount {
        return reanchor(now)
      }
      let isRepeated = page.entries.first.map { lastPage.contains($0.mark.id) } ?? false
      if let last = page.entries.last?.mark.date {
        if let latestDate, last < latestDate - limits.overlapTime { backwardCount += 1 }
        latestDate = last
      }
      let isEndless =
        isRepeated || pageCount >= limits.pageCountMax || backwardCount > limits.backwardCountMax
      guard page.isComplete || !(page.entries.isEmpty || isEndless) else {
        finish(now)
        return .stalled
      }
      let known = Set(marks.map(\.id))
      marks += page.entries.lazy.map(\.mark).filter { !known.contains($0.id) }
      marks.removeFirst(max(0, marks.count - limits.overlapCount))
      lastPage = ids
      if !page.isComplete, let last = page.entries.last {
        return .query(next(.after(last.mark.id), now))
      }
      finish(now)
      return .done(isWhole: true)
    }

    /// Takes a page of the search for the beginning of the history.
    private mutating func look(_ page: ArchivePage, _ before: Search, _ now: Instant) -> Step {
      var search = before
      search.pageCount += 1
      search.entryCount += page.entries.count
      if search.end == nil { search.end = page.entries.last?.mark }
      if let tooOld = page.entries.last(where: { $0.mark.date < search.oldestDate }) {
        return beginHistory(search, after: tooOld.mark, now)
      }
      guard let first = page.entries.first?.mark, !page.isComplete else {
        return beginHistory(search, after: nil, now)
      }
      // An archive that does not go back would be searched for ever.
      let isOver =
        search.entryCount >= limits.historyCountMax
        || search.pageCount >= limits.historyPageCountMax
        || first.id == search.oldest?.id
      search.oldest = first
      if isOver { return beginHistory(search, after: first, now) }
      self.search = search
      return .query(next(.before(first.id), now))
    }

    private mutating func beginHistory(
      _ search: Search, after mark: ArchiveMark?, _ now: Instant
    ) -> Step {
      self.search = nil
      isNew = false
      anchor = .overlap
      return .history(
        end: search.end, cut: mark?.date,
        begin(mark.map { .after($0.id) } ?? .beginning, [], now))
    }

    private mutating func finish(_ now: Instant) {
      failureCount = 0
      query = nil
      deadline = nil
      nextStart = now + limits.archiveInterval
    }

    private mutating func reanchor(_ now: Instant) -> Step {
      guard let last = marks.last else {
        finish(now)
        return .stalled
      }
      anchor = .date
      marks = []
      return .gap(
        since: last.date, begin(.date(last.date - limits.overlapTime), [], now))
    }

    /// Takes the failure of a query.
    mutating func fail(_ id: UInt64, isUnknownItem: Bool, now: Instant) -> Step {
      guard query?.id == id else { return .ignored }
      guard isUnknownItem, search == nil else { return retry(now) }
      switch anchor {
      case .overlap where marks.count > 1:
        anchor = .last
        return .query(begin(marks.last.map { .after($0.id) } ?? .beginning, [], now))
      case .overlap, .last: return reanchor(now)
      case .date: return retry(now)
      }
    }

    private mutating func retry(_ now: Instant) -> Step {
      failureCount += 1
      query = nil
      deadline = nil
      if failureCount >= limits.queryRetryMax {
        finish(now)
        return .done(isWhole: false)
      }
      nextStart = now + .seconds(5) * Int64(failureCount)
      return .ignored
    }

    /// Handles a query without an answer, or begins to read. Nil if nothing is due.
    mutating func wake(now: Instant, wall: WallTime) -> Step? {
      if let query, let deadline, deadline <= now {
        return fail(query.id, isUnknownItem: false, now: now)
      }
      guard isDue(now: now) else { return nil }
      return .query(
        failureCount > 0 && failureCount < limits.queryRetryMax
          ? restart(now, wall) : start(now: now, wall: wall))
    }

    /// Whether a failed reading will be tried again soon.
    var waitsForRetry: Bool {
      query == nil && nextStart != nil && failureCount > 0 && failureCount < limits.queryRetryMax
    }

    func violations() -> [String] {
      var found: [String] = []
      if marks.count > limits.overlapCount { found.append("too many entries of the archive") }
      if (query == nil) != (deadline == nil) { found.append("a query and its deadline disagree") }
      return found
    }
  }
#endif

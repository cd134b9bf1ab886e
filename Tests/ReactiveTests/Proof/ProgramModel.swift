/// What a run delivers, in virtual time: values, and the end if there is one. Times are ticks since
/// the start.
struct Trace: Equatable, Sendable {
  enum End: Equatable, Sendable { case completed, failed, interrupted }
  enum Event: Equatable, Sendable {
    case value(Int)
    case end(End)
  }
  struct Entry: Equatable, Sendable {
    var time: Int
    var event: Event
  }

  var entries: [Entry] = []

  var values: [(time: Int, value: Int)] {
    entries.compactMap { entry in
      if case .value(let value) = entry.event { (entry.time, value) } else { nil }
    }
  }
  var end: (time: Int, end: End)? {
    guard let last = entries.last, case .end(let end) = last.event else { return nil }
    return (last.time, end)
  }
  private var hasEnded: Bool { end != nil }

  mutating func send(_ value: Int, at time: Int) {
    if !hasEnded { entries.append(Entry(time: time, event: .value(value))) }
  }

  mutating func finish(_ end: End, at time: Int) {
    if !hasEnded { entries.append(Entry(time: time, event: .end(end))) }
  }

  mutating func finish(like end: (time: Int, end: End)?) {
    if let end { finish(end.end, at: end.time) }
  }

  mutating func append(_ entry: Entry) {
    if !hasEnded { entries.append(entry) }
  }

  func shifted(by time: Int) -> Trace {
    Trace(entries: entries.map { Entry(time: $0.time + time, event: $0.event) })
  }

  /// The same, disposed of at `time`, after what happens then.
  func disposed(at time: Int) -> Trace {
    var trace = Trace(entries: entries.filter { $0.time <= time })
    trace.finish(.interrupted, at: time)
    return trace
  }
}

/// A plain model of the operators: maps traces to traces.
///
/// Two things that happen at one tick in different streams have no order that is worth knowing;
/// a program with such ticks sets ``isAmbiguous``, and has no expected trace.
struct ProgramModel {
  private(set) var isAmbiguous = false

  mutating func trace(of program: Program) -> Trace {
    switch program {
    case .source(let trace): return trace
    case .each(let source, let operation): return each(operation, trace(of: source))
    case .timed(let source, let operation): return timed(operation, trace(of: source))
    case .again(let source, let reason, let count):
      return again(trace(of: source), after: reason, count)
    case .next(let source, let kind, let next):
      return following(trace(of: source), kind, trace(of: next))
    case .join(let a, let b, let kind): return join(trace(of: a), trace(of: b), kind)
    case .flatMap(let outer, let strategy, let inner):
      return flatten(trace(of: outer), strategy, inner.map { trace(of: $0) })
    }
  }

  // MARK: One stream

  private func each(_ operation: Program.Each, _ source: Trace) -> Trace {
    var result = Trace()
    var (seen, held): ([Int], [(time: Int, value: Int)]) = ([], [])
    for (time, value) in source.values {
      seen.append(value)
      switch operation {
      case .map: result.send(value &* 3, at: time)
      case .filter: if value % 2 == 0 { result.send(value, at: time) }
      case .scan: result.send(seen.reduce(0, &+), at: time)
      case .skip(let count): if seen.count > count { result.send(value, at: time) }
      case .skipRepeats:
        if seen.dropLast().last != value { result.send(value, at: time) }
      case .uniqueValues: if !seen.dropLast().contains(value) { result.send(value, at: time) }
      case .take(let count):
        result.send(value, at: time)
        if seen.count == count { result.finish(.completed, at: time) }
      case .takeLast, .reduce: held.append((time, value))
      case .takeWhile:
        if value < 6 { result.send(value, at: time) } else { result.finish(.completed, at: time) }
      }
    }
    if let end = source.end, end.end == .completed {
      if case .takeLast(let count) = operation {
        for (_, value) in held.suffix(count) { result.send(value, at: end.time) }
      }
      if operation == .reduce { result.send(seen.reduce(0, &+), at: end.time) }
    }
    result.finish(like: source.end)
    return result
  }

  private mutating func timed(_ operation: Program.Timed, _ source: Trace) -> Trace {
    switch operation {
    case .observe: return source
    case .delay(let ticks): return delay(ticks, source)
    case .debounce(let ticks, let discards): return debounce(ticks, discards, source)
    case .throttle(let ticks): return throttle(ticks, source)
    case .timeout(let ticks):
      if source.entries.contains(where: { $0.time == ticks }) { isAmbiguous = true }
      var result = Trace(entries: source.entries.filter { $0.time < ticks })
      result.finish(.failed, at: ticks)
      return result
    }
  }

  private mutating func delay(_ ticks: Int, _ source: Trace) -> Trace {
    var result = Trace()
    let cut = source.end.flatMap { $0.end == .completed ? nil : $0.time }
    for (time, value) in source.values {
      if time + ticks == cut { isAmbiguous = true }
      if time + ticks < cut ?? .max { result.send(value, at: time + ticks) }
    }
    if let end = source.end {
      result.finish(end.end, at: end.end == .completed ? end.time + ticks : end.time)
    }
    return result
  }

  private mutating func debounce(_ ticks: Int, _ discards: Bool, _ source: Trace) -> Trace {
    var result = Trace()
    let waitsAtEnd = source.end?.end == .completed && !discards
    for (index, entry) in source.entries.enumerated() {
      guard case .value(let value) = entry.event else { continue }
      let due = entry.time + ticks
      let next = index + 1 < source.entries.count ? source.entries[index + 1] : nil
      if next?.time == due { isAmbiguous = true }
      let isLast = if case .end? = next?.event { true } else { false }
      guard let next, !(isLast && waitsAtEnd) else {
        result.send(value, at: due)
        continue
      }
      if due < next.time { result.send(value, at: due) }
    }
    if let end = source.end {
      let last = result.entries.last?.time ?? 0
      result.finish(end.end, at: waitsAtEnd ? max(end.time, last) : end.time)
    }
    return result
  }

  private mutating func throttle(_ ticks: Int, _ source: Trace) -> Trace {
    var result = Trace()
    var previous: Int?
    var pending: (due: Int, value: Int)?
    for entry in source.entries {
      if let due = pending?.due, due == entry.time, previous != nil, due != previous {
        isAmbiguous = true
      }
      if let waiting = pending, waiting.due < entry.time {
        result.send(waiting.value, at: waiting.due)
        previous = waiting.due
        pending = nil
      }
      switch entry.event {
      case .value(let value):
        let due = pending?.due ?? max(entry.time, previous.map { $0 + ticks } ?? entry.time)
        pending = (due, value)
      case .end(let end):
        // A value of this very tick comes first, as it came.
        if let waiting = pending, waiting.due == entry.time {
          result.send(waiting.value, at: waiting.due)
        }
        result.finish(end, at: entry.time)
        pending = nil
      }
    }
    if let pending { result.send(pending.value, at: pending.due) }
    return result
  }

  // MARK: One after the other

  private func again(_ source: Trace, after reason: Trace.End, _ count: Int) -> Trace {
    var (result, start) = (Trace(), 0)
    for attempt in 0...count {
      let run = source.shifted(by: start)
      for (time, value) in run.values { result.send(value, at: time) }
      guard let end = run.end, end.end == reason, attempt < count else {
        result.finish(like: run.end)
        break
      }
      start = end.time
    }
    return result
  }

  private mutating func following(_ source: Trace, _ kind: Program.Next, _ next: Trace) -> Trace {
    if kind == .concat { return flatten(Self.both, .concat, [source, next]) }
    var result = Trace()
    if kind != .then { for (time, value) in source.values { result.send(value, at: time) } }
    guard let end = source.end, end.end == (kind == .recover ? .failed : .completed) else {
      result.finish(like: source.end)
      return result
    }
    for entry in next.shifted(by: end.time).entries { result.append(entry) }
    return result
  }

  /// The numbers of two streams, at once.
  private static let both = Trace(entries: [
    .init(time: 0, event: .value(0)), .init(time: 0, event: .value(1)),
    .init(time: 0, event: .end(.completed)),
  ])

  // MARK: Side by side

  private mutating func join(_ a: Trace, _ b: Trace, _ kind: Program.Join) -> Trace {
    if kind == .merge { return flatten(Self.both, .merge, [a, b]) }
    let steps = ordered([a.entries.map { (0, $0) }, b.entries.map { (1, $0) }])
    var (result, queues, done) = (Trace(), [[Int]](repeating: [], count: 2), [false, false])
    for (side, entry) in steps {
      switch entry.event {
      case .value(let value):
        queues[side].append(value)
        guard let first = queues[0].first, let second = queues[1].first else { break }
        if kind == .zip {
          result.send(first &* 5 &+ second, at: entry.time)
          queues[0].removeFirst()
          queues[1].removeFirst()
        } else {
          result.send((queues[0].last ?? first) &* 5 &+ (queues[1].last ?? second), at: entry.time)
        }
      case .end(.completed):
        done[side] = true
        if kind == .combineLatest, done == [true, true] {
          result.finish(.completed, at: entry.time)
        }
      case .end(let end): result.finish(end, at: entry.time)
      }
      if kind == .zip, (0...1).contains(where: { done[$0] && queues[$0].isEmpty }) {
        result.finish(.completed, at: entry.time)
      }
    }
    return result
  }

  /// The entries of several lists, by their time.
  private mutating func ordered(
    _ lists: [[(side: Int, entry: Trace.Entry)]]
  ) -> [(side: Int, entry: Trace.Entry)] {
    let times = lists.map { Set($0.map(\.entry.time)) }
    if !times[0].isDisjoint(with: times[1]) { isAmbiguous = true }
    return lists.joined().enumerated()
      .sorted { ($0.element.entry.time, $0.offset) < ($1.element.entry.time, $1.offset) }
      .map(\.element)
  }

  private mutating func flatten(
    _ outer: Trace, _ strategy: Program.Strategy, _ inner: [Trace]
  ) -> Trace {
    var result = Trace()
    var (next, outerIsDone) = (0, false)
    var running: [ArraySlice<Trace.Entry>] = []
    var waiting: [Trace] = []
    while true {
      let times = running.map { $0.first?.time ?? .max }
      let outerTime = next < outer.entries.count ? outer.entries[next].time : .max
      let innerTime = times.min() ?? .max
      guard min(outerTime, innerTime) < .max else { return result }
      let atOnce = times.count { $0 == innerTime }
      if innerTime > 0, outerTime == innerTime || atOnce > 1 && innerTime < outerTime {
        isAmbiguous = true
      }
      if outerTime <= innerTime {
        let entry = outer.entries[next]
        next += 1
        switch entry.event {
        case .end(.completed): outerIsDone = true
        case .end(let end): result.finish(end, at: entry.time)
        case .value(let value):
          let started = inner[Int(value.magnitude % UInt(inner.count))]
          switch strategy {
          case .latest: running = [started.shifted(by: entry.time).entries[...]]
          case .merge: running.append(started.shifted(by: entry.time).entries[...])
          case .concat, .two:
            if running.count < (strategy == .two ? 2 : 1) {
              running.append(started.shifted(by: entry.time).entries[...])
            } else {
              waiting.append(started)
            }
          }
        }
        if outerIsDone, running.isEmpty { result.finish(.completed, at: entry.time) }
      } else if let first = times.firstIndex(of: innerTime) {
        let entry = running[first].removeFirst()
        switch entry.event {
        case .value(let value): result.send(value, at: entry.time)
        case .end(.failed): result.finish(.failed, at: entry.time)
        case .end:
          running.remove(at: first)
          if !waiting.isEmpty {
            running.append(waiting.removeFirst().shifted(by: entry.time).entries[...])
          }
          if outerIsDone, running.isEmpty { result.finish(.completed, at: entry.time) }
        }
      }
    }
  }
}

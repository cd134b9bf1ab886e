import BindingMachines
import Essentials
import JSONWire
import PageClient

/// Two pages, their server, and a network that delays, loses, repeats and cuts: in virtual time,
/// from a seed.
struct ConvergenceWorld {
  /// How likely things go wrong, and what happens.
  struct Options {
    var seed: UInt64
    var isShared = false
    var restarts = false
    /// Chances, of each message.
    var lossProbability = 0.1
    var lostAnswerProbability = 0.1
    var repetitionProbability = 0.2
    /// The chance of each event that its stream breaks after it.
    var breakProbability = 0.02
    var latencyMax = TimeSpan.milliseconds(200)
    /// How long a slow client takes to read a write.
    var slownessMax = TimeSpan.seconds(2)
    var actionCount = 150
  }

  private enum Event {
    case down(Int, StreamID, [UInt8])
    case writeLeaves(StreamID)
    case up(Int, PageClient.Message)
    case answer(Int, PageClient.Message, status: Int)
    case connect(Int)
    case streamBreaks(Int, StreamID)
    case serverSeesBreak(StreamID)
    case act
    case restart
  }

  private struct Page {
    var client: PageClient
    var stream: StreamID?
    var reader = EventReader()
    /// When the last data from the server arrives: data stays in order.
    var lastArrival = Instant.zero
    /// The text that was typed last, and the epoch of its server.
    var text = ""
    var notes: [String: (text: String, epoch: String?)] = [:]
    var letterCount = 0
    var clickCount = 0
  }

  let options: Options
  private var random: SeededGenerator
  private var bench: LiveBench
  private var pages: [Page]
  private var events: [(time: Instant, order: Int, event: Event)] = []
  private var order = 0
  private var restartCount = 0
  /// Rows that have gone at some time: if they are there again, they are other ones.
  private var removedKeys: Set<String> = []
  private var isCalm = false
  private(set) var failures: [String] = []

  init(_ options: Options) {
    self.options = options
    random = SeededGenerator(seed: options.seed)
    bench = LiveBench(isShared: options.isShared, epoch: options.seed)
    bench.writesAtOnce = false
    pages = ["a", "b"].map { Page(client: PageClient(tab: $0)) }
  }

  /// Runs the world and returns the failures.
  mutating func run() -> [String] {
    for index in pages.indices { schedule(.connect(index), in: .zero) }
    for step in 0..<options.actionCount {
      schedule(.act, in: .milliseconds(Int64(step) * 40))
    }
    if options.restarts {
      for time in [1_500, 4_000] as [Int64] { schedule(.restart, in: .milliseconds(time)) }
    }
    step(until: .zero + .milliseconds(Int64(options.actionCount) * 40))
    isCalm = true
    step(until: bench.now + .seconds(90))
    check()
    failures += bench.machine.violations()
    return failures
  }

  private mutating func step(until end: Instant) {
    while failures.isEmpty {
      let next = events.indices.min {
        (events[$0].time, events[$0].order) < (events[$1].time, events[$1].order)
      }
      let time = min(next.map { events[$0].time } ?? .distantFuture, end)
      if let wake = bench.machine.nextWake, wake < time {
        bench.advance(by: wake - bench.now)
        carry()
        continue
      }
      bench.advance(by: time - bench.now)
      guard let next, events[next].time <= end else { return carry() }
      perform(events.remove(at: next).event)
      carry()
      for page in pages { check(page) }
    }
  }

  /// Checks the invariant: a page shows the text typed in it, unless another page types.
  private mutating func check(_ page: Page) {
    failures += page.client.faults
    if !options.isShared, !page.text.isEmpty, page.client.values["text"] != .string(page.text) {
      failures.append("\(page.client.tab) typed \(page.text), it shows \(page.client.values)")
    }
  }

  private mutating func schedule(_ event: Event, in delay: TimeSpan) {
    schedule(event, at: bench.now + delay)
  }

  private mutating func schedule(_ event: Event, at time: Instant) {
    order += 1
    events.append((time, order, event))
  }

  private mutating func chance(_ probability: Double) -> Bool {
    !isCalm && random.unit() < probability
  }

  private mutating func delay(_ most: TimeSpan) -> TimeSpan {
    TimeSpan(nanoseconds: Int64(random.unit() * Double(isCalm ? 1_000_000 : most.nanoseconds)))
  }

  // MARK: Events

  private mutating func perform(_ event: Event) {
    switch event {
    case .down(let index, let stream, let bytes):
      guard pages[index].stream == stream else { return }
      for event in pages[index].reader.read(bytes) { pages[index].client.receive(event) }
      if chance(options.breakProbability) { perform(.streamBreaks(index, stream)) }
    case .writeLeaves(let stream): bench.finishWrite(stream)
    case .up(let index, let message): deliver(message, of: index)
    case .answer(let index, let message, let status):
      pages[index].client.answered(message, status: status)
      if status >= 500, pages[index].client.inFlight == message {
        schedule(.up(index, message), in: .milliseconds(500))
      }
      if pages[index].client.needsSnapshot, let stream = pages[index].stream {
        perform(.streamBreaks(index, stream))
      }
    case .connect(let index): connect(index)
    case .streamBreaks(let index, let stream):
      guard pages[index].stream == stream else { return }
      pages[index].stream = nil
      pages[index].client.disconnect()
      schedule(.connect(index), in: .milliseconds(500))
      schedule(.serverSeesBreak(stream), in: delay(.seconds(20)))
    case .serverSeesBreak(let stream):
      bench.writing.remove(stream)
      bench.handle(.streamClosed(stream))
    case .act: act()
    case .restart: restart()
    }
  }

  private mutating func connect(_ index: Int) {
    guard pages[index].stream == nil else { return }
    pages[index].stream = bench.open(pages[index].client.tab)
    pages[index].reader = EventReader()
    pages[index].client.connect()
  }

  private mutating func deliver(_ message: PageClient.Message, of index: Int) {
    if chance(options.lossProbability) {
      return schedule(.answer(index, message, status: 503), in: .seconds(1))
    }
    let status: Int
    switch Result(catching: { try bench.post(message.body) }) {
    case .success(.accepted): status = 204
    case .success(.conflict): status = 409
    case .success(.malformed(let why)): return failures.append("malformed: \(why)")
    case .success(nil): return failures.append("no answer")
    case .failure(let error): return failures.append("\(error)")
    }
    let isLost = chance(options.lostAnswerProbability)
    schedule(.answer(index, message, status: isLost ? 503 : status), in: delay(options.latencyMax))
  }

  /// A server that knows nothing of the one before.
  private mutating func restart() {
    restartCount += 1
    let now = bench.now
    bench = LiveBench(
      isShared: options.isShared, epoch: options.seed &+ UInt64(restartCount) << 32)
    bench.writesAtOnce = false
    bench.now = now
    events.removeAll {
      switch $0.event {
      case .writeLeaves, .serverSeesBreak: true
      default: false
      }
    }
    for index in pages.indices {
      if pages[index].stream != nil {
        pages[index].stream = nil
        pages[index].client.disconnect()
        schedule(.connect(index), in: .milliseconds(500))
      }
    }
  }

  // MARK: What happens in the pages and in the server

  private mutating func act() {
    let index = Int.random(in: 0..<2, using: &random)
    switch Int.random(in: 0..<12, using: &random) {
    case 0..<4: type(index)
    case 4: typeNote(index)
    case 5:
      pages[index].client.set(
        .page("number"), .integer(Int64.random(in: 0..<100, using: &random)))
    case 6:
      if options.isShared, pages[index].client.epoch != nil {
        pages[index].clickCount += 1
        pages[index].client.call(.page("clear"))
      } else if !options.isShared,
        let key = pages[index].client.lists["rows"]?.keys.randomElement(using: &random)
      {
        pages[index].clickCount += 1
        pages[index].client.call(.row(list: "rows", key: key, name: "bump"))
      }
    default: changeModel()
    }
  }

  private mutating func type(_ index: Int) {
    let letters = Array("abcdefghij")
    pages[index].letterCount += 1
    pages[index].text.append(letters[pages[index].letterCount % letters.count])
    pages[index].client.set(.page("text"), .string(pages[index].text))
  }

  private mutating func typeNote(_ index: Int) {
    guard let key = pages[index].client.lists["rows"]?.keys.randomElement(using: &random) else {
      return
    }
    let text = "\(index)\(order)"
    pages[index].notes[key] = (text, pages[index].client.epoch)
    pages[index].client.set(.row(list: "rows", key: key, name: "note"), .string(text))
  }

  private mutating func changeModel() {
    guard
      let model = bench.models.keys.sorted(by: { $0.number < $1.number })
        .randomElement(using: &random)
    else { return }
    var random = random.fork()
    var removedKey: String?
    bench.change(model) { table in
      switch Int.random(in: 0..<4, using: &random) {
      case 0: table.values[3] = .integer(Int64.random(in: 0..<1_000, using: &random))
      case 1:
        let key = "k\(Int.random(in: 0..<12, using: &random))"
        guard !table.rows.contains(where: { $0.key == key }) else { break }
        let place = Int.random(in: 0...table.rows.count, using: &random)
        table.rows.insert((key, [.string(""), .integer(0)]), at: place)
      case 2: table.rows.shuffle(using: &random)
      default:
        // The first rows stay, so that text typed there must be found at the end.
        guard table.rows.count > 4 else { break }
        let index = Int.random(in: 4..<table.rows.count, using: &random)
        removedKey = table.rows.remove(at: index).key
      }
    }
    if let removedKey { removedKeys.insert(removedKey) }
  }

  // MARK: The network

  /// Delivers the streams' output and the pages' messages.
  private mutating func carry() {
    for (stream, bytes) in bench.written.sorted(by: { $0.key.number < $1.key.number }) {
      bench.written[stream] = nil
      guard let index = pages.firstIndex(where: { $0.stream == stream }) else { continue }
      let arrival = max(pages[index].lastArrival, bench.now + delay(options.latencyMax))
      pages[index].lastArrival = arrival
      schedule(.down(index, stream, bytes), at: arrival)
      let isSlow = chance(0.1)
      schedule(.writeLeaves(stream), in: isSlow ? delay(options.slownessMax) : .zero)
    }
    for stream in bench.ended {
      if let index = pages.firstIndex(where: { $0.stream == stream }) {
        perform(.streamBreaks(index, stream))
      }
    }
    bench.ended = []
    for index in pages.indices {
      guard let message = pages[index].client.takeMessage() else { continue }
      schedule(.up(index, message), in: delay(options.latencyMax))
      if chance(options.repetitionProbability) {
        schedule(.up(index, message), in: delay(.seconds(3)))
      }
    }
  }

  // MARK: The end

  /// The model that a page shows, whose number ends its name.
  private func model(of page: Page) -> TableModel? {
    let number = page.client.model?.split(separator: ".").last.flatMap { Int($0) }
    return number.flatMap { bench.models[ModelID(number: $0)] }
  }

  private mutating func check() {
    // An action is started once for each click; clicks for a server that has gone are lost with it.
    let clicks = pages.reduce(0) { $0 + $1.clickCount }
    let calls = bench.models.values.reduce(0) { $0 + $1.callCount }
    if options.restarts ? calls > clicks : calls != clicks {
      failures.append("\(clicks) clicks started \(calls) actions")
    }
    for page in pages {
      let tab = page.client.tab
      guard page.client.isSettled else { return failures.append("\(tab) isn't settled") }
      guard let model = model(of: page) else { return failures.append("\(tab) has no model") }
      guard model.isShown(by: page.client) else {
        return failures.append(
          "\(tab) shows \(page.client.values) \(page.client.lists), not \(model)")
      }
      if !options.isShared, page.client.values["text"] != .string(page.text) {
        failures.append("\(tab) typed \(page.text), there is \(page.client.values)")
      }
      guard !options.isShared else { continue }
      for (key, note) in page.notes where note.epoch == page.client.epoch {
        guard let row = model.rows.first(where: { $0.key == key }) else { continue }
        let isAnotherRow = removedKeys.contains(key) && row.values[0] == .string("")
        if row.values[0] != .string(note.text), !isAnotherRow {
          failures.append("\(tab) typed \(note.text) in \(key), there is \(row.values)")
        }
      }
    }
  }

  /// A number that differs where a run has drawn more numbers, or fewer.
  mutating func nextDraw() -> UInt64 { random.next() }

  /// How much happened, so that a test can tell that it did.
  var summary: (snapshots: Int, patches: Int, duplicates: Int, messages: Int) {
    (
      pages.reduce(0) { $0 + $1.client.snapshotCount },
      pages.reduce(0) { $0 + $1.client.patchCount },
      bench.machine.counters.duplicates, bench.machine.counters.messages
    )
  }
}

import Foundation
import Reactive
import Testing

/// The streams that the documentation's marble diagrams may use, played from one drawing.
///
/// A line labelled with the name of one of these streams is played; any other label is code, and
/// must be one that ``draw(_:_:)`` is called with.
struct Stage: Sendable {
  let marbles = Marbles()
  var scheduler: TestScheduler { marbles.scheduler }

  // Producers: their drawings count from the start.
  let numbers: SignalProducer<Int, MarbleError>
  let others: SignalProducer<Int, MarbleError>
  let letters: SignalProducer<String, MarbleError>
  let settings: SignalProducer<String, Never>
  let values: SignalProducer<Int, Never>
  let maybes: SignalProducer<Int?, MarbleError>
  let trigger: SignalProducer<(), Never>
  let isNear: SignalProducer<Bool, MarbleError>
  let isOpen: SignalProducer<Bool, MarbleError>
  let streams: SignalProducer<SignalProducer<String, MarbleError>, MarbleError>
  let events: SignalProducer<Signal<Int, MarbleError>.Event, Never>
  let results: SignalProducer<Result<Int, MarbleError>, Never>
  let execution: SignalProducer<String, MarbleError>

  // Hot: their drawings count from the beginning.
  let signal: Signal<Int, MarbleError>
  let changes: Signal<Int, Never>
  let replayed: SignalProducer<Int, Never>
  let lifetime: Lifetime

  // Properties: their first value is theirs from the beginning.
  let first: MutableProperty<Int>
  let second: MutableProperty<Int>
  let target: MutableProperty<Int>
  let optional: MutableProperty<Int?>
  let isBusy: MutableProperty<Bool>
  let isReady: MutableProperty<Bool>
  let name: ValidatingProperty<String, MarbleError>
  let action: Action<String, String, MarbleError>

  private let drawing: Drawing
  private let sources: [String: ColdSource]
  private let recordings = Log<(line: Drawing.Line, recording: Log<Diagram.Event>)>()

  init(_ drawing: Drawing) {
    self.drawing = drawing
    let marbles = marbles
    let lines = Dictionary(drawing.lines.map { ($0.label, $0) }, uniquingKeysWith: { $1 })
    let sources = lines.filter { Self.producers.contains($0.key) }
      .mapValues { marbles.source($0.diagram) }
    self.sources = sources
    func source(_ name: String) -> SignalProducer<String, MarbleError> {
      sources[name]?.producer ?? .never
    }
    func safe(_ name: String) -> SignalProducer<String, Never> {
      source(name).flatMapError { _ in .empty }
    }
    numbers = source("numbers").map(Self.number)
    others = source("others").map(Self.number)
    letters = source("letters")
    settings = safe("settings")
    values = safe("values").map(Self.number)
    maybes = source("maybes").map { Int($0) }
    trigger = safe("trigger").map(value: ())
    isNear = source("isNear").map(Self.truth)
    isOpen = source("isOpen").map(Self.truth)
    let inner = ["a", "b", "c"].map { ($0, source($0)) }
    streams = source("streams").map { name in inner.first { $0.0 == name }?.1 ?? .never }
    events = safe("events").map(Self.event)
    results = safe("results").map {
      $0 == "#" ? .failure(MarbleError()) : .success(Self.number($0))
    }
    let execution = source("execution")
    self.execution = execution

    func line(_ name: String) -> String { lines[name]?.diagram ?? "" }
    func property<Value>(
      _ name: String, _ value: @escaping @Sendable (String) -> Value
    ) -> MutableProperty<Value> {
      Self.property(line(name), value, marbles)
    }
    signal = marbles.signal(line("signal")).map(Self.number)
    changes = marbles.values(line("changes")).map(Self.number)
    let (replayed, input) = SignalProducer<Int, Never>.replayPipe(upTo: 2)
    self.replayed = replayed
    marbles.values(line("replayed")).map(Self.number).observe(input)
    let (lifetime, token) = Lifetime.make()
    self.lifetime = lifetime
    marbles.values(line("lifetime")).observeValues { _ in token.dispose() }

    first = property("first", Self.number)
    second = property("second", Self.number)
    target = MutableProperty(0)
    optional = property("optional") { Int($0) }
    isBusy = property("isBusy", Self.truth)
    isReady = property("isReady", Self.truth)
    name = ValidatingProperty("") { $0.count > 2 ? .valid : .invalid(MarbleError()) }
    name <~ marbles.values(line("typed"))
    if lines["isReady"] == nil { isReady.value = true }
    action = Action(enabledIf: isReady) { _ in execution }
    let action = action
    marbles.values(line("requests")).observeValues { action.apply($0).start() }
  }

  /// A property that begins with the first value of a line, and takes the others in their time.
  private static func property<Value>(
    _ line: String, _ value: @escaping @Sendable (String) -> Value, _ marbles: Marbles
  ) -> MutableProperty<Value> {
    guard case .value(let initial)? = Diagram(line).events.first?.mark else {
      return MutableProperty(value("0"))
    }
    let property = MutableProperty(value(initial))
    property <~ marbles.values(line).skip(first: 1).map(value)
    return property
  }

  /// The labels of lines that are played, and are producers.
  private static let producers: Set = [
    "numbers", "others", "letters", "settings", "values", "maybes", "trigger", "isNear", "isOpen",
    "streams", "a", "b", "c", "events", "results", "execution",
  ]

  /// The labels of other lines that are played.
  private static let played: Set = [
    "signal", "changes", "replayed", "lifetime", "first", "second", "optional", "isBusy",
    "isReady", "typed", "requests",
  ]

  /// Starts what the drawing has under the label `code`, if it has anything.
  ///
  /// - Parameters:
  ///   - code: The code of `stream`, character by character.
  ///   - output: The stream to record, if it isn't `stream` itself.
  func draw<Stream, Output: SignalProducerConvertible>(
    _ code: String, _ stream: @autoclosure () -> Stream, shows output: (Stream) -> Output
  ) where Output.Value: Sendable {
    let wanted = drawing.lines.filter { $0.label == code }
    guard !wanted.isEmpty else { return }
    let producer = output(stream()).producer
    for line in wanted {
      let recording = Log<Diagram.Event>()
      recordings.append((line, recording))
      let begin: @Sendable () -> Void = { [marbles] in
        producer.start { event in
          let frame = marbles.frame - Double(line.start)
          recording.append(Diagram.Event(frame: frame, mark: Diagram.Mark(event)))
        }
      }
      if line.start == 0 { begin() } else { marbles.at(Double(line.start), begin) }
    }
  }

  /// Starts what the drawing has under the label `code`, if it has anything.
  func draw<Stream: SignalProducerConvertible>(
    _ code: String, _ stream: @autoclosure () -> Stream
  ) where Stream.Value: Sendable {
    draw(code, stream(), shows: { $0 })
  }

  /// Lets time pass.
  ///
  /// - Returns: In what the drawing differs from what happened.
  func play() -> [String] {
    marbles.finish()
    var differences: [String] = []
    for (line, recording) in recordings.entries {
      let (drawn, actual) = (Diagram(line.diagram), Diagram(events: recording.entries))
      if drawn != actual {
        differences.append("\(line.label)\n  drawn \(drawn)\n    was \(actual)")
      }
    }
    return differences + drawing.lines.compactMap(misplacement)
  }

  /// The fault of a line's label or beginning.
  private func misplacement(of line: Drawing.Line) -> String? {
    if let source = sources[line.label] {
      let starts = source.runs.compactMap { $0.firstIndex { $0 != "-" }?.utf16Offset(in: $0) }
      let isRight = line.start == 0 || starts.isEmpty || starts.contains(line.start)
      return isRight ? nil : "\(line.label) was started at \(starts)"
    }
    if Self.played.contains(line.label) { return nil }
    let begins = drawing.lines.filter { $0.label == line.label }.map(\.start)
    if !begins.contains(0) { return "\(line.label) begins late, and nothing of it before" }
    let isKnown = recordings.entries.contains { $0.line.label == line.label }
    return isKnown ? nil : "there is no \(line.label)"
  }

  private static let number: @Sendable (String) -> Int = { Int($0) ?? 0 }
  private static let truth: @Sendable (String) -> Bool = { $0 == "t" }
  private static let event: @Sendable (String) -> Signal<Int, MarbleError>.Event = { name in
    switch name {
    case "#": .failed(MarbleError())
    case "|": .completed
    case "!": .interrupted
    default: .value(number(name))
    }
  }
}

extension Diagram.Mark {
  fileprivate init<Value, Error>(_ event: Signal<Value, Error>.Event) {
    switch event {
    case .value(let value): self = .value(nameOfMarble(value))
    case .completed: self = .completed
    case .failed: self = .failed
    case .interrupted: self = .interrupted
    }
  }
}

/// How a value is drawn: pairs and arrays as the row of their parts, true as `t`, events without a
/// value as `x`, dates as seconds, events and results like the events they contain.
private func nameOfMarble(_ value: Any) -> String {
  switch value {
  case let value as Bool: return value ? "t" : "f"
  case let value as Date: return "\(Int(value.timeIntervalSinceReferenceDate))"
  case is Void: return "x"
  case is MarbleError: return "#"
  case let event as Signal<Int, MarbleError>.Event: return Diagram.Mark(event).name
  case let result as Result<Int, MarbleError>: return (try? result.get()).map { "\($0)" } ?? "#"
  default: break
  }
  let mirror = Mirror(reflecting: value)
  switch mirror.displayStyle {
  case .optional: return mirror.children.first.map { nameOfMarble($0.value) } ?? "nil"
  case .tuple, .collection: return mirror.children.map { nameOfMarble($0.value) }.joined()
  default: return String(describing: value)
  }
}

extension Diagram.Mark {
  fileprivate var name: String {
    switch self {
    case .value(let name): name
    case .completed: "|"
    case .failed: "#"
    case .interrupted: "!"
    }
  }
}

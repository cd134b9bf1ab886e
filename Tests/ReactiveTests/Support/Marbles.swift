import FoundationEssentials
import Reactive
import Synchronization
import Testing

/// The failure that `#` draws.
struct MarbleError: Error, Equatable {}

/// Draws streams and compares what comes of them with drawings, in virtual time. See ``Diagram``
/// for the language. A frame is a second on ``scheduler``.
///
/// ```swift
/// let marbles = Marbles()
/// let source = marbles.source("-1-2-3-|")
/// marbles.expect(source.producer.filter { $0 != "2" })
///   .toBe("-1---3-|")
/// #expect(source.runs == ["^------!"])
/// ```
final class Marbles: Sendable {
  let scheduler = TestScheduler()

  /// The frame it is.
  var frame: Double { scheduler.currentDate.timeIntervalSinceReferenceDate }

  /// Where expectations stop looking: streams without an end are compared up to here.
  private static let lastFrame = 60.0

  /// A producer that plays the diagram, counted from its start, and records when it was started and
  /// left.
  func source(_ diagram: String) -> ColdSource {
    ColdSource(Diagram(diagram), marbles: self)
  }

  /// A signal that plays the diagram, counted from now, with or without observers.
  func signal(_ diagram: String) -> Signal<String, MarbleError> {
    let (output, input) = Signal<String, MarbleError>.pipe()
    play(Diagram(diagram), to: input)
    return output
  }

  /// A signal that can't fail. See ``signal(_:)``.
  func values(_ diagram: String) -> Signal<String, Never> {
    signal(diagram).flatMapError { _ in .empty }
  }

  /// Calls `action` at a frame.
  func at(_ frame: Double, _ action: @escaping @Sendable () -> Void) {
    scheduler.schedule(after: Date(timeIntervalSinceReferenceDate: frame), action: action)
  }

  /// Plays the diagram, counted from now.
  @discardableResult
  func play(
    _ diagram: Diagram, to input: Signal<String, MarbleError>.Observer
  ) -> CompositeDisposable {
    let schedule = CompositeDisposable()
    // A stream whose input is lost is interrupted; what isn't drawn is not to happen.
    schedule += scheduler.schedule(after: .distantFuture) { withExtendedLifetime(input) {} }
    for event in diagram.events {
      schedule += scheduler.schedule(after: scheduler.currentDate + event.frame) {
        switch event.mark {
        case .value(let name): input.send(value: name)
        case .completed: input.sendCompleted()
        case .failed: input.send(error: MarbleError())
        case .interrupted: input.sendInterrupted()
        }
      }
    }
    return schedule
  }

  /// Starts a producer now, to compare its events with a drawing.
  ///
  /// - Parameter disposalFrame: When to dispose of the run.
  func expect<Value, Error>(
    _ producer: SignalProducer<Value, Error>, disposedAt disposalFrame: Double? = nil
  ) -> Expected {
    let recording = Log<Diagram.Event>()
    let run = producer.start(recorder(recording))
    if let disposalFrame { at(disposalFrame) { run.dispose() } }
    return Expected(recording: recording, marbles: self)
  }

  /// Observes a signal from now on, to compare its events with a drawing.
  ///
  /// - Parameter disposalFrame: When to dispose of the observation.
  func expect<Value, Error>(
    _ signal: Signal<Value, Error>, disposedAt disposalFrame: Double? = nil
  ) -> Expected {
    let recording = Log<Diagram.Event>()
    let observation = signal.observe(recorder(recording))
    if let disposalFrame { at(disposalFrame) { observation?.dispose() } }
    return Expected(recording: recording, marbles: self)
  }

  private func recorder<Value, Error>(
    _ recording: Log<Diagram.Event>
  ) -> Signal<Value, Error>.Observer {
    Signal<Value, Error>.Observer { event in
      let mark: Diagram.Mark =
        switch event {
        case .value(let value): .value(String(describing: value))
        case .completed: .completed
        case .failed: .failed
        case .interrupted: .interrupted
        }
      recording.append(Diagram.Event(frame: self.frame, mark: mark))
    }
  }

  /// A recording that is to be compared with a diagram.
  struct Expected {
    fileprivate let recording: Log<Diagram.Event>
    fileprivate let marbles: Marbles

    /// Lets time pass and compares.
    func toBe(_ diagram: String, sourceLocation: SourceLocation = #_sourceLocation) {
      marbles.finish()
      let expected = Diagram(diagram)
      let actual = Diagram(events: recording.entries)
      guard actual != expected else { return }
      Issue.record(
        "expected \(expected)\n     was \(actual)", sourceLocation: sourceLocation)
    }
  }

  /// Lets all the time pass that there is.
  func finish() {
    guard frame < Self.lastFrame else { return }
    scheduler.advance(to: Date(timeIntervalSinceReferenceDate: Self.lastFrame))
  }
}

/// A producer that plays a diagram.
final class ColdSource: Sendable {
  let producer: SignalProducer<String, MarbleError>
  private let log: Log<Run>

  private final class Run: Sendable {
    let start: Double
    let end = Mutex<Double?>(nil)

    init(start: Double) {
      self.start = start
    }
  }

  /// When the producer was started (`^`) and when that run ended or was disposed of (`!`). Several
  /// runs are in the order of their starts.
  var runs: [String] {
    log.entries.map { run in
      let start = String(repeating: "-", count: Int(run.start)) + "^"
      guard let end = run.end.withLock({ $0 }) else { return start }
      let pause = Int(end) - Int(run.start) - 1
      return pause < 0
        ? "\(start.dropLast())(^!)" : start + String(repeating: "-", count: pause) + "!"
    }
  }

  fileprivate init(_ diagram: Diagram, marbles: Marbles) {
    let log = Log<Run>()
    self.log = log
    producer = SignalProducer { observer, lifetime in
      let run = Run(start: marbles.frame)
      log.append(run)
      let schedule = marbles.play(diagram, to: observer)
      lifetime.observeEnded {
        schedule.dispose()
        run.end.withLock { $0 = marbles.frame }
      }
    }
  }
}

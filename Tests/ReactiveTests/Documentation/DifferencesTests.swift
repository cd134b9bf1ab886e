import Dispatch
import Foundation
import Reactive
import Testing

/// The differences of DifferencesFromReactiveSwift.md, section by section.
@Suite("The page on differences", .ownThread)
struct DifferencesTests {
  private static let differences: [(title: String, holds: @Sendable () -> Bool)] = [
    ("Sending may return before the delivery", sendingReturns),
    ("A value that is sent from inside a delivery comes after it", recursion),
    ("An observer that is disposed of during a delivery doesn't receive the event", leaving),
    ("The end doesn't take the place of a value that throttle(while:) is about to deliver", ending),
    ("A block on a queue may run before work that was scheduled earlier", overtaking),
    ("A race is an error in the Swift 6 language mode", races),
    ("A race by way of a joined stream compiles", crossing),
  ]

  @Test("the page names every difference that is tested, and every one it names is tested")
  func complete() throws {
    let page = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "../../../Sources/Reactive/Reactive.docc/DifferencesFromReactiveSwift.md")
    let titles = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
      .filter { $0.hasPrefix("## ") && $0 != "## Overview" }.map { String($0.dropFirst(3)) }
    #expect(titles == Self.differences.map(\.title))
  }

  @Test("the page on differences describes the tested behaviour", arguments: differences.indices)
  func holds(_ index: Int) {
    let difference = Self.differences[index]
    #expect(difference.holds(), "\(difference.title)")
  }

  /// The listing of the page. It compiles; it is not run, because it is a race.
  private static func race() {
    final class Counter { var count = 0 }
    let counter = Counter()
    let ticks = SignalProducer.timer(interval: .seconds(1), on: QueueScheduler())
    SignalProducer<Counter, Never>(value: counter).combineLatest(with: ticks)
      .startWithValues { counter, _ in counter.count += 1 }  // on the queue
    counter.count += 1  // here: a race
  }

  /// A value that isn't `Sendable`, delivered on the thread of the other stream.
  @Sendable private static func crossing() -> Bool {
    final class Plain {}
    let (values, input) = Signal<Plain, Never>.pipe()
    let (ticks, tick) = Signal<Int, Never>.pipe()
    let (here, elsewhere) = (pthread_self(), Log<Bool>())
    values.combineLatest(with: ticks)
      .observeValues { _, _ in elsewhere.append(pthread_self() != here) }
    values.zip(with: ticks).observeValues { _, _ in elsewhere.append(pthread_self() != here) }
    values.sample(with: ticks).observeValues { _, _ in elsewhere.append(pthread_self() != here) }
    input.send(value: Plain())
    let group = DispatchGroup()
    detach(in: group) { tick.send(value: 1) }
    group.wait()
    return elsewhere.entries == [true, true, true]
  }

  @Sendable private static func sendingReturns() -> Bool {
    let (signal, input) = Signal<Int, Never>.pipe()
    let log = Log<String>()
    let (isInside, mayLeave) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    signal.observeValues { value in
      if value == 1 {
        isInside.signal()
        mayLeave.wait()
      }
      log.append("received \(value)")
    }
    let done = DispatchGroup()
    detach(in: done) { input.send(value: 1) }
    isInside.wait()
    input.send(value: 2)
    log.append("sent 2")
    mayLeave.signal()
    done.wait()
    return log.entries == ["sent 2", "received 1", "received 2"]
  }

  @Sendable private static func recursion() -> Bool {
    let (signal, input) = Signal<Int, Never>.pipe()
    let log = Log<String>()
    signal.observeValues { value in
      log.append("a\(value)")
      if value == 1 { input.send(value: 2) }
    }
    signal.observeValues { log.append("b\($0)") }
    input.send(value: 1)
    return log.entries == ["a1", "b1", "a2", "b2"]
  }

  @Sendable private static func leaving() -> Bool {
    let (signal, input) = Signal<Int, Never>.pipe()
    let (log, second) = (Log<Int>(), SerialDisposable())
    signal.observeValues { _ in second.dispose() }
    second.inner = signal.observeValues { log.append($0) }
    input.send(value: 1)
    return log.entries.isEmpty
  }

  @Sendable private static func ending() -> Bool {
    let (scheduler, log) = (TestScheduler(), Log<String>())
    SignalProducer<Int, Never>(value: 1)
      .throttle(while: Property(value: false), on: scheduler).record(in: log)
    scheduler.advance()
    return log.entries == ["VALUE 1", "COMPLETED"]
  }

  @Sendable private static func overtaking() -> Bool {
    let (scheduler, log, done) = (QueueScheduler(), Log<String>(), DispatchSemaphore(value: 0))
    scheduler.queue.suspend()
    scheduler.schedule {
      // Longer than a batch may take.
      let end = DispatchTime.now() + .milliseconds(2)
      while DispatchTime.now() < end {}
      log.append("first")
    }
    scheduler.schedule { log.append("second") }
    scheduler.queue.async { log.append("block") }
    scheduler.schedule { done.signal() }
    scheduler.queue.resume()
    done.wait()
    return log.entries == ["first", "block", "second"]
  }

  @Sendable private static func races() -> Bool {
    let source = """
      import Reactive
      func run() {
        var sum = 0
        Signal<Int, Never>.never.observeValues { sum += $0 }
        print(sum)
      }
      """
    func errors(in mode: Compiler.LanguageMode) -> [String]? {
      try? Compiler.diagnostics(of: source, in: mode).filter { $0.contains(" error: ") }
    }
    return errors(in: .swift6)?.isEmpty == false && errors(in: .swift5) == []
  }
}

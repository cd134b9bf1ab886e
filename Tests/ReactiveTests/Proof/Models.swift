import Reactive
import Testing

/// Plain models of small operators.
enum Models {
  // MARK: One input

  typealias Event = Signal<Int, TestError>.Event

  /// What an operator makes of all the values before the end, if that has come, and the end.
  typealias Model = @Sendable (_ values: [Int], _ end: Event?) -> (values: [Int], end: Event?)
  typealias Operation = @Sendable (Signal<Int, TestError>) -> Signal<Int, TestError>

  struct Unary: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let operation: Operation
    let model: Model

    init(_ name: String, _ operation: @escaping Operation, model: @escaping Model) {
      testDescription = name
      self.operation = operation
      self.model = model
    }
  }

  static let unaryOperators: [Unary] = [
    .init("map", { $0.map { $0 * 3 } }) { values, end in (values.map { $0 * 3 }, end) },
    .init("filter", { $0.filter { $0 == 2 } }) { values, end in
      (values.filter { $0 == 2 }, end)
    },
    .init("take(first: 2)", { $0.take(first: 2) }) { values, end in
      values.count < 2 ? (values, end) : (Array(values.prefix(2)), .completed)
    },
    .init("take(last: 2)", { $0.take(last: 2) }) { values, end in
      (end == .completed ? values.suffix(2) : [], end)
    },
    .init("take(while:)", { $0.take(while: { $0 == 1 }) }) { values, end in
      let taken = Array(values.prefix { $0 == 1 })
      return (taken, taken.count < values.count ? .completed : end)
    },
    .init("take(until: predicate)", { $0.take(until: { $0 != 2 }) }) { values, end in
      guard let last = values.firstIndex(of: 2) else { return (values, end) }
      return (Array(values[...last]), .completed)
    },
    .init("skip(first: 2)", { $0.skip(first: 2) }) { values, end in
      (Array(values.dropFirst(2)), end)
    },
    .init("skip(while:)", { $0.skip(while: { $0 == 1 }) }) { values, end in
      (Array(values.drop { $0 == 1 }), end)
    },
    .init("skipRepeats", { $0.skipRepeats() }) { values, end in
      let kept = values.indices.filter { $0 == 0 || values[$0 - 1] != values[$0] }
      return (kept.map { values[$0] }, end)
    },
    .init("uniqueValues", { $0.uniqueValues() }) { values, end in
      let kept = values.indices.filter { values.firstIndex(of: values[$0]) == $0 }
      return (kept.map { values[$0] }, end)
    },
    .init("scan", { $0.scan(10, +) }) { values, end in
      (values.indices.map { 10 + values[...$0].reduce(0, +) }, end)
    },
    .init("reduce", { $0.reduce(10, +) }) { values, end in
      (end == .completed ? [values.reduce(10, +)] : [], end)
    },
    .init("collect", { $0.collect().map(number) }) { values, end in
      (end == .completed ? [number(values)] : [], end)
    },
    .init("collect(count: 2)", { $0.collect(count: 2).map(number) }) { values, end in
      var groups = stride(from: 0, to: values.count, by: 2).map {
        Array(values[$0...].prefix(2))
      }
      if end != .completed, groups.last?.count == 1 { groups.removeLast() }
      // Of nothing, one group of nothing.
      if end == .completed, groups.isEmpty { groups = [[]] }
      return (groups.map(number), end)
    },
    .init("combinePrevious", { $0.combinePrevious(7).map { $0 * 10 + $1 } }) { values, end in
      (zip([7] + values, values).map { $0 * 10 + $1 }, end)
    },
    .init("materialize, dematerialize", { $0.materialize().dematerialize() }) { values, end in
      (values, end)
    },
    .init("flatMapError", { $0.flatMapError { _ in SignalProducer([8, 9]) } }) { values, end in
      end == .failed(.one) ? (values + [8, 9], .completed) : (values, end)
    },
  ]

  /// A number that tells groups of digits apart.
  @Sendable private static func number(_ values: [Int]) -> Int {
    values.reduce(1) { $0 * 10 + $1 }
  }

  // MARK: Two inputs

  enum Step: Sendable { case aValue, bValue, aCompleted, bCompleted, aFailed, bInterrupted }

  /// The plain state of an operator on two inputs.
  struct Joint {
    var a: [Int] = []
    var b: [Int] = []
    var aIsDone = false
    var bIsDone = false
    /// A turn that is taken once.
    var hasTurned = false
    var log: [String] = []
    var hasEnded = false

    mutating func emit(_ value: Int) { if !hasEnded { log.append("VALUE \(value)") } }

    mutating func end(_ name: String = "COMPLETED") {
      if !hasEnded { log.append(name) }
      hasEnded = true
    }
  }

  typealias JointModel = @Sendable (inout Joint, Step, Int) -> Void

  struct Binary: Sendable, CustomTestStringConvertible {
    typealias Operation =
      @Sendable (Signal<Int, TestError>, Signal<Int, TestError>) -> Signal<Int, TestError>
    let testDescription: String
    let operation: Operation
    let model: JointModel

    init(_ name: String, _ operation: @escaping Operation, model: @escaping JointModel) {
      testDescription = name
      self.operation = operation
      self.model = model
    }
  }

  static let binaryOperators: [Binary] = [
    .init("merge", { $0.merge(with: $1) }) { joint, step, value in
      switch step {
      case .aValue, .bValue: joint.emit(value)
      case .aCompleted, .bCompleted: if joint.aIsDone && joint.bIsDone { joint.end() }
      case .aFailed: joint.end("FAILED one")
      // An interrupted inner stream is one that has no more.
      case .bInterrupted: if joint.aIsDone { joint.end() }
      }
    },
    .init("combineLatest", { $0.combineLatest(with: $1).map { $0 * 100 + $1 } }) {
      joint, step, _ in
      switch step {
      case .aValue, .bValue:
        if let a = joint.a.last, let b = joint.b.last { joint.emit(a * 100 + b) }
      case .aCompleted, .bCompleted: if joint.aIsDone && joint.bIsDone { joint.end() }
      case .aFailed: joint.end("FAILED one")
      case .bInterrupted: joint.end("INTERRUPTED")
      }
    },
    .init("zip", { $0.zip(with: $1).map { $0 * 100 + $1 } }) { joint, step, _ in
      if !joint.a.isEmpty, !joint.b.isEmpty {
        joint.emit(joint.a.removeFirst() * 100 + joint.b.removeFirst())
      }
      switch step {
      case .aFailed: joint.end("FAILED one")
      case .bInterrupted: joint.end("INTERRUPTED")
      case .aValue, .bValue, .aCompleted, .bCompleted:
        if joint.aIsDone && joint.a.isEmpty || joint.bIsDone && joint.b.isEmpty { joint.end() }
      }
    },
    .init("take(until:)", { $0.take(until: $1.triggers) }) { joint, step, value in
      switch step {
      case .aValue: joint.emit(value)
      case .bValue, .bCompleted: joint.end()
      case .aCompleted: joint.end()
      case .aFailed: joint.end("FAILED one")
      case .bInterrupted: break
      }
    },
    .init("skip(until:)", { $0.skip(until: $1.triggers) }) { joint, step, value in
      switch step {
      case .aValue: if joint.hasTurned { joint.emit(value) }
      // Not observed before: an end in the meantime is one that was missed.
      case .bValue, .bCompleted:
        if !joint.hasTurned, joint.aIsDone { joint.end("INTERRUPTED") }
        joint.hasTurned = true
      case .aCompleted: if joint.hasTurned { joint.end() }
      case .aFailed: if joint.hasTurned { joint.end("FAILED one") }
      case .bInterrupted: break
      }
    },
    .init("take(untilReplacement:)", { $0.take(untilReplacement: $1) }) { joint, step, value in
      if [.bValue, .bInterrupted, .bCompleted].contains(step) { joint.hasTurned = true }
      switch step {
      case .aValue: if !joint.hasTurned { joint.emit(value) }
      case .bValue: joint.emit(value)
      case .aCompleted: break
      case .bCompleted: joint.end()
      case .aFailed: if !joint.hasTurned { joint.end("FAILED one") }
      case .bInterrupted: joint.end("INTERRUPTED")
      }
    },
    .init("sample(with:)", { $0.sample(with: $1.values).map { $0 * 100 + $1 } }) {
      joint, step, value in
      switch step {
      case .aValue: break
      case .bValue: if let a = joint.a.last { joint.emit(a * 100 + value) }
      case .aCompleted, .bCompleted: if joint.aIsDone && joint.bIsDone { joint.end() }
      case .aFailed: joint.end("FAILED one")
      case .bInterrupted: joint.end("INTERRUPTED")
      }
    },
    .init("concat", { $0.producer.concat($1).startWithSignal { signal, _ in signal } }) {
      joint, step, value in
      switch step {
      case .aValue: joint.emit(value)
      case .bValue: if joint.aIsDone { joint.emit(value) }
      // One that has ended before it is started is interrupted then, which is having no more.
      case .aCompleted, .bCompleted, .bInterrupted:
        if joint.aIsDone && joint.bIsDone { joint.end() }
      case .aFailed: joint.end("FAILED one")
      }
    },
    .init("withLatest(from:)", { $0.withLatest(from: $1.values).map { $0 * 100 + $1 } }) {
      joint, step, value in
      switch step {
      case .aValue: if let b = joint.b.last { joint.emit(value * 100 + b) }
      case .bValue, .bCompleted, .bInterrupted: break
      case .aCompleted: joint.end()
      case .aFailed: joint.end("FAILED one")
      }
    },
  ]
}

extension Signal where Value == Int, Error == TestError {
  fileprivate var values: Signal<Int, Never> { flatMapError { _ in .empty } }
  fileprivate var triggers: Signal<(), Never> { values.map { _ in } }
}

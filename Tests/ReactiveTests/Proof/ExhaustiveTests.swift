import Reactive
import Testing

/// Small operators against plain models, over all sequences of events up to a length.
@Suite("Every sequence of events")
struct ExhaustiveTests {
  /// Calls `body` with every sequence over `alphabet`, shortest first.
  static func sequences<Symbol>(
    of alphabet: [Symbol], upTo lengthMax: Int, _ body: ([Symbol]) -> Void
  ) {
    var current: [[Symbol]] = [[]]
    for length in 0...lengthMax {
      for sequence in current { body(sequence) }
      if length < lengthMax {
        current = current.flatMap { sequence in alphabet.map { sequence + [$0] } }
      }
    }
  }

  @Test(
    "every operator on one input agrees with its model for all sequences of events",
    arguments: Models.unaryOperators)
  func unary(_ unary: Models.Unary) {
    let alphabet: [Models.Event] = [.value(1), .value(2), .completed, .failed(.one), .interrupted]
    Self.sequences(of: alphabet, upTo: 5) { events in
      let (signal, input) = Signal<Int, TestError>.pipe()
      let log = Log<String>()
      unary.operation(signal).record(in: log)
      for event in events { input.send(event) }

      let before = events.prefix { !$0.isTerminating }
      let end = events.dropFirst(before.count).first
      let expected = unary.model(before.compactMap(\.value), end)
      let drawn = expected.values.map { "VALUE \($0)" } + (expected.end.map { ["\($0)"] } ?? [])
      if log.entries != drawn {
        Issue.record("\(events): expected \(drawn), was \(log.entries)")
      }
      withExtendedLifetime(input) {}
    }
  }

  @Test(
    "every operator on two inputs agrees with its model for all sequences of events",
    arguments: Models.binaryOperators)
  func binary(_ binary: Models.Binary) {
    let alphabet: [Models.Step] = [
      .aValue, .bValue, .aCompleted, .bCompleted, .aFailed, .bInterrupted,
    ]
    Self.sequences(of: alphabet, upTo: 5) { steps in
      let (a, inA) = Signal<Int, TestError>.pipe()
      let (b, inB) = Signal<Int, TestError>.pipe()
      let log = Log<String>()
      binary.operation(a, b).record(in: log)
      var joint = Models.Joint()
      for (index, step) in steps.enumerated() {
        switch step {
        case .aValue: inA.send(value: index)
        case .bValue: inB.send(value: index)
        case .aCompleted: inA.sendCompleted()
        case .bCompleted: inB.sendCompleted()
        case .aFailed: inA.send(error: .one)
        case .bInterrupted: inB.sendInterrupted()
        }
        advance(&joint, step, index, binary.model)
      }
      if log.entries != joint.log {
        Issue.record("\(steps): expected \(joint.log), was \(log.entries)")
      }
      withExtendedLifetime((inA, inB)) {}
    }
  }

  /// Tells the model what an input that has not ended sends.
  private func advance(
    _ joint: inout Models.Joint, _ step: Models.Step, _ value: Int, _ model: Models.JointModel
  ) {
    switch step {
    case .aValue, .aCompleted, .aFailed: if joint.aIsDone { return }
    case .bValue, .bCompleted, .bInterrupted: if joint.bIsDone { return }
    }
    switch step {
    case .aValue: joint.a.append(value)
    case .bValue: joint.b.append(value)
    case .aCompleted, .aFailed: joint.aIsDone = true
    case .bCompleted, .bInterrupted: joint.bIsDone = true
    }
    model(&joint, step, value)
  }
}

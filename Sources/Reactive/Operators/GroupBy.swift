/// The values of a stream that have a key in common.
public struct Group<Key, Value, Error: Swift.Error> {
  /// What the values have in common.
  public let key: Key

  /// The values, from the first that had the key. It ends when, and as, the whole stream does.
  public let signal: Signal<Value, Error>
}

extension Group: Sendable where Key: Sendable, Value: Sendable {}

final class GroupBy<Key: Hashable, Value, Error: Swift.Error>:
  ValueStage<Value, Group<Key, Value, Error>, Error>
{
  private let key: (Value) -> Key
  private var indices: [Key: Int] = [:]
  /// In the order in which the groups were begun.
  private var inputs: [Signal<Value, Error>.Observer] = []

  init(_ key: @escaping (Value) -> Key) {
    self.key = key
  }

  override func receive(_ value: Value) {
    guard !isFinished else { return }
    let key = key(value)
    if let index = indices[key] { return inputs[index].send(value: value) }
    let (signal, input) = Signal<Value, Error>.pipe()
    indices[key] = inputs.count
    inputs.append(input)
    emit(Group(key: key, signal: signal))
    // Observers of the outer stream are observing the group by now.
    input.send(value: value)
  }

  override func terminate(_ termination: Termination<Error>) {
    guard !isFinished else { return }
    for input in inputs { input.terminate(termination) }
    finish(termination)
  }

  override func stageDidEnd() {
    indices = [:]
    inputs = []
  }
}

extension Signal {
  /// Sorts values into groups: sends a group when the first of its values comes.
  ///
  /// A group's first value follows at once: an observer that observes the group when it receives it
  /// misses nothing. Groups end when, and as, the whole does. They are kept until then: memory
  /// grows with the number of keys.
  ///
  /// - Parameter key: Called with every value, on the thread that sends the value, one call at a
  ///   time. Values with the same key are in one group.
  /// - Returns: A signal that sends every group once.
  @available(swift 6)
  public func group<Key: Hashable>(
    by key: @escaping @Sendable (Value) -> Key
  ) -> Signal<Group<Key, Value, Error>, Error> {
    through(GroupBy(key))
  }
}

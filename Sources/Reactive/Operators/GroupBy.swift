/// The values of a stream with the same key.
public struct Group<Key, Value, Error: Swift.Error> {
  /// The key of the values.
  public let key: Key

  /// The values with the key, from the first on. It ends with the same event as the whole stream.
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
  /// Groups values by a key: sends a group when its first value is received.
  ///
  /// A group's first value follows at once: an observer that observes the group when it receives it
  /// misses no value. Groups end with the same event as the whole stream, and are kept until then:
  /// memory grows with the number of keys.
  ///
  /// - Parameter key: Called with every value, on the thread that sends the value, one call at a
  ///   time. Values with equal keys are in one group.
  /// - Returns: A signal that sends every group once.
  @available(swift 6)
  public func group<Key: Hashable>(
    by key: @escaping @Sendable (Value) -> Key
  ) -> Signal<Group<Key, Value, Error>, Error> {
    through(GroupBy(key))
  }
}

/// An operator on several signals at once. Its inputs may send at the same time; what it does with
/// an event, on its own state, happens inside the gate of its output, one event after the other.
struct Junction<Value, Error: Swift.Error> {
  let root = Root<Value, Error>()
  /// The life of the output. Asked for before the first input, which may end the output, on any
  /// thread, while others are still to be observed.
  let lifetime: Lifetime

  init() {
    lifetime = root.lifetime
    root.demand = Demand.current
  }

  /// A handle of the output.
  var signal: Signal<Value, Error> { Signal(core: root) }

  /// Takes the events of `signal` until the output ends.
  ///
  /// - Parameters:
  ///   - value: Called inside the gate with every value.
  ///   - end: Called inside the gate at the end.
  @discardableResult
  func observe<Input, InputError>(
    _ signal: Signal<Input, InputError>, value: @escaping (Input) -> Void,
    end: @escaping (Termination<InputError>) -> Void
  ) -> (any Disposable)? {
    let inlet = Inlet(root, value: value, end: end)
    let subscription = signal.attach(inlet)
    lifetime.hold(subscription)
    return subscription
  }

  func emit(_ value: Value) { root.emit(value) }
  func finish(_ termination: Termination<Error>) { root.finish(termination) }
}

/// Where one of the inputs of a ``Junction`` comes in.
private final class Inlet<Input, InputError: Swift.Error, Value, Error: Swift.Error>:
  StreamObserver<Input, InputError>
{
  private let root: Root<Value, Error>
  private let value: (Input) -> Void
  private let end: (Termination<InputError>) -> Void

  init(
    _ root: Root<Value, Error>, value: @escaping (Input) -> Void,
    end: @escaping (Termination<InputError>) -> Void
  ) {
    self.root = root
    self.value = value
    self.end = end
  }

  override func receive(_ value: Input) {
    root.inTurn(value, self.value)
  }

  override func terminate(_ termination: Termination<InputError>) {
    root.inTurn(termination, end)
  }
}

extension Inlet: GraphNode {
  func withGraphOutputs(_ body: ([AnyObject]) -> Void) -> Bool {
    body([root])
    return true
  }
}

extension Signal {
  /// The output of an operator on several signals.
  ///
  /// - Parameter wire: Observes the inputs.
  static func joining(_ wire: (Junction<Value, Error>) -> Void) -> Signal<Value, Error> {
    let junction = Junction<Value, Error>()
    let signal = junction.signal
    wire(junction)
    return signal
  }
}

extension SignalProducer {
  /// A producer that starts several others, the first first, and joins their signals.
  @usableFromInline
  init<each V>(
    joining producers: repeat SignalProducer<each V, Error>,
    by join: @escaping (repeat Signal<each V, Error>) -> Signal<Value, Error>
  ) {
    self.init(
      core: RootedCore { root, connection in
        let instances = (repeat Instance(of: (each producers).core))
        repeat connection.add((each instances).connection)
        connection.add(join(repeat (each instances).signal).attach(root))
        repeat connection.hold((each instances).begin())
        return nil
      })
  }

  /// As `init(joining:by:)`, for an operator that keeps values until it has one of every input, and
  /// then emits one for all.
  @usableFromInline
  init<each V>(
    zipping producers: repeat SignalProducer<each V, Error>,
    by join: @escaping (repeat Signal<each V, Error>) -> Signal<Value, Error>
  ) {
    self.init(
      core: RootedCore { root, connection in
        let pacer = Pacer(for: Demand.current)
        let instances = (repeat Instance(of: pacer.paced((each producers).core)))
        repeat connection.add((each instances).connection)
        pacer.closeInputs(with: connection)
        connection.add(join(repeat (each instances).signal).attach(pacer.output(to: root)))
        repeat connection.hold((each instances).begin())
        return nil
      })
  }

  /// A producer that starts several others, the first first, and joins their signals.
  init<V, E>(
    all producers: [SignalProducer<V, E>],
    by join: @escaping ([Signal<V, E>]) -> Signal<Value, Error>
  ) {
    self.init(
      core: RootedCore { root, connection in
        let instances = producers.map { Instance(of: $0.core) }
        for instance in instances { connection.add(instance.connection) }
        connection.add(join(instances.map(\.signal)).attach(root))
        for instance in instances { connection.hold(instance.begin()) }
        return nil
      })
  }

  /// As `init(all:by:)`, for an operator that keeps values until it has one of every input, and then
  /// emits one for all.
  init<V>(
    zippingAll producers: [SignalProducer<V, Error>],
    by join: @escaping ([Signal<V, Error>]) -> Signal<Value, Error>
  ) {
    self.init(
      core: RootedCore { root, connection in
        let pacer = Pacer(for: Demand.current)
        let instances = producers.map { Instance(of: pacer.paced($0.core)) }
        for instance in instances { connection.add(instance.connection) }
        pacer.closeInputs(with: connection)
        connection.add(join(instances.map(\.signal)).attach(pacer.output(to: root)))
        for instance in instances { connection.hold(instance.begin()) }
        return nil
      })
  }
}

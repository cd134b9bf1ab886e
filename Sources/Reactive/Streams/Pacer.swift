/// Keeps the inputs of one run of an operator in step that emits one value for one of every input:
/// a source that can wait does while its last value waits for those of the others.
final class Pacer {
  private let demand: Demand?
  /// Those of the inputs. Complete before the run begins.
  private var inputs: [Demand] = []

  /// - Parameter demand: The demand for the output. Without one, nothing waits.
  init(for demand: Demand?) {
    self.demand = demand
  }

  /// An input, which is started for a demand of its own.
  func paced<Value, Error>(_ core: ProducerCore<Value, Error>) -> ProducerCore<Value, Error> {
    guard let demand else { return core }
    let input = Demand(limit: 1, downstream: demand)
    inputs.append(input)
    return PacedCore(core, input)
  }

  /// Where the output goes on its way to `root`.
  func output<Value, Error>(to root: Root<Value, Error>) -> StreamObserver<Value, Error> {
    guard demand != nil else { return root }
    let inputs = inputs
    return PassingObserver(to: root) { value in
      root.receive(value)
      // Afterwards: the sources look for room downstream, too.
      for input in inputs { input.release(1) }
    }
  }

  /// Lets the sources go at the end of `connection`. To be called when those of the inputs have been
  /// added to it, which are disposed of before.
  func closeInputs(with connection: Connection) {
    guard !inputs.isEmpty else { return }
    let inputs = inputs
    connection.lifetime.observeEnded { for input in inputs { input.close() } }
  }
}

/// An input of an operator whose inputs are kept in step.
private final class PacedCore<Value, Error: Swift.Error>: ProducerCore<Value, Error> {
  private let source: ProducerCore<Value, Error>
  private let demand: Demand

  init(_ source: ProducerCore<Value, Error>, _ demand: Demand) {
    self.source = source
    self.demand = demand
  }

  override func start(
    _ sink: StreamObserver<Value, Error>, _ connection: Connection
  ) -> AnyObject? {
    let observer = PassingObserver(to: sink) { [demand] value in
      demand.hold()
      sink.receive(value)
    }
    return Demand.with(demand) { source.start(observer, connection) }
  }
}

/// Does something of its own with values, and passes the end.
private final class PassingObserver<Value, Error: Swift.Error>: StreamObserver<Value, Error> {
  private let sink: StreamObserver<Value, Error>
  private let value: (Value) -> Void

  init(to sink: StreamObserver<Value, Error>, value: @escaping (Value) -> Void) {
    self.sink = sink
    self.value = value
  }

  override func receive(_ value: Value) { self.value(value) }
  override func terminate(_ termination: Termination<Error>) { sink.terminate(termination) }
}

extension PassingObserver: GraphNode {
  func withGraphOutputs(_ body: ([AnyObject]) -> Void) -> Bool {
    body([sink])
    return true
  }
}

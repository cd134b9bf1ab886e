/// What an object delivers to, to be looked at while debugging. What isn't one is an observer.
protocol GraphNode: AnyObject {
  /// Where it gets its events from; nothing if that can't be had, because another thread is
  /// delivering.
  var graphUpstreams: [AnyObject] { get }

  /// Whether only what it delivers to is worth a line.
  var isGraphDetail: Bool { get }

  /// Calls `body` with what it delivers to, while that can't change.
  ///
  /// - Returns: False if that can't be had, because another thread is delivering.
  func withGraphOutputs(_ body: ([AnyObject]) -> Void) -> Bool
}

extension GraphNode {
  var graphUpstreams: [AnyObject] { [] }
  var isGraphDetail: Bool { true }
}

/// An object with a label in drawings of the graph.
protocol GraphLabelled: AnyObject {
  var graphLabel: String { get }
}

/// What ends the flow of events from a node: an observation, or the run of a producer.
protocol GraphLink: AnyObject {
  /// That node, unless the flow has ended.
  var graphSource: AnyObject? { get }
}

/// Draws the live graph around a node as text.
struct GraphDrawing {
  private(set) var text = ""
  private let marked: AnyObject
  private var seen: Set<ObjectIdentifier> = []

  /// - Parameter node: Where to begin looking for the top. To be marked.
  /// Only inside the gate of `node`.
  init(from node: AnyObject) {
    marked = node
    for top in Self.tops(above: node) where !seen.contains(ObjectIdentifier(top)) {
      draw(top, depth: 0)
    }
  }

  /// Where the events of a node come from in the end.
  private static func tops(above node: AnyObject) -> [AnyObject] {
    var tops: [AnyObject] = []
    var waiting = [node]
    var seen: Set<ObjectIdentifier> = []
    while let next = waiting.popLast() {
      guard seen.insert(ObjectIdentifier(next)).inserted else { continue }
      let upstreams = (next as? any GraphNode)?.graphUpstreams ?? []
      if upstreams.isEmpty { tops.append(next) }
      waiting += upstreams.reversed()
    }
    return tops
  }

  private mutating func draw(_ object: AnyObject, depth: Int) {
    let node = object as? any GraphNode
    var childDepth = depth
    if node?.isGraphDetail != true || object === marked || depth == 0 {
      let isKnown = !seen.insert(ObjectIdentifier(object)).inserted
      let mark = (object === marked ? " ◀" : "") + (isKnown ? " …" : "")
      text += String(repeating: "  ", count: depth) + label(of: object) + mark + "\n"
      if isKnown { return }
      childDepth += 1
    }
    guard let node else { return }
    var drawing = self
    let isDrawn = node.withGraphOutputs { outputs in
      for output in outputs { drawing.draw(output, depth: childDepth) }
    }
    self = drawing
    if !isDrawn {
      text += String(repeating: "  ", count: childDepth) + "(another thread is delivering)\n"
    }
  }

  private func label(of object: AnyObject) -> String {
    if let labelled = object as? any GraphLabelled { return labelled.graphLabel }
    guard object is any GraphNode else { return "observer" }
    let name = String(describing: type(of: object)).prefix { $0 != "<" }
    return name.prefix(1).lowercased() + name.dropFirst()
  }
}

/// Passes everything on, under a name.
private final class Named<Value, Error: Swift.Error>: ValueStage<Value, Value, Error>,
  GraphLabelled
{
  let graphLabel: String

  init(_ label: String) {
    graphLabel = label
  }

  override func receive(_ value: Value) {
    emit(value)
  }
}

extension Signal {
  /// Passes events through a node with a name: ``dumpGraph(to:)`` shows it.
  public func named(
    _ name: String, file: StaticString = #fileID, line: UInt = #line
  ) -> Signal<Value, Error> {
    through(Named("\"\(name)\" (\(file):\(line))"))
  }

  /// Draws the live graph of this signal: its sources, and below them every operator and observer
  /// that their events reach, also through operators on several streams and schedulers. This signal
  /// is marked.
  ///
  /// ```text
  /// root
  ///   map
  ///     "search text" (App/Search.swift:12) ◀
  ///       filter
  ///         observer
  ///       observer
  /// ```
  ///
  /// No data is kept for it between calls.
  ///
  /// - Parameter output: Called with the drawing: at once, unless another thread is delivering an
  ///   event of this signal; then by that thread, after it.
  @available(swift 6)
  public func dumpGraph(to output: @escaping @Sendable (String) -> Void = { print($0) }) {
    guard let gate = core.heldGate?.takeUnretainedValue() else { return }
    guard let admission = gate.open() else {
      return gate.submit { [core] in output(GraphDrawing(from: core).text) }
    }
    let drawing = GraphDrawing(from: core)
    gate.close(admission)
    output(drawing.text)
  }
}

extension SignalProducer {
  /// Passes events through a node with a name: ``Signal/dumpGraph(to:)`` shows it.
  public func named(
    _ name: String, file: StaticString = #fileID, line: UInt = #line
  ) -> SignalProducer<Value, Error> {
    through { Named("\"\(name)\" (\(file):\(line))") }
  }
}

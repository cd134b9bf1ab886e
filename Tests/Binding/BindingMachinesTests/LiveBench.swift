import BindingMachines
import Essentials
import JSONWire
import PageClient

/// What a view model is to the machine, as a table: for tests without view models.
struct TableModel {
  /// The values of the page, by their index; `upper` follows `text`.
  var values: [JSON]
  var rows: [(key: String, values: [JSON])] = []
  var callCount = 0

  static let schema = {
    var page = BindingScope()
    page.add(BindingScope.Value(name: "text", isTwoWay: true))
    page.add(BindingScope.Value(name: "upper", isTwoWay: false))
    page.add(BindingScope.Value(name: "number", isTwoWay: true))
    page.add(BindingScope.Value(name: "clock", isTwoWay: false))
    page.add(BindingScope.Action(name: "clear", takesArgument: false))
    page.add(BindingScope.Action(name: "remove", takesArgument: true))
    var row = BindingScope()
    row.add(BindingScope.Value(name: "note", isTwoWay: true))
    row.add(BindingScope.Value(name: "count", isTwoWay: false))
    row.add(BindingScope.Action(name: "bump", takesArgument: false))
    return BindingSchema(
      page: page, lists: [.init(name: "rows", row: row)], uploads: ["files"],
      rowUploads: ["rows.files"])
  }()

  init() { values = [.string(""), .string(""), .integer(0), .integer(0)] }

  mutating func set(_ value: JSON, at index: Int) {
    switch (index, value) {
    case (0, .string(let text)):
      values[0] = value
      values[1] = .string(text.uppercased())
    // Takes even numbers only, as a property that validates.
    case (2, .integer(let number)) where number % 2 == 0: values[2] = value
    default: break
    }
  }

  mutating func perform(_ operation: BindingOperation) {
    switch operation {
    case .set(let path, let value):
      guard case .row(_, let key) = path.place else { return set(value, at: path.index) }
      guard let index = rows.firstIndex(where: { $0.key == key }) else { return }
      rows[index].values[path.index] = value
    case .call(.page, 0, _):
      callCount += 1
      set(.string(""), at: 0)
    case .call(.page, _, let argument):
      rows.removeAll { .string($0.key) == argument }
    case .call(.row(_, let key), _, _):
      callCount += 1
      guard let index = rows.firstIndex(where: { $0.key == key }) else { return }
      if case .integer(let count) = rows[index].values[1] {
        rows[index].values[1] = .integer(count + 1)
      }
    }
  }

  func capture(into state: inout PageState) {
    for (index, value) in values.enumerated() { state.set(value, at: index) }
    state.setRows(of: 0, order: rows.map(\.key), rows: rows)
  }

  /// Whether a page shows this.
  func isShown(by client: PageClient) -> Bool {
    let names = Self.schema.page.values.map(\.name)
    let list = client.lists["rows"] ?? PageClient.List()
    return names.indices.allSatisfy { client.values[names[$0]] == values[$0] }
      && list.keys == rows.map(\.key)
      && rows.allSatisfy { list.rows[$0.key] == ["note": $0.values[0], "count": $0.values[1]] }
  }
}

/// A machine with table models, driven by hand.
final class LiveBench {
  var machine: LiveMachine
  var now = Instant.zero
  var models: [ModelID: TableModel] = [:]
  var released: [ModelID] = []
  /// Whether each model has appeared or disappeared, in order.
  var appearances: [ModelID: [Bool]] = [:]
  var disappeared: [ModelID] = []
  /// The bytes written to each stream and not yet taken.
  var written: [StreamID: [UInt8]] = [:]
  /// Streams with a write that hasn't left.
  var writing: Set<StreamID> = []
  var ended: [StreamID] = []
  var refused: [StreamID: LiveMachine.Refusal] = [:]
  var answers: [RequestID: LiveMachine.Answer] = [:]
  /// The limits of each model's upload.
  var uploadLimits = UploadLimits(byteCountMax: 100, countMax: 2)
  /// What the actions tell of uploads, in order.
  var uploads: [LiveMachine.Action] = []
  var captureCount = 0
  /// Whether writes leave at once.
  var writesAtOnce = true
  private var dirty: Set<ModelID> = []
  private var requestCount = 0
  private var streamCount = 0

  init(isShared: Bool = false, epoch: UInt64 = 1) {
    machine = LiveMachine(
      pages: [
        .init(name: "main", schema: TableModel.schema, isShared: isShared),
        .init(name: "other", schema: TableModel.schema, isShared: false),
      ], epoch: epoch)
  }

  func handle(_ event: LiveMachine.Event) {
    var actions: [LiveMachine.Action] = []
    machine.handle(event, now: now, into: &actions)
    perform(actions)
  }

  /// Moves time, and wakes the machine whenever it wants.
  func advance(by span: TimeSpan) {
    let end = now + span
    while let wake = machine.nextWake, wake <= end {
      now = max(now, wake)
      var actions: [LiveMachine.Action] = []
      machine.wake(now: now, into: &actions)
      perform(actions)
    }
    now = end
  }

  private func perform(_ actions: [LiveMachine.Action]) {
    for action in actions {
      switch action {
      case .makeModel(let id, _, _):
        models[id] = TableModel()
        machine.setUploads([uploadLimits], of: id)
      case .appear(let id):
        precondition(models[id] != nil, "a model appears before it is made")
        appearances[id, default: []].append(true)
      case .disappear(let id):
        precondition(models[id] != nil, "a model disappears after it was released")
        appearances[id, default: []].append(false)
        disappeared.append(id)
      case .releaseModel(let id):
        models[id] = nil
        released.append(id)
      case .perform(let id, let operations):
        for operation in operations { models[id]?.perform(operation) }
      case .capture(let id):
        captureCount += 1
        dirty.remove(id)
        guard let model = models[id] else { continue }
        machine.update(id) { model.capture(into: &$0) }
        handle(.captured(id))
      case .write(let stream, let bytes):
        precondition(!writing.contains(stream), "two writes at a time")
        written[stream, default: []] += bytes
        writing.insert(stream)
        if writesAtOnce { finishWrite(stream) }
      case .end(let stream): ended.append(stream)
      case .refuse(let stream, let why): refused[stream] = why
      case .answer(let request, let answer): answers[request] = answer
      case .beginUpload, .writeUpload, .noteUpload, .failUpload, .removeUpload, .refuseUpload,
        .answerUpload:
        uploads.append(action)
      }
    }
  }

  func finishWrite(_ stream: StreamID) {
    guard writing.remove(stream) != nil else { return }
    handle(.written(stream))
  }

  /// Changes a model as other code of the server does: not from a page.
  func change(_ id: ModelID, _ body: (inout TableModel) -> Void) {
    guard var model = models[id] else { return }
    body(&model)
    models[id] = model
    if dirty.insert(id).inserted { handle(.changed(id)) }
  }

  @discardableResult
  func open(_ tabs: String...) -> StreamID {
    streamCount += 1
    let stream = StreamID(number: streamCount)
    handle(.streamOpened(stream, tabs.compactMap { TabName($0) }))
    return stream
  }

  func post(_ body: [UInt8]) throws -> LiveMachine.Answer? {
    requestCount += 1
    let request = RequestID(number: requestCount)
    handle(.received(request, try PageMessage(body)))
    return answers[request]
  }

  /// Gives a sign of life of a browser with tabs.
  func beat(_ tabs: String...) -> LiveMachine.Answer? {
    requestCount += 1
    let request = RequestID(number: requestCount)
    handle(.beaten(request, tabs.compactMap { TabName($0) }))
    return answers[request]
  }

  /// Takes the bytes written to a stream, and parses them as events.
  func events(_ stream: StreamID) -> [StreamEvent] {
    var reader = EventReader()
    return reader.read(written.removeValue(forKey: stream) ?? [])
  }
}

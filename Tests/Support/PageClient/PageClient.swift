package import JSONWire

/// A page as binding.js keeps it, without elements: what tests compare with view models.
///
/// The rules are the script's: unacknowledged text is not overwritten; messages are numbered and
/// sent one at a time, within the server's limits; a new view model gets all typed text again, a
/// new session of the same one only the unacknowledged text.
package final class PageClient {
  /// A value of the page, or of a row of a list.
  package enum Path: Hashable {
    case page(String)
    case row(list: String, key: String, name: String)

    var json: JSON {
      switch self {
      case .page(let name): .string(name)
      case .row(let list, let key, let name): .array([list, key, name].map { .string($0) })
      }
    }
  }

  package struct List: Hashable {
    package var keys: [String] = []
    package var rows: [String: [String: JSON]] = [:]

    package init() {}
  }

  private struct Edit {
    var value: JSON
    /// Its number among all operations.
    var operation: Int
    /// The message that it is in; nil if it wasn't sent.
    var sequence: Int64?
    var isDone = false
    /// Whether the message that it was in was refused. It stays, and isn't sent again.
    var isRefused = false
  }

  private enum Operation {
    case set(Path, JSON)
    case call(Path, JSON?)

    var json: JSON {
      switch self {
      case .set(let path, let value): .array([.string("set"), path.json, value])
      case .call(let path, let argument):
        .array([.string("call"), path.json, .array(argument.map { [$0] } ?? [])])
      }
    }
  }

  package struct Message: Hashable {
    package var sequence: Int64
    package var body: [UInt8]
  }

  package let tab: String
  package private(set) var epoch: String?
  /// What names the view model that is shown.
  package private(set) var model: String?
  package private(set) var values: [String: JSON] = [:]
  package private(set) var lists: [String: List] = [:]
  /// The message that waits for its answer.
  package private(set) var inFlight: Message?
  /// Whether a new stream is needed, for a snapshot.
  package private(set) var needsSnapshot = true
  /// What a server did that it must not do.
  package private(set) var faults: [String] = []
  /// How often the script's observers of a list were called.
  package private(set) var snapshotCount = 0
  package private(set) var patchCount = 0

  private var edits: [Path: Edit] = [:]
  private var queue: [(number: Int, operation: Operation)] = []
  private var operationCount = 0
  private var sequence: Int64 = 0

  package init(tab: String) { self.tab = tab }

  /// Whether all that was typed is acknowledged or refused.
  package var isSettled: Bool {
    inFlight == nil && queue.isEmpty && !needsSnapshot
      && edits.values.allSatisfy { $0.isDone || $0.isRefused }
  }

  package subscript(path: Path) -> JSON? {
    switch path {
    case .page(let name): values[name]
    case .row(let list, let key, let name): lists[list]?.rows[key]?[name]
    }
  }

  // MARK: Typing and clicking

  package func set(_ path: Path, _ value: JSON) {
    let call = queue.lastIndex { if case .call = $0.operation { true } else { false } } ?? -1
    let same = queue.lastIndex { $0.number == edits[path]?.operation } ?? -1
    if same > call {
      queue[same].operation = .set(path, value)
    } else {
      push(.set(path, value))
    }
    let number = same > call ? queue[same].number : operationCount
    edits[path] = Edit(value: value, operation: number)
    put(value, at: path)
  }

  package func call(_ path: Path, _ argument: JSON? = nil) { push(.call(path, argument)) }

  private func push(_ operation: Operation) {
    operationCount += 1
    queue.append((operationCount, operation))
  }

  /// The next message, if there are operations and none is in flight.
  package func takeMessage() -> Message? {
    guard inFlight == nil, let epoch, !queue.isEmpty else { return nil }
    sequence += 1
    var operations: [JSON] = []
    var size = 0
    while !queue.isEmpty, operations.count < Self.operationCountMax, size < Self.sizeMax {
      let (number, operation) = queue.removeFirst()
      let json = operation.json
      size += json.line.utf16.count
      operations.append(json)
      for path in edits.keys where edits[path]?.operation == number {
        edits[path]?.sequence = sequence
      }
    }
    let body = JSON.object([
      "tab": .string(tab), "epoch": .string(epoch), "seq": .integer(sequence),
      "ops": .array(operations),
    ])
    let message = Message(sequence: sequence, body: Array(body.line.utf8))
    inFlight = message
    return message
  }

  /// Takes the status of the answer to a message. One of the server's own faults, or none at all, is
  /// for the caller to send it again.
  package func answered(_ message: Message, status: Int) {
    guard inFlight == message, status < 500 else { return }
    if status != 204 {
      // In another session, all is typed again.
      guard status != 401, status != 409 else {
        needsSnapshot = true
        epoch = nil
        return
      }
      // Refused text stays as it is, and its number is the next one's.
      for path in edits.keys where edits[path]?.sequence == sequence {
        edits[path]?.sequence = nil
        edits[path]?.isRefused = true
      }
      sequence -= 1
    }
    inFlight = nil
  }

  /// The maximum of operations in a message, and of characters after which no other is added.
  private static let operationCountMax = 256
  private static let sizeMax = 20_000

  // MARK: What the server sends

  /// A stream was asked for.
  package func connect() { needsSnapshot = false }

  package func disconnect() { needsSnapshot = true }

  package func receive(_ event: StreamEvent) {
    guard event.name != "beat" else { return }
    guard let value = try? JSON(parsing: Array(event.data.utf8)),
      let message = value.members
    else { return faults.append("no JSON: \(event.data)") }
    guard message["tab"] == .string(tab) else { return faults.append("another tab's event") }
    var mine: [(Path, Edit)] = []
    if event.name == "snap" {
      snapshotCount += 1
      mine = begin(message, event)
    } else {
      patchCount += 1
      if epoch == nil { return }
    }
    if case .integer(let acknowledged) = message["a"] {
      for (path, edit) in edits where edit.sequence.map({ $0 <= acknowledged }) == true {
        edits[path]?.isDone = true
      }
    }
    for operation in message["l"]?.elements ?? [] { change(operation.elements ?? []) }
    for (name, value) in message["v"]?.members ?? [:] { accept(value, at: .page(name)) }
    for (path, edit) in mine where self[path] != nil && self[path] != edit.value {
      set(path, edit.value)
    }
  }

  /// Begins with a snapshot; returns the text to type again if it is of another session.
  private func begin(_ message: [String: JSON], _ event: StreamEvent) -> [(Path, Edit)] {
    guard case .string(let current) = message["epoch"], case .string(let name) = message["model"],
      case .integer(let number) = message["a"]
    else {
      faults.append("a snapshot without epoch or model")
      return []
    }
    if !event.id.hasPrefix(current + "-") { faults.append("\(event.id) isn't of \(current)") }
    guard current != epoch else { return [] }
    let mine = edits.filter { !$0.value.isRefused && (model != name || !$0.value.isDone) }
    for path in mine.keys { edits[path] = nil }
    (epoch, model, sequence, inFlight, queue) = (current, name, number, nil, [])
    return mine.sorted { $0.value.operation < $1.value.operation }.map { ($0.key, $0.value) }
  }

  private func accept(_ value: JSON, at path: Path) {
    if let edit = edits[path] {
      guard edit.isDone else { return }
      if edit.value != value { edits[path] = nil }
    }
    put(value, at: path)
  }

  private func put(_ value: JSON, at path: Path) {
    switch path {
    case .page(let name): values[name] = value
    case .row(let list, let key, let name): lists[list]?.rows[key]?[name] = value
    }
  }

  private func change(_ parts: [JSON]) {
    guard parts.count > 2, case .string(let verb) = parts[0], case .string(let name) = parts[1]
    else { return faults.append("no operation: \(parts)") }
    var list = lists[name] ?? List()
    if verb == "all" {
      let rows = (parts[2].elements ?? []).compactMap { row -> (String, JSON)? in
        guard let parts = row.elements, parts.count == 2, case .string(let key) = parts[0] else {
          return nil
        }
        return (key, parts[1])
      }
      list.keys = rows.map(\.0)
      let present = Set(list.keys)
      list.rows = list.rows.filter { present.contains($0.key) }
      lists[name] = list
      for (key, values) in rows { acceptRow(values, key, name) }
      return
    }
    guard case .string(let key) = parts[2] else { return faults.append("no key: \(parts)") }
    let isThere = list.rows[key] != nil
    if isThere == (verb == "ins") { faults.append("\(verb) of \(key), in \(list.keys)") }
    if verb == "upd" { return acceptRow(parts[3], key, name) }
    list.keys.removeAll { $0 == key }
    if verb == "del" {
      list.rows[key] = nil
    } else if case .string(let next) = parts[3] {
      if !list.keys.contains(next) { faults.append("\(verb) before \(next)") }
      list.keys.insert(key, at: list.keys.firstIndex(of: next) ?? list.keys.count)
    } else {
      list.keys.append(key)
    }
    lists[name] = list
    if verb == "ins" { acceptRow(parts[4], key, name) }
  }

  private func acceptRow(_ values: JSON, _ key: String, _ name: String) {
    if lists[name]?.rows[key] == nil { lists[name]?.rows[key] = [:] }
    for (field, value) in values.members ?? [:] {
      accept(value, at: .row(list: name, key: key, name: field))
    }
  }
}

extension JSON {
  package var members: [String: JSON]? {
    guard case .object(let members) = self else { return nil }
    return Dictionary(members.map { ($0.key, $0.value) }) { first, _ in first }
  }

  package var elements: [JSON]? {
    guard case .array(let elements) = self else { return nil }
    return elements
  }
}

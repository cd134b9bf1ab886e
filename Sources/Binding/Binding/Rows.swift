internal import BindingMachines
internal import JSONWire
internal import Reactive
internal import Synchronization

/// The identities of a list's rows, and the keys that pages have for them.
struct RowKeys<ID: Hashable & CustomStringConvertible> {
  private var keys: [ID: String] = [:]
  private var owners: [String: ID] = [:]

  /// The keys of the rows that were last admitted, in order.
  private(set) var order: [String] = []

  func id(of key: String) -> ID? { owners[key] }

  /// Admits the rows that can be shown: one of each identity, with a key that isn't too long, and no
  /// more than there can be.
  ///
  /// - Returns: The rows with their keys, the keys of those that have gone, and whether the order is
  ///   another one.
  @MainActor
  mutating func admit<Row: Identifiable>(
    _ rows: [Row], _ problems: Problems
  ) -> (rows: [(row: Row, key: String)], gone: [ID], hasOrderChanged: Bool) where Row.ID == ID {
    var seen = Set<ID>(minimumCapacity: rows.count)
    var admitted: [(row: Row, key: String)] = []
    admitted.reserveCapacity(min(rows.count, BindingLimits.rowCountMax))
    for row in rows {
      guard admitted.count < BindingLimits.rowCountMax else {
        problems.report(.tooManyRows(rows.count))
        break
      }
      guard seen.insert(row.id).inserted, let key = key(of: row.id) else {
        problems.report(.badKey("\(row.id)"))
        continue
      }
      admitted.append((row, key))
    }
    let newOrder = admitted.map(\.key)
    guard newOrder != order else { return (admitted, [], false) }
    order = newOrder
    // Those that were seen and not admitted have no keys.
    let gone = keys.count > admitted.count ? keys.keys.filter { !seen.contains($0) } : []
    for id in gone {
      if let key = keys.removeValue(forKey: id) { owners[key] = nil }
    }
    return (admitted, gone, true)
  }

  /// The key of a row; nil if it is too long, or another row's.
  private mutating func key(of id: ID) -> String? {
    if let key = keys[id] { return key }
    let key = "\(id)"
    guard key.utf8.count <= BindingLimits.keyByteCountMax, owners[key] == nil else { return nil }
    keys[id] = key
    owners[key] = id
    return key
  }
}

/// A list of values.
@MainActor
final class ValueRows<Row: Identifiable & Equatable>: AttachedList
where Row.ID: CustomStringConvertible {
  private let read: () -> [Row]
  private let values: RowValues<Row>
  private let observation: (any Disposable)?
  private var keys = RowKeys<Row.ID>()
  private var known: [Row.ID: Row] = [:]

  init<P: PropertyProtocol>(
    _ property: P, values: RowValues<Row>, mark: @escaping Mark
  ) where P.Value == [Row] {
    read = { property.value }
    self.values = values
    observation = property.observeChanges(mark)
  }

  func takeChanges(reporting problems: Problems) -> RowChanges {
    let (rows, gone, hasOrderChanged) = keys.admit(read(), problems)
    var changed: [(key: String, values: [JSON])] = []
    for (row, key) in rows where known[row.id] != row {
      known[row.id] = row
      changed.append((key, values.reads.map { problems.bounded($0(row)) }))
    }
    for id in gone { known[id] = nil }
    return RowChanges(order: hasOrderChanged ? keys.order : nil, rows: changed)
  }

  // Values of rows are one-way.
  func set(_ value: JSON, at index: Int, ofRow key: String) {}
  func call(_ index: Int, _ argument: JSON?, ofRow key: String) {}

  func detach() { observation?.dispose() }
}

/// A list of view models.
@MainActor
final class ModelRows<Row: ViewModel & Identifiable>: AttachedList
where Row.ID: CustomStringConvertible {
  private let read: () -> [Row]
  private let mark: Mark
  private let observation: (any Disposable)?
  private var keys = RowKeys<Row.ID>()
  private var attached: [Row.ID: (row: Row, scope: AttachedScope)] = [:]
  private let changedKeys = ChangedKeys()

  init<P: PropertyProtocol>(_ property: P, mark: @escaping Mark) where P.Value == [Row] {
    read = { property.value }
    self.mark = mark
    observation = property.observeChanges(mark)
  }

  func takeChanges(reporting problems: Problems) -> RowChanges {
    var changed = changedKeys.take()
    let (rows, gone, hasOrderChanged) = keys.admit(read(), problems)
    for (row, key) in rows where attached[row.id]?.row !== row {
      attach(row, key)
      changed.insert(key)
    }
    for id in gone { attached.removeValue(forKey: id)?.scope.detach() }
    let values = changed.compactMap { key in
      scope(ofRow: key).map { scope in
        (key: key, values: scope.values.map { problems.bounded($0.read()) })
      }
    }
    return RowChanges(order: hasOrderChanged ? keys.order : nil, rows: values)
  }

  private func attach(_ row: Row, _ key: String) {
    attached[row.id]?.scope.detach()
    let scope = AttachedScope(row, Row.bindings) { [changedKeys, mark] _ in
      changedKeys.insert(key)
      mark()
    }
    attached[row.id] = (row, scope)
  }

  private func scope(ofRow key: String) -> AttachedScope? {
    keys.id(of: key).flatMap { attached[$0]?.scope }
  }

  func set(_ value: JSON, at index: Int, ofRow key: String) {
    scope(ofRow: key)?.values[index].write?(value)
  }

  func call(_ index: Int, _ argument: JSON?, ofRow key: String) {
    scope(ofRow: key)?.actions[index].start(argument)
  }

  func upload(_ index: Int, ofRow key: String) -> Upload? {
    guard let row = keys.id(of: key).flatMap({ attached[$0]?.row }) else { return nil }
    return Row.bindings.uploads[index].find(row)
  }

  func detach() {
    observation?.dispose()
    for (_, scope) in attached.values { scope.detach() }
  }
}

/// The keys of rows of which something has changed, from any thread. No more than there are rows.
final class ChangedKeys: Sendable {
  private let keys = Mutex<Set<String>>([])

  func insert(_ key: String) { keys.withLock { _ = $0.insert(key) } }

  func take() -> Set<String> {
    keys.withLock { keys in
      defer { keys = [] }
      return keys
    }
  }
}

internal import BindingMachines
internal import JSONWire
internal import Reactive

/// The lists of all rows of a list, as one list: rows in the order of the rows that they belong to. The list
/// of each row may itself be one of this kind.
@MainActor
final class NestedRows<Row: ViewModel & Identifiable>: AttachedList
where Row.ID: CustomStringConvertible {
  private struct Parent {
    let row: Row
    let list: any AttachedList
    var order: [String] = []
  }

  private let read: () -> [Row]
  private let attach: DeclaredList<Row>.Attachment
  /// The number of lists between the rows of `Row` and the rows of this list.
  private let depth: Int
  private let mark: Mark
  private let observation: (any Disposable)?
  private var keys = RowKeys<Row.ID>()
  private var parents: [String: Parent] = [:]
  private let changedKeys = ChangedKeys()
  private var order: [String] = []

  init<P: PropertyProtocol>(
    _ property: P, _ attach: @escaping DeclaredList<Row>.Attachment, depth: Int,
    mark: @escaping Mark
  ) where P.Value == [Row] {
    read = { property.value }
    self.attach = attach
    self.depth = depth
    self.mark = mark
    observation = property.observeChanges(mark)
  }

  // MARK: Keys

  /// The key of a row: the length of its parent's key in UTF-16, a colon, that key, and its own. No key of
  /// one parent begins with the prefix of another.
  static func prefix(_ parent: String) -> String { "\(parent.utf16.count):\(parent)" }

  /// The parent's key and the row's own; nil if a client has invented the key.
  static func parts(ofKey key: String) -> (parent: String, own: String)? {
    guard let colon = key.firstIndex(of: ":"), let count = Int(key[..<colon]), count >= 0 else {
      return nil
    }
    let rest = key[key.index(after: colon)...]
    guard let end = rest.utf16.index(rest.startIndex, offsetBy: count, limitedBy: rest.endIndex),
      let parent = String(rest.utf16[..<end]), let own = String(rest.utf16[end...])
    else { return nil }
    return (parent, own)
  }

  /// The key of a row, from its key in the list of a parent: the parent's key becomes a part of the key of each
  /// row around it.
  static func key(_ key: String, inRow parent: String, depth: Int) -> String {
    guard depth > 0, let parts = parts(ofKey: key) else { return prefix(parent) + key }
    return prefix(self.key(parts.parent, inRow: parent, depth: depth - 1)) + parts.own
  }

  /// The parent's key, and a row's in the list of that parent; nil if a client has invented the key.
  static func route(_ key: String, depth: Int) -> (parent: String, key: String)? {
    guard let parts = parts(ofKey: key) else { return nil }
    guard depth > 0 else { return (parts.parent, parts.own) }
    return route(parts.parent, depth: depth - 1).map { ($0.parent, prefix($0.key) + parts.own) }
  }

  // MARK: Changes

  func takeChanges(reporting problems: Problems) -> RowChanges {
    let changed = changedKeys.take()
    let admitted = keys.admit(read(), problems).rows
    var gone = Set(parents.keys)
    var (newOrder, rows): ([String], [(key: String, values: [JSON])]) = ([], [])
    for (row, key) in admitted {
      gone.remove(key)
      var isNew = false
      if parents[key]?.row !== row {
        parents[key]?.list.detach()
        parents[key] = attached(row, key)
        isNew = true
      }
      guard var parent = parents[key] else { continue }
      let rowCount = rows.count
      if isNew || changed.contains(key) {
        let changes = parent.list.takeChanges(reporting: problems)
        parent.order = changes.order.map { fit($0, in: key, problems) } ?? parent.order
        rows += changes.rows.compactMap { row in
          self.key(row.key, in: key).map { ($0, row.values) }
        }
        parents[key] = parent
      }
      guard newOrder.count + parent.order.count <= BindingLimits.rowCountMax else {
        problems.report(.tooManyRows(newOrder.count + parent.order.count))
        // Attached again as soon as there is room.
        gone.insert(key)
        rows.removeLast(rows.count - rowCount)
        break
      }
      newOrder += parent.order
    }
    for key in gone { parents.removeValue(forKey: key)?.list.detach() }
    defer { order = newOrder }
    return RowChanges(order: newOrder == order ? nil : newOrder, rows: rows)
  }

  private func attached(_ row: Row, _ key: String) -> Parent {
    let list = attach(row) { [changedKeys, mark] in
      changedKeys.insert(key)
      mark()
    }
    return Parent(row: row, list: list)
  }

  /// The key of a row of a parent's list; nil if it is too long.
  private func key(_ key: String, in parent: String) -> String? {
    let key = Self.key(key, inRow: parent, depth: depth)
    return key.utf8.count <= BindingLimits.keyByteCountMax ? key : nil
  }

  /// The keys of the rows of a parent's list that aren't too long.
  private func fit(_ keys: [String], in parent: String, _ problems: Problems) -> [String] {
    keys.compactMap { key in
      let fit = self.key(key, in: parent)
      if fit == nil { problems.report(.badKey(key)) }
      return fit
    }
  }

  // MARK: Operations

  func set(_ value: JSON, at index: Int, ofRow key: String) {
    guard let (parent, own) = Self.route(key, depth: depth) else { return }
    parents[parent]?.list.set(value, at: index, ofRow: own)
  }

  func call(_ index: Int, _ argument: JSON?, ofRow key: String) {
    guard let (parent, own) = Self.route(key, depth: depth) else { return }
    parents[parent]?.list.call(index, argument, ofRow: own)
  }

  func upload(_ index: Int, ofRow key: String) -> Upload? {
    guard let (parent, own) = Self.route(key, depth: depth) else { return nil }
    return parents[parent]?.list.upload(index, ofRow: own)
  }

  func detach() {
    observation?.dispose()
    for parent in parents.values { parent.list.detach() }
  }
}

internal import BindingMachines
internal import JSONWire
internal import Reactive

/// The lists of all rows of a list, as one list: rows in the order of the rows that they belong to.
@MainActor
final class NestedRows<Row: ViewModel & Identifiable>: AttachedList
where Row.ID: CustomStringConvertible {
  private struct Parent {
    let row: Row
    let list: any AttachedList
    var order: [String] = []
  }

  private let read: () -> [Row]
  private let attach: Bindings<Row>.ListAttachment
  private let mark: Mark
  private let observation: (any Disposable)?
  private var keys = RowKeys<Row.ID>()
  private var parents: [String: Parent] = [:]
  private let changedKeys = ChangedKeys()
  private var order: [String] = []

  init<P: PropertyProtocol>(
    _ property: P, _ attach: @escaping Bindings<Row>.ListAttachment, mark: @escaping Mark
  ) where P.Value == [Row] {
    read = { property.value }
    self.attach = attach
    self.mark = mark
    observation = property.observeChanges(mark)
  }

  /// The parts of a list's member for the lists of its rows.
  static func parts<Model, P: PropertyProtocol>(
    _ property: @escaping (Model, @escaping Mark) -> (P, Mark)
  ) -> [(suffix: String, part: Bindings<Model>.Member.Part)] where P.Value == [Row] {
    Row.bindings.members.compactMap { name, member in
      guard case .list(let scope, let attach, let hasNested, _) = member else { return nil }
      precondition(!hasNested(), "\(Row.self): rows of a row have no lists")
      return (
        "." + name,
        .list(
          scope,
          { model, mark in
            let (property, mark) = property(model, mark)
            return NestedRows(property, attach, mark: mark)
          }, hasNested: { false }, nested: { [] })
      )
    }
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
      let prefix = Self.prefix(key)
      if isNew || changed.contains(key) {
        let changes = parent.list.takeChanges(reporting: problems)
        parent.order = changes.order.map { fit($0, prefix, problems) } ?? parent.order
        rows += changes.rows.compactMap { row in
          Self.isFit(row.key, prefix) ? (prefix + row.key, row.values) : nil
        }
        parents[key] = parent
      }
      guard newOrder.count + parent.order.count <= BindingLimits.rowCountMax else {
        problems.report(.tooManyRows(newOrder.count + parent.order.count))
        // Attached again as soon as there is room.
        gone.insert(key)
        rows.removeAll { $0.key.hasPrefix(prefix) }
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

  private static func isFit(_ key: String, _ prefix: String) -> Bool {
    prefix.utf8.count + key.utf8.count <= BindingLimits.keyByteCountMax
  }

  /// The keys that aren't too long with their prefix.
  private func fit(_ keys: [String], _ prefix: String, _ problems: Problems) -> [String] {
    keys.compactMap { key in
      guard Self.isFit(key, prefix) else {
        problems.report(.badKey(prefix + key))
        return nil
      }
      return prefix + key
    }
  }

  // MARK: Operations

  func set(_ value: JSON, at index: Int, ofRow key: String) {
    guard let (parent, own) = Self.parts(ofKey: key) else { return }
    parents[parent]?.list.set(value, at: index, ofRow: own)
  }

  func call(_ index: Int, _ argument: JSON?, ofRow key: String) {
    guard let (parent, own) = Self.parts(ofKey: key) else { return }
    parents[parent]?.list.call(index, argument, ofRow: own)
  }

  func detach() {
    observation?.dispose()
    for parent in parents.values { parent.list.detach() }
  }
}

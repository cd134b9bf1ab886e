package import JSONWire

/// The current values of a view model, and the revision at which each part last changed. From these
/// it derives the changes since any earlier revision, regardless of what a client has missed.
///
/// It belongs to a model, and is independent of clients. Its size is that of the shown values; it
/// has no queue.
package struct PageState {
  package let schema: BindingSchema

  /// The number of committed changes. Values set since the last ``commit()`` get the next revision;
  /// patches and snapshots contain committed values only.
  package private(set) var revision: UInt64 = 1
  private var hasChanged = false

  private(set) var values: StampedCells
  private(set) var lists: [ListState]

  /// Texts of the present revision that many clients get.
  private var snapshotText: [UInt8]?
  private var patchTexts: [UInt64: [UInt8]] = [:]
  /// Clients that lag have revisions of their own, and get their texts for themselves.
  private static let patchTextCountMax = 8

  package init(schema: BindingSchema) {
    self.schema = schema
    values = StampedCells(
      Array(repeating: .null, count: schema.page.values.count), revision: revision)
    lists = schema.lists.map { _ in ListState() }
  }

  // MARK: Changes

  /// Sets a value of the page.
  package mutating func set(_ value: JSON, at index: Int) {
    if values.set(value, at: index, revision: revision + 1) { hasChanged = true }
  }

  /// Sets the order of a list's rows and the values of some.
  ///
  /// - Parameters:
  ///   - order: The keys of all rows, without duplicates; nil if the order is unchanged.
  ///   - rows: The values of those rows that are new or may have changed, in the order of the row's
  ///     scope.
  package mutating func setRows(
    of list: Int, order: [String]?, rows: [(key: String, values: [JSON])]
  ) {
    if lists[list].set(order: order, rows: rows, revision: revision + 1) { hasChanged = true }
  }

  /// Commits the changes since the last revision.
  ///
  /// - Returns: Whether anything changed.
  @discardableResult
  package mutating func commit() -> Bool {
    guard hasChanged else { return false }
    assert(lists.allSatisfy(\.isComplete), "a list has other rows than its order")
    hasChanged = false
    revision += 1
    snapshotText = nil
    patchTexts.removeAll(keepingCapacity: true)
    return true
  }

  // MARK: For tests and operations

  /// A value of the page or of a row; nil if the row doesn't exist.
  package func value(at path: ValuePath) -> JSON? {
    switch path.place {
    case .page: return values.cells[path.index]
    case .row(let list, let key): return lists[list].rows[key]?.cells[path.index]
    }
  }

  /// The keys of a list's rows, in order.
  package func order(of list: Int) -> [String] { lists[list].order }

  // MARK: Texts

  /// The members of a snapshot as JSON text that begins with a comma: those of a patch, with all
  /// values and all rows.
  package mutating func snapshot() -> [UInt8] {
    assert(!hasChanged, "what is sent is of a revision")
    if let snapshotText { return snapshotText }
    var text = PatchText()
    text.open(",\"v\":{", "}")
    text.write(values, in: schema.page) { _ in true }
    text.close()
    text.openLazily(",\"l\":[", "]")
    for (list, state) in zip(schema.lists, lists) { text.writeAll(of: state, list) }
    text.close()
    snapshotText = text.bytes
    return text.bytes
  }

  /// The members of a patch for a client that has the revision `sent`, as JSON text that begins
  /// with a comma: `,"v":{…},"l":[…]`. Empty if nothing has changed since.
  ///
  /// - Parameter corrections: Values that are written even if unchanged: the client has set them
  ///   and must see the property's value.
  package mutating func patch(since sent: UInt64, corrections: Set<ValuePath> = []) -> [UInt8] {
    assert(!hasChanged, "what is sent is of a revision")
    guard sent < revision || !corrections.isEmpty else { return [] }
    if corrections.isEmpty, let text = patchTexts[sent] { return text }
    var text = PatchText()
    text.openLazily(",\"v\":{", "}")
    text.write(values, in: schema.page) { index in
      values.stamps[index] > sent || corrections.contains(ValuePath(.page, index))
    }
    text.close()
    text.openLazily(",\"l\":[", "]")
    for (index, list) in schema.lists.enumerated()
    where lists[index].changedAt > sent || corrections.contains(where: { $0.isRow(of: index) }) {
      text.writeChanges(of: lists[index], list, since: sent) { key, column in
        corrections.contains(ValuePath(.row(list: index, key: key), column))
      }
    }
    text.close()
    if corrections.isEmpty, patchTexts.count < Self.patchTextCountMax {
      patchTexts[sent] = text.bytes
    }
    return text.bytes
  }
}

/// Values, and the revision at which each last changed.
struct StampedCells {
  private(set) var cells: [JSON]
  private(set) var stamps: [UInt64]

  init(_ cells: [JSON], revision: UInt64) {
    self.cells = cells
    stamps = Array(repeating: revision, count: cells.count)
  }

  /// - Returns: Whether it was another value before.
  mutating func set(_ value: JSON, at index: Int, revision: UInt64) -> Bool {
    guard cells[index] != value else { return false }
    assert(stamps[index] <= revision, "a value changes before its last change")
    cells[index] = value
    stamps[index] = revision
    return true
  }
}

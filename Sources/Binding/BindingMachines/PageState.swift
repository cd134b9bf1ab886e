package import JSONWire

/// What one view model shows at present, and at which revision each part of it last changed: so
/// that the difference to any revision before can be written, whatever a client has missed.
///
/// It belongs to a model and knows no client. Its size is that of what is shown; there is no queue.
package struct PageState {
  package let schema: BindingSchema

  /// Counts changes that clients can get. What is set has the number of the next revision, until
  /// ``commit()``; texts are of what is committed.
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
  ///   - order: The keys of all rows, of which none occurs twice; nil if the order is as it was.
  ///   - rows: The values of those rows that are new or may have changed, in the order of the
  ///     row's scope.
  package mutating func setRows(
    of list: Int, order: [String]?, rows: [(key: String, values: [JSON])]
  ) {
    if lists[list].set(order: order, rows: rows, revision: revision + 1) { hasChanged = true }
  }

  /// Makes a revision of what has been set since the last one, if anything changed.
  ///
  /// - Returns: Whether anything did.
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

  /// A value of the page or of a row; nil if the row isn't there.
  package func value(at path: ValuePath) -> JSON? {
    switch path.place {
    case .page: return values.cells[path.index]
    case .row(let list, let key): return lists[list].rows[key]?.cells[path.index]
    }
  }

  /// The keys of a list's rows, in order.
  package func order(of list: Int) -> [String] { lists[list].order }

  // MARK: Texts

  /// The members of a snapshot, from the comma on: those of a patch, with all values and all rows.
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

  /// The members of a patch for a client that has `revision`, from the comma on:
  /// `,"v":{…},"l":[…]`. Empty if nothing has changed since.
  ///
  /// - Parameter corrections: What is written whether or not it has changed: the client has set
  ///   it and must see what came of it.
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

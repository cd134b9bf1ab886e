import JSONWire

/// Writes snapshots and patches, as JSON on one line.
struct PatchText {
  private(set) var bytes: [UInt8] = []
  /// The open objects and arrays: each one's closing text, and whether it has elements already.
  private var open: [(end: StaticString, hasElements: Bool)] = []
  /// What begins with its first element, if there is one.
  private var pending: (begin: StaticString, end: StaticString)?

  // MARK: Brackets

  mutating func open(_ begin: StaticString, _ end: StaticString) {
    append(begin)
    open.append((end, false))
  }

  /// Opens an object or array that isn't written at all if nothing comes into it.
  mutating func openLazily(_ begin: StaticString, _ end: StaticString) {
    pending = (begin, end)
  }

  /// Opens an object or array as an element of the innermost open one.
  mutating func openElement(_ begin: String, _ end: StaticString) {
    separate()
    bytes += begin.utf8
    open.append((end, false))
  }

  mutating func close() {
    if pending != nil {
      pending = nil
    } else if let last = open.popLast() {
      append(last.end)
    } else {
      assertionFailure("nothing is open that could be closed")
    }
  }

  /// Writes what comes before an element.
  private mutating func separate() {
    if let (begin, end) = pending {
      pending = nil
      open(begin, end)
    }
    guard !open.isEmpty else { return }
    if open[open.count - 1].hasElements { bytes.append(UInt8(ascii: ",")) }
    open[open.count - 1].hasElements = true
  }

  private mutating func append(_ text: StaticString) {
    text.withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }
  }

  private mutating func element(_ text: String) {
    separate()
    JSON.string(text).write(to: &bytes)
  }

  // MARK: Values and rows

  /// Writes the values for which `isWanted` returns true, as members of the open object.
  mutating func write(
    _ cells: StampedCells, in scope: BindingScope, where isWanted: (Int) -> Bool
  ) {
    for (index, value) in scope.values.enumerated() where isWanted(index) {
      separate()
      bytes += value.key
      cells.cells[index].write(to: &bytes)
    }
  }

  /// Writes `["key",{…}]`.
  private mutating func writeRow(_ key: String, _ list: ListState, _ scope: BindingScope) {
    guard let cells = list.rows[key] else { return }
    openElement("[", "]")
    element(key)
    openElement("{", "}")
    write(cells, in: scope) { _ in true }
    close()
    close()
  }

  /// Writes a list's changes since a revision: one operation for each change, or the whole list if
  /// those changes aren't known any more.
  mutating func writeChanges(
    of state: ListState, _ list: BindingSchema.List, since sent: UInt64,
    orCorrected isCorrected: (String, Int) -> Bool
  ) {
    var inserted: Set<String> = []
    if state.orderChangedAt > sent {
      guard let old = state.order(at: sent) else { return writeAll(of: state, list) }
      for change in KeyedDifference.changes(from: old, to: state.order) {
        if case .insert(let key, _) = change { inserted.insert(key) }
        write(change, of: state, list)
      }
    }
    for key in state.order where !inserted.contains(key) {
      guard let cells = state.rows[key] else { continue }
      let isWanted = { cells.stamps[$0] > sent || isCorrected(key, $0) }
      guard cells.cells.indices.contains(where: isWanted) else { continue }
      openOperation("upd", list, key)
      openElement("{", "}")
      write(cells, in: list.row, where: isWanted)
      close()
      close()
    }
  }

  /// Writes `["all",list,[["key",{…}],…]]`.
  mutating func writeAll(of state: ListState, _ list: BindingSchema.List) {
    openElement("[", "]")
    element("all")
    element(list.name)
    openElement("[", "]")
    for key in state.order { writeRow(key, state, list.row) }
    close()
    close()
  }

  private mutating func write(
    _ change: KeyedDifference.Change, of state: ListState, _ list: BindingSchema.List
  ) {
    switch change {
    case .remove(let key):
      openOperation("del", list, key)
    case .move(let key, let next):
      openOperation("move", list, key)
      elementOrNull(next)
    case .insert(let key, let next):
      openOperation("ins", list, key)
      elementOrNull(next)
      openElement("{", "}")
      if let cells = state.rows[key] { write(cells, in: list.row) { _ in true } }
      close()
    }
    close()
  }

  private mutating func openOperation(_ name: String, _ list: BindingSchema.List, _ key: String) {
    openElement("[", "]")
    element(name)
    element(list.name)
    element(key)
  }

  private mutating func elementOrNull(_ text: String?) {
    if let text { return element(text) }
    separate()
    append("null")
  }
}

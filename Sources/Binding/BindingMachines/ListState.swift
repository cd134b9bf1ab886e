import JSONWire

/// The rows of a list at present, and in which order they were before.
struct ListState {
  /// The order since a revision.
  private struct Order {
    var revision: UInt64
    var keys: [String]
  }

  private(set) var rows: [String: StampedCells] = [:]
  /// The last one is that of now.
  private var orders = [Order(revision: 0, keys: [])]
  /// When a row or the order last changed.
  private(set) var changedAt: UInt64 = 0

  /// Keys in all orders that are kept, for lists so long that fewer are.
  private static let keyCountMax = 8 * BindingLimits.rowCountMax

  var order: [String] { orders.last?.keys ?? [] }
  var orderChangedAt: UInt64 { orders.last?.revision ?? 0 }

  /// Whether there are as many rows as keys.
  var isComplete: Bool { rows.count == order.count }

  /// The order at a revision; nil if that is too long ago.
  func order(at revision: UInt64) -> [String]? {
    orders.last { $0.revision <= revision }?.keys
  }

  /// - Returns: Whether anything changed.
  mutating func set(
    order newOrder: [String]?, rows newRows: [(key: String, values: [JSON])], revision: UInt64
  ) -> Bool {
    var hasChanged = false
    for (key, values) in newRows {
      guard var cells = rows[key] else {
        rows[key] = StampedCells(values, revision: revision)
        hasChanged = true
        continue
      }
      var isAnotherRow = false
      for (index, value) in values.enumerated()
      where cells.set(value, at: index, revision: revision) {
        isAnotherRow = true
      }
      guard isAnotherRow else { continue }
      rows[key] = cells
      hasChanged = true
    }
    if let newOrder, newOrder != order {
      replaceOrder(newOrder, revision: revision)
      hasChanged = true
    }
    if hasChanged { changedAt = revision }
    return hasChanged
  }

  private mutating func replaceOrder(_ keys: [String], revision: UInt64) {
    if let last = orders.last, last.revision == revision {
      // Not committed yet: no client has got this order.
      orders[orders.count - 1].keys = keys
    } else {
      assert(orderChangedAt < revision, "an order is older than the one before")
      orders.append(Order(revision: revision, keys: keys))
    }
    var keyCount = orders.reduce(0) { $0 + $1.keys.count }
    while orders.count > BindingLimits.orderCountMax
      || (keyCount > Self.keyCountMax && orders.count > 2)
    {
      keyCount -= orders.removeFirst().keys.count
    }
    guard rows.count > keys.count else { return }
    let present = Set(keys)
    rows = rows.filter { present.contains($0.key) }
  }
}

import Essentials

/// Updates on their way to subscribers, by numbers that encode their slot: there is one for every
/// sent value, which a dictionary would hash four times.
package struct UpdateTable: Sendable {
  private struct Slot: Sendable {
    var number: UInt64
    var update: GATTServer.Update?
  }

  private var slots: [Slot] = []
  private var freeSlots: [Int] = []
  /// The number of updates that were ever added.
  private var lastUpdate: UInt64 = 0

  package var count: Int { slots.count - freeSlots.count }

  /// Adds an update and returns its number, which is never used again.
  package mutating func insert(_ update: GATTServer.Update) -> UInt64 {
    let index = freeSlots.popLast() ?? slots.count
    lastUpdate += 1
    let number = lastUpdate << 32 | UInt64(index)
    let slot = Slot(number: number, update: update)
    if index == slots.count { slots.append(slot) } else { slots[index] = slot }
    return number
  }

  /// An update; nil once it was removed, which setting nil does.
  subscript(number: UInt64) -> GATTServer.Update? {
    get { index(of: number).flatMap { slots[$0].update } }
    set {
      guard let index = index(of: number) else { return }
      slots[index].update = newValue
      if newValue == nil { freeSlots.append(index) }
    }
  }

  private func index(of number: UInt64) -> Int? {
    let index = Int(number & 0xFFFF_FFFF)
    guard index < slots.count, slots[index].number == number, slots[index].update != nil else {
      return nil
    }
    return index
  }
}

extension UpdateTable {
  /// How the table contradicts itself; a sentence for each contradiction.
  ///
  /// - Parameter limit: The number of rows that are checked.
  package func violations(perTable limit: Int) -> [String] {
    var found: [String] = []
    if freeSlots.count > slots.count { found.append("more slots are free than exist") }
    for index in freeSlots.suffix(limit) where slots[safe: index].map({ $0.update != nil }) ?? true
    {
      found.append("the slot of an update is free")
    }
    for (index, slot) in slots.prefix(limit).enumerated() {
      if slot.number & 0xFFFF_FFFF != UInt64(index) { found.append("an update is in another slot") }
      if slot.number >> 32 > lastUpdate { found.append("an update has a number of the future") }
    }
    return found
  }
}

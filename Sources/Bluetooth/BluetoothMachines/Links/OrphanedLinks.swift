import Essentials

/// Links that the controller keeps although clients were notified of their end: it refused to
/// disconnect, did not report the end in time, or has a link that this host never heard of.
///
/// Such a link must end before its peer can be connected again, so Disconnect is repeated until the
/// controller reports the end, or denies often enough that there is such a link.
struct OrphanedLinks: Sendable {
  enum Limits {
    /// How often Disconnect is repeated.
    static let retryInterval = TimeSpan.seconds(1)
    /// How often a controller must report that there is no such link: one that refuses all commands
    /// for a while reports that of any link.
    static let denialsMax = 8
  }

  private struct Orphan: Sendable {
    let handle: UInt16
    var retryAt: Instant
    /// How many such reports are still needed until the link counts as ended.
    var denialsLeft: Int
  }

  private var orphans: [Orphan] = []

  var count: Int { orphans.count }
  var isEmpty: Bool { orphans.isEmpty }

  func contains(_ handle: UInt16) -> Bool { orphans.contains { $0.handle == handle } }

  /// Begins to end a link. `denialsLeft` is 1 for a link that this host never had.
  mutating func add(_ handle: UInt16, denialsLeft: Int = Limits.denialsMax, now: Instant) {
    guard orphans.count < LinkTable.Limits.linksMax, !contains(handle) else { return }
    let retryAt = now + Limits.retryInterval
    orphans.append(Orphan(handle: handle, retryAt: retryAt, denialsLeft: denialsLeft))
  }

  /// The controller reported the end of a link, or uses its handle for a new one.
  mutating func remove(_ handle: UInt16) { orphans.removeAll { $0.handle == handle } }

  /// The controller is gone, and its links with it.
  mutating func removeAll() { orphans = [] }

  /// The controller denied that there is such a link. Returns whether that is believed now.
  mutating func denied(_ handle: UInt16) -> Bool {
    guard let index = orphans.firstIndex(where: { $0.handle == handle }) else { return false }
    orphans[index].denialsLeft -= 1
    guard orphans[index].denialsLeft <= 0 else { return false }
    orphans.remove(at: index)
    return true
  }

  /// The handles for which Disconnect is to be repeated at `now`.
  mutating func wake(now: Instant) -> [UInt16] {
    var due: [UInt16] = []
    for index in orphans.indices where orphans[index].retryAt <= now {
      orphans[index].retryAt = now + Limits.retryInterval
      due.append(orphans[index].handle)
    }
    return due
  }

  var nextWake: Instant? { orphans.lazy.map(\.retryAt).min() }
}

extension OrphanedLinks {
  /// How the table contradicts itself; a sentence for each contradiction.
  func violations() -> [String] {
    var found: [String] = []
    if orphans.count > LinkTable.Limits.linksMax { found.append("there are too many orphans") }
    if Set(orphans.map(\.handle)).count != orphans.count {
      found.append("two orphans have one handle")
    }
    for orphan in orphans where !(1...Limits.denialsMax).contains(orphan.denialsLeft) {
      found.append("an orphan waits for \(orphan.denialsLeft) denials")
    }
    return found
  }
}

import BluetoothMachines
import BluetoothWire
import EventLoop
import Synchronization

/// Performs a host's operations on its bond store, one after the other, on a thread of its own that
/// exists only while there are operations: each may wait for the disk, and for other processes.
///
/// Pending operations on one peer's bond are merged into one change, or two if a removal comes
/// first, so that there are never more than twice as many as peers. A change that can't be stored
/// is reported, and applies until the host ends.
final class BondStoreQueue: Sendable {
  enum Change: Sendable {
    case store(Bond, HostIdentity?)
    /// Update the stored bond with new values.
    case update(Bond)
    case remove(Bond)

    var bond: Bond {
      switch self {
      case .store(let bond, _), .update(let bond), .remove(let bond): bond
      }
    }
  }

  enum Report: Sendable {
    case failed(BondStoreError)
    /// A damaged file was moved there.
    case damagedFileKept(String)
    /// The bonds that there are, where all changes up to this number had been made.
    case read([Bond], changeCount: UInt64)
  }

  private struct State {
    var changes: [Change] = []
    var changeCount: UInt64 = 0
    var isReadingWanted = false
    var isRunning = false
    /// What waits until everything is done.
    var completions: [@Sendable () -> Void] = []
    /// Bonds that could not be stored.
    var unstored: [Bond] = []
    /// Bonds that could not be removed.
    var unremoved: [Bond] = []
  }

  private let store: BondStore
  private let state = Mutex(State())
  private let report: @Sendable (Report) -> Void

  /// - Parameter report: Called on the queue's thread.
  init(_ store: BondStore, report: @escaping @Sendable (Report) -> Void) {
    self.store = store
    self.report = report
  }

  /// How many changes were asked for.
  var changeCount: UInt64 { state.withLock(\.changeCount) }

  /// Makes a change, later. From any thread.
  func change(_ change: Change) {
    state.withLock { state in
      state.changeCount += 1
      guard let index = state.changes.lastIndex(where: { $0.bond.isOfSamePeer(as: change.bond) })
      else { return state.changes.append(change) }
      switch (state.changes[index], change) {
      case (.store(_, let identity), .update(let bond)):
        state.changes[index] = .store(bond, identity)
      case (.remove, .update): break
      // The removed bond must not be compared with the one that is stored after it.
      case (.remove, .store): state.changes.append(change)
      case (_, .store), (_, .remove), (.update, .update): state.changes[index] = change
      }
    }
    start()
  }

  /// Reads the bonds again, later, and reports them.
  func read() {
    state.withLock { $0.isReadingWanted = true }
    start()
  }

  /// Calls `completion`, on any thread, when all that was asked for is done.
  func finish(_ completion: @escaping @Sendable () -> Void) {
    state.withLock { $0.completions.append(completion) }
    start()
  }

  private func start() {
    let isFirst = state.withLock { state in
      defer { state.isRunning = true }
      return !state.isRunning
    }
    guard isFirst else { return }
    // If no thread can be started, the work is done here, although it may block.
    if !DetachedThread.start({ self.run() }) { run() }
  }

  private func run() {
    while let work = next() { work() }
  }

  private func next() -> (() -> Void)? {
    state.withLock { state in
      if !state.changes.isEmpty {
        let change = state.changes.removeFirst()
        return { self.perform(change) }
      }
      if state.isReadingWanted {
        state.isReadingWanted = false
        let count = state.changeCount
        return { self.readBonds(count) }
      }
      if !state.completions.isEmpty {
        let completion = state.completions.removeFirst()
        return completion
      }
      state.isRunning = false
      return nil
    }
  }

  private func perform(_ change: Change) {
    do throws(BondStoreError) {
      switch change {
      case .store(let bond, let identity):
        if state.withLock({ $0.unremoved.contains { $0.isOfSamePeer(as: bond) } }) {
          _ = try store.remove(bond)
        }
        if let path = try store.store(bond, identity: identity) { report(.damagedFileKept(path)) }
      case .update(let bond): try store.update([bond])
      case .remove(let bond): _ = try store.remove(bond)
      }
      note(change, isMade: true)
    } catch {
      note(change, isMade: false)
      report(.failed(error))
    }
  }

  /// A bond that could not be stored is there all the same; one that could not be removed isn't.
  private func note(_ change: Change, isMade: Bool) {
    state.withLock { state in
      if case .update = change { return }
      state.unstored.removeAll { $0.isOfSamePeer(as: change.bond) }
      if isMade { return state.unremoved.removeAll { $0.isOfSamePeer(as: change.bond) } }
      switch change {
      case .store(let bond, _): state.unstored.append(bond)
      case .remove(let bond):
        state.unremoved.removeAll { $0.isOfSamePeer(as: bond) }
        state.unremoved.append(bond)
      case .update: break
      }
    }
  }

  private func readBonds(_ changeCount: UInt64) {
    do throws(BondStoreError) {
      let bonds = try store.load()
      let (unstored, unremoved) = state.withLock { ($0.unstored, $0.unremoved) }
      let hidden = unstored + unremoved
      let others = bonds.filter { bond in !hidden.contains { $0.isOfSamePeer(as: bond) } }
      report(.read(others + unstored, changeCount: changeCount))
    } catch {
      report(.failed(error))
    }
  }
}

extension Bond {
  /// Whether both are bonds of one peer with one identity of this host.
  fileprivate func isOfSamePeer(as other: Bond) -> Bool {
    identity == other.identity && localIdentity == other.localIdentity
  }
}

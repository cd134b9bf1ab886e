import BluetoothMachines
import BluetoothWire
import EventLoop
import StateFiles
import Synchronization

/// Performs a host's operations on its bond store, one after the other, on a thread of its own that
/// exists only while there are operations: each may wait for the disk, and for other processes.
///
/// A change that can't be written is reported, applies as long as the host runs, and is tried again
/// until it is written, in the order in which the changes came
/// (docs/decisions/0180-a-failed-write-is-tried-again.md).
final class BondStoreQueue: Sendable {
  typealias Change = BondChange.Kind

  enum Report: Sendable {
    /// The bonds can't be read or written; once for each kind of error until they can.
    case failed(BondStoreError)
    /// Everything is written, and can be read, after a failure.
    case recovered
    /// A damaged file was moved there.
    case damagedFileKept(String)
    /// The bonds that there are, where all changes up to this number had been made.
    case read([Bond], changeCount: UInt64)
    /// What ``BondStoreQueue/load()`` was to read, and why the random address in it can't be used.
    case loaded([Bond], [HostIdentity], BondStoreError?)
  }

  private struct State {
    /// Changes to be written, in their order, with those that failed.
    var changes = BondChanges()
    /// Changes that are being written.
    var inHand = BondChanges()
    /// How many of those that are being written are not, and how many of these store new bonds.
    var unwrittenInHandCount = 0
    var unwrittenNewInHandCount = 0
    /// Changes that the store refuses for good, which apply all the same.
    var refused = BondChanges()
    var changeCount: UInt64 = 0
    var isReadingWanted = false
    /// Whether the host has no bonds yet, because they could not be read when it was started.
    var isLoading = false
    var isReadingFailing = false
    /// Whether some of the changes were tried and could not be written.
    var isWritingFailing = false
    /// Whether the last error of writing concerns all changes.
    var isBlocked = false
    /// The kinds of errors that were reported since everything was written.
    var problems: Set<BondStoreError.Kind> = []
    /// The file when it was read last; nil: never.
    var known: BondFile?
  }

  private let store: BondStore
  private let writer: StateWriter
  private let state = Mutex(State())
  private let report: @Sendable (Report) -> Void

  /// - Parameters:
  ///   - store: The store.
  ///   - times: How long to wait between attempts, and for the last one.
  ///   - report: Called on the queue's thread.
  init(
    _ store: BondStore, times: StateWriter.Times = StateWriter.Times(),
    report: @escaping @Sendable (Report) -> Void
  ) {
    self.store = store
    self.report = report
    writer = StateWriter(times: times)
  }

  /// How many changes were asked for.
  var changeCount: UInt64 { state.withLock(\.changeCount) }

  /// How many changes were asked for and are not written.
  var unwrittenCount: Int { state.withLock { $0.changes.count + $0.unwrittenInHandCount } }

  /// How many bonds were made and are not in the file, also because it has a stronger one.
  var unwrittenNewBondCount: Int {
    state.withLock { state in
      state.changes.newBondCount + state.unwrittenNewInHandCount + state.refused.newBondCount
    }
  }

  /// Makes a change, later. From any thread.
  func change(_ change: Change) {
    state.withLock { state in
      state.changeCount += 1
      state.changes.append(BondChange(change))
    }
    writer.request(work)
  }

  /// Reads the bonds again, later, and reports them.
  func read() {
    state.withLock { $0.isReadingWanted = true }
    writer.request(work)
  }

  /// Reads the bonds and this host's identities until that succeeds, and reports them then.
  func load() {
    state.withLock { $0.isLoading = true }
    read()
  }

  /// Calls `completion`, on any thread, when all that was asked for is done, or was tried for the
  /// last time.
  func finish(_ completion: @escaping @Sendable () -> Void) { writer.finish(completion) }

  private func work(_ isTrying: Bool) -> StateWriter.Result {
    if isTrying || !state.withLock(\.isBlocked) { write(isTrying) }
    let isReading = state.withLock { state in
      guard state.isReadingWanted, isTrying || !state.isReadingFailing else { return false }
      state.isReadingWanted = false
      return true
    }
    if isReading { readBonds() }
    return conclude()
  }

  /// Reports that a failure is over.
  private func conclude() -> StateWriter.Result {
    let (isWell, isRecovered) = state.withLock { state in
      let isWell = !state.isWritingFailing && !state.isReadingFailing
      defer { if isWell { state.problems = [] } }
      return (isWell, isWell && !state.problems.isEmpty)
    }
    if isRecovered { report(.recovered) }
    return isWell ? .done : .failed
  }

  private func fail(_ error: BondStoreError) {
    let isNews = state.withLock { $0.problems.insert(error.kind).inserted }
    if isNews { report(.failed(error)) }
  }

  // MARK: Writing

  /// Tries all changes in their order, up to an error that concerns all of them. Without
  /// `isTrying`, those that failed for a reason of their own wait for the next attempt.
  private func write(_ isTrying: Bool) {
    state.withLock { state in
      state.inHand = state.changes
      state.unwrittenInHandCount = state.changes.count
      state.unwrittenNewInHandCount = state.changes.newBondCount
      state.changes = BondChanges()
    }
    var left = BondChanges()
    var isBlocked = false
    while !isBlocked, var change = state.withLock({ $0.inHand.takeFirst() }) {
      if change.isWaiting, !isTrying {
        left.append(change)
        continue
      }
      record(&change)
      do throws(BondStoreError) {
        try perform(change)
        state.withLock { state in
          state.unwrittenInHandCount -= 1
          if change.storesNewBond { state.unwrittenNewInHandCount -= 1 }
        }
        if case .update = change.kind { continue }
        left.remove(change.bond)
        state.withLock { $0.refused.remove(change.bond) }
      } catch {
        fail(error)
        switch error.kind {
        case .stronger:
          state.withLock { state in
            state.refused.append(change)
            if change.storesNewBond { state.unwrittenNewInHandCount -= 1 }
          }
        // The other process's bond is the newer one.
        case .replaced: state.withLock { $0.isReadingWanted = true }
        case .full, .damaged, .addressInUse, .dropped:
          change.isWaiting = true
          left.append(change)
        case .noPath, .refused, .unreadable, .unwritable, .busy:
          left.append(change)
          isBlocked = true
        }
      }
    }
    let dropped = state.withLock { state -> Int in
      state.isWritingFailing = !left.isEmpty
      state.isBlocked = isBlocked
      left.append(state.inHand)
      left.append(state.changes)
      let dropped = left.droppedCount
      left.droppedCount = 0
      state.inHand = BondChanges()
      state.unwrittenInHandCount = 0
      state.unwrittenNewInHandCount = 0
      state.changes = left
      return dropped
    }
    if dropped > 0 {
      fail(BondStoreError(.dropped, store.path, "\(dropped) changes of bonds found no room"))
    }
  }

  /// Notes, before a change is first tried, what it is to replace.
  private func record(_ change: inout BondChange) {
    guard case .any = change.predecessor else { return }
    if case .update = change.kind { return }
    do throws(BondStoreError) {
      let file = try store.loadFile()
      state.withLock { $0.known = file }
      change.predecessor = .known(file.predecessor(of: change.bond))
    } catch {
      // A bond replaces a damaged file: that the earlier bonds are missing there is no conflict.
      if error.kind == .damaged, case .store = change.kind { return }
      guard let known = state.withLock(\.known) else { return }
      change.predecessor = .known(known.predecessor(of: change.bond))
    }
  }

  private func perform(_ change: BondChange) throws(BondStoreError) {
    switch change.kind {
    case .store(let bond, let identity):
      let path = try store.store(bond, identity: identity, over: change.predecessor)
      if let path { report(.damagedFileKept(path)) }
    case .update(let bond): try store.update([bond])
    case .remove(let bond): try store.remove(bond, over: change.predecessor)
    }
  }

  // MARK: Reading

  private func readBonds() {
    let count = changeCount
    do throws(BondStoreError) {
      var file = try store.loadFile()
      let isLoading = state.withLock(\.isLoading)
      let (identities, problem) = isLoading ? try store.loadIdentities() : ([], nil)
      let unwritten = state.withLock { state in
        state.isReadingFailing = false
        state.isLoading = false
        state.known = file
        return state.refused.all + state.changes.all
      }
      for change in unwritten { change.apply(to: &file) }
      if isLoading { return report(.loaded(file.bonds, identities, problem)) }
      report(.read(file.bonds, changeCount: count))
    } catch {
      state.withLock { state in
        state.isReadingFailing = true
        state.isReadingWanted = true
      }
      fail(error)
    }
  }
}

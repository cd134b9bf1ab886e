internal import EventLoop
internal import Logging
internal import StateFiles
internal import Synchronization

/// The file in which a program's regions and conditions outlive it
/// (docs/decisions/0113-monitored-regions-outlive-the-process.md).
///
/// One process owns the file at a time, from its first read or write until its end. A thread
/// writes, and exists only as long as there is something to write; if several contents arrive
/// during a write, only the last is written. A write that failed is tried again until it succeeds
/// (docs/decisions/0180-a-failed-write-is-tried-again.md). A problem is logged once, and when it is
/// over; the program goes on without the file.
package final class LocationStore: Sendable {
  private enum Owner {
    /// This process doesn't own the file yet: nothing was to be kept, or the lock could not be
    /// created.
    case undecided
    case thisProcess(StateFileLock)
    /// There is a reason why nothing is kept, which was logged.
    case unavailable
  }

  private struct State {
    var owner = Owner.undecided
    /// What may be in the file before this process has written to it; nil: anything.
    var found: LocationFile? = LocationFile()
    /// The content to be written.
    var next: LocationFile?
    /// Whether a failed write was logged.
    var isFailing = false
  }

  /// Nil where there is no place for it, which matters when something is to be kept.
  private let file: StateFile?
  private let state = Mutex(State())
  private let writer: StateWriter
  private let logger = Logger(label: "CoreLocation")

  /// - Parameters:
  ///   - path: The file; nil where the environment names no place for one.
  ///   - times: How long to wait between attempts to write, and for the last one.
  ///   - probe: Where tests look on at the system calls.
  init(
    path: String?, times: StateWriter.Times = StateWriter.Times(),
    probe: StateFileProbe = StateFileProbe()
  ) {
    file = path.map {
      StateFile(path: $0, byteCountMax: LocationFile.byteCountMax, probe: probe)
    }
    writer = StateWriter(times: times)
  }

  /// Whether nothing can be kept.
  package var isUnavailable: Bool {
    state.withLock { if case .unavailable = $0.owner { true } else { false } }
  }

  /// Reads what the program monitored when it ended; nothing where it can't be read. Waits for the disk.
  package func load() -> LocationFile {
    guard let file else { return LocationFile() }
    do throws(StateFileError) {
      // A program that only ranges leaves the file to others.
      let found = try file.read(LocationFile.init(decoding:)) ?? LocationFile()
      guard found != LocationFile() else { return found }
      switch takeOwnership(of: file) {
      case .taken: state.withLock { $0.found = nil }
      case .refused: return LocationFile()
      case .notYet:
        // The disk is full, for example: the regions are good all the same.
        state.withLock { $0.found = found }
        return found
      }
      // Again: the process that had it may have written since.
      return try file.read(LocationFile.init(decoding:)) ?? LocationFile()
    } catch {
      if error.kind == .damaged {
        logger.error(
          """
          The regions in "\(file.path)" are damaged: \(error.reason). Monitoring begins anew; the \
          file is kept beside the new one.
          """)
        _ = takeOwnership(of: file)
      } else {
        fail("The regions in \"\(file.path)\" are not used: \(error.reason).")
      }
      return LocationFile()
    }
  }

  /// Writes what the program monitors now, later. From any thread.
  package func keep(_ content: LocationFile) {
    let isKept = state.withLock { state in
      if case .unavailable = state.owner { return false }
      state.next = content
      return true
    }
    if isKept { writer.request { self.work($0) } }
  }

  /// Calls `completion`, on any thread, when pending contents are written, or were tried once.
  package func afterAttempt(_ completion: @escaping @Sendable () -> Void) {
    isUnavailable ? completion() : writer.afterAttempt(completion)
  }

  /// Calls `completion`, on any thread, when pending contents are written, or were tried for the
  /// last time.
  package func finish(_ completion: @escaping @Sendable () -> Void) {
    writer.finish { [self] in
      if state.withLock({ $0.next != nil }) { logger.error("The last regions are not stored.") }
      completion()
    }
  }

  /// Removes the files of the same folder whose names are `prefix` and 16 hexadecimal digits, that were
  /// not changed since a time, in seconds since 1970, and that no process owns. Waits for the disk.
  package func removeUnused(prefix: String, before time: Double) {
    guard let file else { return }
    file.removeUnusedSiblings(prefix: prefix, owner: Self.ownerLock, before: Int(time))
  }

  private static let ownerLock = "owner"

  private func work(_ isTrying: Bool) -> StateWriter.Result {
    guard isTrying else { return .failed }
    guard let content = state.withLock({ $0.next.take() }) else { return .done }
    let isWritten = write(content)
    let isRecovered = state.withLock { state in
      // A later content is to be written instead.
      if !isWritten { state.next = state.next ?? content }
      defer { state.isFailing = !isWritten }
      return isWritten && state.isFailing
    }
    if isRecovered, !isUnavailable { logger.notice("The regions are stored again.") }
    return isWritten ? .done : .failed
  }

  /// Writes the content, unless the file is none of this process; false where that failed and has to
  /// be tried again.
  private func write(_ content: LocationFile) -> Bool {
    guard let file else {
      fail("Regions cannot be stored: HOME is not set.")
      return true
    }
    if state.withLock({ if case .undecided = $0.owner { true } else { false } }) {
      switch takeOwnership(of: file) {
      case .taken: break
      case .refused: return true
      case .notYet: return false
      }
    }
    return write(content, to: file)
  }

  private func write(_ content: LocationFile, to file: StateFile) -> Bool {
    let known = state.withLock(\.found)
    let (bytes, leftOutCount) = content.bytes
    if leftOutCount > 0 {
      logger.error("\(leftOutCount) conditions are beyond the limits and are not stored.")
    }
    do throws(StateFileError) {
      let (isWritten, damagedPath) = try file.change(
        replacingDamaged: true, LocationFile.init(decoding:)
      ) { found in
        let isOurs = known == nil || [nil, LocationFile(), known].contains(found)
        return isOurs ? bytes : nil
      }
      state.withLock { $0.found = nil }
      if let damagedPath { logger.error("The damaged regions are in \"\(damagedPath)\" now.") }
      if !isWritten { fail("Another process of this program has stored regions in the meantime.") }
      return true
    } catch {
      if error.kind == .refused || error.kind == .damaged {
        logger.error("The regions in \"\(file.path)\" cannot be written: \(error.reason).")
        fail(nil)
        return true
      }
      reportFailure(error, of: file)
      return false
    }
  }

  private func reportFailure(_ error: StateFileError, of file: StateFile) {
    guard !state.withLock(\.isFailing) else { return }
    logger.error(
      "The regions in \"\(file.path)\" cannot be written: \(error.reason). It is tried again.")
  }

  private enum Ownership { case taken, refused, notYet }

  /// Takes the file for this process from now on.
  private func takeOwnership(of file: StateFile) -> Ownership {
    do throws(StateFileError) {
      guard let lock = try file.takeLock(Self.ownerLock) else {
        fail("Another process of this program uses the regions in \"\(file.path)\".")
        return .refused
      }
      state.withLock { $0.owner = .thisProcess(lock) }
      return .taken
    } catch {
      if error.kind == .unwritable || error.kind == .busy {
        reportFailure(error, of: file)
        return .notYet
      }
      fail("The regions in \"\(file.path)\" cannot be stored: \(error.reason).")
      return .refused
    }
  }

  private func fail(_ reason: String?) {
    state.withLock { state in
      state.owner = .unavailable
      state.next = nil
    }
    if let reason {
      logger.error(
        "\(reason) Regions are not kept after this process ends; AMBIT_LOCATIONS can name another file."
      )
    }
  }
}

// MARK: - Where it is

extension LocationStore {
  /// Overrides the environment, in tests.
  @TaskLocal static var override: LocationStore?

  /// The store of this program, for a host: in the file that `AMBIT_LOCATIONS` names, else under the name
  /// of the executable in `ambit/locations` among this user's state files. Nil for the simulated radio,
  /// whose beacons are new each time, unless a file is named.
  ///
  /// - Parameter name: Instead of the name of the executable, for a program whose runs have files of
  ///   their own.
  package static func current(isSimulated: Bool, name: String? = nil) -> LocationStore? {
    if let override { return override }
    let environment = { ProcessEnvironment.value($0) }
    if let path = environment("AMBIT_LOCATIONS") { return LocationStore(path: path) }
    if isSimulated { return nil }
    return LocationStore(
      path: (name ?? StateFile.programName()).flatMap {
        StateFile.path(of: "locations/\($0)", environment)
      })
  }
}

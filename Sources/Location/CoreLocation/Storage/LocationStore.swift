internal import EventLoop
internal import Logging
internal import StateFiles
internal import Synchronization

/// The file in which a program's regions and conditions outlive it
/// (docs/decisions/0113-monitored-regions-outlive-the-process.md).
///
/// One process owns the file at a time, from its first read or write until its end. A thread
/// writes, and exists only as long as there is something to write; if several contents arrive
/// during a write, only the last is written. A problem is logged once; the program goes on without
/// the file.
package final class LocationStore: Sendable {
  private enum Owner {
    /// There was nothing in the file, and nothing was to be kept yet.
    case nobody
    case thisProcess(StateFileLock)
    /// There is a reason why nothing is kept, which was logged.
    case unavailable
  }

  private struct State {
    var owner = Owner.nobody
    var next: LocationFile?
    var isRunning = false
    var completions: [@Sendable () -> Void] = []
  }

  /// Nil where there is no place for it, which matters when something is to be kept.
  private let file: StateFile?
  private let state: Mutex<State>
  private let logger = Logger(label: "CoreLocation")

  /// - Parameters:
  ///   - path: The file; nil where the environment names no place for one.
  ///   - probe: Where tests look on at the system calls.
  init(path: String?, probe: StateFileProbe = StateFileProbe()) {
    file = path.map {
      StateFile(path: $0, byteCountMax: LocationFile.byteCountMax, probe: probe)
    }
    state = Mutex(State())
  }

  /// Whether nothing can be kept.
  var isUnavailable: Bool {
    state.withLock { if case .unavailable = $0.owner { true } else { false } }
  }

  /// Reads what the program monitored when it ended; nothing where it can't be read. Waits for the disk.
  package func load() -> LocationFile {
    guard let file else { return LocationFile() }
    do throws(StateFileError) {
      // A program that only ranges leaves the file to others.
      let found = try file.read(LocationFile.init(decoding:)) ?? LocationFile()
      guard found != LocationFile() else { return found }
      guard takeOwnership(of: file) else { return LocationFile() }
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
    let isFirst = state.withLock { state in
      if case .unavailable = state.owner { return false }
      state.next = content
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if isFirst { start() }
  }

  /// Calls `completion`, on any thread, when pending contents are written.
  package func finish(_ completion: @escaping @Sendable () -> Void) {
    let isFirst = state.withLock { state in
      state.completions.append(completion)
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if isFirst { start() }
  }

  /// Removes the files of the same folder whose names begin with `prefix`, that were not changed since
  /// a time, in seconds since 1970, and that no process owns. Waits for the disk.
  package func removeUnused(prefix: String, before time: Double) {
    guard let file else { return }
    file.removeUnusedSiblings(prefix: prefix, owner: Self.ownerLock, before: Int(time))
  }

  private static let ownerLock = "owner"

  private func start() {
    // If no thread can be started, this one writes, and may block.
    if !DetachedThread.start({ self.run() }) { run() }
  }

  private func run() {
    while let work = next() { work() }
  }

  private func next() -> (() -> Void)? {
    state.withLock { state in
      if let content = state.next {
        state.next = nil
        return { self.write(content) }
      }
      if !state.completions.isEmpty { return state.completions.removeFirst() }
      state.isRunning = false
      return nil
    }
  }

  private func write(_ content: LocationFile) {
    guard let file else {
      return fail("Regions cannot be stored: HOME is not set.")
    }
    let isNew = state.withLock { if case .nobody = $0.owner { true } else { false } }
    if isNew, !takeOwnership(of: file) { return }
    let (bytes, leftOutCount) = content.bytes
    if leftOutCount > 0 {
      logger.error("\(leftOutCount) conditions are beyond the limits and are not stored.")
    }
    do throws(StateFileError) {
      let (isWritten, damagedPath) = try file.change(
        replacingDamaged: true, LocationFile.init(decoding:)
      ) { found in isNew && found != nil && found != LocationFile() ? nil : bytes }
      if let damagedPath { logger.error("The damaged regions are in \"\(damagedPath)\" now.") }
      if !isWritten { fail("Another process of this program has stored regions in the meantime.") }
    } catch {
      // The next change tries again: the disk may have room by then.
      logger.error("The regions in \"\(file.path)\" cannot be written: \(error.reason).")
      if error.kind == .refused || error.kind == .damaged { fail(nil) }
    }
  }

  /// Whether the file is this process's from now on.
  private func takeOwnership(of file: StateFile) -> Bool {
    do throws(StateFileError) {
      guard let lock = try file.takeLock(Self.ownerLock) else {
        fail("Another process of this program uses the regions in \"\(file.path)\".")
        return false
      }
      state.withLock { $0.owner = .thisProcess(lock) }
      return true
    } catch {
      fail("The regions in \"\(file.path)\" cannot be stored: \(error.reason).")
      return false
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

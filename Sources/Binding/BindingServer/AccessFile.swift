#if BindingServer
  internal import Essentials
  internal import Foundation
  internal import Logging
  internal import StateFiles
  internal import Synchronization

  /// The file in which servers and `PageAccess` keep an ``AccessRecord``, which only this user may read.
  struct AccessFile {
    private let file: StateFile

    init(path: String) {
      file = StateFile(path: path, byteCountMax: AccessRecord.byteCountMax)
    }

    var path: String { file.path }

    /// The key in the file. The first server that needs it creates it, under the file's lock, so that
    /// servers that start together have the same key.
    /// - Returns: The key, and the path to which a damaged file was moved, whose cookies hold no more.
    func key() throws(StateFileError) -> (bytes: [UInt8], damagedPath: String?) {
      do throws(StateFileError) {
        if let record = try read() { return (record.key, nil) }
      } catch {
        // A damaged one is kept aside and replaced.
        guard error.kind == .damaged else { throw error }
      }
      var key: [UInt8] = []
      let change = try file.change(replacingDamaged: true, AccessRecord.init(decoding:)) { found in
        var record = found ?? AccessRecord()
        key = record.key
        return found == nil ? record.file(now: 0) : nil
      }
      return (key, change.damagedPath)
    }

    func read() throws(StateFileError) -> AccessRecord? {
      try file.read(AccessRecord.init(decoding:))
    }

    /// Changes the record in the file. Does nothing where there is no file.
    ///
    /// - Parameters:
    ///   - now: Seconds since 1970.
    ///   - body: Returns whether it has changed something.
    func change(
      now: Int, _ body: (inout AccessRecord) -> Bool
    ) throws(StateFileError) {
      try file.change(replacingDamaged: false, AccessRecord.init(decoding:)) { found in
        guard var record = found, body(&record) else { return nil }
        return record.file(now: now)
      }
    }

    /// Writes a record where there is no file.
    ///
    /// - Returns: Whether there was none.
    func restore(_ record: AccessRecord, now: Int) throws(StateFileError) -> Bool {
      var record = record
      return try file.change(replacingDamaged: false, AccessRecord.init(decoding:)) { found in
        found == nil ? record.file(now: now) : nil
      }.isChanged
    }

    /// Identifies the file's content without reading it: each change replaces the file.
    var version: Version? {
      var information = stat()
      guard unsafe stat(file.path, &information) == 0 else { return nil }
      return Version(
        number: UInt64(information.st_ino), seconds: Int(information.st_mtim.tv_sec),
        nanoseconds: Int(information.st_mtim.tv_nsec))
    }

    struct Version: Equatable {
      var number: UInt64
      var seconds: Int
      var nanoseconds: Int
    }
  }

  /// The sessions and invitations of a server's access file, which other processes change meanwhile.
  final class AccessList: Sendable {
    private struct State {
      var version: AccessFile.Version?
      /// What the file had, and what has come to it since. It is written again if the file is removed.
      var record: AccessRecord
      var sessions: Set<String> = []
      var invitations: Set<String> = []
      /// Sessions that couldn't be written; tried again.
      var unwritten: [AccessRecord.Session] = []
      var isProblemReported = false
    }

    private let file: AccessFile
    private let key: [UInt8]
    private let logger: Logger
    private let state: Mutex<State>
    /// Held while the file is read or written, which may wait for another process; ``isAdmitted(_:)``
    /// doesn't.
    private let fileWork = Mutex(())

    /// - Parameter key: The key of this run; a file with another one isn't this list's any more.
    init(_ file: AccessFile, key: [UInt8], logger: Logger) {
      self.file = file
      self.key = key
      self.logger = logger
      var record = AccessRecord()
      record.key = key
      state = Mutex(State(record: record))
      refresh(now: 0)
    }

    /// Whether a session was admitted and hasn't been ended.
    func isAdmitted(_ id: String) -> Bool { state.withLock { $0.sessions.contains(id) } }

    /// Admits a session. If it can't be written, it holds in this run, and is written later.
    func admit(_ session: AccessRecord.Session) {
      fileWork.withLock { _ in
        state.withLock { state in
          state.sessions.insert(session.id)
          state.record.sessions.append(session)
          state.unwritten.append(session)
        }
        restore(now: session.admittedAt)
        writeSessions(now: session.admittedAt)
      }
    }

    /// Uses an invitation up.
    ///
    /// - Returns: Whether it was one.
    func redeem(_ token: String, now: Int) -> Bool {
      let digest = AccessRecord.Invitation.digest(of: token)
      fileWork.withLock { _ in load(now: now) }
      // A wrong token waits for no other process.
      guard state.withLock({ $0.invitations.contains(digest) }) else { return false }
      var isFound = false
      do throws(StateFileError) {
        try file.change(now: now) { record in
          isFound = record.invitations.contains { $0.digest == digest && $0.end > now }
          record.invitations.removeAll { $0.digest == digest }
          return isFound
        }
      } catch {
        // Without the write it could be used again.
        logger.warning("an invitation can't be used: \(file.path): \(error.reason)")
        return false
      }
      return isFound
    }

    /// Reads the file if it has changed, and writes what couldn't be written, or all if the file was removed.
    func refresh(now: Int) {
      fileWork.withLock { _ in
        restore(now: now)
        writeSessions(now: now)
        load(now: now)
      }
    }

    /// Reads the file if it has changed. Called with the lock of file work.
    private func load(now: Int) {
      let version = file.version
      guard version != nil, version != state.withLock({ $0.version }),
        let record = try? file.read(), record.key == key
      else { return }
      state.withLock { state in
        state.version = version
        state.record = record
        state.sessions = Set(record.sessions.map(\.id) + state.unwritten.map(\.id))
        state.invitations = Set(record.invitations.lazy.filter { $0.end > now }.map(\.digest))
      }
    }

    /// Writes a removed file again: its sessions hold, and so must be listed, and can be ended. Called with the lock of
    /// file work.
    private func restore(now: Int) {
      guard file.version == nil else { return }
      do throws(StateFileError) {
        guard try file.restore(state.withLock { $0.record }, now: now) else { return }
        logger.warning(
          "the file of the admitted browsers was removed, and is written again: \(file.path)")
      } catch {
        reportUnwritten(error)
      }
    }

    /// Writes the unwritten sessions. Called with the lock of file work.
    private func writeSessions(now: Int) {
      let unwritten = state.withLock { $0.unwritten }
      guard !unwritten.isEmpty else { return }
      do throws(StateFileError) {
        try file.change(now: now) { record in
          record.sessions += unwritten.filter { new in
            !record.sessions.contains { $0.id == new.id }
          }
          return true
        }
        state.withLock { state in
          state.unwritten = []
          state.isProblemReported = false
        }
      } catch {
        state.withLock { state in
          state.unwritten = state.unwritten.suffix(AccessRecord.sessionCountMax)
          state.record.sessions = state.record.sessions.suffix(AccessRecord.sessionCountMax)
        }
        reportUnwritten(error)
      }
    }

    private func reportUnwritten(_ error: StateFileError) {
      let isKnown = state.withLock { state in
        defer { state.isProblemReported = true }
        return state.isProblemReported
      }
      guard !isKnown else { return }
      logger.warning(
        "the admitted browsers can't be written, which is tried again: \(file.path): \(error.reason)"
      )
    }

    /// Enters a server, or removes it.
    func setRunning(_ isRunning: Bool, _ server: AccessRecord.Server, now: Int) {
      state.withLock { state in
        state.record.servers.removeAll { $0 == server }
        if isRunning { state.record.servers.append(server) }
      }
      do throws(StateFileError) {
        try file.change(now: now) { record in
          record.servers.removeAll { $0 == server }
          if isRunning { record.servers.append(server) }
          return true
        }
      } catch {
        logger.warning(
          "other processes don't find this server: \(file.path): \(error.reason)")
      }
    }
  }
#endif

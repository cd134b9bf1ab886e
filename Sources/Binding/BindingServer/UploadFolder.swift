#if BindingServer
  internal import BindingMachines
  internal import Foundation
  internal import NIOPosix
  internal import Synchronization

  /// The temporary files of a server's uploads, in a folder of its own that only this user can read.
  ///
  /// Reading and writing wait for the disk, so they run on SwiftNIO's threads for that.
  final class UploadFolder: Sendable {
    /// The folder in which servers make theirs.
    private let parent: String
    private let folder = Mutex<Place?>(nil)
    private let files = Mutex<[UploadID: File]>([:])

    /// A folder and its locked descriptor: the kernel unlocks it when the process ends.
    private struct Place {
      var path: String
      var descriptor: Int32
    }

    /// A file, which is written under its lock, so that nothing comes after its removal.
    private final class File: Sendable {
      let isRemoved = Mutex(false)
    }

    private static let prefix = "ambit-uploads-"

    init(parent: String?) { self.parent = parent ?? NSTemporaryDirectory() }

    deinit { removeAll() }

    /// Notes that a file begins. Only such files are written.
    func begin(_ id: UploadID) { files.withLock { $0[id] = File() } }

    /// Writes a part of a file; the first one creates it.
    func write(
      _ bytes: [UInt8], at offset: Int, of id: UploadID
    ) async -> LiveMachine.UploadWrite {
      let result = try? await NIOThreadPool.singleton.runIfActive {
        self.writeNow(bytes, at: offset, of: id)
      }
      return result ?? .failed
    }

    private func writeNow(
      _ bytes: [UInt8], at offset: Int, of id: UploadID
    ) -> LiveMachine.UploadWrite {
      guard let file = files.withLock({ $0[id] }), let path = path(of: id) else { return .failed }
      return file.isRemoved.withLock { isRemoved in
        guard !isRemoved else { return .failed }
        let result = Self.write(bytes, at: offset, path)
        guard result == .failed, offset == 0, forgetRemovedFolder(), let path = self.path(of: id)
        else { return result }
        return Self.write(bytes, at: offset, path)
      }
    }

    /// Forgets the folder if another program has removed it, so that new files have a new one. Those that were begun there
    /// fail.
    private func forgetRemovedFolder() -> Bool {
      folder.withLock { folder in
        guard let place = folder, access(place.path, F_OK) != 0, errno == ENOENT else {
          return false
        }
        close(place.descriptor)
        folder = nil
        return true
      }
    }

    /// Writes bytes at an offset of a file; at 0, creates it if it isn't there.
    static func write(_ bytes: [UInt8], at offset: Int, _ path: String) -> LiveMachine.UploadWrite {
      let flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | (offset == 0 ? O_CREAT : 0)
      let descriptor = open(path, flags, 0o600)
      guard descriptor >= 0 else { return failure }
      var written = 0
      while written < bytes.count {
        let count = bytes[written...].withUnsafeBytes {
          pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset + written))
        }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else {
          let failure = failure
          close(descriptor)
          return failure
        }
        written += count
      }
      // Some file systems report only now that there is no room.
      return close(descriptor) == 0 || errno == EINTR ? .written : failure
    }

    private static var failure: LiveMachine.UploadWrite {
      [ENOSPC, EDQUOT, EFBIG].contains(errno) ? .noRoom : .failed
    }

    /// The path of a file; nil if there is no folder, and none can be made.
    func path(of id: UploadID) -> String? {
      folder.withLock { folder in
        if folder == nil { folder = Self.makeFolder(in: parent) }
        return folder.map { "\($0.path)/\(id.number)" }
      }
    }

    /// Removes a file, if it isn't moved elsewhere.
    func remove(_ id: UploadID) {
      guard let file = files.withLock({ $0.removeValue(forKey: id) }) else { return }
      // The locks wait for the disk, too.
      NIOThreadPool.singleton.submit { _ in
        let folder = self.folder.withLock { $0?.path }
        file.isRemoved.withLock { isRemoved in
          isRemoved = true
          if let folder { unlink("\(folder)/\(id.number)") }
        }
      }
    }

    /// Removes all files and the folder.
    func removeAll() {
      let removed = files.withLock { files in
        defer { files = [:] }
        return Array(files.values)
      }
      for file in removed { file.isRemoved.withLock { $0 = true } }
      folder.withLock { folder in
        guard let place = folder else { return }
        folder = nil
        Self.remove(place.path)
        close(place.descriptor)
      }
    }

    // MARK: Folders

    private static func makeFolder(in parent: String) -> Place? {
      removeOldFolders(in: parent)
      var template = Array(("\(parent)/\(prefix)" + String(repeating: "X", count: 6)).utf8CString)
      // Made for this user only.
      guard mkdtemp(&template) != nil else { return nil }
      let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
      let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        if descriptor >= 0 { close(descriptor) }
        rmdir(path)
        return nil
      }
      return Place(path: path, descriptor: descriptor)
    }

    /// Removes the folders of this user's servers that were killed: nothing locks them.
    private static func removeOldFolders(in parent: String) {
      for name in (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
      where name.hasPrefix(prefix) {
        let path = "\(parent)/\(name)"
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { continue }
        defer { close(descriptor) }
        var status = stat()
        // A new one is locked a moment after it was made.
        guard fstat(descriptor, &status) == 0, status.st_uid == geteuid(),
          time(nil) - status.st_mtim.tv_sec > 60, flock(descriptor, LOCK_EX | LOCK_NB) == 0
        else { continue }
        remove(path)
      }
    }

    /// Removes a folder with its files; it has no folders.
    private static func remove(_ path: String) {
      for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] {
        unlink("\(path)/\(name)")
      }
      rmdir(path)
    }
  }
#endif

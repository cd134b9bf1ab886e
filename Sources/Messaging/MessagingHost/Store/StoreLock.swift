#if Messaging
  import EventLoop
  import Glibc
  import StateFiles
  import Synchronization

  /// The lock of a store, in a file beside it, which names the process that has it. The system
  /// releases it when the process ends.
  final class StoreLock: Sendable {
    private let file: Mutex<Int32?>

    /// Creates the folder and the files for this user only.
    ///
    /// - Parameter makesFolder: Whether a folder that is missing is created. Without it the path is unusable.
    init(path: String, makesFolder: Bool = true) throws(StoreError) {
      let descriptor: Int32?
      let owner: Int32?
      do throws(SystemError) {
        (descriptor, owner) = try Self.take(path, makesFolder: makesFolder)
      } catch {
        throw .unusable(error.text)
      }
      guard let descriptor else { throw .inUse(processID: owner) }
      file = Mutex(descriptor)
    }

    deinit { release() }

    func release() {
      file.withLock { file in
        if let descriptor = file { Glibc.close(descriptor) }
        file = nil
      }
    }

    /// Nil instead of a descriptor if another process has the lock.
    private static func take(
      _ path: String, makesFolder: Bool
    ) throws(SystemError) -> (Int32?, owner: Int32?) {
      let probe = StateFileProbe()
      let folderPath = StateFolder.parent(of: path)
      if makesFolder { try StateFolder.make(folderPath, probe: probe) }
      let folder = try StateFolder(path: folderPath, probe: probe)
      defer { folder.close() }
      let name = path.split(separator: "/").last.map(String.init) ?? path
      let descriptor = try folder.open(name + ".lock", O_RDWR | O_CREAT)
      do throws(SystemError) {
        try folder.lock(descriptor)
        ftruncate(descriptor, 0)
        try folder.write(Array("\(getpid())\n".utf8), to: descriptor)
        // SQLite would let others read what it creates; its log takes over these permissions.
        let database = try folder.open(name, O_RDWR | O_CREAT)
        defer { Glibc.close(database) }
        try folder.makePrivate(database)
        return (descriptor, nil)
      } catch {
        defer { Glibc.close(descriptor) }
        guard error.number == EWOULDBLOCK else { throw error }
        let text = try folder.read(descriptor, byteCountMax: 16)
        return (nil, Int32(String(decoding: text.prefix { $0 != 10 }, as: UTF8.self)))
      }
    }
  }
#endif

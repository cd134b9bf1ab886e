import EventLoop
import Glibc
import StateFiles

/// Notices that a bond store's file was replaced or removed, by any process (inotify(7)). On its
/// loop only; the owner closes it.
final class BondFileWatch {
  /// Events of a folder: an entry is created, moved, deleted or written, or the folder itself is
  /// moved or deleted.
  private static let mask = UInt32(
    IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE | IN_DELETE_SELF
      | IN_MOVE_SELF)
  private static let bufferByteCount = 4_096

  private let folderPath: String
  private let onChange: () -> Void
  private var descriptor: WatchedDescriptor?
  private var folder: WatchedFolder

  /// Watches a store's file.
  init(
    path: String, on loop: EpollLoop, onChange: @escaping () -> Void
  ) throws(SystemError) {
    folderPath = StateFolder.parent(of: path)
    folder = WatchedFolder(
      fileName: String(path.split(separator: "/", omittingEmptySubsequences: true).last ?? ""))
    self.onChange = onChange
    let number = inotify_init1(O_NONBLOCK | O_CLOEXEC)
    guard number >= 0 else { throw .current }
    descriptor = try WatchedDescriptor(owning: number, on: loop) { [weak self] _ in self?.read() }
    watchFolder()
  }

  func close() {
    descriptor?.close()
    descriptor = nil
  }

  /// Watches the store's folder or, where that isn't there yet, the nearest one that it is to be in.
  private func watchFolder() {
    guard let descriptor else { return }
    var path = folderPath
    while true {
      let number = unsafe inotify_add_watch(descriptor.descriptor, path, Self.mask)
      if number >= 0 {
        let old = folder.watched?.number
        folder.watched = (number, path == folderPath)
        if let old, old != number { inotify_rm_watch(descriptor.descriptor, old) }
        return
      }
      guard errno == ENOENT, path != "/", path != "." else {
        folder.watched = nil
        return
      }
      path = StateFolder.parent(of: path)
    }
  }

  private func read() {
    var isChanged = false
    while let descriptor, descriptor.isOpen {
      var buffer = [UInt8](repeating: 0, count: Self.bufferByteCount)
      let count = unsafe buffer.withUnsafeMutableBytes { bytes in
        unsafe Glibc.read(descriptor.descriptor, bytes.baseAddress, bytes.count)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      if folder.concernsFile(buffer[..<count]) { isChanged = true }
    }
    if folder.watched?.isFolder != true {
      watchFolder()
      // The folder was made, perhaps with the file in it.
      if folder.watched?.isFolder == true { isChanged = true }
    }
    if isChanged { onChange() }
  }
}

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
  /// Events of the folder itself, or of the event queue.
  private static let selfMask = UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_Q_OVERFLOW)
  /// Before the name in an event: number, mask, cookie, length of the name.
  private static let eventHeaderByteCount = 16
  private static let bufferByteCount = 4_096

  private let folderPath: String
  private let name: String
  private let onChange: () -> Void
  private var descriptor: WatchedDescriptor?
  /// The folder that is watched, and whether it is the store's; nil: none.
  private var watched: (number: Int32, isFolder: Bool)?

  /// Watches a store's file; nil where the system gives nothing to watch with.
  init?(path: String, on loop: EpollLoop, onChange: @escaping () -> Void) {
    folderPath = StateFolder.parent(of: path)
    name = String(path.split(separator: "/", omittingEmptySubsequences: true).last ?? "")
    self.onChange = onChange
    let number = inotify_init1(O_NONBLOCK | O_CLOEXEC)
    guard number >= 0 else { return nil }
    let watch = try? WatchedDescriptor(owning: number, on: loop) { [weak self] _ in self?.read() }
    guard let watch else { return nil }
    descriptor = watch
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
        let old = watched?.number
        watched = (number, path == folderPath)
        if let old, old != number { inotify_rm_watch(descriptor.descriptor, old) }
        return
      }
      guard errno == ENOENT, path != "/", path != "." else {
        watched = nil
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
      if concernsFile(buffer[..<count]) { isChanged = true }
    }
    if watched?.isFolder != true {
      watchFolder()
      // The folder was made, perhaps with the file in it.
      if watched?.isFolder == true { isChanged = true }
    }
    if isChanged { onChange() }
  }

  /// Whether any of these events is about the store's file.
  private func concernsFile(_ events: ArraySlice<UInt8>) -> Bool {
    var rest = events
    var isConcerned = false
    while rest.count >= Self.eventHeaderByteCount {
      func word(_ offset: Int) -> UInt32 {
        rest[(rest.startIndex + offset)...].prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
      }
      let number = Int32(bitPattern: word(0))
      let mask = word(4)
      let length = Int(word(12))
      rest.removeFirst(Self.eventHeaderByteCount)
      let text = rest.prefix(length).prefix { $0 != 0 }
      rest = rest.dropFirst(length)
      guard number == watched?.number || mask & UInt32(IN_Q_OVERFLOW) != 0 else { continue }
      if mask & Self.selfMask != 0 {
        watched?.isFolder = false
        isConcerned = true
      } else if watched?.isFolder == true, text.elementsEqual(name.utf8) {
        isConcerned = true
      }
    }
    return isConcerned
  }
}

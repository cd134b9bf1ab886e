import Glibc

/// The folder that is watched for a store's file, and what its events say of the file (inotify(7)).
struct WatchedFolder {
  let fileName: String
  /// The watch, and whether its folder is the one of the file; nil: none.
  var watched: (number: Int32, isFolder: Bool)?

  /// What is reported of a folder itself, or of the queue of events.
  private static let selfMask = UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_Q_OVERFLOW)
  /// Before the name in an event: number, mask, cookie, length of the name.
  private static let eventHeaderByteCount = 16

  init(fileName: String) { self.fileName = fileName }

  /// Whether any of these events, as they are read, is about the file. Where its folder is gone, or events
  /// were lost, the folder has to be looked for again.
  mutating func concernsFile(_ events: ArraySlice<UInt8>) -> Bool {
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
      } else if watched?.isFolder == true, text.elementsEqual(fileName.utf8) {
        isConcerned = true
      }
    }
    return isConcerned
  }
}

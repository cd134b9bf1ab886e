import Essentials
import Glibc
import Testing

@testable import BluetoothHost

@Suite("What the events of a folder say of a store's file")
struct WatchedFolderTests {
  /// An event as the kernel writes it.
  private static func event(_ number: Int32, _ mask: Int32, _ name: String = "") -> [UInt8] {
    // The name ends with zeros, up to a multiple of the header's length.
    let byteCount = name.isEmpty ? 0 : (name.utf8.count / 16 + 1) * 16
    var writer = ByteWriter()
    writer.uint32(UInt32(bitPattern: number))
    writer.uint32(UInt32(bitPattern: mask))
    writer.uint32(0)
    writer.uint32(UInt32(byteCount))
    writer.append(name.utf8 + [UInt8](repeating: 0, count: byteCount - name.utf8.count))
    return writer.bytes
  }

  /// Whether these events concern the file, and whether its folder counts as found after them.
  private static func read(
    _ events: [UInt8], isFolder: Bool = true
  ) -> (isConcerned: Bool, isFolder: Bool?) {
    var folder = WatchedFolder(fileName: "bonds")
    folder.watched = (7, isFolder)
    let isConcerned = folder.concernsFile(events[...])
    return (isConcerned, folder.watched?.isFolder)
  }

  @Test("only events of the folder and of the file's name are about the file, wherever they stand")
  func names() {
    let others = [
      Self.event(7, IN_CREATE, "bonds.lock"), Self.event(7, IN_CLOSE_WRITE, "bond"),
      Self.event(7, IN_MOVED_FROM, ".bonds.ambit-new"), Self.event(6, IN_MOVED_TO, "bonds"),
      Self.event(6, IN_IGNORED),
    ].flatMap { $0 }
    #expect(Self.read(others) == (false, true))
    for mask in [IN_MOVED_TO, IN_DELETE, IN_CLOSE_WRITE] {
      #expect(Self.read(others + Self.event(7, mask, "bonds")) == (true, true))
      #expect(Self.read(Self.event(7, mask, "bonds") + others) == (true, true))
    }
    #expect(Self.read(Self.event(7, IN_CREATE, "bonds"), isFolder: false) == (false, false))
  }

  @Test(
    "the file may have changed, and the folder is opened again, after lost events or a removed folder",
    arguments: [
      (-1, IN_Q_OVERFLOW), (7, IN_DELETE_SELF), (7, IN_MOVE_SELF), (7, IN_IGNORED),
    ] as [(Int32, Int32)])
  func lost(_ number: Int32, _ mask: Int32) {
    #expect(Self.read(Self.event(number, mask)) == (true, false))
  }

  @Test("an event that is cut short says nothing, and those before it count")
  func cut() {
    let change = Self.event(7, IN_MOVED_TO, "bonds")
    for count in 0..<16 {
      #expect(Self.read(Array(change[..<count])) == (false, true))
      #expect(Self.read(change + change[..<count]) == (true, true))
    }
  }
}

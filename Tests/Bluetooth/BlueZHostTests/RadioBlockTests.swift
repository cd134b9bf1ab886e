#if BlueZ
  import BlueZMachines
  import Foundation
  import Testing

  @testable import BlueZHost

  struct RadioBlockTests {
    @Test func `The block of an adapter is read from the kernel's files`() throws {
      let folder = FileManager.default.temporaryDirectory
        .appending(path: "rfkill-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: folder) }
      for (adapter, soft, hard) in [("hci0", "0", "0"), ("hci1", "1", "0"), ("hci2", "1", "1")] {
        let rfkill = folder.appending(path: "\(adapter)/rfkill3")
        try FileManager.default.createDirectory(at: rfkill, withIntermediateDirectories: true)
        try soft.write(to: rfkill.appending(path: "soft"), atomically: true, encoding: .utf8)
        try hard.write(to: rfkill.appending(path: "hard"), atomically: true, encoding: .utf8)
      }
      #expect(RadioBlock.read(adapter: "hci0", in: folder.path) == nil)
      #expect(RadioBlock.read(adapter: "hci1", in: folder.path) == .soft)
      #expect(RadioBlock.read(adapter: "hci2", in: folder.path) == .hard)
      #expect(RadioBlock.read(adapter: "hci3", in: folder.path) == nil)
      #expect(RadioBlock.read(adapter: "../hci1", in: folder.path) == nil)
    }
  }
#endif

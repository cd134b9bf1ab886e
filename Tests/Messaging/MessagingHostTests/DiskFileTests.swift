#if Messaging
  import Essentials
  import Foundation
  import Testing
  import XMPPWire

  @testable import MessagingHost

  @Suite("Files on this machine")
  struct DiskFileTests {
    @Test func `A file that is sent has its size, digest, name and type`() async throws {
      let folder = try TestFolder()
      let path = folder.path("Summit.PNG")
      try Data("abc".utf8).write(to: URL(filePath: path))
      let metadata = try await FileInspection.metadata(of: path)
      #expect(metadata.name == "Summit.PNG" && metadata.mediaType == "image/png")
      #expect(metadata.byteCount == 3)
      #expect(
        Hexadecimal.string(try #require(metadata.sha256))
          == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    }

    @Test func `A path from the current folder becomes one from the root`() {
      let here = FileManager.default.currentDirectoryPath
      #expect(FileInspection.absolute("a b.png") == "\(here)/a b.png")
      #expect(FileInspection.absolute("/a.png") == "/a.png")
    }

    @Test func `A folder, a device and a missing file are refused with the reason`() async throws {
      let folder = try TestFolder()
      for path in [folder.url.path, "/dev/zero", folder.path("missing")] {
        await #expect(throws: DiskFileError.self) { try await FileInspection.metadata(of: path) }
      }
    }

    @Test
    func `A file of the system that has content and no size is refused, and not sent as empty`()
      async throws
    {
      let folder = try TestFolder()
      for path in ["/proc/self/status", "/proc/self/mem"] {
        await #expect(throws: DiskFileError.self) { try await FileInspection.metadata(of: path) }
      }
      let empty = folder.path("empty.txt")
      try Data().write(to: URL(filePath: empty))
      #expect(try await FileInspection.metadata(of: empty).byteCount == 0)
    }

    @Test func `Bytes are written at their place, and a digest is that of the first ones`() throws {
      let folder = try TestFolder()
      let file = try DiskFile.create(folder.path("part"))
      try file.write(Array("abcdef".utf8), at: 0)
      try file.write(Array("XY".utf8), at: 2)
      #expect(try file.read(10, at: 1) == Array("bXYef".utf8))
      #expect(try file.digest(of: 6) == Digest.sha256.digest(of: Array("abXYef".utf8)))
      try file.truncate(to: 3)
      #expect(try file.byteCount() == 3)
      #expect(throws: DiskFileError.self) { try file.digest(of: 4) }
    }

    @Test func `The files of a cache that were used least recently make place`() throws {
      let folder = try TestFolder()
      for (age, name) in ["new", "used.part", "old"].enumerated() {
        let path = folder.path(name)
        try Data(count: 100).write(to: URL(filePath: path))
        let date = Date(timeIntervalSince1970: 1_000_000 - Double(age) * 1_000)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
      }
      let root = folder.url.path
      try FileCacheFolder.evict(root, byteCountMax: 250, besides: ["used"])
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: root).sorted() == ["new", "used.part"])
      try FileCacheFolder.evict(root, byteCountMax: 100, besides: ["used"])
      #expect(try FileManager.default.contentsOfDirectory(atPath: root) == ["used.part"])
    }
  }
#endif

#if BindingServer
  import Binding
  import BindingMachines
  import Foundation
  import JSONWire
  import NIOCore
  import PageClient
  import Reactive
  import Testing

  @testable import BindingServer

  @Suite("Requests with parts of files")
  struct UploadRequestTests {
    /// A tab that sends files to an album.
    private struct Uploader {
      let http: RawHTTP
      let epoch: String
      let album: PhotoBox
      let folder: URL

      func part(
        _ key: String = "k", at offset: Int = 0, _ bytes: [UInt8] = [], of size: Int,
        name: String = "a.png", fields: [String: String] = [:], epoch: String? = nil
      ) async throws -> Int {
        let query =
          "upload=photos&tab=t~1&epoch=\(epoch ?? self.epoch)&file=\(key)&at=\(offset)&of=\(size)"
          + "&name=\(name)&type=image%2Fpng"
        return try await http.send("POST", "/live?\(query)", fields, body: bytes).status
      }

      /// Sends a file; the statuses of all parts.
      func send(_ key: String, _ bytes: [UInt8], by count: Int = 100_000) async throws -> Set<Int> {
        var statuses: Set = [try await part(key, of: bytes.count)]
        for start in stride(from: 0, to: bytes.count, by: count) {
          let part = Array(bytes[start..<min(start + count, bytes.count)])
          statuses.insert(try await self.part(key, at: start, part, of: bytes.count))
        }
        return statuses
      }

      /// The files in the server's folders.
      var files: [URL] {
        let folders =
          (try? FileManager.default.contentsOfDirectory(
            at: folder, includingPropertiesForKeys: nil)) ?? []
        return folders.flatMap {
          (try? FileManager.default.contentsOfDirectory(at: $0, includingPropertiesForKeys: nil))
            ?? []
        }
      }
    }

    private static func withUploader(
      _ album: sending @MainActor () -> PhotoBox = { PhotoBox() },
      configure: (inout PageServer.Configuration) -> Void = { _ in },
      _ body: (Uploader, RunningServer) async throws -> Void
    ) async throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let album = await album()
      try await withServer(
        site: PhotoBox.site, pages: { [Page("album.html", sharing: album)] },
        configure: {
          $0.uploadFolder = folder.path
          configure(&$0)
        }
      ) { server async throws in
        let http = RawHTTP(port: server.port)
        try await http.stream("/live?tab=t~1") { stream in
          let snapshot = try #require(try await stream.next())
          let members = try JSON(parsing: Array(snapshot.data.utf8)).members
          guard case .string(let epoch) = members?["epoch"] else {
            Issue.record("\(snapshot)")
            return
          }
          try await body(
            Uploader(http: http, epoch: epoch, album: album, folder: folder), server)
        }
      }
    }

    private static func bytes(_ count: Int, _ seed: UInt8 = 1) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ Int(seed)) }
    }

    @Test
    func `A file comes whole, for this user only, and goes when it is removed`() async throws {
      try await Self.withUploader { uploader, _ async throws in
        let bytes = Self.bytes(1_000_003)
        #expect(try await uploader.send("k", bytes) == [204])
        let file = try #require(await uploader.album.photos.files.value.first)
        #expect(file.name == "a.png" && file.type == "image/png" && file.progress == 1)
        let path = try #require(file.path)
        #expect(FileManager.default.contents(atPath: path) == Data(bytes))
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        await uploader.album.photos.remove(file.id)
        await waitUntil { uploader.files.isEmpty }
        #expect(try await uploader.part(at: 0, [1], of: bytes.count) == 410)
      }
    }

    @Test
    func `An empty file is whole once it is announced`() async throws {
      try await Self.withUploader { uploader, _ async throws in
        #expect(try await uploader.part(of: 0) == 204)
        #expect(await uploader.album.contents == [Data()])
        #expect(await uploader.album.photos.isReceiving.value == false)
      }
    }

    @Test
    func `Many files come at once, their parts in any order among each other`() async throws {
      try await Self.withUploader { uploader, _ async throws in
        try await withThrowingTaskGroup(of: Set<Int>.self) { group in
          for number in 1...8 {
            group.addTask {
              try await uploader.send(
                "k\(number)", Self.bytes(300_000, UInt8(number)), by: 30_000 + number)
            }
          }
          for try await statuses in group { #expect(statuses == [204]) }
        }
        let contents = await Set(uploader.album.contents.compactMap(\.self))
        #expect(contents == Set((1...8).map { Data(Self.bytes(300_000, UInt8($0))) }))
      }
    }

    @Test
    func `Two gigabytes, another type and one file too many are refused before they are sent`()
      async throws
    {
      try await Self.withUploader({ PhotoBox(countMax: 2, types: [".png"]) }) {
        uploader, _ async throws in
        #expect(try await uploader.part("a", of: 2 << 30) == 413)
        #expect(try await uploader.part("b", of: 5, name: "b.html") == 415)
        let errors = await uploader.album.photos.files.value.map(\.error?.code)
        #expect(errors == [.tooLarge, .wrongType])
        #expect(
          await uploader.album.photos.files.value.first?.error?.description
            == "The file is too large: at most 8 MB.")
        #expect(try await uploader.part("c", of: 5) == 204, "in place of those that were refused")
        #expect(try await uploader.part("d", of: 5) == 204)
        #expect(try await uploader.part("e", of: 5) == 422)
        #expect(await uploader.album.photos.error.value?.code == .tooMany)
        #expect(uploader.files.count == 2)
      }
    }

    @Test
    func `A part that is malformed, foreign, too large or of another session is not written`()
      async throws
    {
      try await Self.withUploader { uploader, server async throws in
        #expect(try await uploader.part(of: 600_000) == 204)
        let http = uploader.http
        #expect(try await uploader.part(at: 0, Self.bytes(300_000), of: 600_000) == 413)
        #expect(try await uploader.part(at: 0, Self.bytes(20), of: 10) == 400)
        #expect(try await uploader.part(at: 5, Self.bytes(5), of: 600_000) == 400)
        #expect(try await uploader.part(at: 0, [1], of: 600_000, epoch: "x.1") == 409)
        let foreign = ["Origin": "http://evil.example"]
        #expect(try await uploader.part(at: 0, [1], of: 600_000, fields: foreign) == 403)
        for query in ["upload=photos", "upload=other&tab=t~1&epoch=\(uploader.epoch)&file=k"] {
          #expect(try await http.send("POST", "/live?\(query)", body: [1]).status == 400)
        }
        let other = "upload=note&tab=t~1&epoch=\(uploader.epoch)&file=k&at=0&of=1&name=&type="
        #expect(try await http.send("POST", "/live?\(other)", body: [1]).status == 400)
        #expect(await uploader.album.photos.files.value.map(\.receivedByteCount) == [0])
      }
    }

    @Test
    func `A part that is cut off on its way is not written, and is taken when it comes again`()
      async throws
    {
      try await Self.withUploader { uploader, _ async throws in
        #expect(try await uploader.part(of: 10) == 204)
        let query = "upload=photos&tab=t~1&epoch=\(uploader.epoch)&file=k&at=0&of=10&name=a&type="
        try await uploader.http.connected { _, outbound in
          let head =
            "POST /live?\(query) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n12345"
          try await outbound.write(ByteBuffer(string: head))
        }
        #expect(try await uploader.part(at: 0, Self.bytes(10), of: 10) == 204)
        #expect(await uploader.album.contents == [Data(Self.bytes(10))])
      }
    }

    @Test
    func `Without a cookie no part is taken where browsers need one`() async throws {
      try await withServer(
        site: PhotoBox.site, pages: { [Page("album.html") { PhotoBox() }] },
        configure: { $0.needsToken = true }
      ) { server async throws in
        let query = "upload=photos&tab=t~1&epoch=1&file=k&at=0&of=0&name=a&type="
        let answer = try await RawHTTP(port: server.port).send("POST", "/live?\(query)", body: [])
        #expect(answer.status == 401)
      }
    }

    @Test
    func `A folder that can't be written refuses the file, with its reason`() async throws {
      try await Self.withUploader(configure: { $0.uploadFolder = "/proc/nowhere" }) {
        uploader, _ async throws in
        #expect(try await uploader.part(of: 10) == 507)
        #expect(await uploader.album.photos.files.value.first?.error?.code == .notWritten)
        #expect(try await uploader.part(at: 0, [1], of: 10) == 507)
      }
    }

    @Test
    func `A full disk is told apart from one that fails`() {
      #expect(UploadFolder.write([1, 2, 3], at: 0, "/dev/full") == .noRoom)
      #expect(UploadFolder.write([1, 2, 3], at: 0, "/proc/nowhere") == .failed)
      #expect(UploadFolder.write([1], at: 5, "/tmp/\(UUID())") == .failed, "its beginning is gone")
    }

    @Test
    func `The folder of a server that was killed is removed by the next one, a used one is not`()
      async throws
    {
      try await Self.withUploader { uploader, _ async throws in
        let names = ["ambit-uploads-killed", "ambit-uploads-used", "other"]
        let folders = names.map { uploader.folder.appending(path: $0) }
        for folder in folders {
          try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
          try Data([1]).write(to: folder.appending(path: "1"))
          try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -600)], ofItemAtPath: folder.path)
        }
        let descriptor = open(folders[1].path, O_RDONLY | O_DIRECTORY)
        defer { close(descriptor) }
        #expect(flock(descriptor, LOCK_EX) == 0)
        #expect(try await uploader.part(of: 10) == 204)
        let left = folders.map { FileManager.default.fileExists(atPath: $0.path) }
        #expect(left == [false, true, true])
      }
    }

    @Test
    func `Files have another folder when a program has removed theirs`() async throws {
      let parent = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
      try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: parent) }
      let folder = UploadFolder(parent: parent.path)
      let (first, second) = (UploadID(number: 1), UploadID(number: 2))
      folder.begin(first)
      #expect(await folder.write([1], at: 0, of: first) == .written)
      let path = try #require(folder.path(of: first))
      try FileManager.default.removeItem(
        at: URL(filePath: path).deletingLastPathComponent())
      #expect(await folder.write([2], at: 1, of: first) == .failed, "its beginning is gone")
      folder.begin(second)
      #expect(await folder.write([3], at: 0, of: second) == .written)
      let next = try #require(folder.path(of: second))
      #expect(try Data(contentsOf: URL(filePath: next)) == Data([3]))
    }

    @Test
    func `A server that ends leaves no file and no folder`() async throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      try await Self.withUploader(configure: { $0.uploadFolder = folder.path }) {
        uploader, _ async throws in
        #expect(try await uploader.send("k", Self.bytes(1_000)) == [204])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 1)
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }

    /// Waits until something holds that another thread does.
    private func waitUntil(_ condition: () -> Bool) async {
      while !condition() { try? await Task.sleep(for: .milliseconds(5)) }
    }
  }
#endif

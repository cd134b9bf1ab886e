#if Messaging
  import Essentials
  import Foundation
  import Testing
  import XMPPWire

  @testable import MessagingHost

  @Suite("Small pictures that a process makes", .timeLimit(.minutes(5)))
  struct ThumbnailProcessTests {
    /// A program in the place of the one that makes pictures.
    private static func run(_ script: String, timeMax: TimeSpan = .seconds(30)) throws -> [UInt8]? {
      let folder = try TestFolder()
      let path = folder.path("program")
      try Data("#!/bin/sh\n\(script)\n".utf8).write(to: URL(filePath: path))
      try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
      return try DiskFile.open(path).withDescriptor {
        ThumbnailProcess.thumbnail(of: $0, side: 48, program: path, timeMax: timeMax)
      }
    }

    @Test func `The process gets the picture, the side and an environment without secrets`() throws
    {
      let output = try #require(try Self.run("head -c 9 /dev/stdin; echo; echo $*; env"))
      let text = String(decoding: output, as: UTF8.self)
      #expect(text.hasPrefix("#!/bin/sh\n-s 48 /dev/stdin /dev/stdout\n"))
      #expect(text.contains("LC_ALL=C") && !text.contains("HOME="))
    }

    @Test func `A process that hangs, floods, fails or is missing makes no picture`()
      throws
    {
      #expect(try Self.run("exec sleep 600", timeMax: .milliseconds(50)) == nil)
      #expect(try Self.run("echo part; exec sleep 600", timeMax: .milliseconds(50)) == nil)
      #expect(try Self.run("exec >&-; exec sleep 600", timeMax: .milliseconds(50)) == nil)
      #expect(try Self.run("exec cat /dev/zero") == nil)
      #expect(try Self.run("echo part; exit 1") == nil)
      #expect(try Self.run("kill -SEGV $$") == nil)
      #expect(try Self.run("") == [])
      let nowhere = try DiskFile.open("/etc/hostname").withDescriptor {
        ThumbnailProcess.thumbnail(of: $0, side: 9, program: "/nonexistent")
      }
      #expect(nowhere == nil)
    }

    @Test func `The process has limits of memory and of processor time`() throws {
      let output = try #require(try Self.run("ulimit -v; ulimit -t; ulimit -c"))
      #expect(String(decoding: output, as: UTF8.self) == "2097152\n31\n0\n")
    }

    @Test(
      .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/gdk-pixbuf-thumbnailer")))
    func `A photograph has a small picture within the bound, and other files have none`()
      async throws
    {
      let folder = try TestFolder()
      let picture = folder.path("noise.png")
      try Data(Self.noisePNG(side: 300)).write(to: URL(filePath: picture))
      let metadata = try await FileInspection.metadata(of: picture)
      let thumbnail = try #require(metadata.thumbnails.first.flatMap { Thumbnail($0, in: []) })
      #expect(thumbnail.mediaType == "image/png")
      #expect(thumbnail.bytes.count <= Thumbnail.byteCountMax)
      #expect(thumbnail.width == 96 && thumbnail.height == 96)
      let broken = folder.path("broken.png")
      try Data(Self.noisePNG(side: 300).prefix(200_000)).write(to: URL(filePath: broken))
      #expect(try await FileInspection.metadata(of: broken).width == 300)
      let text = folder.path("large.txt")
      try Data(repeating: 65, count: 100_000).write(to: URL(filePath: text))
      #expect(try await FileInspection.metadata(of: text).thumbnails.isEmpty)
    }

    /// A picture of pixels that no format makes small, in a stream of stored blocks (RFC 1951, §3.2.4).
    private static func noisePNG(side: Int) -> [UInt8] {
      func bigEndian(_ value: Int) -> [UInt8] {
        (0..<4).map { UInt8(value >> (24 - 8 * $0) & 255) }
      }
      func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
        let content = Array(name.utf8) + data
        var sum: UInt32 = .max
        for byte in content {
          sum ^= UInt32(byte)
          for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
        }
        return bigEndian(data.count) + content + bigEndian(Int(~sum))
      }
      var seed: UInt32 = 7
      var rows: [UInt8] = []
      for _ in 0..<side {
        rows.append(0)
        for _ in 0..<side * 3 {
          seed = seed &* 1_664_525 &+ 1_013_904_223
          rows.append(UInt8(seed >> 24))
        }
      }
      var stream: [UInt8] = [0x78, 0x01]
      var rest = rows[...]
      while !rest.isEmpty {
        let block = rest.prefix(65_535)
        rest = rest.dropFirst(block.count)
        let count = UInt16(block.count)
        stream += [rest.isEmpty ? 1 : 0]
        for value in [count, ~count] { stream += [UInt8(value & 255), UInt8(value >> 8)] }
        stream += block
      }
      var (low, high) = (1, 0)
      for byte in rows {
        low = (low + Int(byte)) % 65_521
        high = (high + low) % 65_521
      }
      stream += bigEndian(high << 16 | low)
      return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        + chunk("IHDR", bigEndian(side) + bigEndian(side) + [8, 2, 0, 0, 0])
        + chunk("IDAT", stream) + chunk("IEND", [])
    }
  }
#endif

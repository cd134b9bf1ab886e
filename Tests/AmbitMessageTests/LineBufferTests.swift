#if Messaging
  import Foundation
  import Testing

  @testable import AmbitMessage

  @Suite("Lines of the pipe")
  struct LineBufferTests {
    private static func lines(_ text: [UInt8], byteCountMax: Int) -> [String] {
      let pipe = Pipe()
      // In pieces, so that lines end inside one.
      let input = BoundedLines(pipe.fileHandleForReading.fileDescriptor, byteCountMax: byteCountMax)
      let writing = Thread {
        for start in stride(from: 0, to: text.count, by: 1_000) {
          pipe.fileHandleForWriting.write(Data(text[start..<min(start + 1_000, text.count)]))
        }
        try? pipe.fileHandleForWriting.close()
      }
      writing.start()
      var found: [String] = []
      while let line = input.next() { found.append(line) }
      return found
    }

    @Test(
      "Each line is read, also an empty one, one of another system, and the last without an end")
    func lines() {
      let text = Array("one\n\ntwo\r\n\u{FC}\nlast".utf8)
      #expect(Self.lines(text, byteCountMax: 100) == ["one", "", "two", "\u{FC}", "last"])
      #expect(Self.lines([0xFF, 0x0A], byteCountMax: 9) == ["\u{FFFD}"])
      #expect(Self.lines([], byteCountMax: 9) == [])
    }

    @Test("A line above the bound is cut, and the next line is read")
    func bound() {
      let long = [UInt8](repeating: 0x61, count: 1_000_000)
      let found = Self.lines(long + Array("\nnext\n".utf8) + long, byteCountMax: 5_000)
      #expect(found.map(\.utf8.count) == [5_001, 4, 5_001])
      #expect(found[1] == "next")
      let exact = Self.lines(Array(long.prefix(5_000)) + [0x0A, 0x62], byteCountMax: 5_000)
      #expect(exact.map(\.utf8.count) == [5_000, 1])
    }

    @Test("A reader waits while lines of four mebibytes are not performed")
    func bytes() async {
      let buffer = LineBuffer()
      let line = String(repeating: "a", count: 1 << 20)
      let writer = Task {
        for _ in 0..<40 where await !buffer.put(line) { return }
        await buffer.end()
      }
      var count = 0
      while let lines = await buffer.takeAll() {
        #expect(lines.count <= 4)
        count += lines.count
      }
      await writer.value
      #expect(count == 40)
      #expect(await buffer.byteCount == 0)
    }
  }
#endif

#if Messaging
  import AmbitCLI
  import Foundation
  import Testing

  @testable import AmbitMessage

  @Suite("Standard input as the text of a message")
  struct StandardInputTests {
    @Test func `Input that can't be read to its end is no message, not even a shorter one`() throws
    {
      let folder = try FileHandle(forReadingFrom: FileManager.default.temporaryDirectory)
      let failure = #expect(throws: CommandFailure.self) {
        try StandardInput.text(of: folder, byteCountMax: 100)
      }
      #expect(failure?.status == .noInput)
    }

    @Test func `The text ends with the input, without its last newline`() throws {
      let pipe = Pipe()
      try pipe.fileHandleForWriting.write(contentsOf: Array("Hello\nyou\n".utf8))
      try pipe.fileHandleForWriting.close()
      #expect(
        try StandardInput.text(of: pipe.fileHandleForReading, byteCountMax: 100) == "Hello\nyou")
    }
  }
#endif

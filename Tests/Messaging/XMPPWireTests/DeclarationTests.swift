#if Messaging
  import Foundation
  import Testing

  @Suite("The declarations of Expat's functions")
  struct DeclarationTests {
    private static let header = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../Sources/Messaging/CExpat/CExpat.h").standardizedFileURL.path
    private static let hasHeader = FileManager.default.fileExists(atPath: "/usr/include/expat.h")

    @Test(
      "the declarations agree with Expat's header",
      .enabled(if: hasHeader, "libexpat1-dev is not installed"))
    func header() throws {
      #expect(try Self.compile(beside: "") == "")
    }

    @Test("a declaration that differs is found")
    func difference() throws {
      let errors = try Self.compile(beside: "double XML_ParserFree(const void *parser);")
      #expect(errors.contains("conflicting types for 'XML_ParserFree'"))
    }

    /// The compiler's errors for the declarations after a line, and after Expat's own. Expat declares enumerations
    /// where this package has an unsigned int, and its handlers by types of other names, which are the same types.
    private static func compile(beside line: String) throws -> String {
      let includesExpat = hasHeader && line.isEmpty
      let source = [includesExpat ? "#include <expat.h>" : line, "#include \"\(header)\"", ""]
      let process = Process()
      process.executableURL = URL(filePath: "/usr/bin/env")
      process.arguments = ["clang", "-fsyntax-only", "-Werror", "-x", "c", "-"]
      let (input, errors) = (Pipe(), Pipe())
      process.standardInput = input
      process.standardError = errors
      try process.run()
      try input.fileHandleForWriting.write(contentsOf: Data(source.joined(separator: "\n").utf8))
      try input.fileHandleForWriting.close()
      let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      return text
    }
  }
#endif

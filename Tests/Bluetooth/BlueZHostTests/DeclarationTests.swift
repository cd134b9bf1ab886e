#if BlueZ
  import Foundation
  import Testing

  struct DeclarationTests {
    private static let header = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../Sources/Bluetooth/CSystemd/CSystemd.h").standardizedFileURL.path
    private static let hasHeader = FileManager.default.fileExists(
      atPath: "/usr/include/systemd/sd-bus.h")

    @Test(.enabled(if: hasHeader, "libsystemd-dev is not installed"))
    func `The declarations of sd-bus agree with its header`() throws {
      #expect(try Self.compile("#include <systemd/sd-bus.h>") == "")
    }

    @Test func `A declaration that differs is found`() throws {
      let errors = try Self.compile("double sd_bus_get_fd(const void *bus);")
      #expect(errors.contains("conflicting types for 'sd_bus_get_fd'"))
    }

    /// The compiler's errors for the declarations after a line. The structure of errors has no tag in either header, so
    /// that of this package has another name here.
    private static func compile(_ line: String) throws -> String {
      let isSystemd = line.hasPrefix("#include")
      let declarations = try String(contentsOfFile: header, encoding: .utf8)
      let own =
        isSystemd
        ? declarations.replacing(/typedef struct \{[^}]*\} sd_bus_error;/, with: "") : declarations
      let process = Process()
      process.executableURL = URL(filePath: "/usr/bin/env")
      process.arguments = [
        "clang", "-fsyntax-only", "-Werror", "-Wno-pragma-once-outside-header", "-x", "c", "-",
      ]
      let (input, errors) = (Pipe(), Pipe())
      process.standardInput = input
      process.standardError = errors
      try process.run()
      try input.fileHandleForWriting.write(contentsOf: Data("\(line)\n\(own)\n".utf8))
      try input.fileHandleForWriting.close()
      let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      return text
    }
  }
#endif

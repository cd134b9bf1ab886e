import Foundation
import Testing

@Suite("The declarations of libcrypto's functions")
struct DeclarationTests {
  private static let header = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../../Sources/CLibcrypto/CLibcrypto.h").standardizedFileURL.path
  private static let hasHeaders = ["ec", "err", "evp", "hmac", "sha", "x509"].allSatisfy {
    FileManager.default.fileExists(atPath: "/usr/include/openssl/\($0).h")
  }

  @Test(
    "the declarations agree with OpenSSL's headers",
    .enabled(if: hasHeaders, "libssl-dev is not installed"))
  func headers() throws {
    #expect(try Self.compile(beside: "") == "")
  }

  @Test("a declaration that differs is found")
  func difference() throws {
    let errors = try Self.compile(beside: "double BN_cmp(const void *a, const void *b);")
    #expect(errors.contains("conflicting types for 'BN_cmp'"))
  }

  /// The compiler's errors for the declarations after a line and after OpenSSL's own.
  private static func compile(beside line: String) throws -> String {
    let openSSL = ["ec", "err", "evp", "hmac", "sha", "x509"].map { "#include <openssl/\($0).h>" }
    let source = (hasHeaders && line.isEmpty ? openSSL : [line]) + ["#include \"\(header)\"", ""]
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

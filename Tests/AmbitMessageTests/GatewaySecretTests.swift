#if Messaging
  import AmbitCLI
  import Foundation
  import Glibc
  import Testing

  @testable import AmbitMessage

  @Suite("Files of the secrets of a push gateway")
  struct GatewaySecretTests {
    private func secret(_ content: String, mode: mode_t) throws -> String {
      let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
      defer { try? FileManager.default.removeItem(at: file) }
      try Data(content.utf8).write(to: file)
      #expect(chmod(file.path, mode) == 0)
      return try MessageGateway.secret(file.path)
    }

    @Test func `A secret is the first line of a file, without spaces around it`() throws {
      for content in ["a secret", "a secret\nmore\n", "  a secret \r\nmore\r\n"] {
        #expect(try secret(content, mode: 0o600) == "a secret")
      }
      for content in ["", "\n", "short\n", "         \n"] {
        #expect(throws: CommandFailure.self) { try secret(content, mode: 0o600) }
      }
    }

    @Test func `A secret that other users can read is refused`() {
      for mode: mode_t in [0o640, 0o604] {
        let failure = #expect(throws: CommandFailure.self) { try secret("a secret", mode: mode) }
        #expect(failure?.status == .badData)
      }
    }
  }
#endif

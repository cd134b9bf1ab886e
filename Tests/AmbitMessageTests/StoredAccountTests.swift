#if Messaging
  import Messaging
  import StateFiles
  import Testing

  @testable import AmbitMessage

  @Suite("Accounts in their file")
  struct StoredAccountTests {
    @Test("an account is read as it was written, with quotes in its password")
    func roundTrip() throws {
      let plain = StoredAccount(address: "ann@chat.example", password: "a \"b\" \\ \n é")
      let full = StoredAccount(
        address: "bob@chat.example", password: "x",
        server: .init(host: "::1", port: 5_223, isDirectTLS: true), authorityFile: "/a b.pem",
        pin: String(repeating: "0f", count: 32))
      var withFiles = plain
      withFiles.allowsPrivateFiles = true
      var quick = plain
      quick.isQuick = true
      for account in [plain, full, withFiles, quick] {
        #expect(account.line.filter { $0 == UInt8(ascii: "\n") }.count == 1)
        #expect(try StoredAccount(line: account.line.dropLast()) == account)
      }
    }

    @Test(
      "a line that is no account is damage, whose description has no password",
      arguments: [
        "", "{}", #"{"address":"a@x"}"#, #"{"address":"a@x","password":{"secret":1}}"#,
        #"{"address":"a@x","password":"secret","host":"h"}"#,
        #"{"address":"a@x","password":"secret","host":"h","port":70000}"#,
        #"{"address":"a@x","password":"secret","secret":"h"}"#.replacing(
          "\"secret\":\"h\"", with: "\"x\":1"),
      ])
    func damage(_ line: String) {
      let error = #expect(throws: StateFileDecodingError.self) {
        try StoredAccount(line: Array(line.utf8)[...])
      }
      #expect(!"\(error.map { "\($0)" } ?? "")".contains("secret"))
    }

    @Test("a server on the command line has a host and a port")
    func server() {
      #expect(ServerArgument(argument: "xmpp.example:5222")?.port == 5_222)
      #expect(ServerArgument(argument: "[::1]:5223")?.host == "::1")
      for text in ["", "host", ":1", "host:0", "host:70000", "host:x"] {
        #expect(ServerArgument(argument: text) == nil, "\(text)")
      }
    }

    @Test("a recipient is the address of an account, as servers write it")
    func recipient() {
      #expect(Recipient(argument: "Bob@Chat.Example/phone")?.address == "bob@chat.example")
      for text in ["", "bob", "@chat.example", "chat.example", "a b@chat.example"] {
        #expect(Recipient(argument: text) == nil, "\(text)")
      }
    }
  }
#endif

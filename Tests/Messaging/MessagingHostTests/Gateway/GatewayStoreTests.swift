#if Messaging
  import Foundation
  import Testing
  import XMPPMachines
  import XMPPWire

  @testable import MessagingHost

  @Suite("The queue of a push gateway on disk")
  struct GatewayStoreTests {
    private static func row(_ number: Int64) throws -> GatewayRow {
      GatewayRow(
        number: number,
        message: GatewayMessage(
          id: "m\(number)", from: try #require(JID("news@push.example")),
          to: try #require(JID("bob@chat.example")), title: "T", body: "Text \(number) '🚲",
          target: number % 2 == 0 ? .app("com.example.chat") : .token("ab"),
          collapseIdentifier: number % 2 == 0 ? "c" : nil, isSilent: number % 2 == 0,
          expiration: 1_000 + number),
        notification: number % 3 == 0 ? .done("shown") : .waiting, date: number)
    }

    @Test func `Rows come back as they were written, with their latest states`() throws {
      let folder = try TestFolder()
      let path = folder.path("gateway")
      let store = try GatewayStore(path: path)
      var rows = try (1...6).map { try Self.row($0) }
      try store.apply(rows.map(GatewayChange.insert))
      try store.apply([
        .setState(2, .stanza, .failed("item-not-found: no such user")),
        .setState(3, .stanza, .done("sent")), .setState(4, .notification, .done("delivered")),
        .remove(6), .forgetBody(3, digest: "of its text"),
      ])
      rows[1].stanza = .failed("item-not-found: no such user")
      rows[2].stanza = .done("sent")
      rows[3].notification = .done("delivered")
      // Its text is still recognised by the digest.
      rows[2].message.body = ""
      rows[2].message.digest = "of its text"
      rows.removeLast()
      // One process at a time has it.
      #expect(throws: StoreError.self) { try GatewayStore(path: path) }
      store.close()
      let next = try GatewayStore(path: path)
      defer { next.close() }
      #expect(try next.load() == rows)
    }

    @Test func `The queue of an earlier version is moved with its lock, and not while it is used`()
      throws
    {
      let folder = try TestFolder()
      let (old, new) = (folder.path("Push.Example/queue"), folder.path("push.example/queue"))
      let row = try Self.row(1)
      let running = try GatewayStore(path: old)
      try running.apply([.insert(row)])
      #expect(throws: StoreError.inUse(processID: getpid())) {
        try GatewayStore(path: new, earlierPath: old)
      }
      #expect(FileManager.default.fileExists(atPath: old))
      #expect(!FileManager.default.fileExists(atPath: new))
      #expect(try running.load() == [row])
      running.close()
      let moved = try GatewayStore(path: new, earlierPath: old)
      defer { moved.close() }
      #expect(try moved.load() == [row])
      #expect(!FileManager.default.fileExists(atPath: old))
      #expect(throws: StoreError.inUse(processID: getpid())) { try GatewayStore(path: new) }
      // A second process that has found the old folder at the same time makes none.
      #expect(throws: StoreError.self) { try GatewayStore(path: new, earlierPath: old) }
      #expect(!FileManager.default.fileExists(atPath: folder.path("Push.Example")))
    }

    @Test func `Changes are made all or none, and a damaged file is moved aside`() throws {
      let folder = try TestFolder()
      let path = folder.path("gateway")
      let store = try GatewayStore(path: path)
      let (first, second) = (try Self.row(1), try Self.row(2))
      try store.apply([.insert(first)])
      #expect(throws: StoreError.self) {
        try store.apply([.remove(1), .insert(second), .insert(second)])
      }
      #expect(try store.load() == [first])
      store.close()
      let damaged = String(repeating: "no database ", count: 400)
      try damaged.write(toFile: path, atomically: false, encoding: .utf8)
      #expect(throws: StoreError.damaged(keptAt: path + ".damaged-1")) {
        try GatewayStore(path: path)
      }
      let next = try GatewayStore(path: path)
      defer { next.close() }
      #expect(try next.load() == [])
    }
  }
#endif

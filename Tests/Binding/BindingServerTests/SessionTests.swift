#if BindingServer
  import Binding
  import Foundation
  import JSONWire
  import Logging
  import NIOCore
  import PageClient
  import Reactive
  import StateFiles
  import Testing

  @testable import BindingServer

  @Suite("The sessions of a page server")
  struct SessionTests {
    /// A server with a key file, and the access to it that other processes have.
    private static func withDesk(
      keyFile path: String, port: Int = 0,
      _ body: (RunningServer, RawHTTP, PageAccess) async throws -> Void
    ) async throws {
      try await withServer(
        site: Desk.site, pages: { [Page("index.html") { Desk() }] },
        configure: {
          $0.needsToken = true
          $0.keyFile = path
          $0.port = port
        }
      ) { try await body($0, RawHTTP(port: $0.port), PageAccess(keyFile: path)) }
    }

    private static func withKeyFile(_ body: (String) async throws -> Void) async throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
      defer { try? FileManager.default.removeItem(at: folder) }
      try await body(folder.appending(path: "access").path)
    }

    /// Opens an address with a token.
    ///
    /// - Returns: The cookie; nil if the token is refused.
    private static func cookie(
      _ address: String, _ http: RawHTTP, agent: String = "Test/1"
    ) async throws -> String? {
      let token = try #require(address.split(separator: "?").last)
      let entry = try await http.send("GET", "/?\(token)", ["User-Agent": agent])
      return entry.fields["set-cookie"].map { String($0.prefix { $0 != ";" }) }
    }

    @Test
    func `An invitation from another process admits one browser, once`() async throws {
      try await Self.withKeyFile { path async throws in
        #expect(try PageAccess(keyFile: path).invite() == [], "no server runs")
        try await Self.withDesk(keyFile: path) { server, http, access async throws in
          let addresses = try access.invite()
          let address = try #require(addresses.first)
          #expect(addresses.count == 1)
          #expect(address.hasPrefix("http://127.0.0.1:\(server.port)/?token="))
          let text = try String(contentsOfFile: path, encoding: .utf8)
          let token = try #require(address.split(separator: "=").last)
          #expect(!text.contains(token), "the file doesn't admit its readers")
          let cookie = try #require(try await Self.cookie(address, http))
          #expect(try await http.send("GET", "/", ["Cookie": cookie]).status == 200)
          #expect(try await Self.cookie(address, http) == nil)
        }
        #expect(try PageAccess(keyFile: path).invite() == [], "the server has ended")
      }
    }

    @Test
    func `A message whose session ends while its body comes is refused, and nothing of it is done`()
      async throws
    {
      let desk = await Desk()
      try await Self.withKeyFile { path async throws in
        try await withServer(
          site: Desk.site, pages: { [Page("index.html", sharing: desk)] },
          configure: {
            $0.needsToken = true
            $0.keyFile = path
          }
        ) { server async throws in
          let http = RawHTTP(port: server.port)
          let cookie = try #require(try await Self.cookie(server.address, http))
          try await http.stream("/live?tab=t1", ["Cookie": cookie]) { stream in
            let snapshot = try #require(try await stream.next())
            let members = try JSON(parsing: Array(snapshot.data.utf8)).members
            guard case .string(let epoch) = members?["epoch"] else {
              Issue.record("\(snapshot)")
              return
            }
            let body = #"{"tab":"t1","epoch":"\#(epoch)","seq":1,"ops":[["set","text","late"]]}"#
            let head =
              "POST /live HTTP/1.1\r\nHost: localhost\r\nCookie: \(cookie)\r\n"
              + "Content-Length: \(body.utf8.count)\r\n\r\n"
            let access = PageAccess(keyFile: path)
            try await http.connected { inbound, outbound in
              try await outbound.write(ByteBuffer(string: head + body.prefix(10)))
              let browser = try #require(try access.browsers().first)
              #expect(try access.end(browser.id))
              // The server notices it at its next look at the file.
              while try await http.send("GET", "/", ["Cookie": cookie]).status == 200 {}
              try await outbound.write(ByteBuffer(string: String(body.dropFirst(10))))
              var answer = ""
              for try await part in inbound {
                answer += String(buffer: part)
                if answer.contains("\n") { break }
              }
              #expect(answer.hasPrefix("HTTP/1.1 401"))
            }
          }
          #expect(desk.text.value == "")
        }
      }
    }

    @Test
    func `A session that another process ends loses its stream and its access, and no other does`()
      async throws
    {
      try await Self.withKeyFile { path async throws in
        var others: [String] = []
        var port = 0
        try await Self.withDesk(keyFile: path) { server, http, access async throws in
          port = server.port
          let ended = try #require(try await Self.cookie(server.address, http, agent: "Phone"))
          let kept = try #require(
            try await Self.cookie(server.server.makeAddress(), http, agent: "Desktop"))
          others = [kept]
          let browsers = try access.browsers()
          #expect(browsers.map(\.agent) == ["Phone", "Desktop"])
          #expect(browsers.allSatisfy { $0.address == "127.0.0.1" && $0.port == server.port })
          try await http.stream("/live?tab=b", ["Cookie": kept]) { other in
            _ = try #require(try await other.next())
            try await http.stream("/live?tab=a", ["Cookie": ended]) { stream in
              _ = try #require(try await stream.next())
              #expect(try access.end(browsers[0].id))
              #expect(try !access.end(browsers[0].id), "it has ended")
              #expect(try await stream.next() == nil)
            }
            // The client may see the end before the server has counted it.
            await expectSoon { server.server.live.streams == 1 }
          }
          #expect(try await http.send("GET", "/", ["Cookie": ended]).status == 401)
          #expect(try await http.send("GET", "/", ["Cookie": kept]).status == 200)
          #expect(try access.browsers().map(\.agent) == ["Desktop"])
        }
        // Also for the next server.
        try await Self.withDesk(keyFile: path, port: port) { _, http, access async throws in
          #expect(try await http.send("GET", "/", ["Cookie": others[0]]).status == 200)
          #expect(try access.browsers().map(\.agent) == ["Desktop"])
        }
      }
    }

    @Test
    func `A browser that names itself with lines of the file adds none`() async throws {
      try await Self.withKeyFile { path async throws in
        try await Self.withDesk(keyFile: path) { _, _, access async throws in
          let file = AccessFile(path: path)
          let list = AccessList(
            file, key: try file.key().bytes,
            logger: Logger(label: "test") { _ in
              SwiftLogNoOpLogHandler()
            })
          let now = Int(Date().timeIntervalSince1970)
          list.admit(
            .init(
              id: "0123456789abcdef", admittedAt: now, end: now + 60, port: 80,
              from: "10.0.0.1 20",
              agent: "a\nsession b 1 2\u{2028}\u{202E}  c"
                + String(repeating: "x", count: 1_000)))
          let browser = try #require(try access.browsers().first)
          #expect(try access.browsers().count == 1)
          #expect(browser.agent.hasPrefix("asession b 1 2  cxx"))
          #expect(browser.agent.utf8.count == AccessRecord.agentByteCountMax)
          #expect(browser.address == nil)
        }
      }
    }

    @Test
    func `A session that can't be written holds, and is written as soon as that works`() throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
      defer { try? FileManager.default.removeItem(at: folder) }
      let file = AccessFile(path: folder.appending(path: "access").path)
      let key = try file.key().bytes
      let list = AccessList(
        file, key: key,
        logger: Logger(label: "test") { _ in
          SwiftLogNoOpLogHandler()
        })
      // A lock file that is a folder can't be opened.
      let lock = file.path + ".lock"
      try FileManager.default.removeItem(atPath: lock)
      try FileManager.default.createDirectory(atPath: lock, withIntermediateDirectories: false)
      let now = 1_000
      list.admit(.init(id: "a", admittedAt: now, end: now + 60, port: 80, from: nil, agent: nil))
      #expect(list.isAdmitted("a"))
      #expect(try file.read()?.sessions == [])
      list.refresh(now: now)
      #expect(list.isAdmitted("a"))
      try FileManager.default.removeItem(atPath: lock)
      list.refresh(now: now)
      #expect(try file.read()?.sessions.map(\.id) == ["a"])
      #expect(list.isAdmitted("a") && !list.isAdmitted("b"))
    }

    @Test
    func
      `A file that is removed while a server runs is written again, with its sessions and its server`()
      throws
    {
      let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
      defer { try? FileManager.default.removeItem(at: folder) }
      let file = AccessFile(path: folder.appending(path: "access").path)
      let key = try file.key().bytes
      let list = AccessList(
        file, key: key, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
      let server = AccessRecord.Server(port: 80, address: "http://localhost/")
      list.setRunning(true, server, now: 1_000)
      func admit(_ id: String) {
        list.admit(.init(id: id, admittedAt: 1_000, end: 9_000, port: 80, from: nil, agent: nil))
      }
      admit("a")
      list.refresh(now: 1_000)
      try FileManager.default.removeItem(at: folder)
      list.refresh(now: 1_000)
      let restored = try #require(try file.read())
      #expect(restored.key == key && restored.sessions.map(\.id) == ["a"])
      #expect(restored.servers == [server])
      // The next one comes before the loss is noticed.
      try FileManager.default.removeItem(atPath: file.path)
      admit("b")
      #expect(try file.read()?.sessions.map(\.id) == ["a", "b"])
      // Sessions that were ended stay so.
      try file.change(now: 1_000) { record in
        record.sessions.removeFirst()
        return true
      }
      list.refresh(now: 1_000)
      try FileManager.default.removeItem(atPath: file.path)
      list.refresh(now: 1_000)
      #expect(try file.read()?.sessions.map(\.id) == ["b"])
      #expect(!list.isAdmitted("a") && list.isAdmitted("b"))
    }

    @Test
    func `The file has a bound: the oldest sessions end, and what is over is left out`() throws {
      var record = AccessRecord()
      record.sessions = (0..<AccessRecord.sessionCountMax + 5).map { number in
        .init(
          id: "\(number)", admittedAt: 0, end: number == 100 ? 10 : 1_000, port: 80,
          from: "::1", agent: String(repeating: "é", count: 500))
      }
      record.invitations = (0..<40).map { .init(digest: "\($0)", end: 1_000) }
      record.servers = [
        .init(port: 80, address: "http://localhost/"),
        .init(process: getpid(), start: 1, port: 81, address: "http://localhost:81/"),
      ]
      let bytes = record.file(now: 20)
      #expect(bytes.count < AccessRecord.byteCountMax)
      let decoded = try AccessRecord(decoding: bytes)
      #expect(decoded == record)
      #expect(decoded.sessions.first?.id == "4" && decoded.sessions.count == 256)
      #expect(decoded.invitations.map(\.digest) == (24..<40).map { "\($0)" })
      #expect(decoded.servers.map(\.port) == [80], "another process has had the number")
    }
  }
#endif

#if BindingServer
  import BindingMachines
  import BindingServer
  import NIOCore
  import JSONWire
  import PageClient
  import Synchronization
  import Testing

  @Suite("Requests to a page server")
  struct RequestTests {
    /// Runs a test beside a server, with the epoch of a tab that is connected.
    private static func withTab(
      _ tab: String = "t1", _ body: (RawHTTP, String) async throws -> Void
    ) async throws {
      try await withServer(site: Desk.site, pages: { [Page("index.html") { Desk() }] }) { server in
        let http = RawHTTP(port: server.port)
        try await http.stream("/live?tab=\(tab)") { stream in
          let snapshot = try #require(try await stream.next())
          let members = try JSON(parsing: Array(snapshot.data.utf8)).members
          guard case .string(let epoch) = members?["epoch"] else {
            Issue.record("\(snapshot)")
            return
          }
          try await body(http, epoch)
        }
      }
    }

    private static func message(
      _ epoch: String, _ sequence: Int = 1, _ operations: String = #"[["set","text","x"]]"#
    ) -> String {
      #"{"tab":"t1","epoch":"\#(epoch)","seq":\#(sequence),"ops":\#(operations)}"#
    }

    @Test("a message is answered with 204, and without content")
    func accepted() async throws {
      try await Self.withTab { http, epoch in
        let answer = try await http.post(Self.message(epoch))
        #expect(answer.status == 204 && answer.body.isEmpty)
        #expect(answer.fields["cache-control"] == "no-store")
        #expect(try await http.post(Self.message(epoch)).status == 204, "again")
        #expect(try await http.post(Self.message(epoch, 2, "[]")).status == 204)
      }
    }

    @Test("a message for another epoch, for an unknown tab or after a gap is answered with 409")
    func conflict() async throws {
      try await Self.withTab { http, epoch async throws in
        #expect(try await http.post(Self.message("other")).status == 409)
        #expect(try await http.post(Self.message(epoch, 5)).status == 409)
        let unknown = Self.message(epoch).replacing("t1", with: "t2")
        #expect(try await http.post(unknown).status == 409)
        #expect(try await http.post(Self.message(epoch)).status == 204)
      }
    }

    @Test("a sign of life is answered with 204, with 409 without a stream, with 403 from elsewhere")
    func signs() async throws {
      try await Self.withTab { http, epoch async throws in
        func status(_ tabs: String, _ fields: [String: String] = [:]) async throws -> Int {
          try await http.send("POST", "/live?tab=\(tabs)", fields).status
        }
        #expect(try await status("t1") == 204)
        #expect(try await status("t1,t2") == 204)
        #expect(try await status("t2") == 409)
        #expect(try await status("") == 400)
        #expect(try await status("a%20b") == 400)
        #expect(try await status("t1", ["Origin": "http://evil.example"]) == 403)
        #expect(try await http.send("POST", "/live?left=t7").status == 204)
        #expect(try await http.send("POST", "/live?left=").status == 400)
        #expect(try await http.post(Self.message(epoch)).status == 204, "it is no message")
      }
    }

    @Test("a message from another origin is answered with 403, and nothing is done")
    func origins() async throws {
      try await Self.withTab { http, epoch in
        let here = "127.0.0.1:\(http.port)"
        let foreign = [
          ["Origin": "http://evil.example"], ["Origin": "null"], ["Origin": "http://127.0.0.1:1"],
          ["Origin": "http://\(here).evil.example"], ["Origin": here],
          ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"],
          ["Sec-Fetch-Site": "cross-site", "Origin": "http://\(here)"],
        ]
        for fields in foreign {
          let answer = try await http.post(Self.message(epoch), fields)
          #expect(answer.status == 403, "\(fields)")
          let stream = try await http.send("GET", "/live?tab=t9", fields)
          #expect(stream.status == 403, "\(fields)")
        }
        let own = ["Origin": "http://\(here)", "Sec-Fetch-Site": "same-origin"]
        #expect(try await http.post(Self.message(epoch), own).status == 204)
      }
    }

    @Test(
      "a malformed message is answered with 400",
      arguments: [
        "", "x", "{}", "[1,2]", #"{"tab":"t1"}"#, "\u{0}",
        #"{"tab":"t1","epoch":"E","seq":1,"ops":5}"#,
      ])
    func malformed(_ body: String) async throws {
      try await Self.withTab { http, epoch in
        let answer = try await http.post(body.replacing("E", with: epoch))
        #expect(answer.status == 400)
        #expect(try await http.post(Self.message(epoch)).status == 204, "it goes on")
      }
    }

    @Test(
      "a message for a value that the view model doesn't declare is answered with 400",
      arguments: [
        #"[["set","upper","x"]]"#, #"[["set","secret","x"]]"#, #"[["call","text",[]]]"#,
        #"[["call","remove",[]]]"#, #"[["set","__proto__","x"]]"#,
      ])
    func unknownPaths(_ operations: String) async throws {
      try await Self.withTab { http, epoch async throws in
        #expect(try await http.post(Self.message(epoch, 1, operations)).status == 400)
      }
    }

    @Test("a message that is too long is answered with 413, with or without a Content-Length")
    func tooLong() async throws {
      try await Self.withTab { http, epoch in
        let long = String(repeating: "x", count: BindingLimits.bodyByteCountMax + 1)
        #expect(try await http.post(long).status == 413)
        let text = String(repeating: "y", count: BindingLimits.textByteCountMax + 1)
        let oversize = Self.message(epoch, 1, #"[["set","text",""# + text + #""]]"#)
        #expect(try await http.post(oversize).status == 413)
        let answer = try await http.send(
          "POST", "/live", ["Content-Length": "\(1 << 40)"], body: Array("x".utf8))
        #expect(answer.status == 413)
        #expect(try await http.post(Self.message(epoch)).status == 204)
      }
    }

    @Test(
      "a request whose body comes byte by byte ends at its time limit, whatever its path",
      .timeLimit(.minutes(5)))
    func drip() async throws {
      try await withServer(
        site: Desk.site, pages: { [Page("index.html") { Desk() }] },
        configure: { $0.times.request = .milliseconds(300) }
      ) { server in
        let heads = [
          "POST /live HTTP/1.1\r\nHost: localhost", "GET / HTTP/1.1\r\nHost: localhost",
          "POST /live HTTP/1.1\r\nHost: elsewhere", "PUT / HTTP/1.1\r\nHost: localhost",
        ]
        for head in heads {
          let client = try StalledClient(
            head + "\r\nContent-Length: 100000\r\n\r\n", port: server.port)
          let dripping = Task {
            while !Task.isCancelled, (try? client.send("x")) != nil {
              try? await Task.sleep(for: .milliseconds(20))
            }
          }
          #expect(try await client.isClosed(), "\(head)")
          dripping.cancel()
        }
        // Others are served; a busy machine may need longer for a request than this server allows.
        while (try? await RawHTTP(port: server.port).send("GET", "/").status) != 200 {}
      }
    }

    /// Runs a test beside a client that has asked for more than any system keeps, all in small answers,
    /// and for a stream behind them, and reads none of it.
    private static func withUnread(
      times: ConnectionTimes, _ body: (RunningServer, StalledClient) async throws -> Void
    ) async throws {
      let file = [UInt8](repeating: UInt8(ascii: "x"), count: 60_000)
      let server = try await RunningServer.start(
        site: Site.files(["small.txt": file]).or(Desk.site),
        pages: { [Page("index.html") { Desk() }] }, configure: { $0.times = times })
      let paths = Array(repeating: "/small.txt", count: 200) + ["/live?tab=t"]
      let client = try StalledClient(
        paths.map { "GET \($0) HTTP/1.1\r\nHost: localhost\r\n\r\n" }.joined(), port: server.port)
      try await body(server, client)
    }

    @Test("a client that reads no answers loses its connection")
    func unread() async throws {
      var times = ConnectionTimes()
      times.write = .milliseconds(300)
      try await Self.withUnread(times: times) { server, client in
        #expect(try await client.isClosed())
        try await server.stop()
      }
    }

    @Test(
      "a client that reads no answers doesn't keep the server from ending", .timeLimit(.minutes(5)))
    func unreadShutdown() async throws {
      var times = ConnectionTimes()
      times.write = .seconds(3_600)
      try await Self.withUnread(times: times) { server, client in
        #expect(try client.isOpenAtServer)
        try await server.stop()
      }
    }

    @Test("a request waits for its turn when the limit of connections is reached")
    func connectionCount() async throws {
      try await withServer(
        site: Desk.site, pages: { [Page("index.html") { Desk() }] },
        configure: { $0.connectionCountMax = 4 }
      ) { server in
        let http = RawHTTP(port: server.port)
        // Each has the answer to something, so that the server has accepted it.
        var clients: [StalledClient] = []
        for index in 0..<4 {
          clients.append(
            try StalledClient(
              "GET /live?tab=t\(index) HTTP/1.1\r\nHost: localhost\r\n\r\n", port: server.port))
        }
        await expectSoon { server.server.live.streams == 4 }
        let answered = Mutex(false)
        let waiting = Task {
          let answer = try await http.send("GET", "/")
          answered.withLock { $0 = true }
          return answer.status
        }
        try await Task.sleep(for: .milliseconds(300))
        #expect(!answered.withLock { $0 })
        clients.removeLast()
        #expect(try await waiting.value == 200)
      }
    }

    @Test("a request with an unsupported method is answered with 405")
    func methods() async throws {
      try await Self.withTab { http, _ in
        for (method, path, allowed) in [
          ("PUT", "/live", "GET, POST"), ("DELETE", "/live", "GET, POST"),
          ("POST", "/", "GET, HEAD"), ("PUT", "/index.html", "GET, HEAD"),
        ] {
          let answer = try await http.send(method, path)
          #expect(answer.status == 405 && answer.fields["allow"] == allowed, "\(method) \(path)")
        }
      }
    }

    @Test(
      "a stream with an invalid tab is answered with 400, one of an unknown page with 404",
      arguments: [
        ("/live", 400), ("/live?tab=", 400), ("/live?tab=a,,b", 400), ("/live?tab=a,a", 400),
        ("/live?tab=a%20b", 400), ("/live?tab=nowhere.a", 404), ("/live?tab=a.b.c", 400),
      ])
    func badTabs(_ path: String, _ status: Int) async throws {
      try await Self.withTab { http, _ async throws in
        #expect(try await http.send("GET", path).status == status)
      }
    }

    @Test("a request that is no HTTP is answered with 400, and the server goes on")
    func noHTTP() async throws {
      try await Self.withTab { http, epoch in
        for text in ["\u{16}\u{3}\u{1}", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n"] {
          try await http.connected { inbound, outbound in
            try await outbound.write(ByteBuffer(string: text))
            outbound.finish()
            for try await _ in inbound {}
          }
        }
        #expect(try await http.post(Self.message(epoch)).status == 204)
      }
    }
  }
#endif

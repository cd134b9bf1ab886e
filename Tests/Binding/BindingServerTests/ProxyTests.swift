#if BindingServer
  import Binding
  import Foundation
  import HTTPTypes
  import NIOCore
  import Testing

  @testable import BindingServer

  @Suite("A page server behind a proxy", .timeLimit(.minutes(5)))
  struct ProxyTests {
    private static let configuration = {
      var configuration = PageServer.Configuration()
      configuration.trustedProxies = ["127.0.0.1"]
      configuration.publicAddress = "https://ambit.example/"
      return configuration
    }()

    /// Runs a test beside a server that trusts this machine, or another proxy, with a valid cookie.
    private static func withDesk(
      trusting proxy: String = "127.0.0.1",
      _ body: (RunningServer, RawHTTP, [String: String]) async throws -> Void
    ) async throws {
      try await withServer(
        site: Desk.site, pages: { [Page("index.html") { Desk() }] },
        configure: {
          $0.trustedProxies = [proxy]
          $0.publicAddress = Self.configuration.publicAddress
        }
      ) { server in
        let http = RawHTTP(port: server.port)
        let token = try #require(server.server.makeAddress().split(separator: "?").last)
        let entry = try await http.send("GET", "/?\(token)", forwarded)
        let cookie = entry.fields["set-cookie"] ?? ""
        #expect(cookie.hasSuffix("; Secure") == (proxy == "127.0.0.1"))
        try await body(server, http, ["Cookie": String(cookie.prefix { $0 != ";" })])
      }
    }

    private static let forwarded = [
      "X-Forwarded-Host": "ambit.example", "X-Forwarded-Proto": "https",
    ]

    /// The status of a message that no tab has sent: 409 where it is accepted as this server's own.
    private static func status(_ http: RawHTTP, _ fields: [String: String]) async throws -> Int {
      try await http.post(#"{"tab":"t","epoch":"e","seq":1,"ops":[]}"#, fields).status
    }

    @Test("a message by a trusted proxy is accepted from the page that the proxy serves")
    func trusted() async throws {
      try await Self.withDesk { _, http, cookie async throws in
        let fields = Self.forwarded.merging(cookie) { a, _ in a }
        func status(_ others: [String: String]) async throws -> Int {
          try await Self.status(http, fields.merging(others) { _, b in b })
        }
        #expect(try await status(["Origin": "https://ambit.example"]) == 409)
        #expect(try await status(["Origin": "https://ambit.example:443"]) == 409)
        #expect(try await status(["Origin": "http://ambit.example"]) == 403, "another scheme")
        #expect(try await status(["Origin": "https://ambit.example:8443"]) == 403)
        #expect(try await status(["Origin": "http://127.0.0.1:\(http.port)"]) == 403)
        #expect(
          try await status([
            "Origin": "https://ambit.example", "X-Forwarded-Host": "evil.example, ambit.example",
          ]) == 409, "the last one is the proxy's")
        #expect(
          try await status(["X-Forwarded-Host": "evil.example", "Origin": "https://evil.example"])
            == 421)
      }
    }

    @Test("the fields of a client that is no trusted proxy are ignored")
    func untrusted() async throws {
      try await Self.withDesk(trusting: "10.0.0.0/8") { _, http, cookie async throws in
        let fields = Self.forwarded.merging(cookie) { a, _ in a }
        func status(_ origin: String) async throws -> Int {
          try await Self.status(http, fields.merging(["Origin": origin]) { _, b in b })
        }
        #expect(
          try await status("https://ambit.example") == 409,
          "a page at the public address is its own")
        #expect(try await status("https://evil.example") == 403)
        #expect(try await status("https://ambit.example:8443") == 403)
        #expect(try await status("http://ambit.example") == 403, "another scheme")
        #expect(try await status("http://127.0.0.1:\(http.port)") == 409)
        #expect(try await status("https://127.0.0.1:\(http.port)") == 403, "another scheme")
      }
    }

    @Test("a server with a proxy hands out its public address, with a token, also on this machine")
    func address() async throws {
      try await Self.withDesk { server, http, _ async throws in
        #expect(server.server.makeAddress().hasPrefix("https://ambit.example/?token="))
        #expect(try await http.send("GET", "/", Self.forwarded).status == 401)
        #expect(try await http.send("GET", "/").status == 401)
      }
    }

    @Test("an invalid address of a proxy, or of the server, is refused at the start")
    func invalid() async throws {
      for proxy in ["", "localhost", "10.0.0.0/33", "10.0.0.0/x", "::1/129", "1.2.3.4/8/8"] {
        await Self.expectRefusal { $0.trustedProxies = [proxy] }
      }
      for address in ["ambit.example", "ftp://ambit.example/", "https:///", "https://a/?b=c"] {
        await Self.expectRefusal { $0.publicAddress = address }
      }
    }

    private static func expectRefusal(
      _ change: (inout PageServer.Configuration) -> Void
    ) async {
      var configuration = PageServer.Configuration()
      change(&configuration)
      let code = await code(of: configuration)
      #expect(code == .badAddress, "\(configuration)")
    }

    /// The reason why a server can't be created; nil if it can.
    @MainActor
    private static func code(
      of configuration: PageServer.Configuration
    ) async -> PageServerError.Code? {
      do throws(PageServerError) {
        _ = try await PageServer(
          site: Desk.site, pages: [Page("index.html") { Desk() }], configuration: configuration)
        return nil
      } catch {
        return error.code
      }
    }

    @Test("an address is in a network by its first bits, also in the form of IPv6")
    func networks() throws {
      let proxies = try TrustedProxies(["10.1.128.0/17", "fd00::/8", "192.0.2.1", "::1"])
      for address in [
        "10.1.128.0", "10.1.255.255", "fd12::1", "192.0.2.1", "::ffff:192.0.2.1", "::1",
      ] {
        #expect(proxies.contains(address), "\(address)")
      }
      for address in ["10.1.127.255", "10.2.128.0", "fe80::1", "192.0.2.2", "::2", "", "x"] {
        #expect(!proxies.contains(address), "\(address)")
      }
      #expect(try TrustedProxies(["0.0.0.0/0"]).contains("203.0.113.9"))
      #expect(!TrustedProxies().contains("127.0.0.1"))
    }

    @Test("the browser's word counts for the scheme where a proxy isn't known, not for the host")
    func schemes() {
      let access = AccessControl(names: [], needsToken: false, key: nil)
      let target = AccessControl.Target(scheme: "http", authority: "ambit.example")
      func isFromHere(_ origin: String, _ site: String?) -> Bool {
        var fields: HTTPFields = [.origin: origin]
        if let name = HTTPField.Name("Sec-Fetch-Site") { fields[name] = site }
        return access.isFromHere(fields, target)
      }
      #expect(isFromHere("http://ambit.example", nil))
      #expect(isFromHere("http://Ambit.Example:80", "same-origin"))
      #expect(isFromHere("https://ambit.example", "same-origin"))
      #expect(!isFromHere("https://ambit.example", nil))
      #expect(!isFromHere("https://ambit.example", "none"))
      #expect(!isFromHere("https://evil.example", "same-origin"))
      #expect(!isFromHere("http://ambit.example", "cross-site"))
    }

    // MARK: Connections

    /// Sends text on a connection, and reads until the server closes it.
    private static func exchange(_ http: RawHTTP, _ text: String) async throws -> String {
      try await http.connected { inbound, outbound in
        try await outbound.write(ByteBuffer(string: text))
        var received: [UInt8] = []
        for try await part in inbound { received += part.readableBytesView }
        return String(decoding: received, as: UTF8.self)
      }
    }

    @Test(
      "a connection is closed after a response to HTTP/1.0, which has no chunks",
      arguments: ["", "Connection: keep-alive\r\n"])
    func oldClient(_ fields: String) async throws {
      try await withServer(site: Desk.site, pages: { [Page("index.html") { Desk() }] }) { server in
        let http = RawHTTP(port: server.port)
        let answer = try await Self.exchange(
          http, "GET /notes/a%20b.txt HTTP/1.0\r\nHost: localhost\r\n\(fields)\r\n")
        #expect(answer.hasPrefix("HTTP/1.0 200 OK\r\n") && answer.hasSuffix("\r\n\r\na note"))
        #expect(answer.contains("\r\nConnection: close\r\n"))
      }
    }

    @Test("a stream for HTTP/1.0 has no chunks")
    func oldStream() async throws {
      try await withServer(site: Desk.site, pages: { [Page("index.html") { Desk() }] }) { server in
        try await RawHTTP(port: server.port).connected { inbound, outbound in
          let head = "GET /live?tab=t HTTP/1.0\r\nHost: localhost\r\n\r\n"
          try await outbound.write(ByteBuffer(string: head))
          var text = ""
          for try await part in inbound {
            text += String(buffer: part)
            if text.contains("event: snap") { break }
          }
          #expect(text.contains("\r\n\r\nretry: 500\n\n"))
        }
      }
    }

    @Test("a connection is closed after the response to a request that wants that, in any case")
    func closing() async throws {
      try await withServer(site: Desk.site, pages: { [Page("index.html") { Desk() }] }) { server in
        let http = RawHTTP(port: server.port)
        let request = "GET /notes/a%20b.txt HTTP/1.1\r\nHost: localhost\r\n"
        let answer = try await Self.exchange(
          http, "\(request)\r\n\(request)Connection: Close\r\n\r\n")
        let answers = answer.components(separatedBy: "HTTP/1.1 200 OK\r\n").dropFirst()
        #expect(answers.map { $0.contains("Connection: close") } == [false, true])
      }
    }

    @Test
    func `A client that sends a byte of a head now and then loses its connection`() async throws {
      try await withServer(
        site: Desk.site, pages: { [Page("index.html") { Desk() }] },
        configure: { $0.times.head = .milliseconds(500) }
      ) { server in
        let http = RawHTTP(port: server.port)
        let request = "GET /notes/a%20b.txt HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for start in ["GET /", request + "GET /"] {
          try await http.connected { inbound, outbound in
            try await outbound.write(ByteBuffer(string: start))
            // The path goes on until the server closes.
            let writing = Task {
              while !Task.isCancelled {
                try await outbound.write(ByteBuffer(string: "a"))
                try await Task.sleep(for: .milliseconds(20))
              }
            }
            var text = ""
            var iterator = inbound.makeAsyncIterator()
            while let part = try? await iterator.next(isolation: #isolation) {
              text += String(buffer: part)
            }
            writing.cancel()
            _ = await writing.result
            #expect(text.contains("a note") == start.hasPrefix(request))
            #expect(!text.contains(" 400 "), "what was sent is a head")
          }
        }
        #expect(try await http.send("GET", "/").status == 200)
      }
    }

    @Test("a client that waits for leave to send its body gets it, or its answer at once")
    func leave() async throws {
      try await withServer(site: Desk.site, pages: { [Page("index.html") { Desk() }] }) { server in
        let http = RawHTTP(port: server.port)
        func head(_ fields: String) -> String {
          "POST /live HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n\(fields)\r\n"
        }
        try await http.connected { inbound, outbound in
          try await outbound.write(ByteBuffer(string: head("Content-Length: 2\r\n")))
          var text = ""
          for try await part in inbound {
            let hadLeave = text.contains("100 Continue\r\n\r\n")
            text += String(buffer: part)
            if !hadLeave, text.contains("100 Continue\r\n\r\n") {
              try await outbound.write(ByteBuffer(string: "{}"))
            }
            if text.contains("HTTP/1.1 400") { break }
          }
          #expect(text.hasPrefix("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 400 "))
        }
        for (fields, status) in [
          ("Content-Length: 99999999\r\n", 413),
          ("Content-Length: 2\r\nOrigin: http://evil.example\r\n", 403),
        ] {
          let answer = try await Self.exchange(http, head(fields))
          #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(fields)")
        }
        let foreign = head("Content-Length: 2\r\n").replacing("localhost", with: "evil.example")
        #expect(try await Self.exchange(http, foreign).hasPrefix("HTTP/1.1 421 "))
      }
    }
  }
#endif

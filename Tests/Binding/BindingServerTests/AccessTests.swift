#if BindingServer
  import Binding
  import Synchronization
  import Testing

  @testable import BindingServer

  @Suite("Who gets into a page server")
  struct AccessTests {
    private static func withDesk(
      _ configure: (inout PageServer.Configuration) -> Void = { _ in },
      _ body: (RunningServer, RawHTTP) async throws -> Void
    ) async throws {
      try await withServer(
        site: Desk.site, pages: { [Page("index.html") { Desk() }] }, configure: configure
      ) { try await body($0, RawHTTP(port: $0.port)) }
    }

    @Test("a request for another host is refused: a page whose name leads here gets nothing")
    func rebinding() async throws {
      try await Self.withDesk { server, http async throws in
        let hosts = [
          "evil.example", "evil.example:\(server.port)", "127.0.0.1.evil.example", "localhost.evil",
          "localhost@evil.example",
        ]
        for host in hosts {
          for path in ["/", "/live?tab=a", "/binding.js"] {
            #expect(try await http.send("GET", path, ["Host": host]).status == 421, "\(host)")
          }
        }
        for host in ["localhost", "localhost:\(server.port)", "[::1]:\(server.port)", "LOCALHOST"] {
          #expect(try await http.send("GET", "/", ["Host": host]).status == 200, "\(host)")
        }
        #expect(try await http.send("GET", "/", ["Host": ""]).status >= 400)
        for method in ["GET", "POST"] {
          let twice = try await http.send(
            method, "/live", ["Host": "localhost\r\nHost: evil.example"])
          #expect(twice.status == 400, "of two hosts one may be another's")
        }
      }
    }

    @Test("a name that the server is given is its own")
    func names() async throws {
      try await Self.withDesk({ $0.hostNames = ["Museum.Example"] }) { _, http async throws in
        #expect(try await http.send("GET", "/", ["Host": "museum.example:80"]).status == 200)
      }
    }

    @Test("a request from this machine needs no token")
    func local() async throws {
      try await Self.withDesk { server, http async throws in
        #expect(server.address == "http://127.0.0.1:\(server.port)/")
        #expect(try await http.send("GET", "/").status == 200)
      }
    }

    @Test("a request from another machine is refused without the address with the token")
    func token() async throws {
      try await Self.withDesk({ $0.host = "0.0.0.0" }) { server, http async throws in
        for path in ["/", "/binding.js", "/live?tab=a", "/?token=", "/?token=0123"] {
          #expect(try await http.send("GET", path).status == 401, "\(path)")
        }
        #expect(try await http.post("{}").status == 401)
        let token = try #require(server.address.split(separator: "?").last)
        #expect(try await http.send("HEAD", "/?\(token)").status == 401, "HEAD leaves it as it is")
        let entry = try await http.send("GET", "/?\(token)")
        #expect(entry.status == 303 && entry.fields["location"] == "/")
        let cookie = try #require(entry.fields["set-cookie"])
        for part in ["HttpOnly", "SameSite=Lax", "Path=/"] { #expect(cookie.contains(part)) }
        let value = String(cookie.prefix { $0 != ";" })
        #expect(try await http.send("GET", "/", ["Cookie": "a=b; \(value)"]).status == 200)
        #expect(try await http.send("GET", "/?\(token)").status == 401, "the token holds once")
        let again = try await http.send("GET", "/?\(token)", ["Cookie": value])
        #expect(again.status == 303, "who is in needs none")
      }
    }

    @Test("the address with the token keeps its other parameters")
    func otherParts() async throws {
      try await Self.withDesk({ $0.needsToken = true }) { server, http async throws in
        let token = try #require(server.address.split(separator: "?").last)
        let entry = try await http.send("GET", "/?probe&\(token)&a=b%20c")
        #expect(entry.fields["location"] == "/?probe&a=b%20c")
      }
    }

    @Test("the oldest token expires when more tokens are made than are kept")
    func tokenCount() {
      let access = AccessControl(names: [], needsToken: true, key: nil)
      let tokens = (0..<20).map { _ in access.makeToken() }
      let entered = tokens.map { access.cookie(for: $0, port: 80) != nil }
      #expect(entered == (0..<20).map { $0 >= 4 })
    }

    @Test("a cookie that was changed, or signed by another server, is refused")
    func forgedCookies() async throws {
      try await Self.withDesk({ $0.needsToken = true }) { server, http async throws in
        func cookie(_ server: RunningServer) async throws -> String {
          let token = try #require(server.server.makeAddress().split(separator: "?").last)
          let entry = try await RawHTTP(port: server.port).send("GET", "/?\(token)")
          return String(try #require(entry.fields["set-cookie"]).prefix { $0 != ";" })
        }
        let good = try await cookie(server)
        #expect(try await http.send("GET", "/", ["Cookie": good]).status == 200)
        let parts = good.split(separator: ".").map(String.init)
        let forged = [
          "\(parts[0]).9999999999.\(parts[2])", "\(parts[0]).\(parts[1])", good + "0",
          "\(parts[0]).\(parts[1]).", String(good.dropLast()) + (good.hasSuffix("0") ? "1" : "0"),
          good.replacing("ambit-", with: "other-"), "",
        ]
        for forged in forged {
          #expect(try await http.send("GET", "/", ["Cookie": forged]).status == 401, "\(forged)")
        }
        try await Self.withDesk({ $0.needsToken = true }) { other, _ in
          let foreign = try await cookie(other)
            .replacing("ambit-\(other.port)", with: "ambit-\(server.port)")
          #expect(try await http.send("GET", "/", ["Cookie": foreign]).status == 401)
        }
      }
    }

    @Test("a cookie holds when the server is started again with its key")
    func keptKey() async throws {
      let key = Array(repeating: UInt8(7), count: 32)
      var cookie = ""
      var port = 0
      try await Self.withDesk({
        $0.needsToken = true
        $0.signingKey = key
      }) { server, http async throws in
        port = server.port
        let token = try #require(server.address.split(separator: "?").last)
        let entry = try await http.send("GET", "/?\(token)")
        cookie = String(try #require(entry.fields["set-cookie"]).prefix { $0 != ";" })
      }
      try await Self.withDesk({
        $0.needsToken = true
        $0.signingKey = key
        $0.port = port
      }) { _, http async throws in
        #expect(try await http.send("GET", "/", ["Cookie": cookie]).status == 200)
      }
    }

    @Test("a cookie holds as long as the program runs, whatever the clock says then")
    func clock() throws {
      final class Clock: Sendable {
        let now = Mutex(0.0)
      }
      for (key, holds) in [(nil, true), (Array(repeating: 7, count: 32), false)]
        as [([UInt8]?, Bool)]
      {
        // A machine that has no clock of its own starts in 1970.
        let clock = Clock()
        let access = AccessControl(names: [], needsToken: true, key: key) {
          clock.now.withLock { $0 }
        }
        let cookie = try #require(access.cookie(for: access.makeToken(), port: 80))
        let value = String(try #require(cookie.prefix { $0 != ";" }.split(separator: "=").last))
        #expect(access.isValid(value))
        clock.now.withLock { $0 = 1.8e9 }
        #expect(access.isValid(value) == holds, "a kept key's cookies end")
        #expect(!access.isValid(value + "0"))
      }
    }

    @Test("the address that leads in goes nowhere else")
    func openRedirect() async throws {
      try await Self.withDesk({ $0.needsToken = true }) { server, http async throws in
        for path in ["//evil.example", "/\\evil.example", "///evil.example/a"] {
          let token = try #require(server.server.makeAddress().split(separator: "?").last)
          let entry = try await http.send("GET", "\(path)?\(token)")
          let location = entry.fields["location"] ?? ""
          #expect(location.hasPrefix("/evil.example"), "\(path) leads to \(location)")
        }
      }
    }

    @Test(
      "a server needs a page, its file, a sufficient key, and pages that name only declared values")
    func refusedServers() async throws {
      func code(
        _ site: Site, _ files: [String], key: [UInt8]? = nil
      ) async -> PageServerError.Code? {
        do {
          try await withServer(
            site: site, pages: { files.map { Page($0) { Desk() } } },
            configure: { $0.signingKey = key }
          ) { _ in }
          return nil
        } catch {
          return (error as? PageServerError)?.code
        }
      }
      #expect(await code(Desk.site, []) == .noPages)
      #expect(await code(Desk.site, ["nowhere.html"]) == .missingPage)
      #expect(await code(Desk.site, ["index.html"], key: [1]) == .shortKey)
      let bad = Site.files(["index.html": Array("<p data-text=txet>".utf8)])
      #expect(await code(bad, ["index.html"]) == .pageProblems)
      let unnamed = Site.files([
        "index.html": Array("<html>".utf8), "b.html": Array("<html data-page=c>".utf8),
      ])
      #expect(await code(unnamed, ["index.html", "b.html"]) == .pageProblems)
    }

    @Test("a port in use is an error with that reason, and the other server goes on")
    func takenPort() async throws {
      try await withServer(
        site: Desk.site, pages: { [Page("index.html") { Desk() }] }
      ) { server async throws in
        let error = await #expect(throws: PageServerError.self) {
          try await RunningServer.start(
            site: Desk.site, pages: { [Page("index.html") { Desk() }] }, port: server.port)
        }
        #expect(error?.code == .cannotListen)
        #expect(error?.description.contains("port \(server.port) of 127.0.0.1") == true)
        let http = RawHTTP(port: server.port)
        #expect(try await http.send("GET", "/").status == 200)
      }
    }

    @Test("a page whose name tabs can't have is refused at the start, and not each of its tabs")
    func unfitNames() async throws {
      func problems(_ file: String, beside other: String? = nil) async -> [PageProblem]? {
        let name = file.split(separator: ".").first ?? ""
        let site = Site.files([
          file: Array("<html data-page=\"\(name)\">".utf8),
          "first.html": Array("<html>".utf8),
        ])
        do {
          try await withServer(
            site: site, pages: { ([other].compactMap { $0 } + [file]).map { Page($0) { Desk() } } }
          ) { _ in }
          return nil
        } catch {
          return (error as? PageServerError)?.problems
        }
      }
      let long = String(repeating: "p", count: 60) + ".html"
      for file in ["guide für.html", "a b.html", long] {
        #expect(await problems(file)?.first?.reason.contains("letters and digits") == true)
        #expect(await problems(file, beside: "first.html")?.count == 1)
      }
      #expect(await problems("guide-2.html", beside: "first.html") == nil)
      #expect(await problems(String(repeating: "p", count: 52) + ".html") == nil)
    }
  }
#endif

#if BindingServer
  import Binding
  import Foundation
  import NIOCore
  import StateFiles
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
          "localhost@evil.example", "127.0.0.1:\(server.port), evil.example", "localhost:80 evil",
          "localhost:80:80", "[::1]evil.example", "[::1", "localhost:a",
        ]
        for host in hosts {
          for path in ["/", "/live?tab=a", "/binding.js"] {
            #expect(try await http.send("GET", path, ["Host": host]).status == 421, "\(host)")
          }
        }
        for host in [
          "localhost", "localhost:", "localhost:\(server.port)", "[::1]", "[::1]:\(server.port)",
          "LOCALHOST",
        ] {
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

    @Test("the key of cookies is kept in a file of this user alone, and found again there")
    func keyFile() async throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
      defer { try? FileManager.default.removeItem(at: folder) }
      let path = folder.appending(path: "a/key").path
      // Servers that start together get the same.
      @Sendable func key() throws -> [UInt8] {
        while true {
          do throws(StateFileError) {
            return try AccessFile(path: path).key().bytes
          } catch {
            // A machine that is so slow that another one has the lock for two seconds.
            guard error.kind == .busy else { throw error }
          }
        }
      }
      let keys = try await withThrowingTaskGroup(of: [UInt8].self) { group in
        for _ in 0..<8 { group.addTask { try key() } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(Set(keys).count == 1 && keys[0].count == 32)
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
      #expect(mode as? Int == 0o600)

      var cookie = ""
      var port = 0
      for isFirst in [true, false] {
        try await Self.withDesk({
          $0.needsToken = true
          $0.keyFile = path
          $0.port = port
        }) { server, http async throws in
          port = server.port
          if isFirst {
            let token = try #require(server.address.split(separator: "?").last)
            let entry = try await http.send("GET", "/?\(token)")
            cookie = String(try #require(entry.fields["set-cookie"]).prefix { $0 != ";" })
          }
          #expect(try await http.send("GET", "/", ["Cookie": cookie]).status == 200)
        }
      }
    }

    @Test("a damaged file of the key is kept aside, with another key in its place")
    func damagedKeyFile() throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
      defer { try? FileManager.default.removeItem(at: folder) }
      let path = folder.appending(path: "key").path
      let first = try AccessFile(path: path).key()
      #expect(first.damagedPath == nil)
      try Data(contentsOf: URL(filePath: path)).prefix(50).write(to: URL(filePath: path))
      let second = try AccessFile(path: path).key()
      #expect(second.bytes != first.bytes && second.bytes.count == AccessRecord.keyByteCount)
      #expect(FileManager.default.fileExists(atPath: try #require(second.damagedPath)))
      let third = try AccessFile(path: path).key()
      #expect(third.bytes == second.bytes && third.damagedPath == nil)
    }

    @Test("a file that can't have the key is an error, and isn't changed")
    func foreignKeyFile() async throws {
      let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID())").path
      defer { try? FileManager.default.removeItem(atPath: path) }
      try "a letter".write(toFile: path, atomically: true, encoding: .utf8)
      let error = await #expect(throws: PageServerError.self) {
        try await Self.withDesk({ $0.keyFile = path }) { _, _ in }
      }
      #expect(error?.code == .badKeyFile)
      #expect(try String(contentsOfFile: path, encoding: .utf8) == "a letter")
    }

    @Test("a token of one user lets no other user in, and remains for its own")
    func tokenOfAUser() {
      let access = AccessControl(names: [], needsToken: true, key: nil)
      let token = access.makeToken(onlyFor: 1_000)
      #expect(access.cookie(for: token, port: 80) == nil, "an unknown user may be any")
      #expect(access.cookie(for: token, port: 80, user: { 1_001 }) == nil)
      #expect(access.cookie(for: token, port: 80, user: { 1_000 }) != nil)
      #expect(access.cookie(for: token, port: 80, user: { 1_000 }) == nil, "it holds once")
    }

    @Test(
      "the address for this user's browser lets this user in, also where all addresses are listened on"
    )
    func ownAddress() async throws {
      for host in ["127.0.0.1", "0.0.0.0"] {
        try await Self.withDesk({
          $0.host = host
          $0.needsToken = true
        }) { server, http async throws in
          let address = server.server.makeOwnAddress()
          #expect(address.hasPrefix("http://127.0.0.1:\(server.port)/?token="))
          let token = try #require(address.split(separator: "?").last)
          #expect(try await http.send("GET", "/?\(token)").status == 303)
        }
      }
    }

    @Test("the user of a connection is the one whose socket is connected to the server's")
    func users() throws {
      typealias Endpoint = ConnectionUser.Endpoint
      func endpoint(_ address: String, _ port: Int) throws -> Endpoint {
        guard let found = Endpoint(try SocketAddress(ipAddress: address, port: port)) else {
          throw CocoaError(.formatting)
        }
        return found
      }
      let head =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
      func line(_ local: String, _ remote: String, _ state: String, _ user: Int, _ inode: Int)
        -> String
      {
        "   0: \(local) \(remote) \(state) 00000000:00000000 00:00000000 00000000 "
          + "\(user)        0 \(inode) 1 0000000000000000 20 4 30 10 -1\n"
      }
      // A word is a number of this machine's byte order.
      let loopback = Int(littleEndian: 1) == 1 ? "0100007F" : "7F000001"
      let mapped =
        (Int(littleEndian: 1) == 1 ? "0000000000000000FFFF0000" : "00000000000000000000FFFF")
      let (client, server) = (try endpoint("127.0.0.1", 0xC001), try endpoint("127.0.0.1", 8_080))
      func user(_ lines: String...) -> UInt32? {
        ConnectionUser.user(of: client, to: server, inTable: head + lines.joined())
      }
      let own = line("\(loopback):1F90", "\(loopback):C001", "01", 7, 11)
      let theirs = line("\(loopback):C001", "\(loopback):1F90", "01", 1_000, 12)
      #expect(user(own, theirs) == 1_000)
      #expect(user(own) == nil, "the server's socket isn't the client's")
      #expect(user(line("\(loopback):C002", "\(loopback):1F90", "01", 1_000, 12)) == nil)
      #expect(user(line("\(loopback):C001", "\(loopback):1F91", "01", 1_000, 12)) == nil)
      #expect(user(line("\(loopback):C001", "\(loopback):1F90", "06", 0, 0)) == nil)
      #expect(
        user(line("\(loopback):C001", "\(loopback):1F90", "01", 0, 0)) == nil,
        "a socket that no process has any more is nobody's, and not root's")
      #expect(
        user(line("\(mapped)\(loopback):C001", "\(mapped)\(loopback):1F90", "01", 5, 12)) == 5)
      #expect(user("", "nonsense\n") == nil)
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
        #expect(error?.code == .cannotListen && error?.systemError == EADDRINUSE)
        #expect(error?.description.contains("port \(server.port) of 127.0.0.1") == true)
        let http = RawHTTP(port: server.port)
        #expect(try await http.send("GET", "/").status == 200)
      }
    }

    @Test(arguments: ["203.0.113.9", "nowhere.invalid"])
    func `An address that isn't this machine's is an error with that reason`(host: String) async {
      let error = await #expect(throws: PageServerError.self) {
        var configuration = PageServer.Configuration()
        (configuration.host, configuration.port) = (host, 0)
        let server = try await PageServer(
          site: Desk.site, pages: [Page("index.html") { Desk() }], configuration: configuration)
        try await server.run { _ in }
      }
      #expect(error?.code == .cannotListen && error?.systemError == EADDRNOTAVAIL)
      #expect(error?.description.hasSuffix("this address") == (host != "nowhere.invalid"))
    }

    @Test("a number that is no port is an error, and no other port is taken")
    func noPort() async throws {
      for port in [-1, 65_536, 80_800] {
        let error = await #expect(throws: PageServerError.self) {
          try await RunningServer.start(
            site: Desk.site, pages: { [Page("index.html") { Desk() }] }, port: port)
        }
        #expect(error?.code == .cannotListen)
        #expect(error?.description.contains("port \(port) of 127.0.0.1") == true)
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

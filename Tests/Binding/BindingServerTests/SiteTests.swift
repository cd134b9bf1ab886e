#if BindingServer
  import BindingServer
  import Foundation
  import NIOCore
  import Testing

  @Suite("The files of a page server")
  struct SiteTests {
    /// A folder with files in it and beside it, and links and a pipe.
    private static func withFolder(_ body: (URL) async throws -> Void) async throws {
      let files = FileManager.default
      let outside = files.temporaryDirectory.appending(path: "site-\(UUID().uuidString)")
      let root = outside.appending(path: "root")
      try files.createDirectory(
        at: root.appending(path: "sub"), withIntermediateDirectories: true)
      defer { try? files.removeItem(at: outside) }
      try Data(Desk.html("Folder").utf8).write(to: root.appending(path: "index.html"))
      try Data("in".utf8).write(to: root.appending(path: "sub/a.txt"))
      try Data("hidden".utf8).write(to: root.appending(path: ".hidden"))
      try Data("secret".utf8).write(to: outside.appending(path: "secret.txt"))
      try Data("secret".utf8).write(to: outside.appending(path: "root-secret.txt"))
      try files.createSymbolicLink(
        at: root.appending(path: "out.txt"),
        withDestinationURL: outside.appending(path: "secret.txt"))
      try files.createSymbolicLink(
        at: root.appending(path: "up"), withDestinationURL: outside)
      try files.createSymbolicLink(
        at: root.appending(path: "within.txt"),
        withDestinationURL: root.appending(path: "sub/a.txt"))
      mkfifo(root.appending(path: "pipe").path, 0o600)
      try await body(root)
    }

    @Test("files are found in a folder, and change as they do")
    func folder() async throws {
      try await Self.withFolder { root in
        try await withServer(
          site: .folder(root.path), pages: { [Page("index.html") { Desk() }] }
        ) { server in
          let http = RawHTTP(port: server.port)
          #expect(try await http.send("GET", "/").body.contains("<title>Folder"))
          #expect(try await http.send("GET", "/sub/a.txt").body == "in")
          #expect(try await http.send("GET", "/within.txt").body == "in")
          try Data("changed".utf8).write(to: root.appending(path: "sub/a.txt"))
          #expect(try await http.send("GET", "/sub/a.txt").body == "changed")
        }
      }
    }

    @Test("files are refused with the status and the reason that the site gives")
    func refused() async throws {
      let locked = Site { path throws(Site.Refusal) in
        switch path {
        case "locked": throw .init(status: 403, reason: "It is locked.")
        case "late": throw .init(status: 504, reason: "It is late.")
        default: return nil
        }
      }
      try await withServer(
        site: locked.or(Desk.site), pages: { [Page("index.html") { Desk() }] }
      ) { server in
        let http = RawHTTP(port: server.port)
        let answer = try await http.send("GET", "/locked")
        #expect(answer.status == 403 && answer.body == "It is locked.\n")
        #expect(answer.fields["cache-control"] == "no-store")
        #expect(try await http.send("GET", "/late").status == 504)
        #expect(try await http.send("GET", "/none").status == 404)
        #expect(try await http.send("GET", "/notes/a%20b.txt").body == "a note", "of the other")
      }
      let error = await #expect(throws: PageServerError.self, "a page is there") {
        try await PageServer(site: locked, pages: [Page("locked") { Desk() }])
      }
      #expect(error?.code == .missingPage)
    }

    @Test("files outside of the folder are not found, whatever the path")
    func traversal() async throws {
      try await Self.withFolder { root in
        try await withServer(
          site: .folder(root.path), pages: { [Page("index.html") { Desk() }] }
        ) { server in
          let http = RawHTTP(port: server.port)
          let paths = [
            "/../secret.txt", "/sub/../../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt",
            "/%2e%2e%2fsecret.txt", "/sub%2fa.txt", "/..\\secret.txt", "/..%5csecret.txt",
            "/out.txt", "/up/secret.txt", "/.hidden", "/sub", "/sub/", "//etc/passwd", "/pipe",
            "/a.txt%00.html", "/%00", "/%", "/%zz", "/%ff", "/../root-secret.txt", "/./index.html",
            "/index.html/", "/" + String(repeating: "a/", count: 3_000), "index.html", "*",
            "http://127.0.0.1/../secret.txt",
          ]
          for path in paths {
            let answer = try await http.send("GET", path)
            #expect([400, 404].contains(answer.status), "\(path.prefix(40)): \(answer.status)")
            #expect(!answer.body.contains("secret"), "\(path.prefix(40))")
          }
        }
      }
    }

    @Test("files have a type, a version, and headers that restrict browsers")
    func fields() async throws {
      try await withServer(
        site: Desk.site,
        pages: {
          var other = Page("other.html") { Desk() }
          other.allowsWebAssembly = true
          return [Page("index.html") { Desk() }, other]
        }
      ) { server in
        let http = RawHTTP(port: server.port)
        let page = try await http.send("GET", "/")
        #expect(page.fields["content-type"] == "text/html; charset=utf-8")
        #expect(page.fields["x-content-type-options"] == "nosniff")
        #expect(page.fields["referrer-policy"] == "no-referrer")
        let policy = page.fields["content-security-policy"] ?? ""
        #expect(policy.contains("script-src 'self';") && policy.contains("frame-ancestors 'none'"))
        #expect(!policy.contains("unsafe"))
        let other = try await http.send("GET", "/other.html")
        let otherPolicy = other.fields["content-security-policy"] ?? ""
        #expect(otherPolicy.contains("script-src 'self' 'wasm-unsafe-eval';"))
        let version = try #require(page.fields["etag"])
        let same = try await http.send("GET", "/", ["If-None-Match": version])
        #expect(same.status == 304 && same.body.isEmpty)
        let changed = try await http.send("GET", "/", ["If-None-Match": "\"other\""])
        #expect(changed.status == 200)
        let head = try await http.send("HEAD", "/")
        #expect(head.status == 200 && head.body.isEmpty)
        #expect(head.fields["content-length"] == page.fields["content-length"])
        #expect(try await http.send("GET", "/notes/a%20b.txt").body == "a note")
        let script = try await http.send("GET", "/binding.js")
        #expect(script.fields["content-type"] == "text/javascript; charset=utf-8")
        #expect(script.body.contains("EventSource") && script.body.utf8.count <= 10_000)
        #expect(try await http.send("GET", "/binding.css").body.contains("data-live"))
      }
    }

    @Test(
      "large files are sent as they are read, and don't keep the server from ending",
      .timeLimit(.minutes(5)))
    func large() async throws {
      let block = (0..<250_007).map { UInt8(truncatingIfNeeded: $0 / 3 ^ $0) }
      var bytes: [UInt8] = []
      for _ in 0..<48 { bytes += block }
      let server = try await RunningServer.start(
        site: .files(["large": bytes]).or(Desk.site), pages: { [Page("index.html") { Desk() }] },
        configure: {
          $0.times.shutdown = .milliseconds(300)
          $0.times.write = .seconds(3_600)
        })
      let http = RawHTTP(port: server.port)
      try await http.connected { inbound, outbound in
        let head = "GET /large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        try await outbound.write(ByteBuffer(string: head))
        var received: [UInt8] = []
        for try await part in inbound { received += part.readableBytesView }
        #expect(received.suffix(bytes.count) == bytes[...])
      }
      let client = try StalledClient(
        "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n", port: server.port)
      // A connection that is idle is closed at once; this one is being answered.
      try await Task.sleep(for: .milliseconds(200))
      #expect(try client.isOpenAtServer)
      try await server.stop()
    }

    @Test("transfers of files that the client doesn't read end at their time limit")
    func unread() async throws {
      let bytes = [UInt8](repeating: 7, count: 12_000_000)
      try await withServer(
        site: .files(["large": bytes]).or(Desk.site), pages: { [Page("index.html") { Desk() }] },
        configure: { $0.times.write = .milliseconds(300) }
      ) { server in
        // Other work keeps the event loops busy; they must not buffer the whole file.
        let loops = BusyLoops()
        defer { loops.stop() }
        let client = try StalledClient(
          "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n", port: server.port)
        #expect(try await client.isClosed())
      }
    }

    @Test("files may come from a function, and from several sites in turn")
    func functions() async throws {
      let computed = Site { path in
        path == "image" ? Site.Resource([1, 2, 3], mediaType: "image/png", version: "v") : nil
      }
      try await withServer(
        site: computed.or(Desk.site), pages: { [Page("index.html") { Desk() }] }
      ) { server in
        let http = RawHTTP(port: server.port)
        let image = try await http.send("GET", "/image?size=3")
        #expect(image.fields["content-type"] == "image/png" && image.fields["etag"] == "\"v\"")
        #expect(try await http.send("GET", "/index.html").status == 200)
        #expect(try await http.send("GET", "/nothing").status == 404)
      }
    }
  }
#endif

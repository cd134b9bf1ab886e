#if BindingServer
  import Foundation
  import PageProgram
  import Synchronization
  import Testing
  import WebDriver

  /// The program as its users run it, in a browser.
  @Suite("The photo-search program", .enabled(if: Browser.isExpected))
  struct PhotoSearchPageTests {
    /// A folder with 30 pictures of the sea and 5 of hills.
    private static func makeFolder() throws -> TestFolder {
      let files = try TestFolder()
      for number in 1...30 {
        let picture = TestPicture.png(width: 60, height: 60, red: UInt8(number * 8))
        try files.write(picture, to: "Sea/Wave \(100 + number).png")
      }
      for number in 1...5 { try files.write(TestPicture.png(), to: "Hill \(number).png") }
      return files
    }

    /// Starts the program on a free port, and ends it afterwards.
    private static func withProgram(
      _ body: (Browser, PageProgram, TestFolder) async throws -> Void
    ) async throws {
      let files = try makeFolder()
      let program = try PageProgram("photo-search", ["--folder", files.path])
      defer { #expect(program.stop() == 0, "it ends when it is asked to") }
      try await withBrowser { browser in
        try await browser.navigate(to: program.address + "?probe")
        try await browser.wait(until: "document.documentElement.dataset.live == 'on'")
        try await body(browser, program, files)
        #expect(try await browser.consoleErrors() == [])
      }
    }

    /// Types a text, and searches as soon as that is possible.
    private static func search(_ text: String, _ browser: Browser) async throws {
      // Empties the field first: the button may still be enabled for the text before, and be disabled
      // once more while this one is typed, just when Enter is pressed.
      try await browser.run("document.querySelector('#text').select()")
      try await browser.perform(.keyboard().press(.backspace))
      try await browser.wait(until: "document.querySelector('form button').disabled")
      try await browser.perform(.keyboard().type(text))
      try await browser.wait(until: "!document.querySelector('form button').disabled")
      try await browser.perform(.keyboard().press(.enter))
    }

    private static func isOnTop(_ screen: String) -> String {
      """
      document.body.dataset.screen == '\(screen)' && !document.querySelector('main.\(screen)').hidden
      """
    }

    private static let title = "document.querySelector('.cf-title')?.textContent"
    private static let subtitle = "document.querySelector('.cf-subtitle')?.textContent"

    @Test("the page finds photographs, shows them as covers and singly, with the keyboard alone")
    func keyboard() async throws {
      try await Self.withProgram { browser, _, _ in
        let button = try await browser.find("form button")
        #expect(try await browser.isEnabled(button) == false)
        try await browser.perform(.keyboard().type("wave"))
        try await browser.wait(until: "!document.querySelector('form button').disabled")
        try await browser.perform(.keyboard().press(.enter))
        try await browser.wait(until: Self.isOnTop("results"))
        #expect(try await browser.text(of: browser.find(".results h1")) == "wave")
        try await browser.wait(until: "\(Self.title) == 'Wave 101'")
        // The covers have the focus.
        try await browser.wait(until: "document.activeElement.matches('[role=listbox]')")
        try await browser.perform(.keyboard().press(.right))
        try await browser.wait(until: "\(Self.title) == 'Wave 102' && __cf.mode == 'rest'")
        try await browser.wait(
          until: "__cf.visible.every(({ element }) => element.matches('.cf-pictured'))"
        )
        try await browser.perform(.keyboard().press(.space))
        try await browser.wait(until: Self.isOnTop("photo"))
        try await browser.wait(
          until: "document.querySelector('.photo img').naturalWidth == 60")
        #expect(try await browser.text(of: browser.find(".photo h1")) == "Wave 102")
        try await browser.perform(.keyboard().press(.escape))
        try await browser.wait(until: Self.isOnTop("results"))
        try await browser.wait(until: "document.activeElement.matches('[role=listbox]')")
        #expect(try await browser.script("return \(Self.title)") == "Wave 102")
        try await browser.perform(.keyboard().press(.escape))
        try await browser.wait(until: Self.isOnTop("search"))
        try await browser.wait(until: "document.activeElement.id == 'text'")
        #expect(try await browser.property("value", of: browser.find("#text")) == "wave")
      }
    }

    @Test("the page keeps recent searches, and Back of the browser leads from screen to screen")
    func recentsAndHistory() async throws {
      try await Self.withProgram { browser, _, _ in
        for text in ["wave", "hill", "nothing"] {
          try await Self.search(text, browser)
          if text == "nothing" { break }
          try await browser.wait(until: Self.isOnTop("results"))
          try await browser.goBack()
          try await browser.wait(until: Self.isOnTop("search"))
        }
        try await browser.wait(
          until: "document.querySelector('form [role=status]').textContent.includes('nothing')")
        let terms: [String] = try await browser.script(
          "return [...document.querySelectorAll('.recent .term')].map((each) => each.textContent)")
        #expect(terms == ["hill", "wave"])
        try await browser.click(browser.find(".recent li:nth-child(2) button"))
        try await browser.wait(until: "\(Self.isOnTop("results")) && \(Self.title) == 'Wave 101'")
        try await browser.perform(.keyboard().press(.space))
        try await browser.wait(until: Self.isOnTop("photo"))
        try await browser.goBack()
        try await browser.wait(until: Self.isOnTop("results"))
        try await browser.click(browser.find(".results .back"))
        try await browser.wait(until: Self.isOnTop("search"))
        // Forward doesn't reopen a closed screen, and the page is still there.
        try await browser.run("history.forward()")
        try await browser.wait(until: "history.state == 0")
        #expect(try await browser.script("return \(Self.isOnTop("search"))"))
      }
    }

    @Test("the page is legible to a screen reader on each screen")
    func accessibility() async throws {
      try await Self.withProgram { browser, _, _ in
        var tree = try await browser.accessibilityTree()
        #expect(tree.first("heading", "Photo search") != nil)
        let field = try #require(tree.first("searchbox", "Photographs of"), "\(tree.outline)")
        #expect(field.properties["focused"] == "true")
        #expect(tree.first("button", "Search")?.properties["disabled"] == "true")
        #expect(tree.first("button", "Back") == nil, "what is hidden isn't read")
        try await Self.search("wave", browser)
        try await browser.wait(until: "\(Self.title) == 'Wave 101'")
        tree = try await browser.accessibilityTree()
        #expect(tree.first("heading", "wave") != nil && tree.first("button", "Back") != nil)
        let covers = try #require(tree.first("listbox", "Photographs"), "\(tree.outline)")
        #expect(covers.properties["focused"] == "true")
        let front = covers.all.first { $0.role == "option" && $0.name.contains("Wave 101") }
        #expect(front != nil, "\(covers.outline)")
        try await browser.perform(.keyboard().press(.space))
        try await browser.wait(until: Self.isOnTop("photo"))
        tree = try await browser.accessibilityTree()
        #expect(tree.first("heading", "Wave 101") != nil, "\(tree.outline)")
        #expect((tree.first("image", "Wave 101") ?? tree.first("img", "Wave 101")) != nil)
      }
    }

    @Test("the page starts with the search when the program is restarted, and keeps the typed text")
    func restarted() async throws {
      let files = try Self.makeFolder()
      let first = try PageProgram("photo-search", ["--folder", files.path])
      try await withBrowser { browser in
        try await browser.navigate(to: first.address)
        try await browser.wait(until: "document.documentElement.dataset.live == 'on'")
        try await Self.search("hill", browser)
        try await browser.wait(until: Self.isOnTop("results"))
        first.stop()
        try await browser.wait(until: "document.documentElement.dataset.live == 'off'")
        let second = try PageProgram(
          "photo-search", port: first.port, ["--folder", files.path])
        defer { second.stop() }
        try await browser.wait(until: Self.isOnTop("search"))
        try await browser.wait(until: "document.querySelector('#text').value == 'hill'")
        try await browser.wait(until: "!document.querySelector('form button').disabled")
        try await browser.click(browser.find("form button"))
        try await browser.wait(until: Self.isOnTop("results"))
      }
    }

    @Test("the page shows photographs of Flickr, and the reason if there are none")
    func flickr() async throws {
      let picture = TestPicture.png(width: 40, height: 40)
      let server = try StubFlickr { target in
        if target.contains("text=nothing") { return .whole(StubFlickr.invalidKey) }
        if target.contains("getFavorites") { return .whole(StubFlickr.favorites) }
        if target.contains("getInfo") { return .whole(StubFlickr.comments) }
        if target.contains("method=") {
          return .whole(StubFlickr.found(0..<12, page: 1, pages: 1, total: 12))
        }
        return target.contains("/53_") ? .closed : .whole(picture)
      }
      defer { server.stop() }
      let program = try PageProgram(
        "photo-search",
        ["--flickr", "--api", server.address + "services/rest/", "--pictures", server.address],
        environment: ["FLICKR_API_KEY": "secret-key"])
      defer { #expect(program.stop() == 0) }
      try await withBrowser { browser in
        try await browser.navigate(to: program.address + "?probe")
        try await browser.wait(until: "document.documentElement.dataset.live == 'on'")
        try await Self.search("nothing", browser)
        try await browser.wait(
          until: "document.querySelector('form .error').textContent.includes('Invalid API Key')")
        try await Self.search("tern", browser)
        try await browser.wait(until: "\(Self.title) == 'Tern 0'")
        try await browser.wait(
          until: "document.querySelectorAll('.cf-pictured').length > 6")
        // The second calls are for the photographs whose covers are visible: all but the last one.
        try await browser.wait(until: "\(Self.subtitle)?.endsWith('12 favourites, 1 comment')")
        #expect(!server.targets.contains { $0.hasSuffix("photo_id=511") })
        try await browser.perform(.keyboard().press(.end))
        try await browser.wait(until: "\(Self.title) == 'Tern 11'")
        try await browser.wait(until: "\(Self.subtitle)?.endsWith('12 favourites, 1 comment')")
        let asked = server.targets.filter { $0.contains("getFavorites") }
        #expect(asked.count == Set(asked).count, "each is asked for once")
        let loaded: [String] = try await browser.script(
          "return performance.getEntriesByType('resource').map(({ name }) => new URL(name).origin)")
        #expect(Set(loaded).count == 1, "nothing is loaded from elsewhere")
        let page: String = try await browser.script("return document.documentElement.outerHTML")
        #expect(!page.contains("secret-key"))
      }
      #expect(server.targets.contains { $0.contains("api_key=secret-key") })
      let broken = try await program.request("GET", "/flickr/65535/53_a1234563_z.jpg")
      #expect(broken.status == 502)
      #expect(try await program.request("GET", "/flickr/..%2f/51_a_z.jpg").status == 404)
      #expect(try await program.request("GET", "/flickr/65535/51_a_q.jpg").status == 404)
    }

    @Test
    func
      `The page shows why photographs of Flickr have no counts, and gets them when Flickr is back`()
      async throws
    {
      let isBack = Atomic(false)
      let server = try StubFlickr { target in
        if target.contains("flickr.photos.search") {
          return .whole(StubFlickr.found(0..<3, page: 1, pages: 1, total: 3))
        }
        guard target.contains("method=") else {
          return .whole(TestPicture.png(width: 40, height: 40))
        }
        guard isBack.load(ordering: .relaxed) else { return .whole(status: 429, []) }
        return .whole(target.contains("getInfo") ? StubFlickr.comments : StubFlickr.favorites)
      }
      defer { server.stop() }
      let program = try PageProgram(
        "photo-search",
        ["--flickr", "--api", server.address + "services/rest/", "--pictures", server.address],
        environment: ["FLICKR_API_KEY": "secret-key"])
      defer { #expect(program.stop() == 0) }
      try await withBrowser { browser in
        try await browser.navigate(to: program.address)
        try await browser.wait(until: "document.documentElement.dataset.live == 'on'")
        try await Self.search("tern", browser)
        try await browser.wait(
          until: "\(Self.subtitle) == 'Ada Weir · the service has had too many requests'")
        isBack.store(true, ordering: .relaxed)
        try await browser.wait(until: "\(Self.subtitle) == 'Ada Weir · 12 favourites, 1 comment'")
      }
    }

    @Test(
      "the page's server sends pictures of its folder, and refuses all else with the right status")
    func requests() async throws {
      let (files, outside) = (try Self.makeFolder(), try TestFolder())
      try outside.write(TestPicture.png(), to: "secret.png")
      try files.link("out.png", to: outside.path + "/secret.png")
      try files.link("others", to: outside.path)
      try files.write(TestPicture.header(width: 60_000, height: 60_000), to: "bomb.png")
      try files.write(TestPicture.png(), to: "locked.png")
      try files.write(Array("<script>1</script>".utf8), to: "page.html")
      try files.write(Array("<script>1</script>".utf8), to: "page.png")
      chmod(files.path + "/locked.png", 0)
      // Root may read every file, so the program is started without those capabilities.
      let isRoot = getuid() == 0
      let prefix =
        isRoot ? ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] : []
      let program = try PageProgram("photo-search", ["--folder", files.path], prefix: prefix)
      defer { program.stop() }
      let picture = try await program.request("GET", "/pictures/Sea/Wave%20101.png")
      #expect(picture.status == 200 && picture.fields["content-type"] == "image/png")
      #expect(picture.fields["x-content-type-options"] == "nosniff")
      #expect(picture.body == TestPicture.png(width: 60, height: 60, red: 8))
      let same = ["If-None-Match": picture.fields["etag"] ?? ""]
      #expect(try await program.request("GET", "/pictures/Sea/Wave%20101.png", same).status == 304)
      for folder in ["pictures", "thumbnails"] {
        for (name, status) in [
          ("Hill%201.png", 200), ("locked.png", 403), ("bomb.png", 403), ("page.png", 404),
          ("page.html", 404), ("out.png", 404), ("others/secret.png", 404), ("none.png", 404),
          ("", 404), ("../Package.swift", 404), ("%2e%2e/secret.png", 404),
          ("Sea%2fWave%20101.png", 404), ("Sea/../Hill%201.png", 404), ("Sea//Wave%20101.png", 404),
          ("Hill%201.png%00", 404), ("%ff.png", 404), ("/etc/passwd", 404),
        ] {
          let answer = try await program.request("GET", "/\(folder)/\(name)")
          #expect(answer.status == status, "/\(folder)/\(name)")
          if status != 200 {
            #expect(answer.fields["content-type"]?.hasPrefix("text/plain") == true)
          }
        }
      }
      let page = try await program.request("GET", "/")
      let policy = try #require(page.fields["content-security-policy"])
      #expect(policy.contains("script-src 'self' 'wasm-unsafe-eval';"))
      #expect(!policy.contains("unsafe-inline") && !policy.contains("'unsafe-eval'"))
      for method in ["POST", "PUT", "DELETE"] {
        #expect(try await program.request(method, "/pictures/Hill%201.png").status == 405)
      }
      let forged = ["Origin": "http://evil.example"]
      #expect(try await program.request("POST", "/live", forged, body: [1]).status == 403)
      let long = [UInt8](repeating: 0x20, count: 300_000)
      #expect(try await program.request("POST", "/live", body: long).status == 413)
    }
  }
#endif

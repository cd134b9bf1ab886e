#if BindingServer
  import PageProgram
  import Testing
  import WebDriver

  /// The program as its users run it, in a browser.
  @Suite("The instant-search program", .enabled(if: Browser.isExpected))
  struct InstantSearchPageTests {
    /// Starts the program on a free port, and ends it afterwards.
    private static func withProgram(
      _ arguments: String..., body: (Browser, PageProgram) async throws -> Void
    ) async throws {
      let program = try PageProgram("instant-search", ["--latency", "0.05"] + arguments)
      defer { #expect(program.stop() == 0, "it ends when it is asked to") }
      try await withBrowser { browser in
        try await browser.navigate(to: program.address)
        try await browser.wait(until: "document.documentElement.dataset.live == 'on'")
        try await body(browser, program)
        #expect(try await browser.consoleErrors() == [])
      }
    }

    /// Changes the text at once: between two keys a busy machine may take longer than the search waits, which
    /// searches for a part of the text then.
    private static func set(_ text: String, _ browser: Browser) async throws {
      try await browser.run(
        """
        const field = document.querySelector('#text')
        field.value = arguments[0]
        field.dispatchEvent(new Event('input'))
        """, text)
    }

    private static let posts = "document.querySelectorAll('li').length"
    private static let summary = "document.querySelector('#summary').textContent"

    @Test("the page finds posts while the user types, with the keyboard alone")
    func searching() async throws {
      try await Self.withProgram { browser, _ in
        try await browser.perform(.keyboard().type("bre").press(.tab))
        try await browser.wait(until: "document.activeElement.matches('.card button')")
        try await browser.perform(.keyboard().press(.enter))
        // The text typed before is searched for.
        try await browser.wait(until: "\(Self.summary) == '3 posts' && \(Self.posts) == 3")
        try await browser.run("document.querySelector('#text').focus()")
        try await browser.perform(.keyboard().type("ad rye"))
        try await browser.wait(until: "\(Self.summary) == 'One post' && \(Self.posts) == 1")
        try await browser.perform(.keyboard().type(" zebra"))
        try await browser.wait(
          until: "\(Self.summary) == 'Nobody has written of “bread rye zebra”.'")
        #expect(try await browser.script("return \(Self.posts)") == 0)
      }
    }

    @Test("the page loads the pictures of visible rows, each once")
    func pictures() async throws {
      try await Self.withProgram { browser, _ in
        try await browser.setSize(width: 390, height: 500)
        try await browser.click(browser.find(".card button"))
        try await browser.wait(until: "!document.querySelector('#summary').closest('[hidden]')")
        try await Self.set("the", browser)
        try await browser.wait(until: "\(Self.posts) > 40")
        try await browser.wait(
          until:
            "[...document.querySelectorAll('img')].slice(0, 4).every((each) => each.naturalWidth)")
        let loaded: [String] = try await browser.script(
          """
          return performance.getEntriesByType('resource').map(({ name }) => name)
            .filter((name) => name.includes('pictures/'))
          """)
        #expect(Set(loaded).count == loaded.count && loaded.count <= 10, "\(loaded)")
      }
    }

    @Test("the page shows that access is denied, and that a search has failed, and goes on")
    func failures() async throws {
      try await Self.withProgram("--deny") { browser, _ in
        try await browser.click(browser.find(".card button"))
        try await browser.wait(
          until: "document.querySelector('.card .error').textContent.includes('said no')")
        try await browser.wait(until: "!document.querySelector('.card button').disabled")
      }
      try await Self.withProgram("--fail", "2") { browser, _ in
        try await browser.click(browser.find(".card button"))
        try await Self.set("river", browser)
        try await browser.wait(until: "\(Self.summary).endsWith('posts')")
        try await Self.set("rivers", browser)
        try await browser.wait(
          until: "document.querySelector('.failure .error').textContent.includes('not be searched')"
        )
        try await browser.click(browser.find(".failure button"))
        try await browser.wait(until: "\(Self.summary).startsWith('Nobody')")
        #expect(try await browser.isDisplayed(browser.find(".failure")) == false)
      }
    }

    @Test("the page keeps the typed text when the program is restarted")
    func restarted() async throws {
      let first = try PageProgram("instant-search", ["--latency", "0.05"])
      try await withBrowser { browser in
        try await browser.navigate(to: first.address)
        try await browser.wait(until: "document.documentElement.dataset.live == 'on'")
        try await browser.click(browser.find(".card button"))
        try await browser.type("goat", into: browser.find("#text"))
        try await browser.wait(until: "\(Self.posts) > 2")
        first.stop()
        try await browser.wait(until: "document.documentElement.dataset.live == 'off'")
        try await browser.type("s", into: browser.find("#text"))
        let second = try PageProgram("instant-search", port: first.port, ["--latency", "0.05"])
        defer { second.stop() }
        try await browser.wait(until: "document.documentElement.dataset.live == 'on'")
        // The new one knows of no permission.
        try await browser.wait(until: "!document.querySelector('.card').hidden")
        #expect(try await browser.property("value", of: browser.find("#text")) == "goats")
        try await browser.click(browser.find(".card button"))
        try await browser.wait(until: "\(Self.posts) == 2")
      }
    }

    @Test("the page is legible to a screen reader")
    func accessibility() async throws {
      try await Self.withProgram { browser, _ in
        var tree = try await browser.accessibilityTree()
        #expect(tree.first("heading", "Village posts") != nil)
        let field = try #require(tree.first("searchbox", "Search"), "\(tree.outline)")
        #expect(field.properties["focused"] == "true")
        #expect(tree.first("button", "Ask for access") != nil)
        #expect(tree.first("list", "Posts") == nil, "what is hidden isn't read")
        try await browser.click(browser.find(".card button"))
        try await browser.type("ladder", into: browser.find("#text"))
        try await browser.wait(until: "\(Self.posts) > 2")
        tree = try await browser.accessibilityTree()
        let list = try #require(tree.first("list", "Posts"), "\(tree.outline)")
        #expect(list.all.count { $0.role == "listitem" } > 2)
        #expect(list.first("img") == nil && list.first("image") == nil, "pictures say nothing")
        #expect(tree.first("status")?.outline.contains("posts") == true, "\(tree.outline)")
      }
    }

    @Test("the page's server refuses missing files and foreign requests")
    func requests() async throws {
      let program = try PageProgram("instant-search", ["--latency", "0"])
      defer { program.stop() }
      let picture = try await program.request("GET", "/pictures/adaweir.svg")
      #expect(picture.status == 200 && picture.fields["content-type"] == "image/svg+xml")
      #expect(picture.fields["x-content-type-options"] == "nosniff")
      let policy = try #require(picture.fields["content-security-policy"])
      #expect(policy.contains("script-src 'self';") && !policy.contains("unsafe"))
      let page = try await program.request("GET", "/")
      #expect(page.status == 200 && page.fields["content-security-policy"] == policy)
      for target in [
        "/pictures/nobody.svg", "/pictures/", "/pictures", "/posts.tsv", "/pictures/../posts.tsv",
        "/pictures/%2e%2e/posts.tsv", "/pictures%2fadaweir.svg", "/../../etc/passwd",
        "//etc/passwd",
        "/pictures/adaweir.svg%00", "/%ff%fe",
      ] {
        #expect(try await program.request("GET", target).status == 404, "\(target)")
      }
      for method in ["POST", "PUT", "DELETE"] {
        #expect(try await program.request(method, "/pictures/adaweir.svg").status == 405)
      }
      let forged = ["Origin": "http://evil.example"]
      #expect(try await program.request("POST", "/live", forged, body: [1]).status == 403)
      #expect(
        try await program.request("GET", "/", ["Host": "evil.example"]).status == 421)
      let long = [UInt8](repeating: 0x20, count: 300_000)
      #expect(try await program.request("POST", "/live", body: long).status == 413)
      #expect(try await program.request("GET", "/pictures/adaweir.svg").status == 200, "it goes on")
    }
  }
#endif

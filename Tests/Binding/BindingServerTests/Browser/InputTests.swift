#if BindingServer
  import Binding
  import BindingServer
  import Reactive
  import Testing
  import WebDriver

  @Suite("What users put into a page", .enabled(if: Browser.isExpected))
  struct InputTests {
    private static let site = Site.files([
      "form.html": Array(
        """
        <!doctype html>
        <html data-page="form">
        <meta charset="utf-8">
        <title>Form</title>
        <link rel="icon" href="data:,">
        <script type="module" src="/binding.js"></script>
        <input id="file" type="file" data-bind="text">
        <form id="form">
          <input id="text" data-bind="text" value="first">
          <input id="on" type="checkbox" data-bind="isOn">
          <input id="count" type="number" data-bind="count" value="3">
        </form>
        <input id="again" data-bind="text">
        <input id="clearing" data-on="keydown:clear input:clear">
        <form data-on="submit:clear">
          <input id="entry" data-bind="text" data-debounce="60000"><button data-enabled="upper"></button>
        </form>
        <form data-on="submit:clear">
          <input id="closed" data-bind="text"><button data-enabled="isOn"></button>
        </form>
        <p id="upper" data-text="upper"></p>
        """.utf8)
    ]).or(Desk.site)

    private static func withPage(
      _ body: (Browser, Desk, RunningServer) async throws -> Void
    ) async throws {
      let desk = await Desk()
      try await withServer(
        site: site, pages: { [Page("index.html") { Desk() }, Page("form.html", sharing: desk)] }
      ) { server in
        try await withBrowser { browser in
          try await browser.navigate(to: server.address + "form.html")
          try await browser.wait(until: "document.documentElement.dataset.live == 'on'")
          try await body(browser, desk, server)
          #expect(try await browser.consoleErrors() == [])
        }
      }
    }

    @Test("a view model is made for the query of its tab's address, and for the browser's session")
    func requests() async throws {
      let requests = MutableProperty<[PageRequest]>([])
      try await withServer(
        site: Desk.site,
        pages: {
          [
            Page("index.html") { request in
              requests.modify { $0.append(request) }
              let desk = Desk()
              desk.text.value = request.query["room"] ?? "no room"
              return desk
            }
          ]
        }, configure: { $0.needsToken = true }
      ) { server in
        try await withBrowser { browser in
          let shown = "document.querySelector('#upper').textContent"
          try await browser.navigate(
            to: server.address + "&room=b%C3%BC%2C%2B+%26&more&room%20number=7")
          try await browser.wait(until: "\(shown) == 'BÜ,+ &'")
          let first = try await browser.currentTab()
          _ = try await browser.openTab()
          try await browser.navigate(to: "http://127.0.0.1:\(server.port)/")
          try await browser.wait(until: "\(shown) == 'NO ROOM'")
          try await browser.select(first)
          try await browser.reload()
          try await browser.wait(until: "document.documentElement.dataset.live == 'on'")
          try await browser.wait(until: "\(shown) == 'BÜ,+ &'")
          let made = requests.value
          #expect(made.count == 2, "a page that is loaded again keeps its view model")
          #expect(made.first?.query == ["room": "bü,+ &", "more": "", "room number": "7"])
          #expect(made.last?.query == [:])
          #expect(made.first?.session?.count == 32 && made.first?.session == made.last?.session)
        }
      }
    }

    @Test("what appears gets the focus if it asks for it, or what in it does")
    func focus() async throws {
      let html = """
        <!doctype html>
        <html>
        <link rel="icon" href="data:,">
        <script type="module" src="/binding.js"></script>
        <input id="on" type="checkbox" data-bind="isOn">
        <section data-show="isOn" tabindex="-1" autofocus hidden></section>
        <form data-show="text" hidden><input id="first"><input id="second" autofocus></form>
        <p data-text="upper"></p>
        """
      let desk = await Desk()
      try await withServer(
        site: .files(["index.html": Array(html.utf8)]),
        pages: { [Page("index.html", sharing: desk)] }
      ) { server in
        try await withBrowser { browser in
          try await browser.navigate(to: server.address)
          try await browser.wait(until: "document.documentElement.dataset.live == 'on'")
          try await browser.click(browser.find("#on"))
          try await browser.wait(until: "document.activeElement.matches('section')")
          desk.text.value = "something"
          try await browser.wait(until: "document.activeElement.matches('#second')")
          // What is there already takes nothing away.
          try await browser.run("document.querySelector('#first').focus()")
          desk.text.value = "more"
          try await browser.wait(until: "document.querySelector('p').textContent == 'MORE'")
          #expect(try await browser.script("return document.activeElement.id == 'first'"))
        }
      }
    }

    /// What an input method shows in the field with the focus, before the user has chosen.
    private static func compose(_ text: String, _ browser: Browser) async throws {
      struct Composition: Encodable {
        var text: String
        var selectionStart: Int
        var selectionEnd: Int
      }
      let end = text.utf16.count
      try await browser.devTools(
        "Input.imeSetComposition",
        Composition(text: text, selectionStart: end, selectionEnd: end))
    }

    private static func shows(_ text: String, in selector: String) -> String {
      "document.querySelector('\(selector)').value == '\(text)'"
    }

    @Test("a field that is being composed in is neither sent nor overwritten until that has ended")
    func composition() async throws {
      try await Self.withPage { browser, desk, server in
        let before = await server.server.live.messages
        try await browser.click(browser.find("#text"))
        for text in ["n", "ni", "ni h", "ni ha", "ni hao"] {
          try await Self.compose(text, browser)
          try await browser.wait(until: Self.shows(text, in: "#text"), seconds: 60)
        }
        desk.text.value = "from elsewhere"
        try await browser.wait(until: Self.shows("from elsewhere", in: "#again"), seconds: 60)
        #expect(try await browser.script("return \(Self.shows("ni hao", in: "#text"))") == true)
        #expect(await server.server.live.messages == before)
        #expect(desk.text.value == "from elsewhere")
        try await browser.devTools("Input.insertText", ["text": "你好"])
        try await browser.wait(until: Self.shows("你好", in: "#again"), seconds: 60)
        await expectSoon { desk.text.value == "你好" }
        #expect(await server.server.live.messages == before + 1)
        // The field follows again.
        desk.text.value = "later"
        try await browser.wait(until: Self.shows("later", in: "#text"), seconds: 60)
      }
    }

    @Test("a composition without effect sends nothing, and the field shows the server's value")
    func cancelledComposition() async throws {
      try await Self.withPage { browser, desk, server in
        let before = await server.server.live.messages
        try await browser.click(browser.find("#text"))
        try await Self.compose("ni", browser)
        try await browser.wait(until: Self.shows("ni", in: "#text"), seconds: 60)
        desk.text.value = "from elsewhere"
        try await browser.wait(until: Self.shows("from elsewhere", in: "#again"), seconds: 60)
        try await Self.compose("", browser)
        try await browser.wait(until: Self.shows("from elsewhere", in: "#text"), seconds: 60)
        #expect(await server.server.live.messages == before)
        #expect(desk.text.value == "from elsewhere")
      }
    }

    @Test("keys and input of a composition start no action; its end does, once")
    func composedActions() async throws {
      try await Self.withPage { browser, desk, server in
        let before = await server.server.live.messages
        try await browser.run(
          """
          const field = document.querySelector("#clearing");
          field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", isComposing: true }));
          field.dispatchEvent(new InputEvent("input", { isComposing: true }));
          field.dispatchEvent(new CompositionEvent("compositionend"));
          """)
        await expectSoon { server.server.live.messages > before }
        desk.text.value = "all has come"
        try await browser.wait(until: Self.shows("all has come", in: "#again"), seconds: 60)
        #expect(await server.server.live.messages == before + 1)
        #expect(desk.text.value == "all has come")
      }
    }

    @Test("Enter submits a form whose button is enabled by what was typed just before")
    func enter() async throws {
      try await Self.withPage { browser, desk, _ in
        let texts = MutableProperty<[String]>([])
        desk.text.signal.observeValues { text in texts.modify { $0.append(text) } }
        try await browser.type("typed\u{E007}", into: browser.find("#entry"))
        await expectSoon { texts.value.suffix(2) == ["typed", ""] }
        try await browser.wait(until: Self.shows("", in: "#entry"), seconds: 60)
      }
    }

    @Test("Enter submits no form later whose button stays disabled by what was typed")
    func enterInVain() async throws {
      try await Self.withPage { browser, desk, server in
        try await browser.type("typed\u{E007}", into: browser.find("#closed"))
        try await browser.wait(until: Self.shows("typed", in: "#again"), seconds: 60)
        let isPending = "document.querySelector('#closed').matches('[data-pending]')"
        try await browser.wait(until: "!\(isPending)", seconds: 60)
        let before = await server.server.live.messages
        desk.isOn.value = true
        try await browser.wait(until: "document.querySelector('#on').checked", seconds: 60)
        try await browser.run("return new Promise((done) => setTimeout(done))")
        desk.text.value = "later"
        try await browser.wait(until: Self.shows("later", in: "#again"), seconds: 60)
        #expect(await server.server.live.messages == before)
      }
    }

    @Test("a bound file input, whose value no script may set, leaves all else bound")
    func file() async throws {
      try await Self.withPage { browser, desk, _ in
        for text in ["one", "two"] {
          desk.text.value = text
          try await browser.wait(until: Self.shows(text, in: "#text"), seconds: 60)
          try await browser.wait(until: Self.shows(text, in: "#again"), seconds: 60)
        }
      }
    }

    @Test("an observer that throws stops neither other observers nor the page")
    func throwing() async throws {
      try await Self.withPage { browser, desk, _ in
        try await browser.run(
          """
          return import("/binding.js").then(({ live }) => {
            window.thrown = [];
            window.changes = [];
            addEventListener("error", (event) => {
              thrown.push(event.message);
              event.preventDefault();
            });
            live.list("rows").subscribe(() => { throw new Error("mine"); });
            live.list("rows").subscribe((some) => changes.push(...some));
          });
          """)
        for key in ["a", "b"] { desk.rows.modify { $0.append(.init(id: key, name: key)) } }
        try await browser.wait(until: "changes.length == 2", seconds: 60)
        #expect(try await browser.script("return thrown.length > 0") == true)
        desk.text.value = "after"
        try await browser.wait(until: Self.shows("after", in: "#again"), seconds: 60)
      }
    }

    @Test("the reset of a form is sent, as far as it changes something")
    func reset() async throws {
      try await Self.withPage { browser, desk, server in
        desk.count.value = 3
        desk.text.value = "typed"
        desk.isOn.value = true
        try await browser.wait(until: "document.querySelector('#on').checked", seconds: 60)
        try await browser.wait(until: Self.shows("typed", in: "#text"), seconds: 60)
        try await browser.wait(until: Self.shows("3", in: "#count"), seconds: 60)
        try await browser.run("document.querySelector('#form').reset()")
        await expectSoon { desk.text.value == "first" && !desk.isOn.value }
        try await browser.wait(until: Self.shows("first", in: "#again"), seconds: 60)
        // Without a difference, nothing is sent.
        let before = await server.server.live.messages
        try await browser.run("document.querySelector('#form').reset()")
        try await browser.run("return new Promise((done) => setTimeout(done))")
        desk.text.value = "another"
        try await browser.wait(until: Self.shows("another", in: "#again"), seconds: 60)
        #expect(await server.server.live.messages == before)
        #expect(desk.text.value == "another")
      }
    }
  }
#endif

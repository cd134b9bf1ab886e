#if BindingServer
  import Binding
  import BindingServer
  import Reactive
  import Testing
  import WebDriver

  @Suite("A page whose server or network comes and goes", .enabled(if: Browser.isExpected))
  struct ConnectionTests {
    private static let isLive = "document.documentElement.dataset.live == 'on'"
    private static let isOff = "document.documentElement.dataset.live == 'off'"

    private static func type(_ text: String, _ browser: Browser) async throws {
      try await browser.click(browser.find("#text"))
      try await browser.perform(.keyboard().press(.end).type(text, every: .milliseconds(5)))
    }

    /// Waits until the server has `count` streams.
    private static func expectStreams(
      _ count: Int, _ server: RunningServer, sourceLocation: SourceLocation = #_sourceLocation
    ) async {
      await expectSoon(sourceLocation: sourceLocation) { server.server.live.streams == count }
    }

    @Test("a page dims while the server is away, and sends unacknowledged text to the next server")
    func restart() async throws {
      let first = try await RunningServer.start(
        site: Desk.site, pages: { [Page("index.html") { Desk() }] })
      try await withBrowser { browser in
        try await browser.navigate(to: first.address)
        try await browser.wait(until: Self.isLive)
        try await Self.type("typed before", browser)
        try await browser.wait(
          until: "document.querySelector('#upper').textContent == 'TYPED BEFORE'")
        try await first.stop()
        try await browser.wait(until: Self.isOff)
        try await Self.type(" and meanwhile", browser)
        let second = try await RunningServer.start(
          site: Desk.site, pages: { [Page("index.html") { Desk() }] }, port: first.port)
        try await browser.wait(until: Self.isLive)
        try await browser.wait(
          until: "document.querySelector('#upper').textContent == 'TYPED BEFORE AND MEANWHILE'")
        let text: String = try await browser.script(
          "return document.querySelector('#text').value")
        #expect(text == "typed before and meanwhile")
        try await second.stop()
      }
    }

    @Test("the caret stays in place when another server gets the typed text")
    func caret() async throws {
      let first = try await RunningServer.start(
        site: Desk.site, pages: { [Page("index.html") { Desk() }] })
      try await withBrowser { browser in
        try await browser.navigate(to: first.address)
        try await browser.wait(until: Self.isLive)
        try await browser.click(browser.find("#count"))
        try await browser.perform(.keyboard().press(.end).type("7"))
        try await Self.type("hello", browser)
        try await browser.perform(.keyboard().press(.left).press(.left))
        try await browser.wait(until: "document.querySelector('#upper').textContent == 'HELLO'")
        try await first.stop()
        try await browser.wait(until: Self.isOff)
        let desk = await Desk()
        let second = try await RunningServer.start(
          site: Desk.site, pages: { [Page("index.html", sharing: desk)] }, port: first.port)
        try await browser.wait(until: Self.isLive)
        await expectSoon { desk.text.value == "hello" && desk.count.value != 0 }
        let caret: Int = try await browser.script(
          "return document.querySelector('#text').selectionStart")
        #expect(caret == 3)
        try await second.stop()
      }
    }

    @Test("a page loses no text typed while the network was down, nor text in transit")
    func drop() async throws {
      let desk = await Desk()
      try await withServer(
        site: Desk.site, pages: { [Page("index.html", sharing: desk)] }
      ) { server in
        let proxy = try await CuttableProxy.start(to: server.port)
        try await withBrowser { browser in
          try await browser.navigate(to: "http://127.0.0.1:\(proxy.port)/")
          try await browser.wait(until: Self.isLive)
          var text = ""
          for round in 0..<3 {
            try await Self.type("r\(round)", browser)
            text += "r\(round)"
            // At once, so that a message is on its way.
            proxy.cut()
            try await Self.type("down", browser)
            text += "down"
            try await browser.wait(until: Self.isOff)
            desk.count.value = round + 1
            proxy.restore()
            try await browser.wait(until: Self.isLive)
            try await browser.wait(
              until: "document.querySelector('#upper').textContent == arguments[0]",
              text.uppercased())
            try await browser.wait(
              until: "document.querySelector('#count').value == arguments[0]", "\(round + 1)")
          }
          #expect(desk.text.value == text)
        }
        try await proxy.stop()
      }
    }

    @Test("a page shows that its network swallows all that is sent, and comes back by itself")
    func swallowed() async throws {
      let desk = await Desk()
      try await withServer(
        site: Desk.site, pages: { [Page("index.html", sharing: desk)] }
      ) { server in
        let proxy = try await CuttableProxy.start(to: server.port)
        try await withBrowser { browser in
          try await browser.navigate(to: "http://127.0.0.1:\(proxy.port)/")
          try await browser.wait(until: Self.isLive)
          proxy.swallow()
          try await Self.type("swallowed", browser)
          try await browser.wait(until: Self.isOff, seconds: 120)
          #expect(desk.text.value == "")
          proxy.restore()
          try await browser.wait(until: Self.isLive, seconds: 120)
          try await browser.wait(
            until: "document.querySelector('#upper').textContent == 'SWALLOWED'", seconds: 120)
        }
        try await proxy.stop()
      }
    }

    @Test("a page whose access has ended shows a refusal, keeps what was typed, and comes back")
    func lockedOut() async throws {
      let desk = await Desk()
      let key = [UInt8](repeating: 7, count: 32)
      let first = try await RunningServer.start(
        site: Desk.site, pages: { [Page("index.html", sharing: desk)] },
        configure: { $0.needsToken = true })
      try await withBrowser { browser in
        try await browser.navigate(to: first.address)
        try await browser.wait(until: Self.isLive)
        try await first.stop()
        // Its cookies are signed with another key.
        let second = try await RunningServer.start(
          site: Desk.site, pages: { [Page("index.html", sharing: desk)] }, port: first.port,
          configure: {
            $0.needsToken = true
            $0.signingKey = key
          })
        try await browser.wait(
          until: "document.documentElement.dataset.live == 'refused'"
            + " && document.documentElement.dataset.refusal == '401'", seconds: 120)
        try await Self.type("kept", browser)
        let tab = try await browser.currentTab()
        _ = try await browser.openTab()
        try await browser.navigate(to: second.address)
        try await browser.wait(until: Self.isLive, seconds: 120)
        try await browser.select(tab)
        try await browser.wait(until: Self.isLive, seconds: 120)
        try await browser.wait(
          until: "document.querySelector('#upper').textContent == 'KEPT'", seconds: 120)
        #expect(
          try await browser.script("return 'refusal' in document.documentElement.dataset") == false)
        try await second.stop()
      }
    }

    @Test("a page that is loaded again, or come back to, has its view model and all that was typed")
    func reload() async throws {
      try await withServer(
        site: Desk.site,
        pages: { [Page("index.html") { Desk() }, Page("other.html") { Desk() }] }
      ) { server in
        try await withBrowser { browser in
          let upper = "document.querySelector('#upper').textContent"
          try await browser.navigate(to: server.address)
          try await browser.wait(until: Self.isLive)
          try await Self.type("typed", browser)
          try await browser.wait(until: "\(upper) == 'TYPED'", seconds: 60)
          #expect(
            try await browser.script("return sessionStorage.length") == 0,
            "a copy of the tab would have its view model, too")
          try await browser.reload()
          try await browser.wait(until: "\(upper) == 'TYPED'", seconds: 60)
          // Typed, and not sent yet.
          try await browser.run(
            """
            const field = document.querySelector("#slow");
            field.dataset.debounce = 3600000;
            field.value = "not sent";
            field.dispatchEvent(new Event("input"));
            """)
          try await browser.reload()
          try await browser.wait(until: "\(upper) == 'NOT SENT'", seconds: 60)
          try await browser.navigate(to: server.address + "other.html")
          try await browser.wait(until: Self.isLive, seconds: 60)
          try await browser.goBack()
          try await browser.wait(until: "\(upper) == 'NOT SENT'", seconds: 60)
          // Opened anew.
          try await browser.navigate(to: server.address)
          try await browser.wait(until: Self.isLive, seconds: 60)
          #expect(try await browser.script("return \(upper)") == "")
        }
      }
    }

    @Test(
      "a page that is left sends what was typed since its last message, which has no answer yet")
    func lastLetters() async throws {
      let desk = await Desk()
      try await withServer(
        site: Desk.site, pages: { [Page("index.html", sharing: desk)] }
      ) { server in
        try await withBrowser { browser in
          try await browser.navigate(to: server.address)
          try await browser.wait(until: Self.isLive)
          // The first message doesn't leave, and has no answer.
          try await browser.run(
            """
            const send = fetch;
            window.fetch = () => {
              window.fetch = send;
              return new Promise(() => {});
            };
            const field = document.querySelector("#text");
            for (const letters of ["one", "one round trip", "one round trip later"]) {
              field.value = letters;
              field.dispatchEvent(new Event("input", { bubbles: true }));
            }
            """)
          try await browser.navigate(to: "about:blank")
          await expectSoon { desk.text.value == "one round trip later" }
        }
      }
    }

    @Test("a view model notices that its page appears, is left, and is come back to")
    func appearance() async throws {
      let model = await Watched()
      func expect(_ isShown: Bool, sourceLocation: SourceLocation = #_sourceLocation) async {
        await expectSoon(sourceLocation: sourceLocation) { model.log.value.last == isShown }
      }
      try await withServer(
        site: .files(["index.html": Array(Desk.html("Watched").utf8)]),
        pages: { [Page("index.html", sharing: model)] }
      ) { server in
        try await withBrowser { browser in
          try await browser.navigate(to: server.address)
          // What it sets when it appears, the page gets with its first values.
          try await browser.wait(until: "document.querySelector('#text').value == 'here'")
          await expect(true)
          try await browser.navigate(to: "about:blank")
          await expect(false)
          try await browser.goBack()
          await expect(true)
          // On a slow machine the page may have been away more often.
          for (index, isShown) in model.log.value.enumerated() {
            #expect(isShown == index.isMultiple(of: 2))
          }
        }
      }
    }

    @Test("eight tabs of a browser have one stream, and each follows; none hangs")
    func manyTabs() async throws {
      try await withServer(
        site: Desk.site,
        pages: { [Page("index.html") { Desk() }, Page("other.html") { Desk() }] }
      ) { server in
        try await withBrowser { browser in
          var tabs = [try await browser.currentTab()]
          try await browser.navigate(to: server.address)
          for index in 1..<8 {
            tabs.append(try await browser.openTab())
            try await browser.navigate(
              to: server.address + (index % 2 == 0 ? "" : "other.html"))
          }
          for tab in tabs {
            try await browser.select(tab)
            try await browser.wait(until: Self.isLive)
          }
          await Self.expectStreams(1, server)
          for (index, tab) in tabs.enumerated() {
            try await browser.select(tab)
            try await Self.type("tab \(index)", browser)
            try await browser.wait(
              until: "document.querySelector('#upper').textContent == arguments[0]",
              "TAB \(index)")
          }
          #expect(try await browser.consoleErrors() == [])
          for tab in tabs.dropLast() {
            try await browser.select(tab)
            try await browser.closeTab()
          }
          try await browser.select(try #require(tabs.last))
          try await Self.type("!", browser)
          try await browser.wait(until: "document.querySelector('#upper').textContent == 'TAB 7!'")
          await Self.expectStreams(1, server)
        }
        await Self.expectStreams(0, server)
      }
    }

    @Test("a hidden tab leaves the stream after half a minute, and is up to date when it is shown")
    func hiddenTab() async throws {
      let desk = await Desk()
      try await withServer(
        site: Desk.site, pages: { [Page("index.html", sharing: desk)] }
      ) { server in
        try await withBrowser { browser in
          // Half a minute passes in a third of a second.
          try await browser.devTools(
            "Page.addScriptToEvaluateOnNewDocument",
            [
              "source": """
              const slow = setTimeout;
              window.setTimeout = (f, time, ...rest) => slow(f, time < 30000 ? time : 300, ...rest);
              """
            ])
          try await browser.navigate(to: server.address)
          try await browser.wait(until: Self.isLive)
          await Self.expectStreams(1, server)
          try await browser.setHidden(true)
          await Self.expectStreams(0, server)
          desk.text.value = "while it was hidden"
          try await browser.setHidden(false)
          try await browser.wait(
            until: "document.querySelector('#text').value == 'while it was hidden'")
          await Self.expectStreams(1, server)
          // Left and come back to, from what the browser keeps for its Back button.
          try await browser.navigate(to: "about:blank")
          desk.text.value = "while it was left"
          try await browser.goBack()
          try await browser.wait(
            until: "document.querySelector('#text').value == 'while it was left'")
          await Self.expectStreams(1, server)
        }
        await Self.expectStreams(0, server)
      }
    }
  }
#endif

#if BindingServer
  import Binding
  import BindingServer
  import Foundation
  import Reactive
  import Testing
  import WebDriver

  @Suite("A page in a browser", .enabled(if: Browser.isExpected))
  struct LivePageTests {
    /// Runs a test with a browser that shows the page of a desk; afterwards the console has no errors.
    private static func withPage(
      rows: [String] = ["a", "b", "c"], path: String = "/", script: String? = nil,
      _ body: (Browser, Desk, RunningServer) async throws -> Void
    ) async throws {
      let desk = await Desk(rows: rows)
      try await withServer(
        site: probe.or(Desk.site),
        pages: { [Page("index.html", sharing: desk), Page("probe.html", sharing: desk)] }
      ) { server in
        try await withBrowser { browser in
          if let script {
            try await browser.devTools(
              "Page.addScriptToEvaluateOnNewDocument", ["source": script])
          }
          try await browser.navigate(to: "http://127.0.0.1:\(server.port)\(path)")
          try await browser.wait(until: "document.documentElement.dataset.live == 'on'")
          try await body(browser, desk, server)
          #expect(try await browser.consoleErrors() == [])
        }
      }
    }

    /// A page with a script of its own.
    private static let probe = Site.files([
      "probe.html": Array(
        Desk.html("Probe").replacing("<html>", with: "<html data-page=\"probe\">")
          .replacing(
            "<body>",
            with: "<script type=\"module\" src=\"/probe.js\"></script><body>"
              + "<template data-row=\"rows\"><i id=\"card\">"
              + "<b data-text=\"name\"></b> <b data-text=\"upper\"></b></i></template>"
          ).utf8),
      "probe.js": Array(
        """
        import { live } from "/binding.js";
        window.live = live;
        window.changes = [];
        live.list("rows").subscribe((some) => changes.push(...some));
        """.utf8),
    ])

    private static func type(
      _ text: String, into selector: String, _ browser: Browser
    ) async throws {
      try await browser.click(browser.find(selector))
      try await browser.perform(.keyboard().type(text, every: .milliseconds(5)))
    }

    @Test("typing at five milliseconds a key is never rolled back, and reaches the view model")
    func typing() async throws {
      try await Self.withPage { browser, desk, _ in
        // Notes each text that the field has, also what a script sets.
        try await browser.run(
          """
          window.seen = [];
          const field = document.querySelector("#text");
          const look = () => { if (seen.at(-1) !== field.value) seen.push(field.value); };
          field.addEventListener("input", look);
          setInterval(look, 1);
          """)
        let text = "the quick brown fox jumps over the lazy dog"
        try await Self.type(text, into: "#text", browser)
        try await browser.wait(
          until: "document.querySelector('#upper').textContent == arguments[0]", text.uppercased())
        #expect(desk.text.value == text)
        let seen: [String] = try await browser.script("return seen")
        #expect(zip(seen, seen.dropFirst()).allSatisfy { $1.hasPrefix($0) }, "\(seen)")
        #expect(seen.last == text)
        let other: String = try await browser.script(
          "return document.querySelector('#again').value")
        #expect(other == text, "another field of the same value follows")
      }
    }

    @Test("another tab follows, and so does another browser")
    func following() async throws {
      try await Self.withPage { browser, _, server in
        let first = try await browser.currentTab()
        let second = try await browser.openTab()
        try await browser.navigate(to: "http://127.0.0.1:\(server.port)/")
        try await withBrowser { other in
          try await other.navigate(to: "http://127.0.0.1:\(server.port)/")
          try await browser.select(first)
          try await Self.type("hello", into: "#text", browser)
          try await browser.select(second)
          try await browser.wait(until: "document.querySelector('#text').value == 'hello'")
          try await other.wait(until: "document.querySelector('#upper').textContent == 'HELLO'")
        }
      }
    }

    @Test("every kind of attribute shows its value, and every kind of control sets it")
    func attributes() async throws {
      try await Self.withPage { browser, desk, _ in
        try await browser.wait(until: "document.querySelector('#shown').hidden")
        #expect(try await browser.isEnabled(browser.find("#clear")) == false)
        try await browser.click(browser.find("#on"))
        try await browser.wait(until: "!document.querySelector('#shown').hidden")
        await expectSoon { desk.isOn.value }
        try await browser.wait(until: "document.querySelector('#upper').classList.contains('on')")
        #expect(try await browser.isEnabled(browser.find("#clear")))
        try await Self.type("x", into: "#text", browser)
        try await browser.wait(until: "document.querySelector('#upper').title == 'X'")
        try await browser.click(browser.find("#clear"))
        try await browser.wait(until: "document.querySelector('#text').value == ''")
        let count = try await browser.find("#count")
        try await browser.clear(count)
        try await browser.type("42", into: count)
        try await browser.wait(until: "document.querySelector('#count').value == '42'")
        await expectSoon { desk.count.value == 42 }
        desk.isOn.value = false
        try await browser.wait(until: "!document.querySelector('#on').checked")
      }
    }

    @Test("a value from elsewhere is text: no markup, and no script is run")
    func hostileText() async throws {
      try await Self.withPage { browser, desk, _ in
        let text = "<img src=x onerror=\"window.bad=1\"><script>window.bad=1</script>"
        desk.text.value = text
        desk.rows.value = [.init(id: "\"><b id=bad>", name: text)]
        try await browser.wait(until: "document.querySelector('#text').value.length > 9")
        try await browser.wait(until: "document.querySelector('#rows b').textContent.length > 9")
        let isBad: Bool = try await browser.script(
          "return 'bad' in window || !!document.querySelector('#bad, img')")
        #expect(!isBad)
      }
    }

    @Test("rows come, move and go as elements that stay the same, with the focus in them")
    func rows() async throws {
      try await Self.withPage { browser, desk, _ in
        try await browser.wait(until: "document.querySelectorAll('#rows li').length == 3")
        try await browser.run(
          """
          document.querySelectorAll('#rows li').forEach((row, index) => { row.mark = index; });
          document.querySelectorAll('#rows button')[1].focus();
          """)
        desk.rows.modify {
          $0.move(from: 2, to: 0)
          $0.insert(.init(id: "d", name: "Row d"), at: 1)
          $0[2].name = "Renamed"
        }
        try await browser.wait(until: "document.querySelectorAll('#rows li').length == 4")
        let names: [String] = try await browser.script(
          "return [...document.querySelectorAll('#rows b')].map((row) => row.textContent)")
        #expect(names == ["Row c", "Row d", "Renamed", "Row b"])
        let marks: [Int?] = try await browser.script(
          "return [...document.querySelectorAll('#rows li')].map((row) => row.mark ?? null)")
        #expect(marks == [2, nil, 0, 1])
        let isFocused: Bool = try await browser.script(
          "return document.activeElement == document.querySelectorAll('#rows button')[3]")
        #expect(isFocused)
        try await browser.click(browser.findAll("#rows button")[3])
        try await browser.wait(until: "document.querySelectorAll('#rows li').length == 3")
        #expect(desk.rows.value.map(\.id) == ["c", "d", "a"])
      }
    }

    @Test("a field that waits for a pause sends the last text once")
    func debounce() async throws {
      // The pause lasts until the test ends it: between two keys a busy machine may take longer.
      let script = """
        const [start, stop] = [setTimeout, clearTimeout];
        const pauses = new Map();
        let last = 0;
        window.setTimeout = (action, time, ...values) => {
          if (time != 200) return start(action, time, ...values);
          last -= 1;
          pauses.set(last, () => action(...values));
          return last;
        };
        window.clearTimeout = (number) => pauses.delete(number) || stop(number);
        window.endPauses = () => {
          const ends = [...pauses.values()];
          for (const end of ends) end();
          return ends.length;
        };
        """
      try await Self.withPage(script: script) { browser, desk, server in
        let before = await server.server.live.messages
        try await Self.type("patience", into: "#slow", browser)
        #expect(desk.text.value == "")
        #expect(try await browser.script("return endPauses()") == 1)
        try await browser.wait(
          until: "document.querySelector('#upper').textContent == 'PATIENCE'")
        #expect(await server.server.live.messages == before + 1)
      }
    }

    @Test(
      "a number can be emptied and begun with a sign, and is shown again when the field is left")
    func numbers() async throws {
      try await Self.withPage { browser, desk, server in
        desk.count.value = 5
        try await browser.wait(until: "document.querySelector('#count').value == '5'")
        /// Waits until the page has received all effects of the text typed so far.
        func settle(_ marker: String) async throws {
          await expectSoon { server.server.live.messages > 0 }
          try await browser.run("return new Promise((done) => setTimeout(done, 100))")
          desk.text.value = marker
          try await browser.wait(
            until: "document.querySelector('#upper').textContent == arguments[0]",
            marker.uppercased())
        }
        try await browser.click(browser.find("#count"))
        try await browser.perform(.keyboard().press(.end).press(.backspace))
        try await settle("emptied")
        let value = "return document.querySelector('#count').value"
        #expect(try await browser.script(value) == "")
        #expect(desk.count.value == 5, "nothing is no number")
        try await browser.perform(.keyboard().type("-"))
        try await settle("begun")
        try await browser.perform(.keyboard().type("3"))
        await expectSoon { desk.count.value == -3 }
        #expect(try await browser.script(value) == "-3")
        try await browser.perform(.keyboard().press(.backspace).press(.backspace))
        try await settle("emptied again")
        #expect(try await browser.script(value) == "")
        try await browser.click(browser.find("#text"))
        try await browser.wait(until: "document.querySelector('#count').value == '-3'")
      }
    }

    @Test("a text as long as can be is taken, in letters of three bytes, too")
    func longText() async throws {
      try await Self.withPage { browser, desk, _ in
        let count = 21_840
        try await browser.run(
          """
          const field = document.querySelector("#text");
          field.value = "漢".repeat(arguments[0]);
          field.dispatchEvent(new Event("input"));
          """, count)
        await expectSoon { desk.text.value.utf8.count == 3 * count }
      }
    }

    @Test("a script gets the rows of a list, what changes of them, and binds elements to them")
    func scripts() async throws {
      try await Self.withPage(path: "/probe.html") { browser, desk, _ in
        try await browser.wait(until: "live.list('rows').count == 3")
        let keys: [String] = try await browser.script(
          "const list = live.list('rows'); return [0, 1, 2].map(list.keyAt)")
        #expect(keys == ["a", "b", "c"])
        let name: String = try await browser.script("return live.list('rows').rowAt(1).name")
        #expect(name == "Row b")
        try await browser.run(
          """
          changes.length = 0;
          const template = document.querySelector("[data-row]");
          window.card = document.body.appendChild(template.content.firstElementChild.cloneNode(true));
          live.render(card, "rows", "b");
          """)
        desk.text.value = "up"
        desk.rows.modify { $0[1].name = "B" }
        try await browser.wait(until: "card.textContent == 'B UP'")
        desk.rows.modify { $0.move(from: 0, to: 2) }
        try await browser.wait(until: "changes.length == 2")
        desk.rows.modify { $0.insert(.init(id: "d", name: "D"), at: 0) }
        try await browser.wait(until: "changes.length == 3")
        desk.rows.modify { $0.removeLast() }
        try await browser.wait(until: "changes.length == 4")
        let changes: String = try await browser.script("return JSON.stringify(changes)")
        #expect(
          changes
            == #"[["update","b"],["move","a",0,2],["insert","d",0],["remove","a",3]]"#)
        try await browser.run("live.render(card, 'rows', 'd')")
        #expect(try await browser.text(of: browser.find("#card")) == "D UP")
        try await browser.run("live.render(card, 'rows', null)")
        desk.rows.modify { $0[0].name = "E" }
        try await browser.wait(until: "changes.length == 5")
        #expect(try await browser.text(of: browser.find("#card")) == "D UP", "it is bound to none")
      }
    }

    @Test("a page works without shared workers, and with a clock that stops or jumps")
    func withoutWorkers() async throws {
      let script = """
        delete window.SharedWorker;
        let jump = 0;
        Date.now = () => (jump += 86400000);
        """
      try await Self.withPage(script: script) { browser, desk, server in
        try await Self.type("alone", into: "#text", browser)
        try await browser.wait(until: "document.querySelector('#upper').textContent == 'ALONE'")
        #expect(await server.server.live.streams == 1)
        desk.text.value = "back"
        try await browser.wait(until: "document.querySelector('#text').value == 'back'")
      }
    }
  }

  extension Array {
    fileprivate mutating func move(from old: Int, to new: Int) {
      insert(remove(at: old), at: new)
    }
  }
#endif

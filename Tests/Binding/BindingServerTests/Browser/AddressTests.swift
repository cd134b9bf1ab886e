#if BindingServer
  import Binding
  import BindingServer
  import Foundation
  import Reactive
  import Synchronization
  import Testing
  import WebDriver

  @Suite("A page with an address, lists in rows and refusals", .enabled(if: Browser.isExpected))
  struct AddressTests {
    private static func withPage(
      _ hotel: @escaping @MainActor (PageRequest) -> Hotel, path: String = "/",
      _ body: (Browser, RunningServer) async throws -> Void
    ) async throws {
      try await withServer(
        site: Hotel.site, pages: { [Page("hotel.html", at: "houses/{house}/plan", hotel)] }
      ) { server in
        try await withBrowser { browser in
          try await browser.navigate(to: "http://127.0.0.1:\(server.port)\(path)")
          try await browser.wait(until: "document.documentElement.dataset.live == 'on'")
          try await body(browser, server)
          #expect(try await browser.consoleErrors() == [])
        }
      }
    }

    private static let rooms =
      "[...document.querySelectorAll('ol > li')].map((floor) => floor.querySelector('h2')"
      + ".textContent + [...floor.querySelectorAll('button')].map((room) => room.textContent)"
      + ").join(' ')"

    @Test
    func `Ten thousand rows are shown and changed, and a reload makes no other view model`()
      async throws
    {
      let made = Mutex(0)
      let rooms = (0..<10).map { floor in (0..<1_000).map { "\(floor)-\($0)" } }
      let hotel = await Hotel("Ritz", rooms: rooms)
      try await Self.withPage({ _ in
        made.withLock { $0 += 1 }
        return hotel
      }) { browser, _ async throws in
        let count = "document.querySelectorAll('ol ul li').length"
        let isWhole = "\(count) == 10000 && document.documentElement.dataset.live == 'on'"
        try await browser.wait(until: isWhole, seconds: 120)
        try await browser.reload()
        try await browser.wait(until: isWhole, seconds: 120)
        await MainActor.run {
          hotel.floors.value[9].rooms.modify { $0.removeFirst() }
          hotel.floors.value[0].rooms.value[500].name.value = "changed"
        }
        try await browser.wait(until: "\(count) == 9999", seconds: 120)
        try await browser.wait(
          until: "document.querySelectorAll('ol ul li input')[500].value == 'changed'", seconds: 120
        )
        #expect(made.withLock { $0 } == 1)
      }
    }

    @Test
    func `Lists in rows are shown in their rows, change with them, and are typed into`()
      async throws
    {
      let hotel = await Hotel("Ritz", rooms: [["a", "b"], ["a"], []])
      try await Self.withPage({ _ in hotel }) { browser, _ async throws in
        try await browser.wait(until: "\(Self.rooms) == '0a,b 1a 2'")
        let nested = "document.querySelector('ol > li:nth-child(2) ul li')"
        #expect(
          try await browser.script("return \(nested).querySelector('i').textContent") == "Ritz")
        try await browser.run("window.kept = \(nested)")
        await MainActor.run {
          hotel.floors.modify { $0.swapAt(0, 1) }
          hotel.floors.value[2].rooms.value = [Hotel.Room("c")]
        }
        try await browser.wait(until: "\(Self.rooms) == '1a 0a,b 2c'")
        #expect(
          try await browser.script(
            "return kept == document.querySelector('ol > li:nth-child(1) ul li')"))
        await MainActor.run {
          hotel.floors.value[1].rooms.modify { $0.swapAt(0, 1) }
          hotel.floors.modify { $0.removeFirst() }
        }
        try await browser.wait(until: "\(Self.rooms) == '0b,a 2c'")
        try await browser.run(
          "const room = document.querySelector('ol > li:nth-child(2) input'); room.focus();"
            + " room.setSelectionRange(9, 9)")
        try await browser.perform(.keyboard().type("!"))
        await hotel.changes { hotel.floors.value[1].rooms.value[0].name.value == "c!" }
        // A snapshot finds the same rows.
        try await browser.run("location.reload()")
        try await browser.wait(until: "\(Self.rooms) == '0b,a 2c'")
        try await browser.wait(
          until: "document.querySelector('ol > li:nth-child(2) input').value == 'c!'")
      }
    }

    @Test
    func `A refused edit stays in its field with the reason, and the next one is accepted`()
      async throws
    {
      let hotel = await Hotel()
      try await Self.withPage({ _ in hotel }) { browser, _ async throws in
        let field = "document.querySelector('#guests')"
        try await browser.wait(until: "\(field).value == '2'")
        // Notes whether the edit was pending.
        try await browser.run(
          """
          window.pending = [];
          new MutationObserver(() => pending.push(\(field).hasAttribute("data-pending")))
            .observe(\(field), { attributeFilter: ["data-pending"] });
          """)
        try await browser.run("\(field).focus(); \(field).setSelectionRange(9, 9)")
        try await browser.perform(.keyboard().type("0"))
        try await browser.wait(until: "\(field).dataset.refused == 'At most nine'")
        #expect(try await browser.script("return \(field).value") == "20")
        #expect(try await browser.script("return \(field).ariaInvalid") == "true")
        #expect(
          try await browser.script("return document.querySelector('#why').textContent")
            == "At most nine")
        #expect(try await browser.script("return pending.join()") == "true,false")
        // Another one that is refused for the same reason.
        try await browser.perform(.keyboard().type("0"))
        try await browser.wait(until: "pending.join() == 'true,false,true,false'")
        #expect(try await browser.script("return \(field).value") == "200")
        await MainActor.run { #expect(hotel.guests.value == 2) }
        #expect(
          try await browser.script("return document.querySelector('#held').textContent") == "2")
        // After a reload neither the text nor its reason is there, as the view model has only the reason.
        try await browser.run("location.reload()")
        try await browser.wait(until: "document.readyState == 'complete' && \(field).value == '2'")
        #expect(
          try await browser.script("return document.querySelector('#why').textContent") == "")
        try await browser.run(
          "\(field).value = '7'; \(field).dispatchEvent(new Event('input', { bubbles: true }))")
        try await browser.wait(until: "!\(field).hasAttribute('data-refused')")
        await hotel.changes { hotel.guests.value == 7 }
        try await browser.wait(until: "!\(field).hasAttribute('data-pending')")
      }
    }

    @Test
    func `The address has values of the view model, which Back, Forward and a deep link set`()
      async throws
    {
      let hotel = await Hotel(rooms: [["a", "b c"]])
      try await Self.withPage({ _ in hotel }, path: "/?room=x&other=1") {
        browser, server async throws in
        let open = "document.querySelector('#open').textContent"
        await hotel.changes { hotel.open.value == "x" }
        try await browser.wait(until: "\(Self.rooms) == '0a,b c' && \(open) == 'x'")
        for (index, query) in [(0, "?room=a&other=1"), (1, "?room=b+c&other=1")] {
          try await browser.run("document.querySelectorAll('button')[\(index)].click()")
          try await browser.wait(until: "location.search == '\(query)'")
        }
        try await browser.run("document.querySelector('#wide').click()")
        try await browser.wait(until: "location.search == '?room=b+c&other=1&wide=true'")
        try await browser.run("history.go(-2)")
        try await browser.wait(until: "\(open) == 'a' && !document.querySelector('#wide').checked")
        await hotel.changes { hotel.open.value == "a" && !hotel.isWide.value }
        try await browser.run("history.go(2)")
        try await browser.wait(
          until: "\(open) == 'b c' && document.querySelector('#wide').checked")
        await hotel.changes { hotel.open.value == "b c" && hotel.isWide.value }
        #expect(try await browser.script("return location.search.includes('wide=true')"))
      }
    }

    @Test
    func `A page at a pattern of addresses gets the names in its address`() async throws {
      let requests = Mutex<[PageRequest]>([])
      try await Self.withPage(
        { request in
          requests.withLock { $0.append(request) }
          return Hotel(request.path["house"] ?? "none")
        }, path: "/houses/Grand%20H%C3%B4tel%2B/plan?floor=2+3"
      ) { browser, server async throws in
        try await browser.wait(until: "document.querySelector('h1').textContent == 'Grand Hôtel+'")
        let request = try #require(requests.withLock { $0.first })
        #expect(request.path == ["house": "Grand Hôtel+"])
        #expect(request.query == ["floor": "2 3"])
        let http = RawHTTP(port: server.port)
        for path in ["/houses/a", "/houses/a/plan/b", "/houses//plan", "/houses/../plan"] {
          #expect(try await http.send("GET", path).status == 404, "\(path)")
        }
        try await browser.navigate(to: "http://127.0.0.1:\(server.port)/")
        try await browser.wait(until: "document.querySelector('h1').textContent == 'none'")
      }
    }
  }

  extension AddressTests {
    @Test
    func
      `Text that is typed into the field of a part of the address is one step, until it is left`()
      async throws
    {
      let hotel = await Hotel()
      try await Self.withPage({ _ in hotel }) { browser, _ async throws in
        try await browser.wait(until: "document.documentElement.dataset.live == 'on'")
        func count() async throws -> Int { try await browser.script("return history.length") }
        func type(_ text: String, until query: String) async throws {
          try await browser.run("document.querySelector('#place').focus()")
          try await browser.perform(.keyboard().type(text))
          try await browser.wait(until: "location.search == '\(query)'")
        }
        let before = try await count()
        try await type("ab", until: "?room=ab")
        #expect(try await count() == before + 1)
        try await type("c", until: "?room=abc")
        #expect(try await count() == before + 1)
        try await browser.run("document.querySelector('#guests').focus()")
        try await type("d", until: "?room=abcd")
        #expect(try await count() == before + 2)
        try await browser.goBack()
        try await browser.wait(until: "document.querySelector('#place').value == 'abc'")
        try await browser.goBack()
        try await browser.wait(until: "document.querySelector('#place').value == ''")
        await hotel.changes { hotel.open.value == "" }
      }
    }
  }

  extension Hotel {
    /// Waits until a condition on its properties is true.
    fileprivate func changes(until isTrue: @MainActor () -> Bool) async {
      while !isTrue() { try? await Task.sleep(for: .milliseconds(10)) }
    }
  }
#endif

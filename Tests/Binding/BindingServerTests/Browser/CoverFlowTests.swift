#if BindingServer
  import Binding
  import BindingServer
  import CoverFlowPage
  import Foundation
  import Reactive
  import Testing
  import WebDriver

  @Suite("A list of a view model as a cover flow", .enabled(if: Browser.isExpected))
  struct CoverFlowTests {
    /// Runs a test with a browser that shows a shelf; afterwards the console has no errors.
    private static func withShelf(
      albums count: Int = 60, allowsWebAssembly: Bool = true,
      _ body: (Browser, Shelf, RunningServer) async throws -> Void
    ) async throws {
      let shelf = await Shelf(albums: count)
      try await withServer(site: Shelf.site, pages: { [shelf.page(allowsWebAssembly)] }) { server in
        try await withBrowser { browser in
          try await browser.navigate(to: "http://127.0.0.1:\(server.port)/?probe")
          try await browser.wait(
            until: "document.querySelectorAll('[role=option] h2').length > 8")
          try await body(browser, shelf, server)
        }
      }
    }

    private struct Front: Decodable, Equatable {
      var key: String
      var text: String
      var caption: String
      var number: String
    }

    private static func front(_ browser: Browser) async throws -> Front {
      try await browser.script(
        """
        await new Promise(requestAnimationFrame)
        const front = document.querySelector('.cf-front')
        return { key: __cf.visible[0].key, text: front.querySelector('h2').textContent,
          caption: document.querySelector('.cf-title').textContent,
          number: `${front.getAttribute('aria-posinset')} of ${front.getAttribute('aria-setsize')}` }
        """)
    }

    @Test("rows that arrive, leave, move and change keep the cover in front, with what it shows")
    func anchored() async throws {
      try await Self.withShelf { browser, shelf, _ in
        try await browser.run("__cf.jump(20)")
        try await browser.wait(until: "__cf.position === 20 && __cf.mode === 'rest'")
        await shelf.change { albums in
          albums.insert(Album(id: "new", name: "New"), at: 2)
          albums.removeAll { $0.id == "9" || $0.id == "30" }
          albums.append(albums.remove(at: 5))
          albums[albums.firstIndex { $0.id == "20" } ?? 0].name = "Renamed"
        }
        try await browser.wait(until: "__cf.n === 59")
        let index = try #require(shelf.albums.value.firstIndex { $0.id == "20" })
        let front = try await Self.front(browser)
        #expect(
          front
            == Front(key: "20", text: "Renamed", caption: "Renamed", number: "\(index + 1) of 59"))
        // Each cover shows the row whose key it has.
        let shown: [[String]] = try await browser.script(
          "return __cf.visible.map(({ key, element }) => [key, element.querySelector('h2').textContent])"
        )
        let names = Dictionary(uniqueKeysWithValues: shelf.albums.value.map { ($0.id, $0.name) })
        #expect(shown.count > 8)
        for each in shown { #expect(names[each[0]] == each[1]) }
      }
    }

    @Test
    func `A page that keeps the wheel for itself has covers that move sideways only`() async throws
    {
      try await Self.withShelf { browser, _, _ in
        func takes(_ movement: String) async throws -> Bool {
          try await browser.script(
            """
            const event = new WheelEvent('wheel', { \(movement): 120, cancelable: true, bubbles: true })
            return !document.querySelector('.cf-front').dispatchEvent(event)
            """)
        }
        #expect(try await takes("deltaY"))
        try await browser.run("document.querySelector('[data-covers]').dataset.wheel = 'sideways'")
        try await browser.wait(until: "__cf.mode === 'rest'")
        let position: Double = try await browser.script("return __cf.position")
        #expect(try await !takes("deltaY"))
        #expect(try await browser.script("return __cf.position") == position)
        #expect(try await takes("deltaX"))
        try await browser.wait(until: "__cf.mode === 'rest' && __cf.position > \(position)")
      }
    }

    @Test("rows that come into an empty list begin with the first")
    func filled() async throws {
      try await Self.withShelf { browser, shelf, _ in
        try await browser.run("__cf.jump(20)")
        await shelf.change { $0 = [] }
        try await browser.wait(until: "__cf.n === 0")
        await shelf.change { albums in
          albums = (0..<30).map { Album(id: "new \($0)", name: "New \($0)") }
        }
        try await browser.wait(until: "__cf.n === 30 && __cf.mode === 'rest'")
        #expect(try await Self.front(browser).key == "new 0")
        #expect(try await Self.front(browser).number == "1 of 30")
      }
    }

    @Test("a row that leaves and comes back with the same key is shown as it is then")
    func returning() async throws {
      try await Self.withShelf { browser, shelf, _ in
        await shelf.change { $0.removeAll { $0.id == "1" } }
        try await browser.wait(until: "__cf.n === 59")
        await shelf.change { $0.insert(Album(id: "1", name: "Back"), at: 1) }
        try await browser.wait(until: "__cf.n === 60")
        await shelf.change { $0[1].name = "Back again" }
        let text =
          "__cf.visible.find(({ key }) => key === '1').element.querySelector('h2').textContent"
        try await browser.wait(until: "\(text) === 'Back again'")
      }
    }

    @Test("a selected cover, and one that came to the front, are actions with the row's argument")
    func actions() async throws {
      try await Self.withShelf { browser, shelf, _ in
        // The first cover comes to the front before it is left.
        try await browser.wait(until: "document.querySelector('#log').textContent === 'front 0'")
        try await browser.run("document.querySelector('.cf-stage').focus({ focusVisible: true })")
        try await browser.perform(.keyboard().press(.right))
        try await browser.wait(until: "__cf.position === 1 && __cf.mode === 'rest'")
        try await browser.perform(.keyboard().press(.space))
        // The back is of the same row, and its controls work.
        try await browser.perform(.keyboard().press(.enter))
        let back = "document.querySelector('.cf-back.cf-seen')"
        // Once it has turned all the way.
        try await browser.wait(until: "\(back)?.style.transform.startsWith('translate(')")
        try await browser.click(browser.find(".cf-back button"))
        try await browser.wait(
          until: "document.querySelector('#log').textContent.endsWith('played 1')")
        #expect(shelf.log.value == "front 0, front 1, selected 1, played 1")
      }
    }

    @Test("the view model brings a row to the front, also one that is not there yet")
    func broughtToFront() async throws {
      try await Self.withShelf { browser, shelf, _ in
        await MainActor.run { shelf.nearest.value = "40" }
        try await browser.wait(until: "__cf.position === 40 && __cf.mode === 'rest'")
        await MainActor.run { shelf.nearest.value = "late" }
        await shelf.change { $0.insert(Album(id: "late", name: "Late"), at: 3) }
        try await browser.wait(
          until: "__cf.mode === 'rest' && __cf.visible[0].key === 'late'")
      }
    }

    @Test("pictures and covers follow a list that changes ten times a second")
    func busy() async throws {
      try await Self.withShelf(albums: 200) { browser, shelf, _ in
        try await browser.run("__cf.jump(100)")
        try await browser.wait(until: "__cf.position === 100")
        let before: Int = try await browser.script("return document.querySelectorAll('*').length")
        for round in 0..<30 {
          await shelf.change { albums in
            for index in albums.indices { albums[index].name = "\(albums[index].id), \(round)" }
            albums.append(albums.removeFirst())
          }
          try await browser.run("return new Promise((done) => setTimeout(done, 60))")
        }
        try await browser.wait(
          until: "document.querySelector('.cf-front h2').textContent === '100, 29'")
        let after: Int = try await browser.script("return document.querySelectorAll('*').length")
        #expect(after == before)
        try await browser.wait(
          until: "__cf.visible.every(({ element }) => element.matches('.cf-pictured'))")
        let loaded: Int = try await browser.script(
          "return performance.getEntriesByType('resource').filter(({ name }) => name.includes('pictures')).length"
        )
        #expect(loaded <= 60, "a change of text loads no picture again: \(loaded)")
      }
    }

    @Test("a server that was started anew shows the same cover in front")
    func restarted() async throws {
      try await Self.withShelf { browser, shelf, server in
        try await browser.run("__cf.jump(20)")
        try await browser.wait(until: "__cf.position === 20 && __cf.mode === 'rest'")
        try await server.stop()
        await shelf.change { $0.removeFirst(5) }
        let again = try await RunningServer.start(
          site: Shelf.site, pages: { [shelf.page(true)] }, port: server.port)
        try await browser.wait(until: "__cf.n === 55")
        #expect(try await Self.front(browser).key == "20")
        try await again.stop()
      }
    }

    @Test("without WebAssembly the rows are a list, whose actions work")
    func list() async throws {
      try await Self.withShelf(allowsWebAssembly: false) { browser, shelf, _ in
        try await browser.wait(until: "document.querySelector('.cf-list')")
        try await browser.run("document.querySelector('.cf-list ul').focus()")
        try await browser.perform(.keyboard().press(.down).press(.space))
        try await browser.wait(
          until: "document.querySelector('#log').textContent.endsWith('selected 1')")
        await shelf.change { $0[1].name = "Renamed" }
        try await browser.wait(
          until: "document.querySelector('[aria-selected=true] h2').textContent === 'Renamed'")
      }
    }
  }

  struct Album: Identifiable, Equatable, Sendable {
    let id: String
    var name: String
    var picture: String? { "pictures/\(id).svg" }
  }

  /// Albums in a cover flow.
  final class Shelf: ViewModel {
    let albums = MutableProperty<[Album]>([])
    let nearest = MutableProperty<String?>(nil)
    /// What the page did.
    let log = MutableProperty("")
    let arrived: Action<String, Void, Never>
    let select: Action<String, Void, Never>
    let play: Action<String, Void, Never>

    static let bindings: Bindings<Shelf> = [
      "albums": .list(
        \.albums,
        ["id": .value(\.id), "name": .value(\.name), "picture": .value(\.picture)]),
      "nearest": .oneWay(\.nearest),
      "log": .oneWay(\.log),
      "arrived": .action(\.arrived),
      "select": .action(\.select),
      "play": .action(\.play),
    ]

    init(albums count: Int) {
      let log = log
      let noting = { (what: String) in
        Action<String, Void, Never> { id in
          SignalProducer { observer, _ in
            log.modify { $0 += ($0.isEmpty ? "" : ", ") + "\(what) \(id)" }
            observer.sendCompleted()
          }
        }
      }
      (arrived, select, play) = (noting("front"), noting("selected"), noting("played"))
      albums.value = (0..<count).map { Album(id: "\($0)", name: "Album \($0)") }
    }

    func change(_ body: (inout [Album]) -> Void) { albums.modify(body) }

    func page(_ allowsWebAssembly: Bool) -> Page {
      var page = Page("index.html", sharing: self)
      page.allowsWebAssembly = allowsWebAssembly
      return page
    }

    nonisolated static let site = Site.files(CoverFlowPage.files)
      .or(.files(["index.html": Array(html.utf8)]))
      .or(
        Site { path in
          path.hasPrefix("pictures/") ? Site.Resource(Array(picture.utf8)) : nil
        })

    private nonisolated static let picture = """
      <svg xmlns="http://www.w3.org/2000/svg" width="64" height="64">\
      <rect width="64" height="64" fill="teal"/></svg>
      """

    private nonisolated static let html = """
      <!doctype html>
      <html>
      <meta charset="utf-8">
      <title>Shelf</title>
      <link rel="icon" href="data:,">
      <link rel="stylesheet" href="binding.css">
      <link rel="stylesheet" href="cover-flow.css">
      <script type="module" src="binding.js"></script>
      <script type="module" src="cover-flow-binding.js"></script>
      <body>
      <p id="log" data-text="log"></p>
      <div id="cf" data-covers aria-label="Albums" data-attr="data-front:nearest">
        <template data-row="albums">
          <article
            data-attr="data-title:name data-image:picture"
            data-on="coverfront:arrived coverselect:select" data-arg="id"
          ><h2 data-text="name"></h2></article>
        </template>
        <template data-row="albums">
          <section><h3 data-text="name"></h3><button data-on="click:play" data-arg="id">Play</button></section>
        </template>
      </div>
      """
  }
#endif

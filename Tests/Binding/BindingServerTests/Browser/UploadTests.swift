#if BindingServer
  import Binding
  import BindingServer
  import Foundation
  import Reactive
  import Testing
  import WebDriver

  @Suite("Files that users choose", .enabled(if: Browser.isExpected))
  struct UploadTests {
    private static func withPage(
      _ album: sending @MainActor () -> PhotoBox = { PhotoBox() },
      _ body: (Browser, PhotoBox, CuttableProxy, URL) async throws -> Void
    ) async throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let album = await album()
      try await withServer(
        site: PhotoBox.site, pages: { [Page("album.html", sharing: album)] },
        configure: { $0.uploadFolder = folder.path }
      ) { server in
        let proxy = try await CuttableProxy.start(to: server.port)
        try await withBrowser { browser in
          try await browser.navigate(to: "http://127.0.0.1:\(proxy.port)/")
          try await browser.wait(until: "document.documentElement.dataset.live == 'on'")
          try await body(browser, album, proxy, folder)
        }
        try await proxy.stop()
      }
    }

    private static func file(_ name: String, _ count: Int, in folder: URL) throws -> (URL, Data) {
      let url = folder.appending(path: name)
      // Parts differ, because 251 is a prime.
      var data = Data((0..<251).map { UInt8(truncatingIfNeeded: $0 &+ count) })
      while data.count < count { data.append(data) }
      data = data.prefix(count)
      try data.write(to: url)
      return (url, data)
    }

    private static let rows = "[...document.querySelectorAll('li')]"

    @Test
    func `Chosen files come whole, several at once, with their progress in the page`() async throws
    {
      try await Self.withPage { browser, album, _, folder async throws in
        let (first, firstData) = try Self.file("erste ü+&.bin", 3_000_000, in: folder)
        let (second, secondData) = try Self.file("zero", 0, in: folder)
        try await browser.run(
          """
          window.seen = [];
          new MutationObserver(() => {
            for (const each of document.querySelectorAll("progress")) seen.push(each.value);
          }).observe(document, { subtree: true, attributes: true, childList: true });
          """)
        let input = try await browser.find("#photos")
        try await browser.type("\(first.path)\n\(second.path)", into: input)
        try await browser.wait(
          until: "\(Self.rows).length == 2 && \(Self.rows).every((row) => "
            + "row.querySelector('progress').value == 1 && !row.querySelector('s').hidden)")
        try await browser.wait(
          until: "!document.querySelector('#photos').hasAttribute('data-pending')")
        #expect(await album.contents == [firstData, secondData])
        #expect(await album.photos.files.value.map(\.name) == ["erste ü+&.bin", "zero"])
        let seen: [Double] = try await browser.script("return seen")
        #expect(seen.contains { $0 > 0 && $0 < 1 }, "some parts have come, others not")
        #expect(try await browser.isDisplayed(browser.find("#busy")) == false)
        #expect(try await browser.consoleErrors() == [])
      }
    }

    @Test
    func `A file goes on after the network was cut, and typing beside it isn't held up`()
      async throws
    {
      try await Self.withPage { browser, album, proxy, folder async throws in
        let (url, data) = try Self.file("large", 6_000_000, in: folder)
        proxy.cut()
        try await browser.type(url.path, into: browser.find("#photos"))
        try await browser.wait(
          until: "document.querySelector('#photos').hasAttribute('data-pending')")
        try await browser.wait(until: "document.documentElement.dataset.live == 'off'")
        proxy.restore()
        try await browser.wait(until: "\(Self.rows).length == 1")
        proxy.cut()
        try await browser.wait(until: "document.documentElement.dataset.live == 'off'")
        proxy.restore()
        try await browser.type("typed", into: browser.find("#note"))
        try await browser.wait(
          until: "!document.querySelector('#photos').hasAttribute('data-pending')")
        #expect(await album.contents == [data])
        try await browser.wait(
          until: "!document.querySelector('#note').hasAttribute('data-pending')")
        #expect(album.note.value == "typed")
      }
    }

    /// Whether the file in the page has come in part.
    private static let isUnderWay =
      "document.querySelector('progress')?.value > 0 && document.querySelector('progress').value < 1"

    @Test
    func `A file that has come in part begins anew in a server that is started anew`() async throws
    {
      let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let (url, data) = try Self.file("large", 16_000_000, in: folder)
      let next = await PhotoBox(byteCountMax: 100_000_000)
      let first = try await RunningServer.start(
        site: PhotoBox.site,
        pages: { [Page("album.html") { PhotoBox(byteCountMax: 100_000_000) }] })
      try await withBrowser { browser in
        try await browser.navigate(to: first.address)
        try await browser.wait(until: "document.documentElement.dataset.live == 'on'")
        try await browser.type(url.path, into: browser.find("#photos"))
        try await browser.wait(until: Self.isUnderWay)
        try await first.stop()
        let second = try await RunningServer.start(
          site: PhotoBox.site, pages: { [Page("album.html", sharing: next)] }, port: first.port)
        try await browser.wait(until: "document.documentElement.dataset.live == 'on'")
        try await browser.wait(until: "document.querySelector('s:not([hidden])') != null")
        #expect(await next.contents == [data])
        try await second.stop()
      }
    }

    @Test
    func `A file that changes while it is sent is given up, in the page and in the view model`()
      async throws
    {
      try await Self.withPage({ PhotoBox(byteCountMax: 100_000_000) }) {
        browser, album, _, folder async throws in
        let (url, data) = try Self.file("large", 16_000_000, in: folder)
        try await browser.type(url.path, into: browser.find("#photos"))
        try await browser.wait(until: Self.isUnderWay)
        try data.dropLast(1_000).write(to: url)
        try await browser.wait(
          until: "document.querySelector('b')?.textContent == 'The upload was interrupted.'")
        try await browser.wait(
          until: "document.querySelector('#photos').getAttribute('data-refused') == '0'")
        #expect(await album.photos.files.value.map(\.error?.code) == [.interrupted])
      }
    }

    @Test
    func `A refused file has its reason in the page, its input is marked, and it can be removed`()
      async throws
    {
      try await Self.withPage({ PhotoBox(byteCountMax: 1_000) }) {
        browser, album, _, folder async throws in
        let (url, _) = try Self.file("large", 1_001, in: folder)
        let input = try await browser.find("#photos")
        try await browser.type(url.path, into: input)
        try await browser.wait(
          until: "document.querySelector('#photos').getAttribute('data-refused') == '413'")
        try await browser.wait(
          until:
            "document.querySelector('b')?.textContent == 'The file is too large: at most 1 kB.'")
        #expect(
          try await browser.script(
            "return document.querySelector('#photos').getAttribute('aria-invalid')") == "true")
        try await browser.click(browser.find("li button"))
        try await browser.wait(until: "\(Self.rows).length == 0")
        #expect(await album.photos.files.value.isEmpty)
        // A click, which opens the browser's dialog, empties the input.
        try await browser.run("arguments[0].value = ''", input)
        let (small, data) = try Self.file("small", 1_000, in: folder)
        try await browser.type(small.path, into: input)
        try await browser.wait(
          until: "document.querySelector('s:not([hidden])') != null "
            + "&& !document.querySelector('#photos').hasAttribute('data-refused')")
        #expect(await album.contents.last == data)
      }
    }
  }
#endif

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
    func `Files of rows come to their rows, with limits of their own, and end with them`()
      async throws
    {
      let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
      let parts = folder.appending(path: "parts")
      try FileManager.default.createDirectory(at: parts, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let (large, largeData) = try Self.file("large", 1_000_000, in: folder)
      let (small, _) = try Self.file("small", 10, in: folder)
      let rows = await [
        PhotoBox.Shelf.Row("a:1"), PhotoBox.Shelf.Row("b&+", byteCountMax: 100),
      ]
      let shelf = await PhotoBox.Shelf("a", rows)
      try await withServer(
        site: PhotoBox.Shelf.site, pages: { [Page("shelf.html", sharing: shelf)] },
        configure: { $0.uploadFolder = parts.path }
      ) { server in
        try await withBrowser { browser in
          try await browser.navigate(to: server.address)
          try await browser.wait(until: "document.querySelectorAll('section').length == 2")
          for box in 1...2 {
            try await browser.type(
              "\(large.path)\n\(small.path)",
              into: browser.find("section:nth-of-type(\(box)) input"))
          }
          try await browser.wait(
            until: "[...document.querySelectorAll('section')].map((box) => [...box"
              + ".querySelectorAll('li')].map((file) => file.title + file.querySelector('progress')"
              + ".value + file.querySelector('b').textContent).join()).join(';') == 'large1,small1;"
              + "large0The file is too large: at most 100 bytes.,small1'")
          let kept = try #require(await rows[0].photos.files.value.first?.path)
          #expect(FileManager.default.contents(atPath: kept) == largeData)
          try await browser.run("document.querySelector('[title=small] button').click()")
          try await browser.wait(until: "document.querySelectorAll('li').length == 3")
          #expect(await rows[0].photos.files.value.map(\.name) == ["large"])
          await MainActor.run { shelf.boxes.value = [] }
          try await browser.wait(until: "document.querySelector('section') == null")
          #expect(!FileManager.default.fileExists(atPath: kept))
          for row in rows { #expect(await row.photos.files.value.isEmpty) }
        }
      }
    }

    @Test
    func `Files of rows in rows come to the row, are shown in it, and are cancelled there`()
      async throws
    {
      let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let (file, data) = try Self.file("file", 300_000, in: folder)
      let rows = await [
        PhotoBox.Shelf.Row("ü:1"), PhotoBox.Shelf.Row("2"), PhotoBox.Shelf.Row("2"),
      ]
      let rack = await PhotoBox.Shelf.Rack([
        PhotoBox.Shelf("a", [rows[0], rows[1]]), PhotoBox.Shelf("b", [rows[2]]),
      ])
      try await withServer(
        site: PhotoBox.Shelf.rackSite, pages: { [Page("rack.html", sharing: rack)] },
        configure: { $0.uploadFolder = folder.path }
      ) { server in
        try await withBrowser { browser in
          try await browser.navigate(to: server.address)
          try await browser.wait(until: "document.querySelectorAll('section').length == 3")
          for box in [
            "article:nth-of-type(1) section:nth-of-type(1)", "article:nth-of-type(2) section",
          ] {
            try await browser.type(file.path, into: browser.find("\(box) input"))
          }
          try await browser.wait(
            until: "[...document.querySelectorAll('section')].map((box) => box.title + ' ' + [..."
              + "box.querySelectorAll('p')].map((file) => file.title + file.querySelector('b')"
              + ".textContent)).join() == 'ü:1 file1,2 ,2 file1'")
          for row in [rows[0], rows[2]] {
            let path = try #require(await row.photos.files.value.first?.path)
            #expect(FileManager.default.contents(atPath: path) == data)
          }
          try await browser.run("document.querySelector('article:nth-of-type(2) button').click()")
          try await browser.wait(until: "document.querySelectorAll('section p').length == 1")
          let counts = await MainActor.run { rows.map { $0.photos.files.value.count } }
          #expect(counts == [1, 0, 0])
          let kept = try #require(await rows[0].photos.files.value.first?.path)
          await MainActor.run { _ = rack.shelves.value.removeFirst() }
          try await browser.wait(until: "document.querySelectorAll('section').length == 1")
          #expect(!FileManager.default.fileExists(atPath: kept))
          #expect(try await browser.consoleErrors() == [])
        }
      }
    }

    /// Puts a proxy between the page and its server that gives other answers than the server, as `script` decides.
    private static func interpose(_ script: String, _ browser: Browser) async throws {
      try await browser.run(
        """
        const server = window.fetch;
        window.answered = [];
        window.fetch = async (url, options) => {
          const status = ((url, body) => { \(script) })(url, options?.body);
          if (!status) return server(url, options);
          answered.push(status);
          return { status };
        };
        """)
    }

    @Test
    func `A file comes whole through a proxy that takes small parts only`() async throws {
      try await Self.withPage { browser, album, _, folder async throws in
        try await Self.interpose("if (body?.byteLength > 9000) return 413", browser)
        let (url, data) = try Self.file("photo", 100_000, in: folder)
        let input = try await browser.find("#photos")
        try await browser.type(url.path, into: input)
        try await browser.wait(until: "document.querySelector('s:not([hidden])') != null")
        #expect(await album.contents.last == data)
        #expect(try await browser.script("return answered.join()") == "413")
        #expect(
          try await browser.script("return arguments[0].hasAttribute('data-refused')", input)
            == false)
      }
    }

    @Test
    func `A proxy that takes no part at all refuses the file, after few attempts`() async throws {
      try await Self.withPage { browser, _, _, folder async throws in
        try await Self.interpose("if (body?.byteLength > 0) return 413", browser)
        let (url, _) = try Self.file("photo", 100_000, in: folder)
        try await browser.type(url.path, into: browser.find("#photos"))
        try await browser.wait(
          until: "document.querySelector('#photos').getAttribute('data-refused') == '413'")
        #expect(try await browser.script("return answered.length") == 3, "16, 8 and 4 kB")
      }
    }

    @Test(arguments: [408, 425, 429, 401])
    func `A file that isn't taken now is sent again, and comes whole`(status: Int) async throws {
      try await Self.withPage { browser, album, _, folder async throws in
        try await Self.interpose(
          "if (url.search.includes('upload=') && [1, 3].includes(++window.count)) return \(status)",
          browser)
        try await browser.run("window.count = 0")
        let (url, data) = try Self.file("photo", 50_000, in: folder)
        try await browser.type(url.path, into: browser.find("#photos"))
        try await browser.wait(until: "document.querySelector('s:not([hidden])') != null")
        #expect(await album.contents.last == data)
        #expect(try await browser.script("return answered.length") == 2)
        #expect(try await browser.script("return \(Self.rows).length") == 1)
      }
    }

    @Test
    func `The page shows in words that a file was refused, until others are chosen`() async throws {
      try await Self.withPage { browser, _, _, folder async throws in
        try await Self.interpose("if (url.search.includes('name=bad')) return 403", browser)
        let line = "document.querySelector('[data-when=denied]')"
        let (good, _) = try Self.file("good", 1_000, in: folder)
        let (bad, _) = try Self.file("bad", 1_000, in: folder)
        let input = try await browser.find("#photos")
        try await browser.type("\(bad.path)\n\(good.path)", into: input)
        try await browser.wait(until: "document.querySelector('s:not([hidden])') != null")
        try await browser.wait(until: "\(line)?.hidden === false")
        #expect(
          try await browser.script("return document.documentElement.dataset.refusal") == "403")
        // A click, which opens the browser's dialog, empties the input.
        try await browser.run("arguments[0].value = ''", input)
        try await browser.type(good.path, into: input)
        try await browser.wait(until: "\(line).hidden")
      }
    }

    @Test
    func
      `Files that are chosen hide no refusal of text, and one that can't be read none of another`()
      async throws
    {
      try await Self.withPage { browser, _, _, folder async throws in
        try await Self.interpose(
          """
          if (url.search.includes('name=bad')) return 403;
          if (!url.search && body.includes('wrong')) return 413
          """, browser)
        // The browser finds out when the test decides.
        try await browser.run(
          """
          const { slice } = Blob.prototype;
          Blob.prototype.slice = function (...range) {
            if (this.name != "gone") return slice.apply(this, range);
            return { arrayBuffer: () => new Promise((_, fail) => (window.fail = fail)) };
          };
          """)
        let (good, _) = try Self.file("good", 1_000, in: folder)
        let (bad, _) = try Self.file("bad", 1_000, in: folder)
        let (gone, _) = try Self.file("gone", 1_000, in: folder)
        let input = try await browser.find("#photos")
        let refusal = "document.documentElement.dataset.refusal"
        let refused = "document.querySelector('#photos').dataset.refused"
        try await browser.type("wrong", into: browser.find("#note"))
        try await browser.wait(until: "\(refusal) == '413'")
        try await browser.type(good.path, into: input)
        try await browser.wait(until: "document.querySelector('s:not([hidden])') != null")
        #expect(try await browser.script("return \(refusal)") == "413")
        // A click, which opens the browser's dialog, empties the input.
        try await browser.run("arguments[0].value = ''", input)
        try await browser.type("\(bad.path)\n\(gone.path)", into: input)
        try await browser.wait(until: "\(refusal) == '403' && window.fail")
        try await browser.run("fail()")
        try await browser.wait(until: "\(refused) == '0'")
        #expect(try await browser.script("return \(refusal)") == "403")
        try await browser.run("arguments[0].value = ''", input)
        try await browser.type(good.path, into: input)
        try await browser.wait(until: "\(refused) === undefined")
        #expect(try await browser.script("return \(refusal)") == "413", "the text is still unsent")
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

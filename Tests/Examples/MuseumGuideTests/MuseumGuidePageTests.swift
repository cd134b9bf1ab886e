#if BindingServer
  import Foundation
  import PageProgram
  import Testing
  import WebDriver

  /// The program as its users run it, in a browser.
  @Suite("The museum-guide program", .enabled(if: Browser.isExpected))
  struct MuseumGuidePageTests {
    /// Starts the program on a free port, and ends it afterwards.
    private static func withProgram(
      _ arguments: String..., body: (Browser) async throws -> Void
    ) async throws {
      let program = try PageProgram("museum-guide", arguments)
      defer { #expect(program.stop() == 0, "it ends when it is asked to") }
      try await withBrowser { browser in
        try await browser.navigate(to: program.address + "?probe")
        try await browser.wait(until: "document.documentElement.dataset.live == 'on'")
        try await browser.wait(until: "\(title) != null", seconds: 60)
        try await body(browser)
        #expect(try await browser.consoleErrors() == [])
      }
    }

    private static let names = [
      "Sandglass", "Compass", "Astrolabe", "Globe", "Sextant", "Marine chronometer", "Lighthouse",
      "Satellite",
    ]

    private static let title = "(document.querySelector('.cf-title')?.textContent ?? null)"
    private static let place = "document.querySelector('.place').textContent"
    private static let isAtRest = "__cf.mode == 'rest'"
    private static let follow = ".follow input"

    @Test("walking brings the cover of the nearest exhibit to the front, and its text with it")
    func walking() async throws {
      try await Self.withProgram("--speed", "10") { browser in
        for name in ["Compass", "Globe", "Lighthouse"] {
          try await browser.wait(
            until: "\(Self.title) == '\(name)' && \(Self.place) == 'You are at “\(name)”.'",
            seconds: 120)
        }
        try await browser.wait(
          until: "document.querySelector('.text p').textContent.startsWith('Augustin Fresnel')",
          seconds: 120)
        try await browser.wait(
          until: "\(Self.place) == 'You have left the museum.'", seconds: 120)
        #expect(
          try await browser.text(of: browser.find(".progress")) == "\(Self.names.count) of 8 seen")
      }
    }

    @Test("a visitor who browses the exhibits isn't interrupted, and can follow again")
    func leafing() async throws {
      try await Self.withProgram("--speed", "5") { browser in
        try await browser.click(browser.find(Self.follow))
        try await browser.wait(until: "!document.querySelector('\(Self.follow)').checked")
        try await browser.run("document.querySelector('[role=listbox]').focus()")
        try await browser.perform(.keyboard().press(.end))
        try await browser.wait(until: "\(Self.title) == 'Satellite' && \(Self.isAtRest)")
        try await browser.wait(
          until: "document.querySelector('.text p').textContent.startsWith('It sends nothing')")
        // The visit goes on, from one exhibit to the next.
        try await browser.wait(until: "\(Self.place).startsWith('You are at')", seconds: 120)
        let first: String = try await browser.script("return \(Self.place)")
        try await browser.wait(
          until: "\(Self.place).startsWith('You are at') && \(Self.place) != arguments[0]", first,
          seconds: 120)
        #expect(try await browser.script("return \(Self.title)") == "Satellite")
        try await browser.click(browser.find(Self.follow))
        try await browser.wait(
          until: "\(Self.title) != 'Satellite' && \(Self.place).includes(\(Self.title))",
          seconds: 120)
      }
    }

    @Test("the guide uses no radio beside the simulated one")
    func radio() throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      // The host that an app gets without asking for one writes what it sends there from the beginning.
      let capture = folder.appending(path: "capture").path
      let program = try PageProgram("museum-guide", environment: ["AMBIT_CAPTURE": capture])
      #expect(program.stop() == 0)
      #expect(!FileManager.default.fileExists(atPath: capture))
    }

    @Test("the guide's page is legible to a screen reader, and works with the keyboard alone")
    func accessibility() async throws {
      try await Self.withProgram("--speed", "0.1") { browser in
        let tree = try await browser.accessibilityTree()
        #expect(tree.first("heading", "Finding the way") != nil)
        let follow = try #require(tree.first("switch", "Follow me"), "\(tree.outline)")
        #expect(follow.properties["checked"] == "true")
        #expect(tree.first("status")?.outline.contains("No exhibit is near yet.") == true)
        #expect(tree.first("region", "About this exhibit")?.outline.contains("Sand keeps") == true)
        let covers = try #require(tree.first("listbox", "Exhibits"), "\(tree.outline)")
        let front = covers.all.first { $0.role == "option" && $0.name.contains("Sandglass") }
        #expect(front != nil, "\(covers.outline)")
        try await browser.perform(.keyboard().press(.tab))
        try await browser.wait(until: "document.activeElement.matches('\(Self.follow)')")
        try await browser.perform(.keyboard().press(.space))
        try await browser.wait(until: "!document.activeElement.checked")
        try await browser.perform(.keyboard().press(.tab))
        try await browser.wait(until: "document.activeElement.matches('[role=listbox]')")
        try await browser.perform(.keyboard().press(.right))
        try await browser.wait(until: "\(Self.title) == 'Compass' && \(Self.isAtRest)")
        try await browser.wait(
          until: "document.querySelector('.cf-status').textContent.includes('2 of 8')")
        try await browser.wait(
          until: "document.querySelector('.text p').textContent.startsWith('A needle')")
      }
    }

    @Test(
      "the guide's page fits on a phone and on a desktop screen, with its pictures",
      arguments: [(390, 844), (1280, 720)])
    func sizes(width: Int, height: Int) async throws {
      try await Self.withProgram("--speed", "0.1") { browser in
        try await browser.setSize(width: width, height: height)
        try await browser.wait(
          until: "__cf.visible.every(({ element }) => element.matches('.cf-pictured'))")
        #expect(
          try await browser.script("return document.documentElement.scrollWidth <= innerWidth"))
        #expect(
          try await browser.script("return document.documentElement.scrollHeight <= innerHeight"))
      }
    }
  }
#endif

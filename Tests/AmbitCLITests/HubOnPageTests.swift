#if BindingServer
  import Foundation
  import Glibc
  import PageProgram
  import Testing
  import WebDriver

  @testable import AmbitCLI

  /// The place of the hub on the page, in a browser.
  @Suite(
    "The hub on the page in a browser", .serialized, .enabled(if: Browser.isExpected),
    .timeLimit(.minutes(5)))
  struct HubOnPageTests {
    private static let button = "document.querySelector('[aria-controls=hub]')"
    private static func card(_ text: String) -> String {
      "[...document.querySelectorAll('#hub li')].some((each) => each.checkVisibility()"
        + " && each.textContent.replace(/\\s+/g, ' ').includes('\(text)'))"
    }
    private static func problem(_ text: String) -> String {
      "document.querySelector('#hub .problem').checkVisibility()"
        + " && document.querySelector('#hub .problem').textContent.includes('\(text)')"
    }

    private static func page(_ environment: [String: String], _ folder: String) throws
      -> PageProgram
    {
      // With a hub, bonds are its own.
      let own = ["XDG_STATE_HOME": folder]
      return try PageProgram(
        "ambit", commandLine: ["page", "--port", "0", "--no-network"],
        environment: own.merging(environment) { $1 })
    }

    @Test("the page shows programs and links live, and a hub that is silent, has ended or is back")
    func hub() async throws {
      let folder = try TestFolder()
      let path = folder.path + "/hub"
      let first = try await ServedHub("sim", at: path)
      let program = try Self.page(first.environment, folder.path)
      defer { #expect(program.stop() == 143, "it ends when it is asked to") }
      try await withBrowser { browser in
        try await browser.navigate(to: program.address + "&probe")
        try await browser.wait(until: "document.documentElement.dataset.live == 'on'")
        try await browser.wait(until: "\(Self.button).checkVisibility()")
        #expect(
          try await browser.script("return !document.querySelector('#hub').checkVisibility()"))
        try await browser.wait(until: "\(Self.button).ariaExpanded == 'false'")
        try await browser.click(browser.find("[aria-controls=hub]"))
        try await browser.wait(until: "\(Self.button).ariaExpanded == 'true'")
        // The page's own program, which scans.
        try await browser.wait(until: Self.card("1 scan"), seconds: 60)
        let watch = try AmbitRun(
          ["subscribe", "strap", "2A37", "--json"], environment: first.environment)
        #expect(await watch.output.next(containing: "\"value\"") != nil)
        try await browser.wait(until: Self.card("1 subscription"), seconds: 60)
        try await browser.wait(until: Self.card("Pulse strap"), seconds: 60)
        watch.interrupt()
        _ = await watch.end()
        try await browser.wait(until: "!(\(Self.card("1 subscription")))", seconds: 60)

        first.server.send(SIGSTOP)
        try await browser.wait(until: Self.problem("did not answer in time"), seconds: 60)
        // What was there is still shown, as old.
        #expect(try await browser.script("return document.querySelector('#hub .old') != null"))
        first.server.send(SIGCONT)
        try await browser.wait(until: "document.querySelector('#hub .old') == null", seconds: 60)
        await first.kill()
        try await browser.wait(until: Self.problem("No hub listens at"), seconds: 60)
        let second = try await ServedHub("sim", at: path)
        try await browser.wait(until: "document.querySelector('#hub .old') == null", seconds: 60)
        try await browser.click(browser.find("[aria-controls=hub]"))
        try await browser.wait(until: "!document.querySelector('#hub').checkVisibility()")
        #expect(try await browser.consoleErrors() == [])
        withExtendedLifetime(second) {}
      }
    }

    @Test("a page on a radio of its own has no place for a hub")
    func without() async throws {
      let folder = try TestFolder()
      let program = try Self.page(["AMBIT_HUB": "off"], folder.path)
      defer { #expect(program.stop() == 143, "it ends when it is asked to") }
      try await withBrowser { browser in
        try await browser.navigate(to: program.address + "&probe")
        try await browser.wait(until: "document.documentElement.dataset.live == 'on'")
        try await browser.wait(
          until: "document.querySelector('tbody .name') != null", seconds: 60)
        #expect(try await browser.script("return !\(Self.button).checkVisibility()"))
      }
    }
  }
#endif

import Foundation
import Testing
import WebDriver

/// Each test has a browser of its own.
@Suite("A browser that tests drive", .enabled(if: Browser.isExpected))
struct BrowserTests {
  private static let form = """
    <!doctype html><title>Form</title>
    <h1>Sign in</h1>
    <label>Name <input id="name"></label>
    <button id="go" onclick="document.querySelector('#said').textContent =
      'Hello, ' + document.querySelector('#name').value">Go</button>
    <button disabled>Later</button>
    <p id="said" role="status"></p>
    """

  /// A page of which nothing has to be served.
  private static func page(_ html: String) -> String {
    "data:text/html;base64," + Data(html.utf8).base64EncodedString()
  }

  @Test("a browser types into a field, clicks a button and reads the result")
  func form() async throws {
    try await withBrowser { browser in
      try await browser.navigate(to: Self.page(Self.form))
      #expect(try await browser.title() == "Form")
      let name = try await browser.find("#name")
      try await browser.type("Ann", into: name)
      let value: String = try await browser.property("value", of: name)
      #expect(value == "Ann")
      #expect(try await browser.focusedElement() == name)
      try await browser.click(browser.find("#go"))
      #expect(try await browser.text(of: browser.find("#said")) == "Hello, Ann")
      let buttons = try await browser.findAll("button")
      #expect(buttons.count == 2)
      #expect(try await browser.isEnabled(buttons[1]) == false)
      try await browser.clear(name)
      try await browser.click(name)
      try await browser.perform(.keyboard().type("Bo\u{e9}", every: .milliseconds(5)).press(.tab))
      let typed: String = try await browser.script("return arguments[0].value", name)
      #expect(typed == "Bo\u{e9}")
    }
  }

  @Test("a browser reports a missing element, and the error that a script threw")
  func failures() async throws {
    try await withBrowser { browser in
      try await browser.navigate(to: Self.page(Self.form))
      let missing = await #expect(throws: WebDriverError.self) {
        try await browser.find("#nowhere")
      }
      #expect(missing?.code == "no such element")
      let thrown = await #expect(throws: WebDriverError.self) {
        try await browser.run("throw new Error('of the page')")
      }
      #expect(thrown?.code == "javascript error")
      #expect(thrown?.description.contains("of the page") == true)
    }
  }

  @Test("a browser waits for a condition, and reports its last value when it never held")
  func waiting() async throws {
    try await withBrowser { browser in
      try await browser.navigate(to: Self.page(Self.form))
      try await browser.run("setTimeout(() => { window.later = 5; }, 50)")
      try await browser.wait(until: "window.later === arguments[0]", 5)
      let error = await #expect(throws: WebDriverError.self) {
        try await browser.wait(until: "document.title === 'x' || 0", seconds: 0.1)
      }
      #expect(error?.code == "timeout")
      #expect(error?.message.contains(" is 0 after") == true)
      let promised: Int = try await browser.script("return Promise.resolve(7)")
      #expect(promised == 7)
      let called: Int = try await browser.asyncScript(
        "setTimeout(() => arguments[1](arguments[0] + 1), 1)", 1)
      #expect(called == 2)
    }
  }

  @Test("a browser moves pointers of all kinds, turns the wheel and holds keys")
  func input() async throws {
    let html = """
      <!doctype html><body style="margin: 0; height: 3000px; touch-action: none"><script>
      window.seen = [];
      for (const name of ["pointerdown", "pointerup", "wheel", "keydown", "keyup"])
        addEventListener(name, (event) => seen.push(
          [name, event.pointerType || event.key || event.deltaY, event.clientX].join(" ")));
      window.moves = 0;
      addEventListener("pointermove", () => { moves += 1; });
      </script>
      """
    try await withBrowser { browser in
      try await browser.navigate(to: Self.page(html))
      try await browser.perform(.mouse().move(x: 10, y: 20).down().move(x: 30, y: 20).up())
      try await browser.perform(
        .touch().move(x: 200, y: 100).down().move(x: 40, y: 100, over: .milliseconds(100)).up())
      try await browser.perform(.pen().move(x: 50, y: 20).down().up())
      try await browser.perform(.wheel().scroll(x: 60, y: 20, deltaY: 100))
      try await browser.perform(.keyboard().down(.shift).press(.right).up(.shift))
      try await browser.wait(until: "scrollY === 100")
      let seen: [String] = try await browser.script("return seen")
      let expected = [
        "pointerdown mouse 10", "pointerup mouse 30", "pointerdown touch 200",
        "pointerup touch 40", "pointerdown pen 50", "pointerup pen 50", "wheel 100 60",
        "keydown Shift ", "keydown ArrowRight ", "keyup ArrowRight ", "keyup Shift ",
      ]
      #expect(seen == expected)
      let moves: Int = try await browser.script("return moves")
      #expect(moves > 3, "a touch that takes time moves in steps")
    }
  }

  @Test("a browser returns the accessibility tree that a screen reader uses")
  func accessibility() async throws {
    try await withBrowser { browser in
      try await browser.navigate(to: Self.page(Self.form))
      let name = try await browser.find("#name")
      #expect(try await browser.computedRole(of: name) == "textbox")
      #expect(try await browser.computedLabel(of: name) == "Name")
      let tree = try await browser.accessibilityTree()
      #expect(tree.first("heading")?.name == "Sign in")
      #expect(tree.first("button", "Later")?.properties["disabled"] == "true")
      #expect(tree.first("status") != nil, "\(tree.outline)")
      #expect(tree.first("button", "Go")?.properties["disabled"] == nil)
    }
  }

  @Test("a browser has the given size, and makes pictures of that size")
  func size() async throws {
    try await withBrowser { browser in
      try await browser.navigate(to: Self.page(Self.form))
      try await browser.setSize(width: 390, height: 844, scale: 2, isMobile: false)
      let size: [Int] = try await browser.script("return [innerWidth, innerHeight]")
      #expect(size == [390, 844])
      let picture = try await browser.screenshot()
      #expect(Self.sizeOfPNG(picture) == [780, 1_688])
      let button = try await browser.find("#go")
      let rectangle = try await browser.rectangle(of: button)
      let part = try #require(Self.sizeOfPNG(try await browser.screenshot(of: button)))
      #expect(abs(Double(part[0]) - 2 * rectangle.width) <= 4)
    }
  }

  /// Width and height, which a PNG file has in its first chunk.
  private static func sizeOfPNG(_ data: Data) -> [Int]? {
    guard data.count > 24, data.starts(with: [0x89, 0x50, 0x4E, 0x47]) else { return nil }
    return [16, 20].map { start in
      data[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
    }
  }

  @Test("a browser reports errors of the console, and each once")
  func console() async throws {
    let html = """
      <!doctype html>
      <meta http-equiv="Content-Security-Policy"
        content="script-src 'unsafe-inline'; img-src 'none'">
      <script>console.error("something is wrong"); console.log("all is well");</script>
      <img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">
      """
    try await withBrowser { browser in
      try await browser.navigate(to: Self.page(html))
      let errors = try await browser.consoleErrors().map(\.message)
      #expect(errors.contains { $0.contains("something is wrong") })
      #expect(errors.contains { $0.contains("Content Security Policy") })
      #expect(!errors.contains { $0.contains("all is well") })
      // Waiting evaluates nothing, so it works here, too.
      try await browser.wait(until: "document.scripts.length === 1")
      #expect(try await browser.consoleErrors() == [])
    }
  }

  @Test("a browser cuts a page off the network, and has the given media features")
  func emulation() async throws {
    try await withBrowser { browser in
      try await browser.navigate(to: Self.page(Self.form))
      try await browser.setOffline(true)
      try await browser.wait(until: "!navigator.onLine")
      try await browser.setOffline(false)
      try await browser.wait(until: "navigator.onLine")
      try await browser.emulateMedia(["prefers-reduced-motion": "reduce"])
      try await browser.wait(until: "matchMedia('(prefers-reduced-motion: reduce)').matches")
    }
  }

  @Test("a browser has tabs, each hidden or shown")
  func tabs() async throws {
    try await withBrowser { browser in
      try await browser.navigate(to: Self.page(Self.form))
      let first = try await browser.currentTab()
      let second = try await browser.openTab()
      try await browser.navigate(to: Self.page("<title>Second</title>"))
      #expect(try await browser.currentTab() == second)
      try await browser.select(first)
      #expect(try await browser.title() == "Form")
      try await browser.setHidden(true)
      try await browser.wait(until: "document.hidden")
      try await browser.select(second)
      let isSecondHidden: Bool = try await browser.script("return document.hidden")
      #expect(!isSecondHidden)
      try await browser.closeTab()
      try await browser.select(first)
      try await browser.setHidden(false)
      try await browser.wait(until: "!document.hidden")
    }
  }

  @Test("several browsers can be driven at once, and share nothing")
  func several() async throws {
    try await withBrowser { first in
      try await withBrowser { second in
        try await first.navigate(to: Self.page("<title>First</title>"))
        try await second.navigate(to: Self.page("<title>Second</title>"))
        try await first.run("setTimeout(() => { window.go = true; }, 200)")
        async let waiting: Void = first.wait(until: "window.go")
        #expect(try await second.title() == "Second")
        let isThere: Bool = try await second.script("return 'go' in window")
        #expect(!isThere)
        try await waiting
        #expect(try await first.title() == "First")
      }
    }
  }
}

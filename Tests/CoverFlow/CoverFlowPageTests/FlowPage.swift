import Foundation
import Testing
import WebDriver

/// The example in a browser, with the output of its probe.
struct FlowPage {
  let browser: Browser
  let server: FileServer

  struct LogEntry: Decodable {
    var t: Double
    var position: Double
    var velocity: Double
    var mode: String
    var event: String
  }

  struct Visible: Decodable {
    var index: Int
    var x: Double
    var z: Double
    var angle: Double
    var rank: Int
    var zIndex: Int
  }

  /// Opens the example at 1280 × 720, or another size, and waits until its covers are there.
  static func with(
    _ query: String = "", width: Int = 1280, height: Int = 720, motion: String = "no-preference",
    policy: String = FileServer.strictPolicy,
    _ body: (FlowPage) async throws -> Void
  ) async throws {
    let server = try FileServer(policy: policy)
    defer { server.stop() }
    try await withBrowser { browser in
      try await browser.setSize(width: width, height: height)
      try await browser.emulateMedia(["prefers-reduced-motion": motion])
      let page = FlowPage(browser: browser, server: server)
      try await browser.navigate(to: server.example("?probe\(query)"))
      try await browser.wait(until: "window.flow")
      try await body(page)
    }
  }

  var position: Double {
    get async throws { try await browser.script("return __cf.position") }
  }

  var mode: String {
    get async throws { try await browser.script("return __cf.mode") }
  }

  var log: [LogEntry] {
    get async throws { try await browser.script("return __cf.log") }
  }

  var visible: [Visible] {
    get async throws {
      try await browser.script(
        "return __cf.visible.map(({ element, ...others }) => others)")
    }
  }

  /// Brings a cover to the front without a motion, and clears the log.
  func start(at index: Int) async throws {
    try await browser.run("__cf.jump(arguments[0])", index)
    try await browser.wait(until: "__cf.position === arguments[0] && __cf.mode === 'rest'", index)
    // The announcement of that comes before what follows.
    try await browser.run("return new Promise((done) => setTimeout(done, 400))")
    try await browser.run("__cf.reset()")
  }

  /// Waits until the covers are at rest, and with which one in front.
  @discardableResult
  func settled(seconds: Double = 20) async throws -> Double {
    try await browser.wait(until: "__cf.mode === 'rest'", seconds: seconds)
    return try await position
  }

  /// Repeats what depends on how soon the browser gets its input and draws, until it holds; false if it didn't in
  /// ten attempts. A busy machine delays single events.
  static func repeated(_ attempt: () async throws -> Bool) async throws -> Bool {
    for _ in 0..<10 where try await attempt() { return true }
    return false
  }

  /// Whether a condition holds soon.
  func holds(_ condition: String, _ argument: String) async throws -> Bool {
    do {
      try await browser.wait(until: condition, argument, seconds: 10)
      return true
    } catch let error as WebDriverError where error.code == "timeout" {
      return false
    }
  }

  /// A flick over `distance` points within `milliseconds`, in positions 10 ms apart.
  static func flick(
    _ pointer: InputSequence, from x: Int, y: Int = 340, by distance: Int, milliseconds: Int
  ) -> InputSequence {
    var sequence = pointer.move(x: x, y: y).down()
    let steps = max(1, milliseconds / 10)
    for step in 1...steps {
      sequence = sequence.move(
        x: x + distance * step / steps, y: y, over: .milliseconds(10))
    }
    return sequence.up()
  }

  /// The element whose option is in front.
  func front<Result: Decodable>(_ expression: String) async throws -> Result {
    try await browser.script(
      "const front = document.querySelector('.cf-front'); return \(expression)")
  }
}

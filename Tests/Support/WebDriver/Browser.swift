public import Foundation

/// A headless Chromium that a test drives, over WebDriver (W3C, <https://www.w3.org/TR/webdriver2/>).
///
/// Commands go to the tab that was opened or selected last. They may be sent from any task; the
/// browser performs one at a time, also while it waits for a condition.
public final class Browser: Sendable {
  private let driver: LoopbackHTTP
  /// The path of the session's commands.
  private let session: String

  private init(driver: LoopbackHTTP, session: String) {
    self.driver = driver
    self.session = session
  }

  // MARK: Beginning and end

  /// Whether Chromium and its driver are there.
  public static let isInstalled: Bool = {
    let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
    return ["chromedriver", "chromium"].allSatisfy { name in
      folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(name)") }
    }
  }()

  /// Whether tests in a browser run: where one is installed, and in CI, where they fail without.
  public static let isExpected =
    isInstalled || ProcessInfo.processInfo.environment["CI"] != nil

  /// Starts a browser with one empty tab and a profile of its own. ``close()`` ends it; so does the
  /// end of this process.
  ///
  /// - Parameter flags: Further arguments for Chromium's command line.
  public static func open(flags: [String] = []) async throws -> Browser {
    struct Capabilities: Encodable {
      var browserName = "chrome"
      var chrome: Options
      var logging = ["browser": "ALL"]

      enum CodingKeys: String, CodingKey {
        case browserName
        case chrome = "goog:chromeOptions"
        case logging = "goog:loggingPrefs"
      }
    }
    struct Options: Encodable { var args: [String] }
    struct Session: Decodable { var sessionId: String }

    // Chromium's sandbox refuses to work for root.
    let sandbox = getuid() == 0 ? ["--no-sandbox"] : []
    let options = Options(
      args: [
        "--headless", "--remote-debugging-pipe", "--disable-dev-shm-usage", "--disable-gpu",
        "--force-color-profile=srgb",
      ] + sandbox + flags)
    let driver = try await ChromeDriver.shared.endpoint()
    let session = try await Self.send(
      "POST", driver, "/session", ["capabilities": ["alwaysMatch": Capabilities(chrome: options)]],
      as: Session.self)
    return Browser(driver: driver, session: "/session/\(session.sessionId)")
  }

  /// Ends the browser.
  public func close() async throws {
    try await send("DELETE", "")
  }

  // MARK: Pages

  /// Opens a page and waits until it is loaded.
  public func navigate(to url: String) async throws {
    try await send("POST", "url", ["url": url])
  }

  /// Loads the page again and waits until it is loaded.
  public func reload() async throws {
    try await send("POST", "refresh", Empty())
  }

  /// Goes back to the page before, as by the Back button, and waits until it is there.
  public func goBack() async throws {
    try await send("POST", "back", Empty())
  }

  /// The address of the page.
  public func url() async throws -> String { try await send("GET", "url", as: String.self) }

  /// The title of the page.
  public func title() async throws -> String { try await send("GET", "title", as: String.self) }

  /// Runs the body of a function in the page.
  ///
  /// - Parameters:
  ///   - body: JavaScript; `arguments[0]` and so on are what it is called with. A promise that it
  ///     returns is awaited.
  ///   - arguments: Values that JSON has, and elements.
  /// - Returns: What it returns. Elements are decoded as ``Element``.
  /// - Throws: ``WebDriverError`` with the code `javascript error`, or `script timeout` after 30 s.
  public func script<Result: Decodable>(
    _ body: String, _ arguments: any Encodable..., as type: Result.Type = Result.self
  ) async throws -> Result {
    try await send("POST", "execute/sync", Script(body, arguments), as: type)
  }

  /// Runs the body of a function in the page, of which no result is wanted.
  public func run(_ body: String, _ arguments: any Encodable...) async throws {
    try await send("POST", "execute/sync", Script(body, arguments))
  }

  /// Runs the body of a function in the page, whose last argument is a function for its result.
  public func asyncScript<Result: Decodable>(
    _ body: String, _ arguments: any Encodable..., as type: Result.Type = Result.self
  ) async throws -> Result {
    try await send("POST", "execute/async", Script(body, arguments), as: type)
  }

  /// Waits until a condition holds in the page.
  ///
  /// The page itself evaluates it: after each change to the document, and each ten milliseconds for
  /// other changes. Nothing is evaluated as a string, so that it works under a strict content
  /// security policy, too.
  ///
  /// - Parameters:
  ///   - condition: An expression in JavaScript, `arguments` as in ``script(_:_:as:)``.
  ///   - seconds: How long to wait at most; by default, longer than a busy machine needs.
  /// - Throws: ``WebDriverError`` with the code `timeout` and what the expression was at the end.
  public func wait(
    until condition: String, _ arguments: any Encodable..., seconds: Double = 60
  ) async throws {
    let body = """
      const given = arguments, done = given[given.length - 1];
      const limit = given[given.length - 2];
      const condition = function () { return \(condition); };
      let last, observer, timer;
      const end = (text) => { clearInterval(timer); observer.disconnect(); done(text); };
      const look = () => {
        try { last = condition.apply(null, given); } catch (error) { last = undefined; }
        if (last) end("");
      };
      const began = performance.now();
      observer = new MutationObserver(look);
      timer = setInterval(() => {
        look();
        if (!last && performance.now() - began > limit) end(String(last));
      }, 10);
      observer.observe(
        document, { subtree: true, childList: true, attributes: true, characterData: true });
      look();
      """
    try await send("POST", "timeouts", ["script": Int(seconds * 1_000) + 30_000])
    let last = try await send(
      "POST", "execute/async", Script(body, arguments + [seconds * 1_000]), as: String.self)
    guard last.isEmpty else {
      throw WebDriverError(code: "timeout", message: "\(condition) is \(last) after \(seconds) s")
    }
  }

  // MARK: Tabs and windows

  /// A tab of the browser.
  public struct Tab: Hashable, Sendable { fileprivate var handle: String }

  /// The tab that commands go to.
  public func currentTab() async throws -> Tab {
    Tab(handle: try await send("GET", "window", as: String.self))
  }

  /// Opens another tab, in a window of its own, and sends commands there.
  public func openTab() async throws -> Tab {
    struct Window: Decodable { var handle: String }
    let tab = Tab(
      handle: try await send("POST", "window/new", ["type": "window"], as: Window.self).handle)
    try await select(tab)
    return tab
  }

  /// Sends commands to a tab from now on.
  public func select(_ tab: Tab) async throws {
    try await send("POST", "window", ["handle": tab.handle])
  }

  /// Hides the selected tab, as if another one were before it, or shows it again.
  public func setHidden(_ isHidden: Bool) async throws {
    struct Window: Decodable { var windowId: Int }
    struct Change: Encodable {
      var windowId: Int
      var bounds: [String: String]
    }
    let window: Window = try await devTools("Browser.getWindowForTarget")
    try await devTools(
      "Browser.setWindowBounds",
      Change(
        windowId: window.windowId, bounds: ["windowState": isHidden ? "minimized" : "normal"]))
  }

  /// Closes the selected tab. Another one has to be selected then.
  public func closeTab() async throws { try await send("DELETE", "window") }

  /// Gives the page exactly this many CSS pixels.
  ///
  /// - Parameters:
  ///   - scale: Pixels of the screen per CSS pixel.
  ///   - isMobile: Whether it is a phone, which has a viewport of its own and no scroll bars.
  public func setSize(
    width: Int, height: Int, scale: Double = 1, isMobile: Bool = false
  ) async throws {
    struct Metrics: Encodable {
      var width: Int
      var height: Int
      var deviceScaleFactor: Double
      var mobile: Bool
    }
    try await devTools(
      "Emulation.setDeviceMetricsOverride",
      Metrics(width: width, height: height, deviceScaleFactor: scale, mobile: isMobile))
  }

  /// What the page looks like, as a PNG file.
  public func screenshot() async throws -> Data {
    try await send("GET", "screenshot", as: Data.self)
  }

  /// Writes a picture of the page into the folder of `AMBIT_PICTURES`, for people; nothing without that.
  public func keepPicture(_ name: String) async throws {
    guard let folder = ProcessInfo.processInfo.environment["AMBIT_PICTURES"] else { return }
    try await screenshot().write(to: URL(filePath: folder).appending(path: "\(name).png"))
  }

  // MARK: Commands

  /// Sends a command whose answer has nothing in it.
  func send(_ method: String, _ path: String, _ body: (any Encodable)? = nil) async throws {
    _ = try await send(method, path, body, as: Empty.self)
  }

  /// Sends a command to the session and decodes the answer.
  func send<Result: Decodable>(
    _ method: String, _ path: String, _ body: (any Encodable)? = nil, as type: Result.Type
  ) async throws -> Result {
    try await Self.send(
      method, driver, path.isEmpty ? session : "\(session)/\(path)", body, as: type)
  }

  private static func send<Result: Decodable>(
    _ method: String, _ driver: LoopbackHTTP, _ path: String, _ body: (any Encodable)?,
    as type: Result.Type
  ) async throws -> Result {
    let (status, data) = try await driver.request(
      method, path, body.map { try JSONEncoder().encode($0) })
    guard status == 200 else {
      let failure = try JSONDecoder().decode(Answer<Failure>.self, from: data).value
      throw WebDriverError(code: failure.error, message: failure.message)
    }
    return try JSONDecoder().decode(Answer<Result>.self, from: data).value
  }
}

/// Runs a test in a browser of its own, which is closed afterwards.
public func withBrowser<Result>(
  flags: [String] = [], _ body: (Browser) async throws -> Result
) async throws -> Result {
  let browser = try await Browser.open(flags: flags)
  do {
    let result = try await body(browser)
    try await browser.close()
    return result
  } catch {
    try? await browser.close()
    throw error
  }
}

private struct Answer<Value: Decodable>: Decodable { var value: Value }

private struct Failure: Decodable {
  var error: String
  var message: String
}

/// An object without members; an answer that doesn't matter.
struct Empty: Codable {
  init() {}
  init(from decoder: any Decoder) {}
  func encode(to encoder: any Encoder) throws {
    _ = encoder.container(keyedBy: Key.self)
  }
  private enum Key: CodingKey {}
}

private struct Script: Encodable {
  var script: String
  var args: [Argument]

  init(_ script: String, _ arguments: [any Encodable]) {
    self.script = script
    args = arguments.map(Argument.init)
  }

  struct Argument: Encodable {
    let value: any Encodable
    func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
  }
}

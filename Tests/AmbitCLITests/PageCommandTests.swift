#if BindingServer
  import Foundation
  import PeripheralFiles
  import PageProgram
  import Testing
  import WebDriver

  @testable import AmbitCLI
  @testable import AmbitPage

  /// The page as its users open it, in a browser, on the simulated radio.
  @Suite("The page of everything nearby", .enabled(if: Browser.isExpected))
  struct PageCommandTests {
    static func withPage(
      _ arguments: String..., body: (Browser) async throws -> Void
    ) async throws {
      try await withAddress(arguments) { address in
        try await withBrowser { browser in
          try await browser.navigate(to: address + "&probe")
          try await browser.wait(until: "document.documentElement.dataset.live == 'on'")
          try await browser.wait(
            until: row("Pulse strap") + " && " + row("Thermostat"), seconds: 60)
          try await body(browser)
          #expect(try await browser.consoleErrors() == [])
        }
      }
    }

    /// Starts the page; its address is valid once.
    static func withAddress(
      _ arguments: [String] = [], body: (String) async throws -> Void
    ) async throws {
      // A folder of its own, so that no bonds of earlier runs are used.
      let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
      defer { try? FileManager.default.removeItem(at: folder) }
      let program = try PageProgram(
        "ambit", commandLine: ["page", "--port", "0", "--no-network"] + arguments,
        environment: [
          "AMBIT_BONDS": folder.appending(path: "bonds").path, "XDG_STATE_HOME": folder.path,
          // Also where a hub runs on the machine of the tests.
          "AMBIT_HUB": "off",
        ])
      defer { #expect(program.stop() == 143, "it ends when it is asked to") }
      try await body(program.address)
    }

    /// A radio with simulated devices, in a process of its own.
    private final class ServedRadio {
      let name: String
      private let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).radio")
        .path
      private var run: AmbitRun?

      init() { name = "unix:\(path)" }

      deinit {
        run?.interrupt()
        try? FileManager.default.removeItem(atPath: path)
      }

      func start() async throws {
        let run = try AmbitRun(["radio", "serve", name])
        self.run = run
        _ = try #require(await run.output.next(containing: "Serving "))
      }

      func end() async {
        run?.interrupt()
        _ = await run?.end()
        run = nil
      }
    }

    /// A page on a radio that can be taken away, with a device that is being connected.
    private static func withRadio(
      connecting name: String, body: (ServedRadio, Browser) async throws -> Void
    ) async throws {
      let radio = ServedRadio()
      try await radio.start()
      try await withPage("--radio", radio.name) { browser in
        try await open(name, browser)
        try await browser.click(browser.find("aside .primary"))
        try await body(radio, browser)
      }
    }

    static let state = "document.querySelector('aside [role=status]').textContent"
    static let names = "[...document.querySelectorAll('tbody .name')]"
    static func row(_ name: String) -> String {
      "\(names).some((each) => each.textContent == '\(name)')"
    }
    static func open(_ name: String, _ browser: Browser) async throws {
      try await browser.run("\(names).find((each) => each.textContent == '\(name)').click()")
      try await browser.wait(
        until: "document.querySelector('aside h2').textContent == '\(name)'"
          + " && !document.querySelector('aside').hidden")
    }
    static func attribute(_ name: String) -> String {
      "[...document.querySelectorAll('.attributes li')].find((each) =>"
        + " each.querySelector('h3 span').textContent == '\(name)')"
    }

    @Test("the page connects a device, reads it, charts its notifications, and disconnects it")
    func device() async throws {
      try await Self.withPage { browser in
        try await Self.open("Pulse strap", browser)
        try await browser.click(browser.find("aside .primary"))
        let rate = Self.attribute("Heart Rate Measurement")
        try await browser.wait(until: "\(rate) != null", seconds: 60)
        try await browser.wait(
          until: "\(Self.attribute("Battery Level")).querySelector('.value b').textContent"
            + ".endsWith('%')", seconds: 60)
        try await browser.run("\(rate).querySelector('[type=checkbox]').click()")
        try await browser.wait(
          until: "\(rate).querySelector('polyline').getAttribute('points')?.split(' ').length > 2",
          seconds: 60)
        #expect(
          try await browser.script(
            "return \(rate).querySelector('.value b').textContent.includes('bpm')"))
        // The table shows the connection, too, and the cover of the open device is at the front.
        try await browser.wait(until: "document.querySelector('tr.open.connected') != null")
        try await browser.wait(
          until: "document.querySelector('.cf-title')?.textContent == 'Pulse strap'", seconds: 30)
        try await browser.run("document.querySelectorAll('aside > .actions button')[1].click()")
        try await browser.wait(until: "document.querySelector('.attributes').hidden")
      }
    }

    @Test("the page writes a value, and explains why another one can't be written")
    func writing() async throws {
      try await Self.withPage { browser in
        try await Self.open("Thermostat", browser)
        try await browser.click(browser.find("aside .primary"))
        let row =
          "[...document.querySelectorAll('.attributes li.writeable')]"
          + ".find((each) => !each.querySelector('form').hidden)"
        try await browser.wait(until: "\(row) != null", seconds: 60)
        func write(_ text: String) async throws {
          try await browser.run("\(row).querySelector('form input').focus()")
          try await browser.perform(.keyboard().type(text))
          try await browser.perform(.keyboard().press(.enter))
        }
        try await write("nonsense")
        try await browser.wait(
          until: "[...\(row).querySelectorAll('.problem')]"
            + ".some((each) => each.textContent.includes('nonsense'))", seconds: 30)
        try await browser.run("\(row).querySelector('form input').select()")
        try await write("0xfc08")
        try await browser.wait(
          until: "\(row).querySelector('.value code').textContent == 'FC 08'", seconds: 30)
        try await browser.wait(until: "\(row).querySelector('form input').value == ''")
        // The selected format is used: for 500, and for text that is no number.
        try await browser.run(
          "const chosen = \(row).querySelector('select'); chosen.value = 'uint16';"
            + " chosen.dispatchEvent(new Event('input', { bubbles: true }))")
        try await write("500")
        try await browser.wait(
          until: "\(row).querySelector('.value code').textContent == 'F4 01'", seconds: 30)
        try await browser.wait(until: "\(row).querySelector('form input').value == ''")
        try await write("hello")
        try await browser.wait(
          until: "[...\(row).querySelectorAll('.problem')]"
            + ".some((each) => each.textContent.endsWith('which uint16 takes'))", seconds: 30)
      }
    }

    @Test("a lock asks for its passkey in the page, which opens it, and may be given up")
    func pairing() async throws {
      try await Self.withPage("--pair", "ask") { browser in
        try await Self.open("Front door", browser)
        try await browser.click(browser.find("aside .primary"))
        let isAsked =
          "!document.querySelector('.veil').hidden"
          + " && document.activeElement.matches('.pairing input')"
        try await browser.wait(until: isAsked, seconds: 60)
        let question = try await browser.text(of: browser.find(".pairing p"))
        let beginning = "Which passkey does \u{2068}Front door\u{2069} ("
        #expect(question.hasPrefix(beginning), "\(question)")
        try await browser.perform(.keyboard().press(.escape))
        try await browser.wait(until: "document.querySelector('.veil').hidden")
        let state = Self.attribute("Characteristic")
        try await browser.wait(
          until: "[...\(state).querySelectorAll('.problem')].some((each) => each.textContent)",
          seconds: 60)

        // A refusal holds as long as the link. Attempts that follow closely are refused, so it
        // reads until the page has a prompt.
        try await browser.run("document.querySelectorAll('aside > .actions button')[1].click()")
        try await browser.wait(until: "document.querySelector('.attributes').hidden")
        try await browser.click(browser.find("aside .primary"))
        try await browser.wait(
          until: "\(isAsked) || \(state)?.querySelector('.actions button')?.click()", seconds: 60)
        try await browser.wait(until: "!document.querySelector('.veil .note').hidden")
        let note = try await browser.text(of: browser.find(".veil .note"))
        let passkey = try #require(note.split(separator: " ").last).filter(\.isNumber)
        try await browser.perform(.keyboard().type(passkey))
        try await browser.wait(until: "!document.querySelector('.pairing .primary').disabled")
        try await browser.perform(.keyboard().press(.enter))
        try await browser.wait(until: "document.querySelector('.veil').hidden")
        try await browser.wait(
          until: "\(state).querySelector('.value code').textContent != ''", seconds: 60)
      }
    }

    @Test("two devices ask side by side, and Escape answers the question that has the focus")
    func sideBySide() async throws {
      try await Self.withPage("--pair", "ask") { browser in
        // Both have been opened before, as the first question waits for 30 s only.
        try await Self.open("Thermostat", browser)
        try await Self.open("Front door", browser)
        // The page behind the first question takes no clicks of users; those of scripts it does.
        for name in ["Thermostat", "Front door"] {
          try await Self.open(name, browser)
          try await browser.run("document.querySelector('aside .primary').click()")
        }
        let questions = "[...document.querySelectorAll('.pairing')]"
        let texts = "\(questions).map((each) => each.querySelector('p').textContent)"
        func question(_ name: String) -> String {
          "\(questions).find((each) => each.textContent.includes('\(name)'))"
        }
        try await browser.wait(until: "\(questions).length == 2", seconds: 60)
        let areBoth = "\(question("Thermostat")) != null && \(question("Front door")) != null"
        #expect(try await browser.script("return \(areBoth)"))
        try await browser.run("\(question("Front door")).querySelector('input').focus()")
        try await browser.perform(.keyboard().type("12"))
        try await browser.perform(.keyboard().press(.escape))
        try await browser.wait(until: "\(questions).length == 1")
        #expect(try await browser.script("return \(texts)[0].includes('Thermostat')"))
        // The keys that follow are no answer to the other question.
        try await browser.wait(until: "document.activeElement.matches('.veil')")
        try await browser.perform(.keyboard().press(.escape))
        try await browser.perform(.keyboard().press(.enter))
        #expect(try await browser.script("return \(questions).length == 1"))
        try await browser.run("\(question("Thermostat")).querySelector('.primary').click()")
        try await browser.wait(until: "document.querySelector('.veil').hidden")
        try await Self.open("Thermostat", browser)
        try await browser.wait(
          until: "\(Self.attribute("Server Supported Features"))"
            + "?.querySelector('.value code').textContent", seconds: 60)
      }
    }

    @Test("the page filters while the user types, and can be used with the keyboard alone")
    func keyboard() async throws {
      try await Self.withPage { browser in
        try await browser.perform(.keyboard().type("/"))
        try await browser.wait(until: "document.activeElement.id == 'text'")
        try await browser.perform(.keyboard().type("pulse"))
        try await browser.wait(until: "\(Self.names).length == 1", seconds: 60)
        try await browser.wait(until: "__cf.n == 1")
        try await browser.run("\(Self.names)[0].focus()")
        try await browser.perform(.keyboard().press(.enter))
        try await browser.wait(until: "document.activeElement.id == 'detail-title'")
        try await browser.perform(.keyboard().press(.escape))
        try await browser.wait(
          until: "document.querySelector('aside').hidden"
            + " && document.activeElement == \(Self.names)[0]")
      }
    }

    @Test("the page is legible to a screen reader")
    func accessibility() async throws {
      try await Self.withPage { browser in
        let tree = try await browser.accessibilityTree()
        #expect(tree.first("heading", "Nearby") != nil)
        #expect(tree.first("searchbox", "Search") != nil, "\(tree.outline)")
        #expect(tree.first("listbox", "Nearby") != nil, "\(tree.outline)")
        #expect(tree.first("table", "Everything nearby") != nil, "\(tree.outline)")
        #expect(tree.first("button", "Star Pulse strap") != nil)
        #expect(tree.first("slider") != nil)
      }
    }

    @Test("the page fits on a phone and on a desktop screen", arguments: [(390, 844), (1280, 720)])
    func sizes(width: Int, height: Int) async throws {
      try await Self.withPage { browser in
        try await browser.setSize(width: width, height: height)
        try await Self.open("Pulse strap", browser)
        #expect(
          try await browser.script("return document.documentElement.scrollWidth <= innerWidth"))
        #expect(
          try await browser.script("return document.documentElement.scrollHeight <= innerHeight"))
      }
    }

    @Test("the page reports that the radio is gone, and shows all devices again when it is back")
    func radio() async throws {
      try await Self.withRadio(connecting: "Pulse strap") { radio, browser in
        try await browser.wait(until: "\(Self.state) == 'connected'", seconds: 60)
        await radio.end()
        try await browser.wait(
          until: "!document.querySelector('header .problem').hidden", seconds: 60)
        try await browser.wait(until: "\(Self.state).includes('connecting')", seconds: 60)
        try await radio.start()
        try await browser.wait(
          until: "document.querySelector('header .problem').hidden", seconds: 60)
        try await browser.wait(until: "\(Self.state) == 'connected'", seconds: 60)
      }
    }

    @Test("the page lets its user forget a bond whose key the device has lost")
    func lostBond() async throws {
      try await Self.withRadio(connecting: "Thermostat") { radio, browser in
        // The last value is read long after the pairing, which has distributed its keys by then.
        let last = Self.attribute("Server Supported Features") + "?.querySelector('.value code')"
        try await browser.wait(until: "\(last)?.textContent", seconds: 60)
        // The devices of a restarted radio have no bonds.
        await radio.end()
        try await radio.start()
        func button(_ action: String) -> String {
          "document.querySelector('[data-on=\"click:detail.\(action)\"]')"
        }
        let isAsked =
          "\(button("forgetBond")).checkVisibility()"
          + " && \(Self.state).startsWith('The peer removed its pairing information')"
        try await browser.wait(until: isAsked, seconds: 60)
        // With the bond as it was, the same comes of it.
        try await browser.run(
          "window.states = []; new MutationObserver(() => states.push(\(Self.state)))"
            + ".observe(document.querySelector('aside [role=status]'), { childList: true });"
            + " \(button("reconnect")).click()")
        try await browser.wait(until: "states.includes('connecting …') && \(isAsked)", seconds: 60)
        try await browser.run("\(button("forgetBond")).click()")
        try await browser.wait(until: "\(Self.state) == 'connected'", seconds: 60)
        try await browser.wait(until: "!\(button("forgetBond")).checkVisibility()", seconds: 60)
      }
    }

    @Test("the page reports that the program doesn't answer, and goes on with the next one")
    func program() async throws {
      // With the key of its cookies, which the next one finds.
      let state = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
      defer { try? FileManager.default.removeItem(at: state) }
      let environment = ["XDG_STATE_HOME": state.path, "AMBIT_HUB": "off"]
      let first = try PageProgram(
        "ambit", commandLine: ["page", "--port", "0", "--no-network"], environment: environment)
      try await withBrowser { browser in
        try await browser.navigate(to: first.address)
        try await browser.wait(until: Self.row("Pulse strap"), seconds: 60)
        let isTold = "document.querySelector('[data-when=off]').checkVisibility()"
        #expect(try await browser.script("return !(\(isTold))"))
        let port = first.port
        first.stop()
        try await browser.wait(until: isTold, seconds: 60)
        let second = try PageProgram(
          "ambit", commandLine: ["page", "--port", "\(port)", "--no-network"],
          environment: environment)
        defer { second.stop() }
        try await browser.wait(until: "!(\(isTold)) && " + Self.row("Pulse strap"), seconds: 60)
      }
    }

    @Test("the page offers every format in which values can be written")
    func formats() {
      let page = String(decoding: PackageResources.index_html, as: UTF8.self)
      for format in ValueFormat.allCases {
        #expect(page.contains("<option>\(format.rawValue)</option>"), "\(format)")
      }
    }

    private static func serve(
      _ arguments: String..., environment: [String: String] = [:],
      body: (PageProgram) async throws -> Void
    ) async throws {
      let state = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
      defer { try? FileManager.default.removeItem(at: state) }
      let program = try PageProgram(
        "ambit", commandLine: ["page", "--port", "0", "--no-network"] + arguments,
        environment: environment.merging(["XDG_STATE_HOME": state.path, "AMBIT_HUB": "off"]) {
          a, _ in a
        })
      defer { program.stop() }
      try await body(program)
    }

    @Test(
      "the page needs a token, on this machine and from others, and accepts no token twice",
      arguments: ["127.0.0.1", "0.0.0.0"])
    func token(host: String) async throws {
      try await Self.serve("--listen", host) { program in
        #expect(program.address.contains("?token="))
        let token = try #require(program.address.split(separator: "?").last)
        #expect(try await program.request("GET", "/").status == 401)
        #expect(try await program.request("POST", "/live").status == 401)
        #expect(try await program.request("GET", "/?" + token).status == 303)
        #expect(try await program.request("GET", "/?" + token).status == 401)
      }
    }

    @Test
    func `A browser is invited, listed and ended by commands while the page runs`() async throws {
      let state = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
      defer { try? FileManager.default.removeItem(at: state) }
      let environment = ["XDG_STATE_HOME": state.path, "AMBIT_HUB": "off"]
      func run(_ arguments: String...) async throws -> AmbitRun.End {
        try await AmbitRun(["page"] + arguments, environment: environment).end()
      }
      #expect(try await run("--invite").status == 68)
      #expect(try await run("--invite", "--browsers").status == 64)
      let program = try PageProgram(
        "ambit", commandLine: ["page", "--port", "0", "--no-network"], environment: environment)
      defer { program.stop() }
      let address = try #require(try await run("--invite").output.first)
      #expect(address.hasPrefix("Open http://127.0.0.1:\(program.port)/?token="))
      let token = try #require(address.split(separator: "?").last)
      let entry = try await program.request("GET", "/?" + token, ["User-Agent": "Phone\u{202E}"])
      let cookie = String(try #require(entry.fields["set-cookie"]).prefix { $0 != ";" })
      #expect(try await program.request("GET", "/", ["Cookie": cookie]).status == 200)
      let line = try #require(try await run("--browsers").output.first)
      #expect(line.hasSuffix("port \(program.port)  127.0.0.1  Phone"))
      let id = try #require(line.split(separator: " ").first.map(String.init))
      let object = try #require(try await run("--browsers", "--json").output.first)
      #expect(object.hasPrefix(#"{"event":"browser","id":"\#(id)","time":"2"#))
      #expect(try await run("--end-browser", id).status == 0)
      #expect(try await run("--end-browser", id).status == 68)
      // The page notices it at its next look at the file.
      while try await program.request("GET", "/", ["Cookie": cookie]).status == 200 {}
      #expect(try await run("--browsers").output == [])
    }

    @Test("the browser that the page opens gets in by an address that is of no use to other users")
    func opening() async throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      // In place of the desktop's: it writes down what it is to open.
      let opened = folder.appending(path: "opened").path
      #expect(mkfifo(opened, 0o600) == 0)
      let opener = folder.appending(path: "xdg-open").path
      try "#!/bin/sh\nprintf %s \"$1\" > '\(opened)'\n"
        .write(toFile: opener, atomically: true, encoding: .utf8)
      #expect(chmod(opener, 0o700) == 0)
      let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
      let environment = ["PATH": "\(folder.path):\(path)", "DISPLAY": ":99"]
      try await Self.serve("--open", environment: environment) { program in
        let address = try await Self.line(of: opened)
        #expect(address.hasPrefix("http://127.0.0.1:\(program.port)/?token="))
        let token = try #require(address.split(separator: "?").last)
        #expect(!program.address.contains(token), "the printed one is for another browser")
        // Only root can be another user.
        if geteuid() == 0 {
          #expect(try Self.status(of: "/?" + token, asUser: 65_534, port: program.port) == 401)
        }
        #expect(try await program.request("GET", "/?" + token).status == 303)
      }
    }

    /// What a program writes to a pipe with a name.
    private static func line(of pipe: String) async throws -> String {
      try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread {
          continuation.resume(with: Result { try output(of: ["timeout", "60", "cat", pipe]) })
        }
      }
    }

    private static func output(of command: [String]) throws -> String {
      let process = Process()
      process.executableURL = URL(filePath: "/usr/bin/env")
      process.arguments = command
      let output = Pipe()
      process.standardOutput = output
      try process.run()
      let bytes = output.fileHandleForReading.readDataToEndOfFile()
      process.waitUntilExit()
      return String(decoding: bytes, as: UTF8.self)
    }

    /// The status of an answer to another user of this machine.
    private static func status(of target: String, asUser user: Int, port: Int) throws -> Int? {
      let request =
        "GET \(target) HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nConnection: close\\r\\n\\r\\n"
      let answer = try output(of: [
        "setpriv", "--reuid", "\(user)", "--clear-groups", "bash", "-c",
        "exec 3<>/dev/tcp/127.0.0.1/\(port) && printf '\(request)' >&3 && timeout 60 cat <&3",
      ])
      return answer.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    }

    @Test("the page behind a proxy prints its public address, with a token")
    func proxy() async throws {
      let program = try PageProgram(
        "ambit",
        commandLine: [
          "page", "--port", "0", "--no-network", "--trusted-proxy", "127.0.0.1",
          "--public-address", "http://museum.example:8443",
        ])
      defer { program.stop() }
      #expect(program.address.hasPrefix("http://museum.example:8443/?token="))
    }
  }
#endif

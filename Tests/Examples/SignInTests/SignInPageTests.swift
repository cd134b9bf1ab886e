#if BindingServer
  import Foundation
  import PageProgram
  import Testing
  import WebDriver

  /// The program as its users run it, in a browser.
  @Suite("The sign-in program", .enabled(if: Browser.isExpected))
  struct SignInPageTests {
    /// Starts the program on a free port, and ends it afterwards.
    private static func withProgram(_ body: (Browser) async throws -> Void) async throws {
      let program = try PageProgram("sign-in")
      defer { #expect(program.stop() == 0, "it ends when it is asked to") }
      try await withBrowser { browser in
        try await browser.navigate(to: program.address)
        try await browser.wait(until: "document.documentElement.dataset.live == 'on'")
        try await body(browser)
        #expect(try await browser.consoleErrors() == [])
      }
    }

    @Test("the page lets in a user with the password, with the keyboard alone")
    func signingIn() async throws {
      try await Self.withProgram { browser in
        let button = try await browser.find("form button")
        #expect(try await browser.isEnabled(button) == false)
        try await browser.perform(.keyboard().type("ann", every: .milliseconds(5)))
        try await browser.wait(
          until: "document.querySelector('#email-hint').textContent.includes('has an @')")
        try await browser.perform(
          .keyboard().type("@example.org").press(.tab).type("open sesam"))
        try await browser.wait(until: "!document.querySelector('form button').disabled")
        // The answer comes after a second, in which a busy machine may not get to look.
        try await browser.run(
          """
          window.wasWaiting = false
          new MutationObserver(() => {
            wasWaiting ||= !document.querySelector('.spinner').hidden
              && document.querySelector('form button').disabled
          }).observe(document, { subtree: true, attributes: true })
          """)
        try await browser.perform(.keyboard().press(.enter))
        try await browser.wait(
          until: "document.querySelector('.error').textContent == 'This is not the password.'")
        #expect(try await browser.script("return wasWaiting"))
        try await browser.perform(.keyboard().type("e").press(.enter))
        try await browser.wait(until: "document.querySelector('.error').textContent == ''")
        try await browser.wait(until: "document.querySelector('form').hidden")
        // What an answer of another thread changes may come in two patches.
        try await browser.wait(
          until: "document.querySelector('section h1').textContent == 'Hello, Ann'")
        try await browser.wait(until: "document.activeElement.matches('section')")
        try await browser.click(browser.find("section button"))
        try await browser.wait(until: "document.activeElement.matches('[type=email]')")
        let password: String = try await browser.script(
          "return document.querySelector('[type=password]').value")
        #expect(password == "")
      }
    }

    @Test(arguments: [
      ("PORT", "port PORT of 127.0.0.1 can't be listened on", 1),
      ("80o0", "“80o0” is no port.", 64),
    ])
    func `A port that is used, or none, is an error in words, and no crash`(
      port: String, reason: String, status: Int
    ) async throws {
      let first = try PageProgram("sign-in")
      defer { first.stop() }
      let used = "\(first.port)"
      let (second, errors) = (Process(), Pipe())
      second.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appending(path: "sign-in")
      second.arguments = [port.replacing("PORT", with: used)]
      second.standardError = errors
      try second.run()
      let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      second.waitUntilExit()
      #expect(text.hasPrefix(reason.replacing("PORT", with: used)))
      #expect(second.terminationReason == .exit && second.terminationStatus == status)
    }

    @Test("the page is legible to a screen reader")
    func accessibility() async throws {
      try await Self.withProgram { browser in
        let tree = try await browser.accessibilityTree()
        #expect(tree.first("heading", "Sign in") != nil)
        let email = try #require(tree.first("textbox", "E-mail"), "\(tree.outline)")
        #expect(email.properties["focused"] == "true")
        #expect(tree.first("textbox", "Password") != nil)
        #expect(tree.first("button", "Sign in")?.properties["disabled"] == "true")
        #expect(tree.first("alert") != nil)
        #expect(tree.first("button", "Sign out") == nil, "what is hidden isn't read")
      }
    }
  }
#endif

#if BindingServer && Messaging
  import Foundation
  import PageProgram
  import Testing
  import WebDriver

  /// The program as its users run it, in a browser.
  @Suite("The messenger program", .enabled(if: Browser.isExpected))
  struct MessengerPageTests {
    @Test("The page shows a picture, sends a text and shows its way and the answer")
    func conversation() async throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: "m-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: folder) }
      let program = try PageProgram(
        "messenger",
        commandLine: ["--demo", "--port", "0", "--pause", "0.01", "--folder", folder.path])
      defer { #expect(program.stop() == 0, "it ends when it is asked to") }
      let denied = try await program.request("GET", "/")
      #expect(denied.status == 401, "other users of the machine have no token")
      try await withBrowser { browser in
        try await browser.navigate(to: program.address)
        try await browser.wait(until: "document.documentElement.dataset.live == 'on'")
        try await browser.wait(until: "document.querySelector('.badge')?.textContent == '2'")
        try await browser.click(browser.find("nav li button"))
        try await browser.wait(until: "location.search == '?with=ada%40demo.example'")
        try await browser.wait(until: "document.querySelectorAll('section ol li').length == 2")
        #expect(try await browser.script("return document.querySelector('.badge').hidden"))
        let small = "document.querySelector('section img.small')"
        try await browser.wait(until: "\(small).naturalWidth == 240 && !\(small).hidden")
        try await browser.click(browser.find(".file button"))
        try await browser.wait(until: "document.querySelector('section img').naturalWidth == 240")
        #expect(try await browser.script("return \(small).hidden"))
        try await browser.click(browser.find("[aria-label=Message]"))
        try await browser.perform(.keyboard().type("Who is it?").press(.enter))
        try await browser.wait(
          until: "document.querySelector('li.own .state')?.textContent == 'read'")
        try await browser.wait(
          until: "document.querySelector('section ol').innerText.includes('You wrote: Who is it?')")
        let draft: String = try await browser.script(
          "return document.querySelector('[aria-label=Message]').value")
        #expect(draft == "")
        #expect(try await browser.consoleErrors() == [])
      }
    }
  }
#endif

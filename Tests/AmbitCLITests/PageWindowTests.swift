#if BindingServer
  import Testing
  import WebDriver

  /// The page in windows of all sizes, and with the means of the browser: its history, Tab, fingers.
  extension PageCommandTests {
    @Test(
      "the page scrolls as a whole where its window is low, as on a phone on its side",
      arguments: [(640, 360), (844, 390), (1_280, 400)])
    func low(width: Int, height: Int) async throws {
      try await Self.withPage { browser in
        try await browser.setSize(width: width, height: height)
        for name in ["Pulse strap", "Thermostat"] {
          let row = "\(Self.names).find((each) => each.textContent == '\(name)')"
          let isSeen: Bool = try await browser.script(
            """
            \(row).scrollIntoView({ block: "center" });
            const { left, top, width, height } = \(row).getBoundingClientRect();
            return document.elementFromPoint(left + width / 2, top + height / 2) == \(row);
            """)
          #expect(isSeen, "\(name)")
        }
        #expect(
          try await browser.script("return document.documentElement.scrollWidth <= innerWidth"))
        try await Self.open("Pulse strap", browser)
        let isReached: Bool = try await browser.script(
          """
          const { top, bottom } = document.querySelector("aside .head button").getBoundingClientRect();
          return top >= 0 && bottom <= innerHeight;
          """)
        #expect(isReached, "what is open can be closed")
      }
    }

    @Test
    func
      `At twice the size of text and pictures all of the page can be reached and nothing is cut`()
      async throws
    {
      try await Self.withPage { browser in
        // A window of 1,280 × 1,024 at 200 % has half as many pixels of CSS, each of two of the screen.
        try await browser.setSize(width: 640, height: 512, scale: 2)
        #expect(try await browser.script("return devicePixelRatio") == 2)
        #expect(
          try await browser.script("return document.documentElement.scrollWidth <= innerWidth"))
        for name in ["Pulse strap", "Thermostat"] {
          let row = "\(Self.names).find((each) => each.textContent == '\(name)')"
          #expect(try await browser.script("return \(row).getBoundingClientRect().height > 10"))
          let isSeen: Bool = try await browser.script(
            """
            \(row).scrollIntoView({ block: "center" });
            const { left, top, width, height } = \(row).getBoundingClientRect();
            return document.elementFromPoint(left + width / 2, top + height / 2) == \(row);
            """)
          #expect(isSeen, "\(name)")
        }
        // Each control that is shown lies within the width of the window, and is not under another.
        let cut: [String] = try await browser.script(
          """
          const shown = [...document.querySelectorAll("header input, header select, header button")]
            .filter((each) => each.checkVisibility());
          return shown.filter((each) => {
            each.scrollIntoView({ block: "center" });
            const { left, right, top, bottom } = each.getBoundingClientRect();
            const there = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
            return left < 0 || right > innerWidth || !(each.contains(there) || there.contains(each));
          }).map((each) => each.outerHTML);
          """)
        #expect(cut == [])
        try await Self.open("Thermostat", browser)
        try await browser.click(browser.find("aside .primary"))
        let form =
          "[...document.querySelectorAll('.attributes form')].find((each) => !each.hidden)"
        try await browser.wait(until: "\(form) != null", seconds: 60)
        let isFit: Bool = try await browser.script(
          """
          return [...\(form).children].every((each) => {
            const { left, right } = each.getBoundingClientRect();
            return left >= 0 && right <= innerWidth;
          });
          """)
        #expect(isFit)
        try await browser.keepPicture("page at 200 %")
        // Beside the detail, a table has less room than on some phones.
        try await browser.setSize(width: 1_000, height: 700)
        let isLegible: Bool = try await browser.script(
          """
          const table = document.querySelector(".table");
          return table.scrollWidth <= table.clientWidth
            && [...table.querySelectorAll("tbody tr")]
              .every((row) => row.offsetHeight < row.offsetWidth / 2);
          """)
        #expect(isLegible)
      }
    }

    @Test
    func `A browser that runs no scripts shows why the page stays empty`() async throws {
      try await Self.withAddress { address in
        try await withBrowser { browser in
          try await browser.devTools(
            "Emulation.setScriptExecutionDisabled", ["value": true])
          try await browser.navigate(to: address)
          let note = try await browser.find("noscript .problem")
          #expect(try await browser.isDisplayed(note))
          #expect(
            try await browser.text(of: note)
              == "This page needs JavaScript, which this browser doesn’t run.")
          try await browser.keepPicture("page without scripts")
        }
      }
    }

    @Test("the page invites another browser, which gets in once by the address that it shows")
    func invitation() async throws {
      try await Self.withPage { browser in
        try await browser.click(browser.find("[data-on='click:invitation.invite']"))
        let code = "document.querySelector('.invitation code')"
        try await browser.wait(until: "\(code).checkVisibility() && \(code).textContent != ''")
        let address: String = try await browser.script("return \(code).textContent")
        try await withBrowser { other in
          try await other.navigate(to: address)
          try await other.wait(until: "document.documentElement.dataset.live == 'on'")
          try await other.wait(until: Self.row("Pulse strap"), seconds: 60)
        }
        try await withBrowser { third in
          try await third.navigate(to: address)
          #expect(
            try await third.script(
              "return document.body.textContent.includes('it holds for one browser')"))
        }
        try await browser.click(browser.find(".invitation button"))
        try await browser.wait(until: "!\(code).checkVisibility()")
      }
    }

    @Test("Back closes what is open, and stays on the page")
    func back() async throws {
      try await Self.withPage { browser in
        let isClosed = "document.querySelector('aside').hidden"
        for _ in 0..<2 {
          try await Self.open("Pulse strap", browser)
          try await browser.goBack()
          try await browser.wait(until: isClosed)
        }
        // Forward opens it again, and a reload keeps it open.
        func shows(_ name: String) -> String {
          "document.querySelector('aside h2').textContent == '\(name)' && !\(isClosed)"
        }
        try await browser.run("history.forward()")
        try await browser.wait(until: shows("Pulse strap") + " && location.search.includes('open')")
        try await browser.run("location.reload()")
        try await browser.wait(until: shows("Pulse strap"))
        let first: String = try await browser.script("return location.href")
        // Each one that is opened is a step.
        try await Self.open("Thermostat", browser)
        try await browser.wait(until: "location.href != '\(first)'")
        let shown: String = try await browser.script("return location.href")
        try await browser.goBack()
        try await browser.wait(until: shows("Pulse strap") + " && location.href == '\(first)'")
        try await browser.run("history.forward()")
        try await browser.wait(until: shows("Thermostat") + " && location.href == '\(shown)'")
        // Closed otherwise, there is nothing to go back from.
        try await browser.click(browser.find("aside .head button"))
        try await browser.wait(
          until: "\(isClosed) && history.state == null && !location.search.includes('open')")
        // Another tab opens what the address names, and Back closes it there, too.
        let tab = try await browser.currentTab()
        _ = try await browser.openTab()
        try await browser.navigate(to: shown)
        try await browser.wait(
          until: "document.querySelector('aside h2').textContent == 'Thermostat'"
            + " && !\(isClosed) && history.state?.isOpen")
        try await browser.goBack()
        try await browser.wait(until: isClosed)
        // An address of a device that isn't nearby is explained, and may be given up.
        try await browser.navigate(to: shown.replacing(/open=.*/, with: "open=nothing"))
        let isAwaited = "document.querySelector('.awaited').checkVisibility()"
        try await browser.wait(until: isAwaited)
        try await browser.click(browser.find(".awaited button"))
        try await browser.wait(until: "!\(isAwaited) && !location.search.includes('open')")
        try await browser.closeTab()
        try await browser.select(tab)
        #expect(try await browser.script("return document.documentElement.dataset.live == 'on'"))
      }
    }

    @Test("two taps on a phone turn a cover, one opens it, and the row for writing fits")
    func phone() async throws {
      try await Self.withPage { browser in
        try await browser.setSize(width: 390, height: 844)
        // Two taps of which the browser gets the second late are no double-tap.
        let isTurned = "document.querySelector('.cf-back.cf-seen') != null"
        var turned = false
        for _ in 0..<20 where !turned {
          let place: [Int] = try await browser.script(
            """
            const { left, top, width, height } =
              document.querySelector(".cf-front").getBoundingClientRect();
            return [Math.round(left + width / 2), Math.round(top + height / 2)];
            """)
          try await browser.perform(
            .touch().move(x: place[0], y: place[1]).down().up().pause(.milliseconds(60)).down().up()
          )
          try await browser.wait(
            until: "\(isTurned) || !document.querySelector('aside').hidden")
          turned = try await browser.script("return \(isTurned)")
          if !turned {
            try await browser.run("document.querySelector('aside .head button').click()")
            try await browser.wait(
              until: "document.querySelector('aside').hidden && history.state == null")
          }
        }
        #expect(turned)
        #expect(try await browser.script("return document.querySelector('aside').hidden"))
        try await Self.open("Thermostat", browser)
        try await browser.click(browser.find("aside .primary"))
        let form =
          "[...document.querySelectorAll('.attributes form')].find((each) => !each.hidden)"
        try await browser.wait(until: "\(form) != null", seconds: 60)
        let isFit: Bool = try await browser.script(
          """
          const form = \(form);
          const isInside = [...form.children].every((each) => {
            const { left, right } = each.getBoundingClientRect();
            return left >= 0 && right <= innerWidth;
          });
          return isInside && form.querySelector("input").clientWidth > 200;
          """)
        #expect(isFit)
      }
    }

    @Test("the table has the tab stops of one row, arrows go through it, and a link leads to it")
    func tabStops() async throws {
      try await Self.withPage { browser in
        try await browser.wait(until: "\(Self.names).length > 3", seconds: 60)
        try await browser.perform(.keyboard().press(.tab))
        try await browser.wait(until: "document.activeElement.matches('.skip')")
        try await browser.perform(.keyboard().press(.enter))
        try await browser.wait(until: "document.activeElement.id == 'table'")
        try await browser.perform(.keyboard().press(.tab))
        let place =
          "[document.activeElement.closest('tr')?.sectionRowIndex,"
          + " document.activeElement.closest('td, th')?.cellIndex].join()"
        try await browser.wait(until: "\(place) == '0,0'")
        #expect(
          try await browser.script(
            "return document.querySelectorAll('tbody button:not([tabindex=\"-1\"])').length == 3"))
        let steps: [(WebDriver.Key, String)] = [
          (.right, "0,1"), (.down, "1,1"), (.down, "2,1"), (.right, "2,6"), (.right, "2,6"),
          (.up, "1,6"), (.home, "0,6"), (.up, "0,6"), (.left, "0,1"),
        ]
        for (key, expected) in steps {
          try await browser.perform(.keyboard().press(key))
          try await browser.wait(until: "\(place) == '\(expected)'")
        }
        try await browser.perform(.keyboard().press(.end))
        try await browser.wait(until: "document.activeElement.closest('tr').sectionRowIndex > 2")
        #expect(
          try await browser.script(
            "return document.querySelectorAll('tbody button:not([tabindex=\"-1\"])').length == 3"))
      }
    }
  }
#endif

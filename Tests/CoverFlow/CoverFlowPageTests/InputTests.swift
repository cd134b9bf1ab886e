import Foundation
import Testing
import WebDriver

@Suite(
  "A cover flow in a page: keys, wheels, clicks", .enabled(if: Browser.isExpected), .serialized)
struct InputTests {
  @Test("arrows, pages, Home and End move; Enter turns over, Escape turns back")
  func keys() async throws {
    try await FlowPage.with("&cards&n=500") { page in
      let browser = page.browser
      try await browser.run("document.querySelector('.cf-stage').focus()")
      // A page is as many covers as are seen at one side.
      let pageLength: Double = try await browser.script("return __cf.visible.length - 1")
      let expected: [(Key, Double)] = [
        (.right, 1), (.right, 2), (.left, 1), (.pageDown, 1 + pageLength), (.end, 499),
        (.right, 499),
        (.pageUp, 499 - pageLength), (.home, 0), (.left, 0),
      ]
      for (key, position) in expected {
        try await browser.perform(.keyboard().press(key))
        #expect(try await page.settled() == position, "\(key)")
      }
      try await browser.perform(.keyboard().press(.space))
      try await browser.wait(until: "document.documentElement.dataset.selected === '0'")
      try await browser.perform(.keyboard().press(.enter))
      try await browser.wait(until: "document.activeElement.matches('.cf-back')")
      let text = try await browser.text(of: browser.find(".cf-back h2"))
      let name: String = try await page.front("front.querySelector('.name').textContent")
      #expect(text == name)
      // From the back an arrow goes on to the next cover, and the focus is where it was.
      try await browser.perform(.keyboard().press(.right))
      #expect(try await page.settled() == 1)
      try await browser.wait(until: "document.activeElement.matches('.cf-stage')")
      try await browser.perform(.keyboard().press(.enter))
      try await browser.wait(until: "document.activeElement.matches('.cf-back')")
      try await browser.perform(.keyboard().press(.escape))
      try await browser.wait(until: "document.activeElement.matches('.cf-stage')")
      let isSeen: Bool = try await browser.script("return flow.isFlipped")
      #expect(!isSeen)
    }
  }

  @Test("a key that repeats at 30 Hz moves a cover each time, and stops soon after it is let go")
  func keyRepeat() async throws {
    try await FlowPage.with("&cards") { page in
      struct Result: Decodable {
        var left: Double
        var milliseconds: Double
      }
      var results: [Result] = []
      let isPrompt = try await FlowPage.repeated {
        try await page.start(at: 1_000)
        // Events as the browser makes them for a key that is held.
        let result: Result = try await page.browser.script(
          """
          const stage = document.querySelector('.cf-stage')
          return new Promise((done) => {
            let presses = 0
            const timer = setInterval(() => {
              stage.dispatchEvent(
                new KeyboardEvent('keydown', { key: 'ArrowRight', repeat: presses > 0, bubbles: true }))
              presses += 1
              if (presses < 60) return
              clearInterval(timer)
              const left = 1060 - __cf.position
              const start = performance.now()
              const look = () => __cf.mode === 'rest'
                ? done({ left, milliseconds: performance.now() - start }) : setTimeout(look, 5)
              look()
            }, 1000 / 30)
          })
          """)
        results.append(result)
        #expect(try await page.position == 1_060)
        return result.left < 8 && result.milliseconds < 1_500
      }
      #expect(isPrompt, "\(results)")
    }
  }

  @Test("a notch of a wheel is a cover; sideways moves too; at an end the page scrolls")
  func wheel() async throws {
    try await FlowPage.with("&cards&n=40") { page in
      let browser = page.browser
      try await browser.run("document.body.style.height = '3000px'")
      for (deltaX, deltaY, position) in [(0, 120, 1.0), (0, 120, 2), (120, 0, 3), (0, -120, 2)] {
        try await browser.perform(
          .wheel().scroll(x: 640, y: 340, deltaX: deltaX, deltaY: deltaY))
        try await browser.wait(until: "__cf.position === arguments[0]", position)
      }
      try await browser.run("__cf.jump(0)")
      try await page.settled()
      let scrolled: Double = try await browser.script("return window.scrollY")
      #expect(scrolled == 0)
      try await browser.perform(.wheel().scroll(x: 640, y: 340, deltaY: 40))
      try await browser.wait(until: "__cf.mode === 'rest'")
      try await browser.run("__cf.jump(39)")
      try await page.settled()
      try await browser.perform(.wheel().scroll(x: 640, y: 340, deltaY: 240))
      try await browser.wait(until: "window.scrollY > 0")
      #expect(try await page.settled() == 39)
    }
  }

  @Test("a trackpad's many small movements move the covers, and they settle on one")
  func trackpad() async throws {
    try await FlowPage.with("&cards") { page in
      var sequence = InputSequence.wheel()
      for _ in 0..<30 {
        sequence = sequence.scroll(x: 640, y: 340, deltaX: 24).pause(.milliseconds(8))
      }
      var ends: [Double] = []
      let isThere = try await FlowPage.repeated {
        try await page.start(at: 1_000)
        try await page.browser.perform(sequence)
        ends.append(try await page.settled())
        // 720 points, of which 120 are a cover. Covers settle where the browser pauses in between.
        return ends.last == 1_006
      }
      #expect(isThere, "\(ends)")
    }
  }

  @Test("a click selects, a double-click turns over and back; one at a side does both")
  func clicks() async throws {
    try await FlowPage.with("&cards") { page in
      let browser = page.browser
      try await page.start(at: 200)
      try await browser.perform(.mouse().move(x: 640, y: 330).down().up())
      try await browser.wait(until: "document.documentElement.dataset.selected === '200'")
      // Two clicks of which the browser gets the second late are no double-click.
      let isFlipped = "document.documentElement.dataset.flipped === arguments[0]"
      let turnsOver = try await FlowPage.repeated {
        try await browser.run("return new Promise((done) => setTimeout(done, 400))")
        try await browser.perform(.mouse().down().up().pause(.milliseconds(80)).down().up())
        return try await page.holds(isFlipped, "200")
      }
      #expect(turnsOver)
      try await browser.wait(until: "document.querySelector('.cf-back.cf-seen')")
      // A mouse user's focus stays.
      let isOnBack: Bool = try await browser.script(
        "return document.activeElement.matches('.cf-back')")
      #expect(!isOnBack)
      try await browser.perform(.keyboard().press(.escape))
      try await browser.wait(until: "!document.querySelector('.cf-back.cf-seen')")
      let comesAndTurnsOver = try await FlowPage.repeated {
        try await page.start(at: 200)
        try await browser.perform(
          .mouse().move(x: 950, y: 330).down().up().pause(.milliseconds(80)).down().up())
        try await page.settled()
        let front: Int = try await page.front("Number(front.getAttribute('aria-posinset')) - 1")
        #expect(front > 200)
        return try await page.holds(isFlipped, "\(front)")
      }
      #expect(comesAndTurnsOver)
    }
  }

  @Test("the delegate hears once of each cover that came to rest at the front")
  func delegate() async throws {
    try await FlowPage.with("&cards") { page in
      try await page.start(at: 300)
      let fronts: [String] = try await page.browser.script(
        """
        const seen = []
        new MutationObserver(() => seen.push(document.documentElement.dataset.front))
          .observe(document.documentElement, { attributeFilter: ['data-front'] })
        __cf.to(340)
        return new Promise((done) => {
          const look = () => __cf.mode === 'rest' ? setTimeout(() => done(seen), 50) : setTimeout(look, 20)
          look()
        })
        """)
      #expect(fronts == ["340"])
    }
  }
}

import Foundation
import Testing
import WebDriver

@Suite("A cover flow in a page: for everybody", .enabled(if: Browser.isExpected), .serialized)
struct AccessibilityTests {
  /// Number and count of each option that is seen.
  static let numbers = """
    return [...document.querySelectorAll('[role=option]')].filter((each) => each.checkVisibility({
      visibilityProperty: true })).map((each) =>
        [Number(each.getAttribute('aria-posinset')), Number(each.getAttribute('aria-setsize'))])
    """

  @Test("a screen reader finds a list box whose options say which of how many they are")
  func tree() async throws {
    try await FlowPage.with("&cards") { page in
      try await page.start(at: 5_000)
      let tree = try await page.browser.accessibilityTree()
      let list = try #require(tree.first("listbox", "Albums"), "\(tree.outline)")
      let options = list.all.filter { $0.role == "option" }
      #expect(options.count >= 9 && options.count <= 21)
      #expect(options.allSatisfy { !$0.name.isEmpty })
      // DevTools leave the numbers out of their tree; screen readers are given the attributes.
      let numbers: [[Int]] = try await page.browser.script(Self.numbers)
      #expect(numbers.count == options.count && numbers.allSatisfy { $0[1] == 10_000 })
      #expect(Set(numbers.map { $0[0] }).isSuperset(of: 4_998...5_004))
      let selected = options.filter { $0.properties["selected"] == "true" }
      let name: String = try await page.front("front.getAttribute('aria-label')")
      #expect(selected.map(\.name) == [name] && numbers.contains([5_001, 10_000]))
      #expect(list.description.contains("5001 of 10000"))
    }
  }

  @Test("the page makes one polite announcement after settling, whatever was passed")
  func announcement() async throws {
    try await FlowPage.with("&cards") { page in
      try await page.start(at: 5_000)
      let said: [String] = try await page.browser.script(
        """
        const status = document.querySelector('[role=status][aria-live=polite]')
        const said = []
        new MutationObserver(() => said.push(status.textContent))
          .observe(status, { characterData: true, childList: true, subtree: true })
        __cf.fling(30)
        return new Promise((done) => {
          const look = () => __cf.mode === 'rest' ? setTimeout(() => done(said), 700) : setTimeout(look, 20)
          look()
        })
        """)
      let end = try await page.position
      #expect(said.count == 1)
      #expect(said.first?.hasSuffix(", \(Int(end) + 1) of 10000") == true, "\(said)")
    }
  }

  @Test("the details on the back are beside the list box, with a name, and reached by keyboard")
  func back() async throws {
    try await FlowPage.with("&cards&n=50") { page in
      try await page.browser.run(
        "document.querySelector('.cf-stage').focus({ focusVisible: true })")
      try await page.browser.perform(.keyboard().press(.right))
      try await page.settled()
      try await page.browser.perform(.keyboard().press(.enter))
      try await page.browser.wait(until: "document.activeElement.matches('.cf-back')")
      let tree = try await page.browser.accessibilityTree()
      let list = try #require(tree.first("listbox"))
      let name: String = try await page.front("front.getAttribute('aria-label')")
      let details = try #require(tree.first("group", name), "\(tree.outline)")
      #expect(details.first("heading") != nil && list.first("heading") == nil)
    }
  }

  @Test("the page needs no more of a content security policy than WebAssembly does")
  func policy() async throws {
    try await FlowPage.with { page in
      try await page.start(at: 50)
      try await page.browser.run("flow.flip()")
      try await page.browser.wait(until: "document.querySelector('.cf-back.cf-seen')")
      #expect(try await page.browser.consoleErrors().map(\.message) == [])
    }
  }

  @Test("the page fits a phone: nothing is wider than the page, and the cover in front is whole")
  func phone() async throws {
    try await FlowPage.with(width: 390, height: 844) { page in
      try await page.start(at: 50)
      let state: [Double] = try await page.browser.script(
        """
        const box = document.querySelector('.cf-front .cf-face').getBoundingClientRect()
        const top = document.querySelector('.cf').getBoundingClientRect().top
        return [document.documentElement.scrollWidth, box.left, box.right, box.width, box.top - top,
          box.bottom - top]
        """)
      #expect(state[0] == 390 && state[1] > 40 && state[2] < 350 && state[3] > 200)
      #expect(state[4] > 0 && state[5] < 844)
      // The cover in front is on whole pixels, so that its text is sharp.
      #expect(state[1...4].allSatisfy { $0 == $0.rounded() }, "\(state)")
    }
  }

  @Test("a page that changes its size keeps its cover, and the motion")
  func resize() async throws {
    try await FlowPage.with("&cards") { page in
      try await page.start(at: 50)
      try await page.browser.run("__cf.to(70)")
      try await page.browser.setSize(width: 600, height: 500)
      #expect(try await page.settled() == 70)
      try await page.browser.wait(
        until: "document.querySelector('.cf-front .cf-face').getBoundingClientRect().width < 320")
    }
  }
}

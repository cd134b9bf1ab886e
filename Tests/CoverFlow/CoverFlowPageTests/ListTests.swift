import Foundation
import Testing
import WebDriver

@Suite("A cover flow in a page: the list", .enabled(if: Browser.isExpected), .serialized)
struct ListTests {
  @Test("a list with the same items, that keys move through, is shown without WebAssembly")
  func list() async throws {
    let policy = FileServer.strictPolicy.replacingOccurrences(of: " 'wasm-unsafe-eval'", with: "")
    try await FlowPage.with("&cards", policy: policy) { page in
      let browser = page.browser
      let tree = try await browser.accessibilityTree()
      let list = try #require(tree.first("listbox", "Albums"), "\(tree.outline)")
      let options = list.all.filter { $0.role == "option" }
      #expect(options.count == 200)
      let numbers: [[Int]] = try await browser.script(AccessibilityTests.numbers)
      #expect(numbers.first == [1, 10_000])
      try await browser.run("document.querySelector('.cf-list ul').focus()")
      for (key, index) in [(Key.down, 1), (.end, 9_999), (.up, 9_998), (.home, 0), (.pageDown, 10)]
      {
        try await browser.perform(.keyboard().press(key))
        try await browser.wait(
          until:
            "flow.index === arguments[0] && document.documentElement.dataset.front === `${arguments[0]}`",
          index)
        let isSeen: Bool = try await browser.script(
          """
          const box = document.querySelector('[aria-selected=true]').getBoundingClientRect()
          const list = document.querySelector('.cf-list').getBoundingClientRect()
          return box.top >= list.top - 1 && box.bottom <= list.bottom + 1
          """)
        #expect(isSeen, "\(index)")
      }
      let count: Int = try await browser.script(
        "return document.querySelectorAll('.cf-list li').length")
      #expect(count <= 200)
      try await browser.perform(.keyboard().press(.enter))
      try await browser.wait(until: "document.querySelector('[aria-selected=true] .details')")
      // Changes keep the selected item.
      try await browser.run(
        "albums.ids.unshift(-1, -2); flow.apply([['insert', -2, 0], ['insert', -1, 0]])")
      try await browser.wait(until: "flow.key === 10 && flow.index === 12")
      try await browser.run("albums.ids.splice(12, 1); flow.apply([['remove', 10, 12]])")
      try await browser.wait(until: "flow.key === 11 && flow.index === 12")
      try await browser.run("albums.ids.reverse(); flow.apply([['reset']])")
      try await browser.wait(until: "flow.key === 11")
      try await browser.run("albums.ids.length = 0; flow.apply([['reset']])")
      try await browser.wait(until: "flow.index === -1 && !document.querySelector('.cf-list li')")
    }
  }

  @Test("the list shows the pictures of covers, as high as their rows")
  func pictures() async throws {
    try await FlowPage.with("&list&n=50") { page in
      try await page.browser.wait(until: "document.querySelector('.cf-thumb')?.complete")
      let sizes: [Double] = try await page.browser.script(
        """
        const row = document.querySelector('.cf-row').getBoundingClientRect()
        const box = document.querySelector('.cf-thumb').getBoundingClientRect()
        return [box.width, box.height, row.height, box.left - row.left]
        """)
      #expect(sizes[0] == 96 && sizes[1] == sizes[2] && sizes[1] >= 72 && sizes[3] == 0, "\(sizes)")
    }
  }

  @Test("an item that changes keeps its row, the focus in it and its details; rows are used again")
  func rows() async throws {
    try await FlowPage.with("&cards&list&n=1000") { page in
      let browser = page.browser
      try await browser.run(
        """
        const cover = albums.cover.bind(albums)
        window.made = 0
        albums.cover = (index, reused) => {
          made += reused ? 0 : 1
          const card = cover(index, reused)
          if (!card.querySelector('button')) card.append(document.createElement('button'))
          card.texts[1].data += ` ${window.version ?? 1}`
          return card
        }
        flow.apply([['reset']])
        flow.flip()
        window.row = document.querySelector('[aria-selected=true]')
        row.querySelector('button').focus()
        window.version = 2
        flow.apply([['update', 0], ['update', 500]])
        """)
      let isKept: Bool = try await browser.script(
        """
        const now = document.querySelector('[aria-selected=true]')
        return now === row && now.contains(document.activeElement)
          && now.querySelector('.name').textContent.endsWith(' 2') && !!now.querySelector('.details')
        """)
      #expect(isKept)
      // From one end to the other and back.
      for index in stride(from: 0, through: 999, by: 111) {
        try await browser.run("flow.go(arguments[0])", index)
      }
      try await browser.run("flow.go(0); flow.apply([['reset']])")
      let counts: [Int] = try await browser.script(
        "return [document.querySelectorAll('.cf-list li').length, made]")
      #expect(counts[0] == 200 && counts[1] == 0, "\(counts)")
      let wrong: Int = try await browser.script(
        """
        return [...document.querySelectorAll('.cf-list li')].filter((each) =>
          each.querySelector('.number').textContent !== each.getAttribute('aria-posinset')).length
        """)
      #expect(wrong == 0)
    }
  }
}

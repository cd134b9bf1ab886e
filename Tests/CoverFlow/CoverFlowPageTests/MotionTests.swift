import Foundation
import Testing
import WebDriver

@Suite("A cover flow in a page: motion", .enabled(if: Browser.isExpected), .serialized)
struct MotionTests {
  @Test("the page has as many elements after 10,000 covers as before, and as many nodes")
  func elements() async throws {
    for query in ["&cards", ""] {
      try await FlowPage.with(query) { page in
        try await page.browser.run("__cf.jump(0)")
        let counts =
          "return [__cf.stats.elements, __cf.stats.covers, document.querySelectorAll('*').length]"
        let before: [Int] = try await page.browser.script(counts)
        try await page.browser.run("__cf.to(9999)")
        #expect(try await page.settled() == 9_999)
        try await page.browser.run("__cf.fling(-60)")
        try await page.settled()
        let after: [Int] = try await page.browser.script(counts)
        #expect(after == before && before[1] == 21)
        let isBounded: Bool = try await page.browser.script(
          "return __cf.stats.images <= __cf.stats.imageCapacity")
        #expect(isBounded)
      }
    }
  }

  @Test("after a mouse lets go, covers never turn round nor pass, and end on a cover")
  func release() async throws {
    try await FlowPage.with("&cards") { page in
      for (distance, milliseconds) in [(-420, 120), (380, 200), (-90, 400), (-30, 300)] {
        let what = "\(distance) in \(milliseconds) ms"
        // A finger that the browser lets go late has stopped before.
        let continues = try await FlowPage.repeated {
          try await page.start(at: 5_000)
          try await page.browser.perform(
            FlowPage.flick(.mouse(), from: 640, by: distance, milliseconds: milliseconds))
          let end = try await page.settled()
          #expect(end == end.rounded())
          return try velocityContinues(in: try await page.log, until: end, what)
        }
        #expect(continues, "\(what)")
      }
    }
  }

  /// Whether the glide that ends at a position begins with the velocity of the finger.
  private func velocityContinues(
    in log: [FlowPage.LogEntry], until end: Double, _ what: String
  ) throws -> Bool {
    let released = try #require(log.lastIndex { $0.event == "pointerup" })
    let glide = log[released...]
    expectMonotone(glide.map(\.position), what)
    guard let finger = log[..<released].last(where: { $0.mode == "drag" }),
      let first = glide.first
    else { return false }
    return abs(finger.velocity) <= 0.5
      || abs(first.velocity / finger.velocity - 1) < 0.2
        && (end - first.position) * finger.velocity > 0
  }

  @Test("a finger that comes down during a glide moves nothing, and can take the covers with it")
  func touchDown() async throws {
    try await FlowPage.with("&cards") { page in
      for touch in [InputSequence.touch(), .mouse(), .pen()] {
        var log: [FlowPage.LogEntry] = []
        var down = 0
        // On a busy machine the glide may be over before the finger comes.
        let comesDuringGlide = try await FlowPage.repeated {
          try await page.browser.releaseInput()
          try await page.start(at: 5_000)
          try await page.browser.run("__cf.fling(25)")
          try await page.browser.wait(until: "__cf.position > 5002")
          try await page.browser.perform(
            touch.move(x: 640, y: 340).down().pause(.milliseconds(120)))
          log = try await page.log
          down = try #require(log.firstIndex { $0.event == "pointerdown" })
          return log[down].position != log[down].position.rounded()
        }
        try #require(comesDuringGlide)
        for entry in log[(down - 1)...] {
          #expect(abs(entry.position - log[down - 1].position) <= 0.001)
        }
        try await page.browser.releaseInput()
        #expect(abs(try await page.settled() - log[down].position) <= 0.5)
      }
    }
  }

  @Test("the order follows distance at every frame")
  func order() async throws {
    struct Sample: Decodable {
      var position: Double
      var order: [[Double]]
    }
    try await FlowPage.with("&cards") { page in
      try await page.start(at: 5_000)
      let samples: [Sample] = try await page.browser.script(
        """
        const samples = []
        let moves = 0
        // A busy machine draws few frames of each motion.
        const move = () => __cf.to(moves++ % 2 ? 5000 : 5012)
        move()
        return new Promise((done) => {
          const look = () => {
            samples.push({ position: __cf.position,
              order: __cf.visible.map((each) => [each.index, each.zIndex]) })
            if (__cf.mode === 'rest') {
              if (samples.length > 30 || moves > 20) return done(samples)
              move()
            }
            requestAnimationFrame(look)
          }
          requestAnimationFrame(look)
        })
        """)
      #expect(samples.count > 10)
      for sample in samples {
        let byHeight = sample.order.sorted { $0[1] > $1[1] }.map { abs($0[0] - sample.position) }
        #expect(byHeight == byHeight.sorted(), "at \(sample.position)")
      }
    }
  }

  @Test("covers that change places don't overlap")
  func swap() async throws {
    struct Sample: Decodable {
      var position: Double
      var overlap: Double
    }
    try await FlowPage.with("&cards") { page in
      try await page.browser.run(
        """
        window.samples = []
        const look = () => {
          const [a, b] = __cf.visible.slice(0, 2)
            .map((each) => each.element.querySelector('.cf-face').getBoundingClientRect())
            .sort((one, other) => one.left - other.left)
          samples.push({ position: __cf.position, overlap: a.right - b.left })
          requestAnimationFrame(look)
        }
        requestAnimationFrame(look)
        """)
      var positions: [Double] = []
      let hasSwaps = try await FlowPage.repeated {
        try await page.start(at: 5_000)
        try await page.browser.run("samples.length = 0")
        // A finger so slow that frames come close to where two covers change places.
        try await page.browser.perform(
          FlowPage.flick(.mouse(), from: 640, by: -240, milliseconds: 2_400))
        let samples: [Sample] = try await page.browser.script("return samples")
        positions += samples.map(\.position)
        let swaps = samples.filter { abs($0.position - $0.position.rounded(.down) - 0.5) < 0.02 }
        for sample in swaps { #expect(sample.overlap <= 2, "at \(sample.position)") }
        return !swaps.isEmpty
      }
      #expect(hasSwaps, "\(positions)")
    }
  }

  @Test("a click means the topmost cover at its point")
  func hitTest() async throws {
    try await FlowPage.with("&cards") { page in
      for x in [40, 140, 240, 330, 420, 860, 950, 1040, 1140, 1240] {
        try await page.start(at: 5_000)
        let number: Int = try await page.browser.script(
          """
          return Number(document.elementFromPoint(arguments[0], 330).closest('.cf-cover')
            .getAttribute('aria-posinset'))
          """, x)
        try await page.browser.perform(.mouse().move(x: x, y: 330).down().up())
        #expect(try await page.settled() == Double(number - 1), "at \(x)")
      }
    }
  }

  @Test("a finger flicks, and one that moves up and down scrolls the page instead")
  func touch() async throws {
    try await FlowPage.with("&cards", width: 390, height: 844) { page in
      var ends: [Double] = []
      let flicks = try await FlowPage.repeated {
        try await page.start(at: 5_000)
        try await page.browser.perform(
          FlowPage.flick(.touch(), from: 300, y: 400, by: -220, milliseconds: 100))
        let end = try await page.settled()
        ends.append(end)
        return end > 5_003 && end < 5_030
      }
      #expect(flicks, "\(ends)")
      try await page.start(at: 5_000)
      try await page.browser.run("document.body.style.height = '2000px'")
      var swipe = InputSequence.touch().move(x: 200, y: 600).down()
      for y in stride(from: 590, through: 300, by: -10) {
        swipe = swipe.move(x: 200, y: y, over: .milliseconds(10))
      }
      try await page.browser.perform(swipe.up())
      try await page.browser.wait(until: "window.scrollY > 50")
      #expect(try await page.settled() == 5_000)
    }
  }

  @Test("with reduced motion a move is one frame")
  func reducedMotion() async throws {
    try await FlowPage.with("&cards", motion: "reduce") { page in
      try await page.start(at: 100)
      try await page.browser.run("__cf.to(5000)")
      let positions: [Double] = try await page.browser.script(
        """
        return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(
          () => done(__cf.log.filter((each) => each.event === 'frame').map((each) => each.position)))))
        """)
      #expect(positions.count >= 1 && positions.allSatisfy { $0 == 5_000 })
      try await page.browser.run("flow.flip()")
      try await page.browser.wait(until: "document.querySelector('.cf-back.cf-seen')")
      let frames: Int = try await page.browser.script(
        "return __cf.log.filter((each) => each.event === 'frame').length")
      #expect(frames <= positions.count + 3)
    }
  }

  @Test("a page that was hidden goes on where it was going to")
  func hidden() async throws {
    try await FlowPage.with("&cards") { page in
      try await page.start(at: 5_000)
      try await page.browser.run("__cf.to(5200)")
      try await page.browser.setHidden(true)
      try await page.browser.run("return new Promise((done) => setTimeout(done, 300))")
      try await page.browser.setHidden(false)
      #expect(try await page.settled() == 5_200)
    }
  }

  private func expectMonotone(_ positions: [Double], _ what: String) {
    guard let first = positions.first, let last = positions.last else { return }
    let direction = last >= first ? 1.0 : -1
    var furthest = first
    for position in positions {
      #expect((position - furthest) * direction >= -1e-9, "\(what): turned round")
      #expect((position - last) * direction <= 0.001, "\(what): passed")
      furthest = position
    }
  }
}

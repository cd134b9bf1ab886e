import Foundation
import Testing
import WebDriver

@Suite("A cover flow in a page: its source", .enabled(if: Browser.isExpected), .serialized)
struct SourceTests {
  /// What covers show: key, number, text and picture of each that is seen, by its key.
  private struct Shown: Decodable, Equatable {
    var key: Int
    var text: String
    var number: String
    var picture: String
  }

  private static let shown = """
    return __cf.visible.map(({ key, element }) => ({
      key, text: element.querySelector('.number').textContent,
      number: `${element.getAttribute('aria-posinset')} of ${element.getAttribute('aria-setsize')}`,
      picture: element.querySelector('.cf-image').getAttribute('src') ?? '' }))
    """

  @Test("the cover at the front stays when items arrive, leave and change places")
  func anchored() async throws {
    try await FlowPage.with("&cards&n=200") { page in
      try await page.start(at: 100)
      let keys: [Int] = try await page.browser.script(
        """
        const marked = document.querySelector('.cf-front')
        const ids = albums.ids
        const keys = []
        const apply = (...changes) => { flow.apply(changes); keys.push(flow.key) }
        ids.splice(0, 0, 900); apply(['insert', 900, 0])
        ids.splice(102, 0, 901); apply(['insert', 901, 102])
        ids.splice(3, 1); apply(['remove', 2, 3])
        ids.push(ids.splice(20, 1)[0]); apply(['move', ids.at(-1), 20, ids.length - 1])
        ids.reverse(); apply(['reset'])
        return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
          keys.push(flow.key, ids[flow.index], document.querySelector('.cf-front') === marked ? 1 : 0)
          done(keys)
        })))
        """)
      #expect(keys == [100, 100, 100, 100, 100, 100, 100, 1])
      let shown: [Shown] = try await page.browser.script(Self.shown)
      #expect(shown.count > 8)
      for each in shown { #expect(each.text == "\(each.key + 1)") }
      #expect(shown.first?.number == "102 of 201")
    }
  }

  @Test("a front that is removed gives way to the next, and an empty list to nothing")
  func removed() async throws {
    try await FlowPage.with("&cards&n=3") { page in
      try await page.start(at: 1)
      let keys: [Int?] = try await page.browser.script(
        """
        const frame = () => new Promise(requestAnimationFrame)
        const keys = []
        const remove = async (index) => {
          const [key] = albums.ids.splice(index, 1)
          flow.apply([['remove', key, index]])
          await frame(); await frame()
          keys.push(flow.key ?? null)
        }
        await remove(1); await remove(1); await remove(0)
        albums.ids.push(7); flow.apply([['insert', 7, 0]])
        await frame(); await frame()
        keys.push(flow.key)
        return keys
        """)
      #expect(keys == [2, 0, nil, 7])
      let shown: [Shown] = try await page.browser.script(Self.shown)
      #expect(shown.map(\.key) == [7])
    }
  }

  @Test("changes that are not of the list that is shown are made good by taking it anew")
  func mistaken() async throws {
    try await FlowPage.with("&cards&n=50") { page in
      try await page.start(at: 20)
      try await page.browser.run(
        """
        albums.ids.splice(0, 10)
        flow.apply([['remove', 777, 21], ['insert', 5, 4000], ['move', 1, -3, 99], ['nonsense']])
        """)
      try await page.browser.wait(until: "flow.key === 20 && __cf.position === 10 && __cf.n === 40")
      // The list was changed without a notification.
      try await page.browser.run("albums.ids.unshift(100, 101); flow.apply([['update', 20]])")
      try await page.browser.wait(until: "flow.key === 20 && __cf.position === 12 && __cf.n === 42")
      let shown: [Shown] = try await page.browser.script(Self.shown)
      for each in shown { #expect(each.text == "\(each.key + 1)") }
    }
  }

  @Test("the covers take ten thousand changes at once, and a list that is replaced every frame")
  func many() async throws {
    try await FlowPage.with("&cards") { page in
      try await page.start(at: 5_000)
      let milliseconds: Double = try await page.browser.script(
        """
        const changes = Array.from({ length: 10000 }, (_, each) => ['insert', 20000 + each, 0])
        albums.ids.unshift(...changes.map(([, key]) => key).reverse())
        const start = performance.now()
        flow.apply(changes)
        return performance.now() - start
        """)
      #expect(milliseconds < 30_000)
      try await page.browser.wait(until: "__cf.position === 15000 && flow.key === 5000")
      let keys: [Int] = try await page.browser.script(
        """
        const keys = new Set()
        for (let round = 0; round < 30; round += 1) {
          albums.ids = albums.ids.filter((id) => id === 5000 || (id + round) % 9 !== 0)
          flow.apply([['reset']])
          await new Promise(requestAnimationFrame)
          keys.add(flow.key)
        }
        return [...keys]
        """)
      #expect(keys == [5_000])
    }
  }

  @Test("a picture that comes late is shown on its own cover only, and never on another")
  func lateImages() async throws {
    try await FlowPage.with("&cards&n=400") { page in
      let wrong: [String] = try await page.browser.script(
        """
        const pause = (time) => new Promise((done) => setTimeout(done, time))
        albums.image = (index) => `/pictures/${20 + (albums.ids[index] * 37) % 160}/${albums.ids[index]}`
        flow.apply([['reset']])
        const wrong = []
        const look = () => {
          for (const { key, element } of __cf.visible) {
            const url = element.querySelector('.cf-image').getAttribute('src')
            if (url && !url.endsWith('/' + key)) wrong.push(`${key} has ${url}`)
          }
        }
        for (let round = 0; round < 25; round += 1) {
          round % 5 === 0 ? __cf.jump((round * 53) % 380) : __cf.fling(round % 2 ? 25 : -18)
          if (round % 4 === 1) flow.apply([['update', albums.ids[flow.index]]])
          if (round % 6 === 2) {
            const [key] = albums.ids.splice(3, 1)
            flow.apply([['remove', key, 3]])
          }
          for (let each = 0; each < 6; each += 1) { await pause(25); look() }
        }
        return wrong
        """)
      #expect(wrong == [])
      // And in the end each has its own.
      try await page.settled()
      try await page.browser.wait(
        until: "__cf.visible.every(({ element }) => element.matches('.cf-pictured'))")
      let shown: [Shown] = try await page.browser.script(Self.shown)
      for each in shown { #expect(each.picture.hasSuffix("/\(each.key)")) }
      let isBounded: Bool = try await page.browser.script("return __cf.stats.images <= 64")
      #expect(isBounded)
    }
  }

  @Test("a picture that changed on its way is shown as it is now")
  func changedImage() async throws {
    try await FlowPage.with("&cards&n=9") { page in
      try await page.browser.run(
        """
        window.version = 1
        albums.image = (index) => `/pictures/${version === 1 ? 500 : 20}/${albums.ids[index]}-${version}`
        flow.apply([['reset']])
        setTimeout(() => { version = 2; flow.apply([['update', 0]]) }, 60)
        """)
      let source = "document.querySelector('.cf-front .cf-image').getAttribute('src')"
      try await page.browser.wait(until: "\(source)?.endsWith('/0-2')")
      try await page.browser.run("return new Promise((done) => setTimeout(done, 700))")
      let after: String = try await page.browser.script("return \(source)")
      #expect(after.hasSuffix("/0-2"))
    }
  }

  @Test
  func `Pictures that never come hold up no other request of the page`() async throws {
    try await FlowPage.with("&cards&n=50") { page in
      try await page.browser.run(
        """
        albums.image = (index) => `/pictures/600000/${albums.ids[index]}`
        flow.apply([['reset']])
        """)
      try await page.browser.wait(until: "__cf.visible.length > 8")
      // As many as a page with a stream has beside it, of the browser's six connections to a server.
      let sizes: [Int] = try await page.browser.script(
        """
        const get = async (n) => (await (await fetch(`/pictures/0/${n}`)).text()).length
        return Promise.all([get(1), get(2), get(3)])
        """)
      #expect(sizes.allSatisfy { $0 > 0 })
      // Pictures of items that are gone make room for those of others.
      try await page.browser.run(
        "albums.image = (index) => `/pictures/0/${albums.ids[index]}`; flow.apply([['reset']])")
      try await page.browser.wait(
        until: "__cf.visible.every(({ element }) => element.matches('.cf-pictured'))")
    }
  }

  @Test("without a picture, or with one that is broken, the cover itself is seen")
  func defaultCover() async throws {
    try await FlowPage.with("&cards&n=9") { page in
      try await page.browser.run(
        """
        albums.image = (index) => [null, '/pictures/0/broken', '/nowhere.png', '/pictures/0/good'][index % 4]
        flow.apply([['reset']])
        """)
      try await page.browser.wait(
        until: "document.querySelectorAll('.cf-pictured').length === 2")
      let texts: [String] = try await page.browser.script(
        "return __cf.visible.map(({ element }) => element.querySelector('.name').textContent)")
      #expect(texts.allSatisfy { !$0.isEmpty })
    }
  }

  @Test("a picture that could not be loaded is tried again when the list is taken anew")
  func retried() async throws {
    try await FlowPage.with("&cards&n=9") { page in
      let asked = "performance.getEntriesByName(`${location.origin}/pictures/0/second`).length"
      // It is not tried again by itself.
      try await page.browser.run(
        """
        const later = window.setTimeout
        window.setTimeout = (action, time) => time < 4000 ? later(action, time) : 1
        albums.image = (index) => index === 0 ? '/pictures/0/second' : '/pictures/0/other'
        flow.apply([['reset']])
        """)
      try await page.browser.wait(
        until: "document.querySelectorAll('.cf-pictured').length === 8")
      try await page.browser.wait(until: "\(asked) === 1")
      // An item that is only updated requests no picture.
      try await page.browser.run(
        "flow.apply([['update', 0]]); return new Promise((done) => setTimeout(done, 200))")
      #expect(try await page.browser.script("return \(asked)") == 1)
      try await page.browser.run("flow.apply([['reset']])")
      try await page.browser.wait(
        until: "document.querySelectorAll('.cf-pictured').length === 9")
    }
  }

  /// Lets the test decide when `again` tries a picture, and has the addresses that are requested in `requested`.
  private static let retries = """
    const later = window.setTimeout
    const pauses = []
    let again
    window.setTimeout = (action, time) => {
      if (time < 4000) return later(action, time)
      pauses.push(time)
      again = action
      return 1
    }
    const retry = () => {
      const action = again
      again = null
      action()
    }
    const soon = async (isSo) => { while (!isSo()) await new Promise((done) => later(done, 5)) }
    const pictured = () => document.querySelectorAll('.cf-pictured').length
    const decode = HTMLImageElement.prototype.decode
    const requested = []
    let settled = 0
    HTMLImageElement.prototype.decode = function () {
      requested.push(new URL(this.src).pathname)
      return decode.call(this).finally(() => { settled += 1 })
    }
    const failed = () => soon(() => again && settled === requested.length)

    """

  @Test
  func
    `A picture that could not be loaded is tried again after pauses, and the others with it when it comes`()
    async throws
  {
    try await FlowPage.with("&cards&n=9") { page in
      let result: [String] = try await page.browser.script(
        Self.retries + """
          let isBack = false
          albums.image = () => isBack ? '/pictures/0/good' : '/pictures/0/broken'
          flow.apply([['reset']])
          await soon(() => requested.length === 9)
          await failed()
          const results = []
          for (let each = 0; each < 6; each += 1) {
            retry()
            await failed()
            results.push(requested.length)
          }
          isBack = true
          retry()
          await soon(() => pictured() === 9)
          return [pauses.join(), results.join()]
          """)
      #expect(result == ["4000,8000,16000,32000,64000,64000,64000", "10,11,12,13,14,15"])
    }
  }

  @Test
  func `A picture that is gone for good is requested once with the others, and once per pause`()
    async throws
  {
    try await FlowPage.with("&cards&n=9") { page in
      let result: [Int] = try await page.browser.script(
        Self.retries + """
          let isBack = false
          // A browser would load one address once.
          albums.image = (index) =>
            isBack && albums.ids[index] !== 4 ? `/pictures/50/${albums.ids[index]}` : '/pictures/0/broken'
          flow.apply([['reset']])
          await soon(() => requested.length === 9)
          await failed()
          isBack = true
          requested.length = settled = 0
          const count = () => requested.filter((each) => each.endsWith('broken')).length
          // It may be the first that is tried.
          retry()
          const alone = count()
          await soon(() => again || pictured() > 0)
          if (alone) retry()
          await soon(() => pictured() === 8)
          await failed()
          const together = count() - alone
          retry()
          await failed()
          return [requested.length - alone, together, count() - alone - together]
          """)
      #expect(result == [10, 1, 1])
    }
  }

  @Test
  func
    `Pictures are tried again although the one that is tried first changes, goes or has no address`()
    async throws
  {
    try await FlowPage.with("&cards&n=9") { page in
      let result: [String] = try await page.browser.script(
        Self.retries + """
          let key
          let address = '/pictures/0/broken'
          albums.image = (index) => {
            key = albums.ids[index]
            return address
          }
          flow.apply([['reset']])
          await soon(() => requested.length === 9)
          await failed()
          const results = []
          // None is requested while this one loads.
          address = '/pictures/600000/late'
          retry()
          results.push(`${requested.length} ${again !== null}`)
          const index = albums.ids.indexOf(key)
          const [gone] = albums.ids.splice(index, 1)
          flow.apply([['remove', gone, index]])
          results.push(`${requested.length} ${again !== null}`)
          retry()
          results.push(`${requested.length} ${again !== null}`)
          address = '/pictures/0/broken'
          flow.apply([['update', key]])
          await failed()
          results.push(`${requested.length}`)
          albums.image = () => {
            const answer = address
            address = '/pictures/0/broken'
            return answer
          }
          address = null
          retry()
          await failed()
          results.push(`${requested.length}`)
          return results
          """)
      #expect(result == ["10 false", "10 true", "11 false", "12", "13"])
    }
  }

  @Test("covers without a back are not turned over", arguments: ["no-preference", "reduce"])
  func noBack(motion: String) async throws {
    try await FlowPage.with("&cards&n=9", motion: motion) { page in
      try await page.browser.run(
        """
        albums.back = undefined
        window.backs = 0
        new MutationObserver(() => { backs += 1 })
          .observe(document.querySelector('.cf-back'), { attributes: true })
        flow.flip()
        """)
      try await page.browser.perform(
        .mouse().move(x: 640, y: 330).down().up().pause(.milliseconds(80)).down().up())
      try await page.browser.wait(until: "document.documentElement.dataset.selected === '0'")
      try await page.browser.run("return new Promise((done) => setTimeout(done, 300))")
      let state: [Int] = try await page.browser.script(
        "return [backs, flow.isFlipped ? 1 : 0, 'flipped' in document.documentElement.dataset ? 1 : 0]"
      )
      #expect(state == [0, 0, 0])
      // The covers go on.
      try await page.browser.run("flow.step(2)")
      #expect(try await page.settled() == 2)
    }
  }

  @Test("functions of the page that throw don't stop the covers")
  func throwing() async throws {
    try await FlowPage.with("&cards&n=100") { page in
      try await page.browser.run(
        """
        const cover = albums.cover.bind(albums)
        albums.cover = (index, reused) => {
          if (index % 3 === 0) throw new Error('of the page')
          return cover(index, reused)
        }
        albums.back = () => { throw new Error('of the page') }
        """)
      try await page.browser.run("__cf.to(41)")
      #expect(try await page.settled() == 41)
      try await page.browser.run("flow.flip()")
      try await page.browser.wait(until: "document.querySelector('.cf-back.cf-seen')")
      let counts: [Int] = try await page.browser.script(
        "return [__cf.stats.covers, __cf.visible.length]")
      #expect(counts[0] == 21 && counts[1] > 8)
    }
  }

  @Test(
    "names, pictures and keys that can't be had don't stop the covers", arguments: ["", "label"])
  func throwingNames(_ label: String) async throws {
    try await FlowPage.with("&cards&n=100") { page in
      try await page.browser.run(
        """
        window.told = 0
        addEventListener('error', (event) => { told += 1; event.preventDefault() })
        const fail = () => { throw new Error('of the page') }
        if (arguments[0]) albums.label = fail
        Object.assign(albums, { title: fail, subtitle: fail, tint: fail, image: fail })
        const keyAt = albums.keyAt.bind(albums)
        albums.keyAt = (index) => index % 5 === 0 ? fail() : keyAt(index)
        """, label)
      try await page.browser.run("__cf.to(41)")
      #expect(try await page.settled() == 41)
      let shown: [Int] = try await page.browser.script(
        """
        const cards = [...document.querySelectorAll('.cf-cover.cf-seen')]
        return [told > 0 ? 1 : 0, ...cards.map((each) =>
          Number(each.querySelector('.number').textContent) - Number(each.getAttribute('aria-posinset')))]
        """)
      #expect(shown.count > 8 && shown[0] == 1)
      #expect(shown.dropFirst().allSatisfy { $0 == 0 }, "each cover shows its own item")
      try await page.browser.run("flow.apply([['reset']]); flow.step(3)")
      #expect(try await page.settled() == 44)
    }
  }

  @Test("a flow that can't begin leaves nothing behind in the list that is shown instead")
  func failingStart() async throws {
    try await FlowPage.with("&cards&n=30") { page in
      let state: [String] = try await page.browser.script(
        """
        const { CoverFlow } = await import('/Sources/CoverFlow/CoverFlowPage/Resources/cover-flow.js')
        let told = 0
        addEventListener('error', (event) => { told += 1; event.preventDefault() })
        const element = document.createElement('div')
        element.style.height = '300px'
        document.body.append(element)
        const list = await CoverFlow.create(element, albums,
          { get aspect() { throw new Error('of the page') } })
        const frames = async () => {
          for (let each = 0; each < 4; each += 1) await new Promise(requestAnimationFrame)
        }
        await frames()
        element.style.height = '200px'
        await frames()
        return [list.constructor.name, `${told}`, `${element.querySelectorAll('.cf-stage').length}`]
        """)
      #expect(state == ["CoverList", "0", "0"])
    }
  }

  @Test(
    "several flows of one page don't know of each other, and one that is destroyed leaves nothing")
  func several() async throws {
    try await FlowPage.with("&cards&n=30") { page in
      let state: [Int] = try await page.browser.script(
        """
        const { CoverFlow } = await import('/Sources/CoverFlow/CoverFlowPage/Resources/cover-flow.js')
        const element = document.createElement('div')
        document.body.append(element)
        const other = await CoverFlow.create(element, Object.assign(Object.create(albums), { ids: [1, 2, 3] }))
        other.jump(2)
        flow.jump(20)
        await new Promise(requestAnimationFrame)
        const state = [other.key, flow.key, element.childElementCount > 0 ? 1 : 0]
        other.destroy()
        return [...state, element.childElementCount, element.className.length]
        """)
      #expect(state == [3, 20, 1, 0, 0])
    }
  }
}

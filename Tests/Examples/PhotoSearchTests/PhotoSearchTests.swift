import Binding
import Foundation
import Reactive
import Testing

@testable import photo_search

@Suite("The photo search")
@MainActor
struct PhotoSearchTests {
  private let service = ScriptedPhotos()
  private let scheduler = TestScheduler()
  private let pages = RecordedPages()
  private let recent = RecentSearches()

  private func model() -> PhotoSearch {
    PhotoSearch(photos: service, recent: recent, pages: pages, scheduler: scheduler)
  }

  /// Searches, and answers with `count` photographs.
  private func search(_ text: String, in model: PhotoSearch, found count: Int = 3) throws {
    model.text.value = text
    model.search.apply().start()
    try service.last().answer.send(value: ScriptedPhotos.page(0..<count, of: count))
  }

  @Test("the search is enabled by a text that is long enough, and not while it searches")
  func validity() throws {
    let model = model()
    for (text, isEnabled) in [
      ("", false), ("ab", false), ("  a b ", true), ("a  ", false), ("sea", true),
    ] {
      model.text.value = text
      #expect(model.search.isEnabled.value == isEnabled, "“\(text)”")
    }
    model.search.apply().start()
    #expect(model.search.isExecuting.value && !model.search.isEnabled.value)
    model.search.apply().start()
    #expect(service.texts == ["sea"])
    try service.last().answer.send(value: ScriptedPhotos.page(0..<3, of: 3))
    #expect(!model.search.isExecuting.value && model.search.isEnabled.value)
    model.text.value = String(repeating: "x", count: 60_000)
    model.search.apply().start()
    #expect(service.texts.last?.count == SearchTerm.characterCountMax)
  }

  @Test("the search opens the results by itself, with the text that it began with")
  func opened() throws {
    let model = model()
    model.text.value = " sea  side "
    model.search.apply().start()
    model.text.value = "something else"
    try service.last().answer.send(value: ScriptedPhotos.page(0..<3, of: 40, next: 2))
    #expect(pages.opened.map(\.title) == ["sea side"])
    #expect(pages.opened.first?.photos.value.map(\.id) == ["0", "1", "2"])
    #expect(pages.opened.first?.summary.value == "3 of 40 photographs")
    #expect(recent.all.value.map(\.text) == ["sea side"])
  }

  @Test("the search shows that nothing was found, and opens no page")
  func nothing() throws {
    let model = model()
    try search("sea", in: model, found: 0)
    #expect(pages.opened.isEmpty && recent.all.value == [])
    #expect(model.nothing.value == "There is no photograph of “sea”.")
    model.text.value = "hill"
    model.search.apply().start()
    #expect(model.nothing.value == nil)
    try service.last().answer.sendCompleted()
    #expect(model.nothing.value == "There is no photograph of “hill”.", "it has sent none")
  }

  @Test("the search goes on after failures and silence")
  func failures() throws {
    let model = model()
    let error = MutableProperty<PhotosError?>(nil)
    error <~ model.search.errors
    model.text.value = "sea"
    model.search.apply().start()
    try service.last().answer.send(error: .refused("no"))
    #expect(error.value == .refused("no") && model.search.isEnabled.value)
    model.search.apply().start()
    scheduler.advance(by: 9.9)
    #expect(model.search.isExecuting.value)
    scheduler.advance(by: 0.2)
    #expect(error.value == .noAnswer && model.search.isEnabled.value)
    #expect(service.ended == 2, "a silent search is given up")
    try service.last().answer.send(value: ScriptedPhotos.page(0..<3, of: 3))
    #expect(pages.opened.isEmpty, "what comes after that is too late")
    try search("sea", in: model)
    #expect(pages.opened.count == 1)
  }

  @Test("the search keeps the latest eight texts, each once")
  func recents() throws {
    let model = model()
    for number in 0..<12 { try search("search \(number)", in: model) }
    try search("SEARCH 6", in: model, found: 5)
    let list = recent.all.value
    #expect(
      list.map(\.text)
        == ["SEARCH 6"] + [11, 10, 9, 8, 7, 5, 4].map { "search \($0)" })
    #expect(list.first?.total == 5 && list.first?.thumbnail == "thumbnails/0.png")
    #expect(Set(list.map(\.id)).count == list.count)
    #expect(model.hasRecent.value)
  }

  @Test("the search repeats a recent search")
  func again() throws {
    let model = model()
    try search("Sea", in: model)
    try search("hill", in: model)
    model.repeatSearch.apply("sea").start()
    #expect(model.text.value == "Sea" && service.texts.last == "Sea")
    #expect(model.search.isExecuting.value && !model.repeatSearch.isEnabled.value)
    try service.last().answer.send(value: ScriptedPhotos.page(0..<1, of: 1))
    #expect(pages.opened.count == 3 && recent.all.value.map(\.text) == ["Sea", "hill"])
    model.repeatSearch.apply("unknown").start()
    #expect(service.texts.count == 3)
  }
}

@Suite("The results of a photo search")
@MainActor
struct PhotoResultsTests {
  private let service = ScriptedPhotos()
  private let scheduler = TestScheduler()

  private func results(_ page: PhotoPage) throws -> PhotoResults {
    PhotoResults(
      of: try #require(SearchTerm("sea")), in: service, first: page, scheduler: scheduler)
  }

  @Test("results are followed by the next ones, each photograph once")
  func more() throws {
    let results = try results(ScriptedPhotos.page(0..<3, of: 7, next: 2))
    results.more.apply().start()
    #expect(service.pages == [2])
    // One was added in front meanwhile.
    try service.last().answer.send(value: ScriptedPhotos.page(2..<5, of: 8, next: 3))
    #expect(results.photos.value.map(\.id) == ["0", "1", "2", "3", "4"])
    #expect(results.summary.value == "5 of 8 photographs" && results.hasMore.value)
    results.more.apply().start()
    try service.last().answer.send(error: .unreachable)
    #expect(results.photos.value.count == 5 && results.more.isEnabled.value)
    results.more.apply().start()
    try service.last().answer.send(value: ScriptedPhotos.page(5..<8, of: 8))
    #expect(service.pages == [2, 3, 3])
    #expect(results.summary.value == "8 photographs")
    #expect(!results.hasMore.value && !results.more.isEnabled.value)
  }

  @Test("results end with an empty page, at two thousand, and where pages lead in circles")
  func bounded() throws {
    let empty = try results(ScriptedPhotos.page(0..<3, of: 500, next: 2))
    empty.more.apply().start()
    try service.last().answer.send(value: ScriptedPhotos.page(0..<0, of: 500, next: 3))
    #expect(!empty.hasMore.value, "a service can't lead in circles")
    let many = try results(ScriptedPhotos.page(0..<1_990, of: 90_000, next: 2))
    many.more.apply().start()
    try service.last().answer.send(value: ScriptedPhotos.page(1_990..<2_100, of: 90_000, next: 3))
    #expect(many.photos.value.count == 2_000 && !many.hasMore.value)
    #expect(many.summary.value == "The first 2000 of 90000 photographs")
    let same = try results(ScriptedPhotos.page(0..<3, of: 500, next: 2))
    same.more.apply().start()
    try service.last().answer.send(value: ScriptedPhotos.page(0..<3, of: 503, next: 3))
    #expect(same.hasMore.value, "three were added in front")
    same.more.apply().start()
    try service.last().answer.send(value: ScriptedPhotos.page(0..<3, of: 500, next: 3))
    #expect(!same.hasMore.value && same.summary.value == "The first 3 of 500 photographs")
  }
}

@Suite("The screens of the photo search")
@MainActor
struct PhotoAppTests {
  private let service = ScriptedPhotos()
  private let scheduler = TestScheduler()

  private func app(found numbers: Range<Int>, of total: Int, next: Int? = nil) throws -> PhotoApp {
    let app = PhotoApp(service: service, recent: RecentSearches(), scheduler: scheduler)
    app.search.text.value = "sea"
    app.search.search.apply().start()
    try service.last().answer.send(value: ScriptedPhotos.page(numbers, of: total, next: next))
    return app
  }

  @Test("the screens have pages that name only declared values")
  func page() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../Examples/PhotoSearch/Site/index.html")
    let page = try String(contentsOf: file, encoding: .utf8)
    #expect(PhotoApp.problems(inPage: page, named: "index.html") == [])
  }

  @Test("the screens lie on top of each other, and Back leads down again")
  func stack() throws {
    let app = try app(found: 0..<3, of: 3)
    #expect(app.screen.value == .results && app.showsResults.value && !app.showsSearch.value)
    #expect(app.title.value == "sea" && app.summary.value == "3 photographs")
    app.show.apply("nowhere").start()
    #expect(app.screen.value == .results)
    app.show.apply("1").start()
    #expect(app.screen.value == .photo && app.photoTitle.value == "Photo 1")
    #expect(app.photoPicture.value == "pictures/1.png")
    app.back.apply().start()
    #expect(app.screen.value == .results && app.photoPicture.value == nil)
    app.back.apply().start()
    #expect(app.screen.value == .search && app.photos.value == [] && app.title.value == "")
    app.back.apply().start()
    #expect(app.screen.value == .search, "there is nothing below")
    #expect(app.search.text.value == "sea")
  }

  @Test("the results load more photographs shortly before the last")
  func reach() throws {
    let app = try app(found: 0..<100, of: 150, next: 2)
    app.reach.apply("79").start()
    #expect(service.pages == [1])
    app.reach.apply("80").start()
    app.reach.apply("81").start()
    #expect(service.pages == [1, 2], "once")
    try service.last().answer.send(value: ScriptedPhotos.page(100..<150, of: 150))
    #expect(app.photos.value.count == 150 && !app.hasMore.value)
    app.reach.apply("149").start()
    #expect(service.pages == [1, 2])
  }

  @Test("the results show why there are no more photographs")
  func failedMore() throws {
    let app = try app(found: 0..<3, of: 150, next: 2)
    let error = MutableProperty<PhotosError?>(nil)
    error <~ app.more.errors
    app.more.apply().start()
    try service.last().answer.send(error: .unreachable)
    #expect(error.value == .unreachable && app.photos.value.count == 3)
  }

  @Test("the screens forget results that are closed while more of them are loading")
  func closedWhileSearching() throws {
    let app = try app(found: 0..<3, of: 150, next: 2)
    app.more.apply().start()
    let answer = try service.last().answer
    app.back.apply().start()
    answer.send(value: ScriptedPhotos.page(3..<6, of: 150))
    #expect(app.photos.value == [] && app.screen.value == .search)
  }

  @Test
  func `Facts are loaded of visible photographs only, those near the front first, a few at a time`()
    throws
  {
    let app = try app(found: 0..<100, of: 100)
    app.reach.apply("50").start()
    scheduler.advance(by: VisibleFacts.restTime / 2)
    // It moves on before it has rested.
    app.reach.apply("20").start()
    scheduler.advance(by: VisibleFacts.restTime / 2)
    #expect(service.factRequests.isEmpty)
    scheduler.advance(by: VisibleFacts.restTime)
    #expect(service.factRequests.map(\.id) == ["20", "19", "21", "18"])
    service.factRequests[0].answer.send(value: "7 favourites")
    #expect(service.factRequests.map(\.id).last == "22")
    #expect(app.rows.value[20].caption == "Ada · 7 favourites")
    #expect(app.rows.value[19].caption == "Ada" && app.rows.value[19].facts == nil)
    // One that the service doesn't have makes room, too.
    service.factRequests[1].answer.send(error: .missing)
    #expect(service.loading.count == VisibleFacts.loadCountMax)
    // Those of covers that stay visible go on, and the others end at once.
    app.reach.apply("29").start()
    #expect(service.loading == ["21", "22"])
    app.reach.apply("90").start()
    #expect(service.loading.isEmpty)
    scheduler.advance(by: VisibleFacts.restTime)
    #expect(service.loading == ["90", "89", "91", "88"])
    while let next = service.factRequests.first(where: { service.loading.contains($0.id) }) {
      next.answer.send(value: "")
    }
    let asked = Set(service.factRequests.dropFirst(6).map(\.id))
    #expect(asked == Set((80..<100).map(String.init)))
    app.reach.apply("20").start()
    scheduler.advance(by: VisibleFacts.restTime)
    #expect(!service.loading.contains("20") && service.loading.contains("19"))
  }

  @Test
  func `Facts are not loaded while another screen is on top, and are forgotten with their results`()
    throws
  {
    let app = try app(found: 0..<3, of: 3)
    app.show.apply("1").start()
    scheduler.advance(by: VisibleFacts.restTime)
    #expect(service.factRequests.isEmpty)
    app.back.apply().start()
    scheduler.advance(by: VisibleFacts.restTime)
    #expect(service.loading == ["0", "1", "2"])
    try #require(service.factRequests.first).answer.send(value: "5 comments")
    #expect(app.rows.value[0].facts == "5 comments")
    app.show.apply("1").start()
    scheduler.advance(by: VisibleFacts.restTime)
    #expect(service.loading.isEmpty)
    app.back.apply().start()
    app.back.apply().start()
    #expect(app.rows.value.isEmpty)
    app.search.search.apply().start()
    try service.last().answer.send(value: ScriptedPhotos.page(0..<3, of: 3))
    #expect(app.rows.value.count == 3 && app.rows.value[0].facts == nil)
  }
}

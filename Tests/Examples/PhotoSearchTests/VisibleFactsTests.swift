import Binding
import Reactive
import Testing

@testable import photo_search

@Suite("The facts of visible photographs")
@MainActor
struct VisibleFactsTests {
  private let service = ScriptedPhotos()
  private let scheduler = TestScheduler()

  /// An app that shows `count` results, whose covers have rested.
  private func app(found count: Int) throws -> PhotoApp {
    let app = PhotoApp(service: service, recent: RecentSearches(), scheduler: scheduler)
    app.search.text.value = "sea"
    app.search.search.apply().start()
    try service.last().answer.send(value: ScriptedPhotos.page(0..<count, of: count))
    scheduler.advance(by: VisibleFacts.restTime)
    return app
  }

  /// Fails all loads, or answers them.
  private func end(_ answer: Result<String, PhotosError>) {
    let ids = service.loading
    for request in service.factRequests.suffix(ids.count) where ids.contains(request.id) {
      switch answer {
      case .success(let text): request.answer.send(value: text)
      case .failure(let error): request.answer.send(error: error)
      }
    }
  }

  @Test(
    arguments: [PhotosError.unreachable, .busy, .malformed, .refused("Invalid API Key"), .noAnswer])
  func
    `A service that fails is tried again while covers are visible, after pauses that grow up to a minute`(
      _ error: PhotosError
    ) throws
  {
    let app = try app(found: 100)
    #expect(service.factRequests.count == VisibleFacts.loadCountMax)
    if error == .noAnswer {
      scheduler.advance(by: PhotoSearch.timeMax)
    } else {
      end(.failure(error))
    }
    for pause in [2.0, 4, 8, 16, 32, 64, 64] {
      let count = service.factRequests.count
      #expect(service.loading.isEmpty)
      #expect(app.rows.value[0].caption == "Ada · \(error.note)")
      #expect(app.rows.value[10].facts == error.note && app.rows.value[11].facts == nil)
      scheduler.advance(by: pause - 0.1)
      #expect(service.factRequests.count == count)
      scheduler.advance(by: 0.2)
      #expect(service.factRequests.count == count + 1, "one tries the service")
      end(.failure(error))
    }
    // The front moves on meanwhile: its cover shows the reason, and nothing is requested for it.
    app.reach.apply("50").start()
    scheduler.advance(by: VisibleFacts.restTime)
    #expect(app.rows.value[50].facts == error.note && app.rows.value[0].facts == nil)
    #expect(service.loading.isEmpty)
    scheduler.advance(by: VisibleFacts.pauseMax)
    #expect(service.loading == ["50"])
    end(.success("7 favourites"))
    #expect(service.loading == ["49", "51", "48", "52"], "the service is back")
    #expect(app.rows.value[50].facts == "7 favourites" && app.rows.value[49].facts == nil)
    end(.failure(error))
    scheduler.advance(by: VisibleFacts.pauseMin)
    #expect(service.loading.count == 1, "the pause is short again")
  }

  @Test
  func
    `A photograph that the service doesn't have holds up no other one, and is requested again when it comes back`()
    throws
  {
    let app = try app(found: 60)
    while let request = service.factRequests.first(where: { service.loading.contains($0.id) }) {
      if request.id == "0" {
        request.answer.send(error: .missing)
      } else if request.id == "1" {
        // It ends without an answer.
        request.answer.sendCompleted()
      } else {
        request.answer.send(value: "0 comments")
      }
    }
    #expect(service.factRequests.count == 11)
    #expect(app.rows.value[0].facts == PhotosError.missing.note)
    #expect(app.rows.value[1].facts == PhotosError.missing.note)
    #expect(app.rows.value[2].facts == "0 comments")
    scheduler.advance(by: 1_000)
    #expect(service.factRequests.count == 11)
    app.reach.apply("40").start()
    scheduler.advance(by: VisibleFacts.restTime)
    #expect(app.rows.value[0].facts == nil)
    app.reach.apply("0").start()
    scheduler.advance(by: VisibleFacts.restTime)
    #expect(service.loading == ["0", "1"])
  }

  @Test
  func `Facts are loaded while a page shows them, and requests end with the app`() throws {
    var app: PhotoApp? = try app(found: 60)
    app?.disappeared()
    #expect(service.loading.isEmpty)
    scheduler.advance(by: 1_000)
    #expect(service.factRequests.count == VisibleFacts.loadCountMax)
    app?.appeared()
    scheduler.advance(by: VisibleFacts.restTime)
    #expect(service.loading.count == VisibleFacts.loadCountMax)
    app = nil
    #expect(service.loading.isEmpty)
  }

  @Test
  func `Moving from cover to cover repeats no request that goes on`() throws {
    let app = try app(found: 100)
    for id in 1...9 {
      app.reach.apply("\(id)").start()
      scheduler.advance(by: VisibleFacts.restTime)
    }
    #expect(service.factRequests.map(\.id) == ["0", "1", "2", "3"])
  }

  @Test
  func `Two thousand results have the facts of visible ones only`() throws {
    let app = try app(found: 10_000)
    #expect(app.rows.value.count == PhotoResults.photoCountMax)
    app.reach.apply("1999").start()
    scheduler.advance(by: VisibleFacts.restTime)
    while !service.loading.isEmpty { end(.success("0 comments")) }
    #expect(service.factRequests.count == VisibleFacts.loadCountMax + VisibleFacts.sideCount + 1)
    #expect(app.rows.value.count { $0.facts != nil } == VisibleFacts.sideCount + 1)
  }
}

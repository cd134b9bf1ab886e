import Essentials
import Testing

@testable import CoverFlow

@Suite("Images of covers")
struct ImageTests {
  private typealias Cache = CoverImageCache<Int>

  private func ticket(_ answer: Cache.Answer) throws -> Cache.Ticket {
    guard case .load(let ticket) = answer else { throw Missing() }
    return ticket
  }
  private struct Missing: Error {}

  @Test("an image is loaded once, however often it is requested")
  func once() throws {
    var cache = Cache(capacity: 4)
    let ticket = try ticket(cache.request(7) { _ in false })
    #expect(cache.request(7) { _ in false } == .loading)
    #expect(cache.finish(ticket, isLoaded: true) == .show(7))
    #expect(cache.request(7) { _ in false } == .ready(place: ticket.place))
    #expect(cache.finish(ticket, isLoaded: true) == .discard)
  }

  @Test("the least recently used image gives way, never one that is shown")
  func eviction() throws {
    var cache = Cache(capacity: 3)
    let first = try ticket(cache.request(0) { _ in false })
    #expect(cache.finish(first, isLoaded: true) == .show(0))
    for key in 1..<3 {
      #expect(
        cache.finish(try ticket(cache.request(key) { _ in false }), isLoaded: true) == .show(key))
    }
    _ = cache.request(0) { _ in false }
    _ = try ticket(cache.request(10) { $0 == 1 })
    #expect(try ticket(cache.request(2) { $0 != 0 }).place == first.place)
    #expect(cache.request(99) { _ in true } == .full)
    #expect(cache.count == 3)
  }

  @Test("a late image of a cover whose slot was reused is discarded")
  func late() throws {
    var cache = Cache(capacity: 1)
    let old = try ticket(cache.request(1) { _ in false })
    let new = try ticket(cache.request(2) { _ in false })
    #expect(old.place == new.place)
    #expect(cache.finish(old, isLoaded: true) == .discard)
    #expect(cache.finish(new, isLoaded: true) == .show(2))
  }

  @Test("a late image of a changed item is discarded")
  func changed() throws {
    var cache = Cache(capacity: 4)
    let old = try ticket(cache.request(1) { _ in false })
    #expect(cache.remove(1) == old.place)
    let new = try ticket(cache.request(1) { _ in false })
    #expect(cache.finish(old, isLoaded: true) == .discard)
    #expect(cache.request(1) { _ in false } == .loading)
    #expect(cache.finish(new, isLoaded: true) == .show(1))
  }

  @Test("an image that can't be loaded is not tried again until that is requested")
  func failed() throws {
    var cache = Cache(capacity: 4)
    #expect(cache.finish(try ticket(cache.request(1) { _ in false }), isLoaded: false) == .show(1))
    #expect(cache.request(1) { _ in false } == .failed)
    cache.remove(1)
    #expect(try ticket(cache.request(1) { _ in false }).attempt > 0)
  }

  @Test("only a load under way can be cancelled")
  func cancelled() throws {
    var cache = Cache(capacity: 2)
    let one = try ticket(cache.request(1) { _ in false })
    #expect(cache.cancel(1) == one.place && cache.cancel(1) == nil && cache.cancel(9) == nil)
    #expect(cache.finish(try ticket(cache.request(2) { _ in false }), isLoaded: true) == .show(2))
    #expect(cache.cancel(2) == nil && cache.count == 1)
  }

  @Test("tickets that were never given out are discarded")
  func hostileTickets() {
    var cache = Cache(capacity: 0)
    #expect(cache.capacity == 1)
    for place in [-1, 0, 1, .max, .min] {
      #expect(cache.finish(.init(place: place, attempt: 0), isLoaded: true) == .discard)
    }
  }

  @Test("the cache behaves as a list that is searched from its end, in random programs")
  func model() throws {
    for seed in 1...60 as ClosedRange<UInt64> {
      var random = SeededGenerator(seed: seed)
      let capacity = 1 + Int(random.unit() * 9)
      var cache = Cache(capacity: capacity)
      // Most recently used first.
      var model: [(key: Int, ticket: Cache.Ticket?, state: Int)] = []
      for _ in 0..<800 {
        let key = Int(random.unit() * 14)
        let pinned = Int(random.unit() * 14)
        let found = model.firstIndex { $0.key == key }
        if random.unit() < 0.6 {
          let answer = cache.request(key) { $0 == pinned }
          if let found {
            model.insert(model.remove(at: found), at: 0)
            let expected: Bool =
              switch (answer, model[0].state) {
              case (.loading, 0), (.ready, 1), (.failed, 2): true
              default: false
              }
            #expect(expected, "seed \(seed)")
          } else if model.count == capacity, model.allSatisfy({ $0.key == pinned }) {
            #expect(answer == .full, "seed \(seed)")
          } else {
            if model.count == capacity, let last = model.lastIndex(where: { $0.key != pinned }) {
              model.remove(at: last)
            }
            model.insert((key, try ticket(answer), 0), at: 0)
          }
        } else if let found, let ticket = model[found].ticket, random.unit() < 0.7 {
          let isLoaded = random.unit() < 0.8
          let expected: Cache.Outcome = model[found].state == 0 ? .show(key) : .discard
          #expect(cache.finish(ticket, isLoaded: isLoaded) == expected, "seed \(seed)")
          if model[found].state == 0 { model[found].state = isLoaded ? 1 : 2 }
        } else {
          #expect((cache.remove(key) != nil) == (found != nil), "seed \(seed)")
          if let found { model.remove(at: found) }
        }
        #expect(cache.count == model.count && cache.count <= capacity)
      }
    }
  }
}

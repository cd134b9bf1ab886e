import Essentials
import Testing

@testable import EventLoop

@Suite("Places for look-ups of names")
struct NameLookupTests {
  private typealias Places = NameLookup.Places

  @Test("a slow look-up of a name leaves its place to others, and the number of all is limited")
  func places() throws {
    var places = Places()
    var now = Instant.zero
    var taken: [UInt64] = []
    for _ in 0..<Places.countMax / Places.quickCountMax {
      for _ in 0..<Places.quickCountMax {
        let number = places.take(now: now)
        taken.append(try #require(number))
      }
      #expect(places.take(now: now) == nil)
      now = now + Places.slowTime
    }
    now = now + .seconds(60)
    #expect(places.take(now: now) == nil)
    places.free(taken[0])
    #expect(places.take(now: now) != nil)
    #expect(places.take(now: now) == nil)
    #expect(Set(taken).count == taken.count)
  }
}

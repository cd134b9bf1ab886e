import Essentials
import Testing

@testable import EventLoop

@Suite("A race of addresses (RFC 8305), in virtual time")
struct AddressRaceTests {
  private var race = AddressRace<String>()
  private var now = Instant.zero

  private mutating func offer(_ endpoints: String...) {
    race.offer(endpoints) { $0.contains(":") }
  }

  /// The addresses to which attempts begin now.
  private mutating func begun() -> [String] {
    var all: [String] = []
    while let next = race.next(now: now) { all.append(next) }
    return all
  }

  @Test("the versions take turns, one attempt a quarter of a second")
  mutating func turns() {
    offer("1", "2", "3", "a:", "b:", "2")
    var order: [String] = []
    while true {
      let next = begun()
      #expect(next.count == 1)
      order += next
      guard let wake = race.nextWake else { break }
      #expect(wake == now + AddressRace<String>.attemptDelay)
      #expect(begun() == [], "not yet")
      now = wake
    }
    #expect(order == ["1", "a:", "2", "b:", "3"])
    #expect(!race.isExhausted)
    for endpoint in order { race.fail(endpoint) }
    #expect(race.isExhausted)
  }

  @Test("the versions also take turns where addresses become known one after another")
  mutating func lateAddresses() {
    offer("a:", "b:", "c:")
    #expect(begun() == ["a:"])
    offer("a:", "b:", "c:", "1")
    now = now + AddressRace<String>.attemptDelay
    #expect(begun() == ["1"])
    now = now + AddressRace<String>.attemptDelay
    #expect(begun() == ["b:"])
  }

  @Test("after a failure the next attempt begins at once, and others go on")
  mutating func failure() {
    offer("1", "2", "3")
    #expect(begun() == ["1"])
    race.fail("1")
    #expect(begun() == ["2"])
    now = now + .milliseconds(250)
    #expect(begun() == ["3"] && race.nextWake == nil)
    race.fail("3")
    #expect(!race.isExhausted, "the second may answer yet")
    race.fail("2")
    #expect(race.isExhausted)
  }

  @Test("an address is tried once, until it has gone and come again or all are forgotten")
  mutating func again() {
    offer("1")
    #expect(begun() == ["1"])
    race.fail("1")
    offer("1", "2")
    #expect(begun() == ["2"])
    offer("2")
    #expect(begun() == [])
    offer("1", "2")
    now = now + .seconds(1)
    #expect(begun() == ["1"])
    race.fail("1")
    race.forget()
    offer("1", "2")
    #expect(begun() == ["1"], "the second is still being tried")
  }

  @Test("an address that waits although it was tried is found")
  func tried() {
    var race = AddressRace<Int>()
    race.offer([1, 2]) { _ in false }
    #expect(race.next(now: .zero) == 1)
    #expect(race.violations() == [])
    race.waiting.append((endpoint: 1, isIPv6: false))
    #expect(race.violations() == ["an address waits that was tried"])
  }
}

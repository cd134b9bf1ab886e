import Essentials
import Testing

@testable import BluetoothMachines

@Suite("The time for which others wait for a slow client")
struct PatienceTests {
  private func at(_ seconds: Int64) -> Instant { .zero + .seconds(seconds) }

  /// A client that has held others up for all of its time.
  private func spent(at end: Instant) -> Patience {
    var patience = Patience()
    patience.holds(since: .zero, now: .zero)
    let isOver = patience.expire(now: end)
    #expect(isOver && patience.isSpent)
    return patience
  }

  @Test("A client whose time is spent is waited for again once half of it is restored")
  func restored() {
    var patience = spent(at: at(5))
    patience.restore(now: at(5 + 29))
    #expect(patience.isSpent)
    patience.restore(now: at(5 + 31))
    #expect(!patience.isSpent)
  }

  @Test("A client that has held no other up for an hour has no more than the whole time")
  func total() {
    var patience = Patience()
    patience.holds(since: at(3_600), now: at(3_600))
    #expect(patience.deadline == at(3_605))
  }

  @Test(
    "The time since one instant is counted once"
  )
  func once() {
    var patience = Patience()
    patience.holds(since: .zero, now: .zero)
    patience.holds(since: .zero, now: at(2))
    #expect(patience.deadline == at(5))
    let isEarly = patience.expire(now: at(4))
    let isOver = patience.expire(now: at(5))
    #expect(!isEarly && isOver)
  }
}

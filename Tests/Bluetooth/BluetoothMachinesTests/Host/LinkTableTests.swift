import Essentials
import Testing

@testable import BluetoothMachines

@Suite("Links that should have ended, and bearers that a peer refused")
struct LinkTableTests {
  private let delay = TimeSpan.seconds(1)
  private let bearer = ATTBearer(rawValue: 0x0041)

  @Test("A link counts as ended when the controller denies its existence for the eighth time")
  func denials() {
    var orphans = OrphanedLinks()
    orphans.add(0x0001, now: .zero)
    for _ in 1..<OrphanedLinks.Limits.denialsMax {
      let isBelieved = orphans.denied(0x0001)
      #expect(!isBelieved && orphans.contains(0x0001))
    }
    let isBelieved = orphans.denied(0x0001)
    #expect(isBelieved && orphans.isEmpty)
  }

  @Test("Bearers that both ends requested at once are requested again after the delay")
  func contention() {
    var bearers = EnhancedBearers()
    bearers.asked(for: [bearer])
    bearers.peerAsks()
    bearers.refused(bearer, forWantOfRoom: true, delay: delay, now: .zero)
    #expect(bearers.retryAt == .zero + delay && bearers.mayAsk)
    let isEarly = bearers.isRetryDue(now: .zero)
    let isDue = bearers.isRetryDue(now: .zero + delay)
    #expect(!isEarly && isDue && bearers.retryAt == nil)
  }

  @Test(
    "A peer that refuses bearers for good gets no other request",
    arguments: [(true, false), (false, true)])
  func refusals(isContended: Bool, forWantOfRoom: Bool) {
    var bearers = EnhancedBearers()
    bearers.asked(for: [bearer])
    if isContended { bearers.peerAsks() }
    bearers.refused(bearer, forWantOfRoom: forWantOfRoom, delay: delay, now: .zero)
    #expect(bearers.retryAt == nil && !bearers.mayAsk)
  }

  @Test("Bearers are not requested again when the peer has opened one in the meantime")
  func openedMeanwhile() {
    var bearers = EnhancedBearers()
    bearers.asked(for: [bearer])
    bearers.peerAsks()
    bearers.refused(bearer, forWantOfRoom: true, delay: delay, now: .zero)
    bearers.opened(ATTBearer(rawValue: 0x0042))
    let isDue = bearers.isRetryDue(now: .zero + delay)
    #expect(!isDue && bearers.retryAt == nil)
  }
}

import BluetoothInterface
import Essentials
import HubWire
import Testing

@testable import HubMachines

@Suite("Programs that attend all pairings of a hub")
struct PairingRuleTests {
  private static let token = RequestToken(rawValue: 7)
  private static let guest: UInt32 = 2_000

  /// Whether the request of a program of a user reaches the host; else it is refused as unauthorized.
  private static func isPassed(_ user: UInt32, _ rules: [HubRules.Rule] = []) throws -> Bool {
    var hub = TestHub(rules: HubRules(rules))
    let id = try hub.serve(user: user)
    try hub.send(.attendAllPairings(token), from: id)
    let isPassed = hub.takeActions().contains(
      .send(HubSessionKey(id), .attendAllPairings(token)))
    let events = try hub.events(for: id)
    if isPassed {
      #expect(events.isEmpty)
    } else if case .completed(token, .failure(.unauthorized)) = events.first {
      #expect(events.count == 1)
    } else {
      Issue.record("\(events)")
    }
    return isPassed
  }

  @Test("programs of the hub's user and of root may, and those that a rule only serves may not")
  func standard() throws {
    #expect(try Self.isPassed(TestHub.user))
    #expect(try Self.isPassed(0))
    let served = HubRules.Rule(.allow, userID: Self.guest)
    #expect(try !Self.isPassed(Self.guest, [served]))
    #expect(try Self.isPassed(TestHub.user, [served]))
  }

  @Test("the rule that allows a program decides, also for the hub's user")
  func rule() throws {
    let agent = HubRules.Rule(.allow, userID: Self.guest, attendsPairings: true)
    let other = HubRules.Rule(.allow, userID: Self.guest, attendsPairings: false)
    #expect(try Self.isPassed(Self.guest, [agent, other]))
    #expect(try !Self.isPassed(Self.guest, [other, agent]))
    let own = HubRules.Rule(.allow, userID: TestHub.user, attendsPairings: false)
    #expect(try !Self.isPassed(TestHub.user, [own]))
    // Rules that match other programs only don't count.
    #expect(try Self.isPassed(TestHub.user, [other, HubRules.Rule(.deny, userID: Self.guest)]))
  }

  @Test("a program of an unknown user may only by a rule for its socket")
  func unknownUser() {
    let peer = HubPeer(userID: HubRules.overflowID, processID: 1, socket: "containers")
    func may(_ rule: HubRules.Rule) -> Bool {
      HubRules([rule]).mayAttendPairings(peer, hubUserID: HubRules.overflowID)
    }
    #expect(may(HubRules.Rule(.allow, socket: "containers", attendsPairings: true)))
    #expect(!may(HubRules.Rule(.allow, socket: "containers")))
    #expect(!may(HubRules.Rule(.allow, attendsPairings: true)))
    #expect(!may(HubRules.Rule(.deny)))
  }
}

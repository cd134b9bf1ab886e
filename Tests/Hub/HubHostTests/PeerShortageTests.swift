import EventLoop
import Glibc
import HubMachines
import Testing

@testable import HubHost

@Suite("Programs that connect while the hub has no descriptor")
struct PeerShortageTests {
  @Test func `A program is not known while rules about units can't be applied to it`() async {
    // A process of its own, whose limit it sets.
    await #expect(processExitsWith: .success) {
      var ends: [Int32] = [0, 0]
      let type = Int32(SOCK_STREAM.rawValue)
      try #require(unsafe socketpair(AF_UNIX, type, 0, &ends) == 0)
      let reader = PeerReader.system
      let rules = HubRules([HubRules.Rule(.deny, unit: "guide.service")])
      #expect(reader.peer(ends[0], rules) != nil)

      var limits = rlimit(rlim_cur: 256, rlim_max: 256)
      try #require(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0)
      while dup(ends[0]) >= 0 {}
      #expect(reader.peer(ends[0], rules) == nil)
      #expect(DescriptorShortage.count == 1)
      let others = HubRules([HubRules.Rule(.allow, userID: 1_000)])
      let peer = try #require(reader.peer(ends[0], others))
      #expect(peer.userID == geteuid() && peer.units == nil)
    }
  }
}

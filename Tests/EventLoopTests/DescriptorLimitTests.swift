import Testing

@testable import EventLoop

@Suite("The limit of descriptors")
struct DescriptorLimitTests {
  @Test(
    "a quarter of a low limit stays free, and 64 of a high one",
    arguments: [(16, 4), (64, 16), (256, 64), (1_024, 64), (.max, 64)] as [(UInt64, UInt64)])
  func reserve(limit: UInt64, reserve: UInt64) {
    #expect(DescriptorLimit.reserve(of: limit) == reserve)
  }

  @Test("there is room for fewer descriptors than connections at most, by those that are open")
  func room() {
    #expect(DescriptorLimit.freeMax < DescriptorLimit.connectionsMax)
    #expect(DescriptorLimit.freeMax > 0)
  }
}

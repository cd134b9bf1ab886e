import Essentials
import Testing

@testable import CoverFlow

@Suite("The invariants of a flow and its images")
struct InvariantTests {
  private func found(_ change: (inout Flow) -> Void) -> [String] {
    var flow = Flow(count: 100)
    #expect(flow.machine.violations().isEmpty)
    change(&flow)
    return flow.machine.violations().map(\.description)
  }

  @Test("rest between two covers is found")
  func rest() {
    #expect(found { $0.machine.position = 0.25 } == ["rest is on a whole cover"])
  }

  @Test("a target or a front that doesn't exist is found")
  func target() {
    #expect(found { $0.machine.target = 100 }.contains("the target exists"))
    #expect(found { $0.machine.front = 100 }.contains("the reported front exists"))
  }

  @Test("a cover that is turned back and isn't there is found")
  func flip() {
    #expect(found { $0.machine.isFlipBackDue = true } == ["the cover that is turned back exists"])
  }

  @Test("an image in the place of another, and places in no row, are found")
  func images() {
    var cache = CoverImageCache<Int>(capacity: 3)
    _ = cache.request(1, isInUse: { _ in false })
    #expect(cache.violations().isEmpty)
    cache.places = [2: 2]
    #expect(cache.violations().map(\.description) == ["an image is in the place of another"])
    cache = CoverImageCache<Int>(capacity: 3)
    cache.newest = cache.oldest
    #expect(cache.violations().map(\.description) == ["all places are in one row"])
  }
}

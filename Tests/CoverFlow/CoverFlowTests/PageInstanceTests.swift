import Essentials
import Testing

@testable import CoverFlowWebAssembly

@Suite("The engine as functions of numbers")
struct PageInstanceTests {
  private static let hostile: [Double] = [
    .nan, .infinity, -.infinity, 1e308, -1e308, 1e-308, -1, 0, 0.5, 1, 2_147_483_648, 4e9, 1e15,
  ]

  @Test("the engine doesn't trap with any numbers")
  func hostileNumbers() {
    var random = SeededGenerator(seed: 11)
    func number() -> Double {
      random.unit() < 0.5 ? Self.hostile[Int(random.unit() * 13)] : random.unit() * 40 - 5
    }
    for _ in 0..<60 {
      var instance = PageInstance(count: number(), slotCount: number(), imageCapacity: number())
      for _ in 0..<150 {
        let kind = Int32(random.unit() * 20) - 2
        _ = instance.event(
          kind: kind, a: number(), b: number(), c: number(), time: number(), now: number())
        _ = instance.change(kind: kind, a: number(), b: number(), now: number())
        instance.keep(index: number())
        if random.unit() < 0.1 { _ = instance.reset(count: number(), now: number()) }
        instance.frame(now: number())
        if random.unit() < 0.3 { #expect(instance.takeActions() <= PageInstance.actionsMax) }
        _ = instance.query(kind: kind)
        _ = instance.hitTest(x: number(), y: number())
        let key = UInt32(random.unit() * 9)
        instance.useImage(slot: kind, key: key)
        _ = instance.requestImage(key: key)
        _ = instance.finishImage(
          place: kind, attempt: UInt32(random.unit() * 9), isLoaded: random.unit() < 0.5)
        _ = instance.removeImage(key: UInt32(random.unit() * 9))
        #expect(instance.query(kind: 1).isFinite && instance.query(kind: 2).isFinite)
      }
      instance.deallocate()
    }
  }

  @Test("actions that don't fit at once wait for the next call")
  func manyActions() {
    var instance = PageInstance(count: 1_000, slotCount: 101, imageCapacity: 0)
    defer { instance.deallocate() }
    for step in 0..<10 {
      _ = instance.event(kind: 9, a: Double(step % 2) * 900, b: 0, c: 0, time: 0, now: 0)
      instance.frame(now: Double(step))
    }
    var taken = 0
    while true {
      let count = instance.takeActions()
      if count == 0 { break }
      #expect(count <= PageInstance.actionsMax)
      taken += count
    }
    // All slots anew, ten times, with their images and reports.
    #expect(taken > 1_010)
  }

  @Test("images have room for every element, and for those on their way")
  func imageCapacity() {
    for (asked, capacity) in [(0.0, 42), (64, 64), (1e9, 512), (.nan, 42)] as [(Double, Double)] {
      let instance = PageInstance(count: 5, slotCount: 21, imageCapacity: asked)
      #expect(instance.query(kind: 17) == capacity)
      instance.deallocate()
    }
  }
}

import Essentials
import Foundation
import Testing

@Suite("Exponential and logarithm")
struct ExponentialTests {
  @Test("exponential and logarithm equal those of the C library to the last digits")
  func accuracy() {
    var random = SeededGenerator(seed: 1)
    for _ in 0..<20_000 {
      let x = random.unit() * 200 - 100
      #expect(abs(Exponential.exp(x) / Foundation.exp(x) - 1) < 1e-14, "exp(\(x))")
      let y = Foundation.exp(x)
      #expect(abs(Exponential.log(y) - Foundation.log(y)) < 1e-14 * max(1, abs(x)), "log(\(y))")
    }
  }

  @Test("exponential and logarithm have limits instead of traps")
  func limits() {
    #expect(Exponential.exp(.infinity) == .infinity)
    #expect(Exponential.exp(-.infinity) == 0)
    #expect(Exponential.exp(1000) == .infinity)
    #expect(Exponential.exp(.nan).isNaN)
    #expect(Exponential.log(0) == -.infinity)
    #expect(Exponential.log(-1).isNaN)
    #expect(Exponential.log(.nan).isNaN)
    #expect(Exponential.log(.infinity) == .infinity)
  }
}

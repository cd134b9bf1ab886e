import Essentials
import Foundation
import Testing
import WebDriver

@testable import CoverFlowWebAssembly

@Suite("The engine in WebAssembly", .enabled(if: Browser.isExpected), .serialized)
struct EngineTests {
  /// A call of the engine, and its numbers.
  private struct Call: Encodable {
    var name: String
    var numbers: [Double]
  }

  @Test(
    "the engine in WebAssembly computes the same as natively, to the last bit",
    arguments: [1, 2, 3] as [UInt64])
  func parity(_ seed: UInt64) async throws {
    let calls = Self.program(seed: seed)
    let native = Self.run(calls)
    try await FlowPage.with("&n=1") { page in
      let inPage: [Double] = try await page.browser.script(
        """
        const response = await fetch('/Sources/CoverFlow/CoverFlowPage/Resources/cover-flow.wasm')
        const { instance: { exports } } =
          await WebAssembly.instantiate(await response.arrayBuffer(), {})
        const results = []
        for (const { name, numbers } of arguments[0]) {
          exports[`cover_flow_${name}`](...numbers)
          if (name !== 'frame') continue
          exports.cover_flow_take_actions()
          results.push(exports.cover_flow_query(1), exports.cover_flow_query(2))
          const frames = new Float64Array(exports.memory.buffer, exports.cover_flow_frame_buffer(), 21 * 6)
          for (const each of frames) results.push(each)
        }
        return results
        """, calls)
      #expect(inPage.count == native.count && native.count > 10_000)
      let differing = zip(inPage, native).filter { $0 != $1 }.count
      #expect(differing == 0, "seed \(seed)")
    }
  }

  @Test("the engine is loaded again if the first attempt failed")
  func secondAttempt() async throws {
    try await FlowPage.with("&n=1") { page in
      let results: [Int] = try await page.browser.script(
        """
        // A page of its own has loaded nothing yet.
        const path = '/Sources/CoverFlow/CoverFlowPage/Resources/cover-flow-engine.js?again'
        const { Engine } = await import(path)
        const real = window.fetch
        window.fetch = async () => new Response('', { status: 503 })
        const attempt = () => Engine.create({ count: 3 }, 5, 4).then((engine) => engine.count, () => -1)
        const results = [await attempt()]
        window.fetch = real
        return [...results, await attempt(), await attempt()]
        """)
      #expect(results == [-1, 3, 3])
    }
  }

  private static func program(seed: UInt64) -> [Call] {
    var random = SeededGenerator(seed: seed)
    var now = 1_000.0
    var calls = [Call(name: "start", numbers: [500, 21, 64])]
    for _ in 0..<400 {
      now += random.unit() * 30
      let number = (random.unit() - 0.5) * 120
      let kinds: [Double] = [1, 2, 2, 2, 3, 5, 6, 7, 8, 10, 12]
      let kind = kinds[Int(random.unit() * Double(kinds.count))]
      switch random.unit() {
      case ..<0.5:
        calls.append(
          Call(name: "event", numbers: [kind, number, number / 3, 0, now - random.unit() * 9, now]))
      case ..<0.6:
        calls.append(
          Call(
            name: "change",
            numbers: [Double(Int(random.unit() * 3)), abs(number), abs(number) / 2, now]))
      default: break
      }
      now += random.unit() * 20
      calls.append(Call(name: "frame", numbers: [now]))
    }
    return calls
  }

  private static func run(_ calls: [Call]) -> [Double] {
    var instance = PageInstance(count: 0, slotCount: 3, imageCapacity: 0)
    var results: [Double] = []
    for call in calls {
      let numbers = call.numbers
      switch call.name {
      case "start":
        instance.deallocate()
        instance = PageInstance(
          count: numbers[0], slotCount: numbers[1], imageCapacity: numbers[2])
      case "event":
        _ = instance.event(
          kind: Int32(numbers[0]), a: numbers[1], b: numbers[2], c: numbers[3], time: numbers[4],
          now: numbers[5])
      case "change":
        _ = instance.change(
          kind: Int32(numbers[0]), a: numbers[1], b: numbers[2], now: numbers[3])
      default:
        instance.frame(now: numbers[0])
        _ = instance.takeActions()
        results += [instance.query(kind: 1), instance.query(kind: 2)]
        results += (0..<21 * 6).map { instance.frameBuffer[$0] }
      }
    }
    return results
  }
}

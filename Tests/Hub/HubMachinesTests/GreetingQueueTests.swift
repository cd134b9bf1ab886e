import Essentials
import Testing

@testable import HubMachines

@Suite("The times of greetings")
struct GreetingQueueTests {
  private static func id(_ number: UInt64) -> HubConnectionID { HubConnectionID(rawValue: number) }

  @Test("the next time is the earliest one of all that are expected", arguments: 1...20)
  func order(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var queue = GreetingQueue()
    var expected: [HubConnectionID: Instant] = [:]
    var now = Instant.zero
    for number in 0..<2_000 as Range<UInt64> {
      now = now + .milliseconds(Int64.random(in: 0...20, using: &random))
      queue[Self.id(number)] = now + .seconds(5)
      expected[Self.id(number)] = now + .seconds(5)
      // Most programs greet at once, some later, some never.
      let greeted = [number, UInt64.random(in: 0...number, using: &random)]
      for number in greeted.prefix(Int.random(in: 0...2, using: &random)) {
        queue[Self.id(number)] = nil
        expected[Self.id(number)] = nil
      }
      #expect(queue.next == expected.values.min())
      let late = expected.filter { $0.value <= now }.keys.sorted()
      #expect(queue.due(at: now) == late)
      for id in late {
        queue[id] = nil
        expected[id] = nil
      }
      #expect(queue.deadlines == expected)
    }
  }

  @Test("a silent program keeps no memory for a hundred thousand others that greet and go")
  func memory() {
    var queue = GreetingQueue()
    queue[Self.id(0)] = .zero + .seconds(5)
    for number in 1...100_000 as ClosedRange<UInt64> {
      queue[Self.id(number)] = .zero + .seconds(5)
      queue[Self.id(number)] = nil
    }
    #expect(queue.storedCount < 100)
    #expect(queue.next == .zero + .seconds(5))
    queue[Self.id(0)] = nil
    #expect(queue.next == nil)
  }
}

import Dispatch
import Synchronization
import Testing

@testable import CoreBluetooth

@Suite("What waits for the app's queue", .timeLimit(.minutes(1)))
struct InboxTests {
  private final class Record: Sendable {
    let items = Mutex<[Int]>([])
    let drops = Mutex<[Int]>([])
  }

  @Test("beyond the bound expendable items are dropped and counted once, others are kept")
  func bound() {
    let record = Record()
    let queue = DispatchQueue(label: "slow app")
    let inbox = Inbox<Int>(queue: queue) { count in record.drops.withLock { $0.append(count) } }
    inbox.start { item in record.items.withLock { $0.append(item) } }
    queue.suspend()
    for number in 0..<(Limits.waitingEventsMax + 7) { inbox.post(number, isExpendable: true) }
    inbox.post(-1)
    queue.resume()
    inbox.settle()
    #expect(record.items.withLock { $0 } == Array(0..<Limits.waitingEventsMax) + [-1])
    #expect(record.drops.withLock { $0 } == [7])
    inbox.post(5, isExpendable: true)
    inbox.settle()
    #expect(record.items.withLock { $0.last } == 5)
    #expect(record.drops.withLock { $0 } == [7], "nothing was dropped since")
  }

  @Test("an inbox that the handler closes handles nothing more, not even of the same batch")
  func closing() {
    let record = Record()
    let queue = DispatchQueue(label: "app")
    let inbox = Inbox<Int>(queue: queue)
    inbox.start { [weak inbox] item in
      record.items.withLock { $0.append(item) }
      inbox?.close()
    }
    queue.suspend()
    for number in 0..<3 { inbox.post(number) }
    queue.resume()
    inbox.settle()
    #expect(record.items.withLock { $0 } == [0])
  }
}

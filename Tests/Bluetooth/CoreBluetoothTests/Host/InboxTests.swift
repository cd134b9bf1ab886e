import Dispatch
import Synchronization
import Testing

@testable import CoreBluetooth

@Suite("What waits for the app's queue", .timeLimit(.minutes(1)))
struct InboxTests {
  private final class Record: Sendable {
    let items = Mutex<[Int]>([])
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

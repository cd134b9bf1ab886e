import BluetoothInterface
import BluetoothWire
import Dispatch
import Synchronization
import Testing

@testable import CoreBluetooth

@Suite("What waits for the app's queue", .timeLimit(.minutes(5)))
struct InboxTests {
  /// Closes its connection with the first event.
  private final class ClosingHandler: HostEventHandler {
    let connection: HostConnection
    let count = Mutex(0)
    var hasDelegate: Bool { true }

    init(_ connection: HostConnection) { self.connection = connection }

    func attached(_ attachment: SessionAttachment) {}

    func handle(_ event: HostEvent) {
      count.withLock { $0 += 1 }
      connection.close()
    }
  }

  @Test("a connection that its handler closes handles nothing more, not even of the same batch")
  func closing() {
    let queue = DispatchQueue(label: "app")
    let host = ScriptedHost()
    let connection = HostConnection(queue: queue)
    let handler = ClosingHandler(connection)
    connection.open(host, handler: handler)
    queue.suspend()
    host.post(.stateChanged(.poweredOn), .stateChanged(.poweredOff), .stateChanged(.poweredOn))
    queue.resume()
    host.settle()
    #expect(handler.count.withLock { $0 } == 1)
  }

  @Test("waiting for a concurrent queue returns when it has handled all posted items")
  func concurrentQueue() {
    let handled = Mutex(0)
    let inbox = DeliveryQueue<Int>(queue: DispatchQueue(label: "app", attributes: .concurrent))
    inbox.start { batch in handled.withLock { $0 += batch.count } }
    for number in 1...1_000 {
      inbox.post(number)
      if number % 10 == 0 {
        inbox.settle()
        #expect(handled.withLock { $0 } == number)
      }
    }
  }

  @Test("closing releases waiting threads, also while the queue's thread looks for the next item")
  func closingWhilePolling() {
    for _ in 1...200 {
      let inbox = DeliveryQueue<Int>(queue: DispatchQueue(label: "app"))
      inbox.start { _ in }
      inbox.post(1)
      inbox.settle()
      // The thread that handled it is looking now, or has just gone to sleep.
      inbox.post(2)
      inbox.close()
      inbox.settle()
    }
  }

  @Test("other work of the queue has its turn although items keep coming")
  func fairness() async {
    let queue = DispatchQueue(label: "app")
    let inbox = DeliveryQueue<Int>(queue: queue)
    let handled = Mutex(0)
    inbox.start { batch in
      handled.withLock { $0 += batch.count }
      // Each item causes the next, for ever.
      inbox.post(1)
    }
    inbox.post(1)
    await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    inbox.close()
    #expect(handled.withLock { $0 } > 0)
  }
}

import BluetoothInterface
import BluetoothWire
import CoreBluetooth
import CoreBluetoothAsync
import Dispatch
import Essentials
import Reactive
import Synchronization
import Testing

@testable import CoreBluetoothReactive

/// A host that has kept a session, and hands it to the next one.
private final class KeepingHost: KeepingSessionProvider, HostSession {
  /// A loop without time.
  private struct Loop: SessionLoop {
    var now: Instant { .zero }
    var calendarTime: Double { 0 }
    func execute(_ work: @escaping @Sendable () -> Void) { work() }
    func makeTimer(onFire: @escaping @Sendable () -> Void) -> any LoopTimer { Timer() }
  }

  private final class Timer: LoopTimer, Sendable {
    func set(_ time: Instant) {}
    func cancel() {}
  }

  private let settling = Mutex<(@Sendable () -> Void)?>(nil)
  private let holdings: SessionHoldings

  init(_ holdings: SessionHoldings) { self.holdings = holdings }

  var isSimulated: Bool { true }
  var backgroundModes: Set<String>? { ["bluetooth-central", "bluetooth-peripheral"] }
  var loop: any SessionLoop { Loop() }
  func send(_ request: HostRequest) {}
  func eventsHandled(_ count: Int) {}
  func hasWork() {}
  func close() {}
  func settle() { settling.withLock { $0 }?() }

  func openSession(
    name: String, acknowledgesEvents: Bool, settle: (@Sendable () -> Void)?,
    onEvents: @escaping @Sendable ([HostEvent]) -> Void
  ) -> any HostSession { self }

  func openSession(
    name: String, keptFor: TimeSpan, acknowledgesEvents: Bool, settle: (@Sendable () -> Void)?,
    onAttached: @escaping @Sendable (SessionAttachment) -> Void,
    onEvents: @escaping @Sendable ([HostEvent]) -> Void
  ) -> any HostSession {
    settling.withLock { $0 = settle }
    onAttached(SessionAttachment(holdsName: true, keptFor: keptFor, holdings: holdings))
    onEvents([.stateChanged(.poweredOn)])
    return self
  }
}

@Suite("Restoration by producers")
struct RestorationTests {
  private let log = Log()
  private let queue = DispatchQueue(label: "restored")

  @Test(
    "a manager without a delegate restores its state when a producer is started, once for each run")
  func central() {
    var holdings = SessionHoldings()
    holdings.scan = ScanOptions()
    holdings.scan?.services = [0x180D]
    holdings.links = [
      SessionHoldings.Link(
        peer: DeviceAddress(bits: 0xC012_3456_789A, kind: .random), options: ConnectOptions(),
        isConnected: true)
    ]
    let host = KeepingHost(holdings)
    let manager = CBCentralManager(
      delegate: nil, queue: queue, host: host, restoreIdentifier: "lock")
    host.settle()
    #expect(manager.state == .unknown)
    let runs = ["first", "second"].map { name in
      let run = manager.reactive.restoration.record(name, in: log) {
        "\($0.peripherals.count) \($0.peripherals.first?.state ?? .disconnected) "
          + "\($0.scannedServices?.map(\.uuidString) ?? [])"
      }
      host.settle()
      return run
    }
    #expect(log.lines == ["first: 1 connected [\"180D\"]", "second: 1 connected [\"180D\"]"])
    #expect(manager.state == .poweredOn)
    for run in runs { run.dispose() }
  }

  @Test(
    "a peripheral manager's services and advertising are sent, and its delegate gets them first")
  func peripheralManager() {
    final class Delegate: NSObject, CBPeripheralManagerDelegate, Sendable {
      let log: Log
      init(_ log: Log) { self.log = log }
      func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {}
      func peripheralManager(
        _ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]
      ) { log.add("delegate: \(dict.count)") }
    }
    var holdings = SessionHoldings()
    holdings.services = [
      SessionHoldings.Service(
        definition: ServiceDefinition(uuid: 0x180F),
        published: PublishedService(range: HandleRange(9, 9), characteristics: []))
    ]
    let host = KeepingHost(holdings)
    let manager = CBPeripheralManager(
      delegate: nil, queue: queue, host: host, restoreIdentifier: "lock")
    let delegate = Delegate(log)
    let run = queue.sync {
      manager.delegate = delegate
      return manager.reactive.restoration.record("services", in: log) {
        "\($0.services.map(\.uuid.uuidString)) \($0.isAdvertising)"
      }
    }
    host.settle()
    #expect(log.lines == ["delegate: 1", "services: [\"180F\"] false"])
    run.dispose()
    withExtendedLifetime(delegate) {}
  }
}

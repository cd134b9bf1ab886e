import Testing

@Suite("Locks")
struct LockTests {
  private static let otherLocks = [
    "NSLock", "NSRecursiveLock", "NSCondition", "pthread_mutex", "pthread_rwlock",
    "OSAllocatedUnfairLock", "DispatchSemaphore", "objc_sync_enter",
  ]

  /// Not state under a lock: waiting for another thread, and being entered again
  /// (docs/decisions/0069-one-lock.md).
  private static let exceptions: Set = [
    "Sources/Bluetooth/CoreBluetooth/Channels/ChannelPipe.swift",
    "Sources/Bluetooth/SimulatedRadio/Air/VirtualRadio.swift",
    "Sources/KeyValueObserving/KeyValueObservers.swift",
    "Sources/Reactive/SideEffects/Blocking.swift",
  ]

  /// Files that still have an `NSLock`. No file joins them.
  private static let unconverted: Set = [
    "Sources/Bluetooth/CoreBluetooth/Attributes/CBAttribute.swift",
    "Sources/Bluetooth/CoreBluetooth/Attributes/CBCharacteristic.swift",
    "Sources/Bluetooth/CoreBluetooth/Attributes/CBDescriptor.swift",
    "Sources/Bluetooth/CoreBluetooth/Attributes/CBPeer.swift",
    "Sources/Bluetooth/CoreBluetooth/Attributes/CBService.swift",
    "Sources/Bluetooth/CoreBluetooth/Central/CBCentralManager.swift",
    "Sources/Bluetooth/CoreBluetooth/Central/CBPeripheral.swift",
    "Sources/Bluetooth/CoreBluetooth/Central/CentralSession.swift",
    "Sources/Bluetooth/CoreBluetooth/Central/PeripheralRecord.swift",
    "Sources/Bluetooth/CoreBluetooth/Peripheral/CBPeripheralManager.swift",
    "Sources/Bluetooth/CoreBluetooth/Peripheral/PeripheralManagerSession.swift",
    "Sources/Bonjour/Bonjour/NetService/NetService.swift",
    "Sources/Bonjour/Bonjour/NetService/NetServiceBrowser.swift",
    "Sources/Reactive/Streams/GateWaiting.swift",
    "Sources/RunLoopSupport/PipeStreams.swift",
    "Sources/RunLoopSupport/RunLoopInbox.swift",
    "Sources/RunLoopSupport/RunLoopSource.swift",
  ]

  @Test("state that threads share is in a Mutex")
  func oneLock() {
    for file in SourceTree.sources {
      let code = file.code
      let found = Self.otherLocks.filter { lock in code.contains { $0.contains(lock) } }
      if Self.exceptions.contains(file.path) || Self.unconverted.contains(file.path) {
        #expect(!found.isEmpty, "\(file.path) has a Mutex now: it leaves the list")
      } else {
        #expect(found.isEmpty, "\(file.path) has \(found); a Mutex is the lock of this package")
      }
    }
    let paths = Set(SourceTree.sources.map(\.path))
    #expect(Self.exceptions.union(Self.unconverted).subtracting(paths).isEmpty)
  }
}

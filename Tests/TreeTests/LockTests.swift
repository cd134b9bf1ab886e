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
    "Sources/Reactive/Streams/GateWaiting.swift",
  ]

  @Test("state that threads share is in a Mutex")
  func oneLock() {
    for file in SourceTree.sources {
      let code = file.code
      let found = Self.otherLocks.filter { lock in code.contains { $0.contains(lock) } }
      if Self.exceptions.contains(file.path) {
        #expect(!found.isEmpty, "\(file.path) is no exception any more: it leaves the list")
      } else {
        #expect(found.isEmpty, "\(file.path) has \(found); a Mutex is the lock of this package")
      }
    }
    let paths = Set(SourceTree.sources.map(\.path))
    #expect(Self.exceptions.subtracting(paths).isEmpty)
  }
}

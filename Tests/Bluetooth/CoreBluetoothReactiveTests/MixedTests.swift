import CoreBluetooth
import Essentials
import Reactive
import SimulatedRadio
import Simulation
import Synchronization
import Testing

@testable import CoreBluetoothAsync
@testable import CoreBluetoothReactive

@Suite("Producers beside functions and sequences")
struct MixedTests {
  private let pair = Pair()

  /// Advances the radio while a task works with it.
  private func run<Value: Sendable>(
    _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let isDone = Mutex(false)
    let task = Task {
      defer { isDone.withLock { $0 = true } }
      return try await body()
    }
    for _ in 0..<200_000 where !isDone.withLock({ $0 }) {
      pair.radio.advance(by: .milliseconds(1))
      await Task.yield()
    }
    task.cancel()
    return try await task.value
  }

  /// The gadget over a connection of `central`, with its characteristic that is read and written.
  private func connect(
    _ central: Central
  ) async throws -> (ConnectedPeripheral, reading: CBCharacteristic, setPoint: CBCharacteristic) {
    try await run {
      for await discovery in central.scan(services: [Pair.serviceUUID]) {
        let gadget = try await central.connect(discovery.id)
        try await gadget.discoverAll()
        return (
          gadget, try await gadget.characteristic(Pair.readingUUID, of: Pair.serviceUUID),
          try await gadget.characteristic(Pair.setPointUUID, of: Pair.serviceUUID)
        )
      }
      throw BluetoothError.cancelled
    }
  }

  @Test("a function and a producer that write the same characteristic each get their own answer")
  func answers() async throws {
    let central = Central(host: pair.phone)
    let (gadget, _, setPoint) = try await connect(central)
    let pair = pair
    pair.answer.withLock { $0 = .insufficientResources }
    let write = gadget.peripheral.reactive.write(Data([1]), to: setPoint)
      .record("producer", in: pair.log)
    let function = Task {
      try await gadget.write(Data([2]), to: setPoint)
      pair.log.add("function completed")
    }
    try await run {
      while !pair.gadgetLog.lines.contains("write") { await Task.yield() }
      pair.answer.withLock { $0 = .success }
      _ = await function.result
    }
    #expect(pair.log.lines == ["producer failed: attribute 17", "function completed"])
    write.dispose()
    try await run { await gadget.disconnect() }
    pair.expectNoListeners(of: gadget.peripheral)
  }

  @Test("the end of a sequence leaves notifications on for a producer, whose end turns them off")
  func sharedValues() async throws {
    let central = Central(host: pair.phone)
    let (gadget, reading, _) = try await connect(central)
    let pair = pair
    let values = gadget.peripheral.reactive.values(of: reading).record("value", in: pair.log) {
      "\(Array($0))"
    }
    try await run {
      let update = Task {
        while !pair.gadgetLog.lines.contains("subscribed: true") { await Task.yield() }
        pair.manager.updateValue(Data([1]), for: pair.reading, onSubscribedCentrals: nil)
      }
      for try await value in gadget.values(of: reading) {
        #expect(value == Data([1]))
        break
      }
      await update.value
    }
    pair.advance(seconds: 5)
    #expect(reading.isNotifying)
    pair.manager.updateValue(Data([2]), for: pair.reading, onSubscribedCentrals: nil)
    pair.wait(for: "value: [1]", "value: [2]")
    values.dispose()
    pair.wait(pair.gadgetLog, for: ["subscribed: false"])
    pair.advance(seconds: 1)
    #expect(!reading.isNotifying)
    #expect(pair.gadgetLog.lines.count { $0.hasPrefix("subscribed") } == 2)
    try await run { await gadget.disconnect() }
    pair.expectNoListeners(of: gadget.peripheral)
  }
}

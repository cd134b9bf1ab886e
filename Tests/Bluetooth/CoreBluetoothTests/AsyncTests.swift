import BluetoothHost
import BluetoothInterface
import CoreBluetooth
import Essentials
import RunLoopSupport
import SimulatedRadio
import Simulation
import Synchronization
import Testing

@testable import AppCode
@testable import CoreBluetoothAsync

/// Advances a virtual radio while a task works with it.
private func run<Value: Sendable>(
  _ radio: VirtualRadio, _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  let isDone = Mutex(false)
  let task = Task {
    defer { isDone.withLock { $0 = true } }
    return try await body()
  }
  // Each step lets the task's continuations run; real time is bounded by the steps.
  for _ in 0..<200_000 where !isDone.withLock({ $0 }) {
    radio.advance(by: .milliseconds(1))
    await Task.yield()
  }
  task.cancel()
  return try await task.value
}

@Suite("Core Bluetooth with async and await")
struct AsyncTests {
  private let radio = VirtualRadio(seed: 11)
  private let phone: BluetoothHost
  private let strapHost: BluetoothHost
  private let strap: HeartRateStrap

  init() {
    phone = radio.makeHost(name: "phone")
    let strapHost = radio.makeHost(name: "strap", at: Position(x: 2, y: 0))
    self.strapHost = strapHost
    strap = BluetoothHost.$current.withValue(strapHost) {
      HeartRateStrap(queue: DispatchQueue(label: "strap"))
    }
  }

  @Test("a strap is found, connected, subscribed, written to and let go")
  func wholeWay() async throws {
    let central = Central(host: phone)
    let lines = try await run(radio) {
      var lines: [String] = []
      for await discovery in central.scan(services: [HeartRateMonitor.serviceUUID]) {
        lines.append(discovery.localName ?? "?")
        let connected = try await central.connect(discovery.id)
        let tree = try await connected.discoverAll()
        let service = tree.first { $0.uuid == HeartRateMonitor.serviceUUID }
        lines.append("\(service?.characteristics?.count ?? 0)")
        let measurement = try await connected.characteristic(
          HeartRateMonitor.measurementUUID, of: HeartRateMonitor.serviceUUID)
        let control = try await connected.characteristic(
          HeartRateMonitor.controlPointUUID, of: HeartRateMonitor.serviceUUID)
        try await connected.write(Data([1]), to: control)
        let location = try await connected.characteristic(
          CBUUID(string: "2A38"), of: HeartRateMonitor.serviceUUID)
        lines.append("\(Array(try await connected.read(location)))")
        do throws(BluetoothError) {
          _ = try await connected.characteristic(
            CBUUID(string: "2A00"), of: HeartRateMonitor.serviceUUID)
        } catch {
          lines.append(error.description)
        }
        for try await value in connected.values(of: measurement) {
          lines.append("\(Array(value))")
          break
        }
        lines.append(try await connected.readRSSI() < 0 ? "strength" : "no strength")
        await connected.disconnect()
        lines.append(await connected.waitForDisconnection().description)
        break
      }
      return lines
    }
    #expect(
      lines == [
        "Strap", "3", "[1]", "The peripheral has no 2A00.", "[0, 60]", "strength",
        "The connection was closed.",
      ])
  }

  @Test("the peripheral of a connection may have a delegate, also one that is set to nil again")
  func delegate() async throws {
    final class Delegate: NSObject, CBPeripheralDelegate, Sendable {
      let calls = Mutex<[String]>([])
      func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        calls.withLock { $0.append("services") }
      }
      func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?) {
        calls.withLock { $0.append("strength") }
      }
    }
    let central = Central(host: phone)
    let delegate = Delegate()
    let calls = try await run(radio) { () -> [String] in
      for await discovery in central.scan(services: [HeartRateMonitor.serviceUUID]) {
        let connected = try await central.connect(discovery.id)
        connected.peripheral.delegate = delegate
        try await connected.discoverServices()
        _ = try await connected.readRSSI()
        connected.peripheral.delegate = nil
        try await connected.discoverServices()
        await connected.disconnect()
        return delegate.calls.withLock { $0 }
      }
      return []
    }
    #expect(calls == ["services", "strength"])
  }

  @Test("a second connect call shares the connection, which ends with its last object")
  func shared() async throws {
    let central = Central(host: phone)
    let strapHost = strapHost
    let radio = radio
    let states = try await run(radio) { () -> [Bool] in
      var states: [Bool] = []
      for await discovery in central.scan(services: [HeartRateMonitor.serviceUUID]) {
        async let one = central.connect(discovery.id)
        async let two = central.connect(discovery.id)
        var objects = [try await one, try await two]
        objects.append(try await central.connect(discovery.id))
        states.append(objects.allSatisfy { $0 === objects[0] })
        radio.withController(of: strapHost) { $0.position = Position(x: 100_000, y: 0) }
        let old = objects[0]
        states.append(await old.waitForDisconnection() != .cancelled)
        await old.disconnect()
        radio.withController(of: strapHost) { $0.position = Position(x: 2, y: 0) }
        break
      }
      return states
    }
    #expect(states == [true, true])
    BluetoothHost.$current.withValue(strapHost) { withExtendedLifetime(strap) {} }
  }

  @Test("an object of an earlier connection does not take the next one with it")
  func earlierObject() async throws {
    let central = Central(host: phone)
    let (radio, strapHost) = (radio, strapHost)
    let isConnected = try await run(radio) { () -> Bool in
      for await discovery in central.scan(services: [HeartRateMonitor.serviceUUID]) {
        var strap: ConnectedPeripheral? = try await central.connect(discovery.id)
        radio.withController(of: strapHost) { $0.position = Position(x: 100_000, y: 0) }
        _ = await strap?.waitForDisconnection()
        radio.withController(of: strapHost) { $0.position = Position(x: 2, y: 0) }
        let earlier = strap
        strap = nil
        for await _ in central.scan(services: [HeartRateMonitor.serviceUUID]) { break }
        strap = try await central.connect(discovery.id)
        withExtendedLifetime(earlier) {}
        return try await strap?.readRSSI() ?? 127 < 0
      }
      return false
    }
    #expect(isConnected)
  }

  @Test("cancelling a connection that does not come about returns at once")
  func cancelled() async throws {
    let central = Central(host: phone)
    let nobody = try #require(UUID(uuidString: "414D4249-5400-8000-8001-C00000000009"))
    let task = Task { try await central.connect(nobody) }
    radio.advance(by: .seconds(5))
    task.cancel()
    await #expect(throws: BluetoothError.cancelled) { try await task.value }
  }

  @Test("an identifier that no peripheral has is an error")
  func unknown() async throws {
    let central = Central(host: phone)
    let foreign = try #require(UUID(uuidString: "6E400001-B5A3-F393-E0A9-E50E24DCCA9E"))
    await #expect(throws: BluetoothError.unknownPeripheral(foreign)) {
      try await central.connect(foreign)
    }
  }

  @Test("a lost link ends pending operations")
  func lost() async throws {
    let central = Central(host: phone)
    let (radio, strapHost) = (radio, strapHost)
    let error = try await run(radio) { () -> BluetoothError? in
      for await discovery in central.scan(services: [HeartRateMonitor.serviceUUID]) {
        let connected = try await central.connect(discovery.id)
        let measurement = try await connected.characteristic(
          HeartRateMonitor.measurementUUID, of: HeartRateMonitor.serviceUUID)
        radio.withController(of: strapHost) { $0.position = Position(x: 100_000, y: 0) }
        do {
          for try await _ in connected.values(of: measurement) {}
        } catch {
          return error as? BluetoothError
        }
      }
      return nil
    }
    #expect(error == .disconnected(CBError(.connectionTimeout)))
  }

  @Test("values of a characteristic end with an error when its service is withdrawn")
  func withdrawn() async throws {
    let central = Central(host: phone)
    let manager = strap.manager
    let (error, isConnected) = try await run(radio) { () -> (BluetoothError?, Bool) in
      for await discovery in central.scan(services: [HeartRateMonitor.serviceUUID]) {
        let connected = try await central.connect(discovery.id)
        let measurement = try await connected.characteristic(
          HeartRateMonitor.measurementUUID, of: HeartRateMonitor.serviceUUID)
        let values = Task { () -> (any Error)? in
          do { for try await _ in connected.values(of: measurement) {} } catch { return error }
          return nil
        }
        while !measurement.isNotifying { await Task.yield() }
        manager.removeAllServices()
        return (await values.value as? BluetoothError, connected.isConnected)
      }
      return (nil, false)
    }
    #expect(error == .notFound(HeartRateMonitor.measurementUUID))
    #expect(isConnected)
  }

  @Test(
    "operations over a connection that has ended throw the reason of its end, and wait for nothing")
  func afterEnd() async throws {
    let central = Central(host: phone)
    let (radio, strapHost) = (radio, strapHost)
    let errors = try await run(radio) { () -> [BluetoothError] in
      var errors: [BluetoothError] = []
      for await discovery in central.scan(services: [HeartRateMonitor.serviceUUID]) {
        let connected = try await central.connect(discovery.id)
        let measurement = try await connected.characteristic(
          HeartRateMonitor.measurementUUID, of: HeartRateMonitor.serviceUUID)
        let modifications = connected.modifiedServices()
        radio.withController(of: strapHost) { $0.position = Position(x: 100_000, y: 0) }
        errors.append(await connected.waitForDisconnection())
        for await _ in modifications {}
        do throws(BluetoothError) {
          _ = try await connected.read(measurement)
        } catch {
          errors.append(error)
        }
        do throws(BluetoothError) {
          try await connected.write(Data([1]), to: measurement, type: .withoutResponse)
        } catch {
          errors.append(error)
        }
        do {
          for try await _ in connected.values(of: measurement) {}
        } catch {
          errors.append(error as? BluetoothError ?? .cancelled)
        }
        break
      }
      return errors
    }
    let reason = BluetoothError.disconnected(CBError(.connectionTimeout))
    #expect(errors == [reason, reason, reason, reason])
  }

  @Test("states end with the central, and begin with the present state")
  func states() async {
    radio.advance(by: .seconds(1))
    var central: Central? = Central(host: phone)
    radio.advance(by: .seconds(1))
    var states = central?.states().makeAsyncIterator()
    #expect(await states?.next() == .poweredOn)
    central = nil
    #expect(await states?.next() == nil)
  }

  @Test("a write without response that the characteristic doesn't take is refused")
  func refusedWrite() async throws {
    let central = Central(host: phone)
    let error = try await run(radio) { () -> BluetoothError? in
      for await discovery in central.scan(services: [HeartRateMonitor.serviceUUID]) {
        let connected = try await central.connect(discovery.id)
        let measurement = try await connected.characteristic(
          HeartRateMonitor.measurementUUID, of: HeartRateMonitor.serviceUUID)
        do throws(BluetoothError) {
          try await connected.write(Data([1]), to: measurement, type: .withoutResponse)
        } catch {
          return error
        }
        break
      }
      return nil
    }
    #expect(error == BluetoothError(CBATTError(.requestNotSupported)))
  }
}

@Suite("Results of registrations as functions")
struct AsyncResultTests {
  @Test(
    "a result that comes before the registration is returned is taken, and the registration ended")
  func atOnce() async throws {
    let endCount = Mutex(0)
    let value: Int = try await result { done in
      done(.success(1))
      done(.success(2))
      return ListenerRegistration { endCount.withLock { $0 += 1 } }
    }
    #expect(value == 1 && endCount.withLock { $0 } == 1)
  }

  @Test("a cancelled task ends its registration, and gets the error at once")
  func cancelled() async {
    let (started, start) = AsyncStream.makeStream(of: Void.self)
    let endCount = Mutex(0)
    let task = Task { () async throws -> Int in
      try await result { _ in
        start.yield(())
        return ListenerRegistration { endCount.withLock { $0 += 1 } }
      }
    }
    for await _ in started { break }
    task.cancel()
    await #expect(throws: BluetoothError.cancelled) { try await task.value }
    #expect(endCount.withLock { $0 } == 1)
  }

  @Test("a task that was cancelled before it began registers nothing")
  func cancelledBefore() async {
    let (open, opener) = AsyncStream.makeStream(of: Void.self)
    let task = Task { () async throws -> Int in
      for await _ in open {}
      return try await result { _ in
        Issue.record("registered")
        return ListenerRegistration()
      }
    }
    task.cancel()
    opener.finish()
    await #expect(throws: BluetoothError.cancelled) { try await task.value }
  }
}

import BluetoothHost
import CoreBluetooth
import Essentials
import Reactive
import RunLoopSupport
import SimulatedRadio
import Simulation
import Synchronization
import Testing

@testable import CoreBluetoothAsync
@testable import CoreBluetoothReactive

@Suite("A peripheral's producers")
struct PeripheralTests {
  private let pair = Pair()

  @Test("services, characteristics and descriptors are discovered, values read and written")
  func wholeWay() throws {
    let (peripheral, run) = try pair.connect()
    let reactive = peripheral.reactive
    _ = reactive.discoverServices().record("services", in: pair.log) {
      "\($0.map(\.uuid.uuidString))"
    }
    pair.wait(for: "services completed")
    let service = try #require(peripheral.services?.first)
    _ = reactive.discoverIncludedServices(for: service).record("included", in: pair.log)
    _ = reactive.discoverCharacteristics(for: service).record("all", in: pair.log) { "\($0.count)" }
    let setPoint = try pair.characteristic(Pair.setPointUUID, of: peripheral)
    _ = reactive.discoverDescriptors(for: setPoint).record("descriptors", in: pair.log)
    _ = reactive.read(setPoint).record("read", in: pair.log) { "\(Array($0))" }
    _ = reactive.write(Data([3]), to: setPoint).record("write", in: pair.log)
    _ = reactive.readRSSI().record("strength", in: pair.log) { $0 < 0 ? "fine" : "none" }
    _ = reactive.characteristic(CBUUID(string: "2A00"), of: Pair.serviceUUID)
      .record("missing", in: pair.log)
    pair.wait(for: "missing failed: not found, 2A00", "strength completed", "write completed")
    #expect(
      pair.log.take().sorted() == [
        "all completed", "all: 3", "descriptors completed", "descriptors: []",
        "included completed", "included: []", "missing failed: not found, 2A00",
        "read completed", "read: [21]", "services completed", "services: [\"181A\"]",
        "strength completed", "strength: fine", "write completed",
      ])
    #expect(pair.written.withLock { $0 } == [Data([3])])
    run.dispose()
    pair.advance(seconds: 1)
    pair.expectNoListeners(of: peripheral)
  }

  @Test("an error of the peripheral is the request's")
  func refused() throws {
    let (peripheral, _) = try pair.connect()
    let setPoint = try pair.characteristic(Pair.setPointUUID, of: peripheral)
    let maker = try pair.characteristic(Pair.makerUUID, of: peripheral)
    pair.answer.withLock { $0 = .insufficientResources }
    _ = peripheral.reactive.read(setPoint).record("read", in: pair.log)
    _ = peripheral.reactive.write(Data([1]), to: setPoint).record("write", in: pair.log)
    _ = peripheral.reactive.values(of: maker).record("values", in: pair.log)
    pair.wait(
      for: "read failed: attribute 17", "write failed: attribute 17", "values failed: attribute 6")
    _ = peripheral.reactive.write(Data([1]), to: maker, type: .withoutResponse)
      .record("dropped", in: pair.log)
    _ = peripheral.reactive.write(Data(count: 513), to: setPoint, type: .withoutResponse)
      .record("long", in: pair.log)
    #expect(
      pair.log.take().suffix(2) == ["dropped failed: attribute 6", "long failed: attribute 13"])
  }

  @Test("the answer to a request that was disposed of is not taken for the next one's")
  func disposedRequest() throws {
    let (peripheral, run) = try pair.connect()
    let setPoint = try pair.characteristic(Pair.setPointUUID, of: peripheral)
    pair.answer.withLock { $0 = .insufficientResources }
    peripheral.reactive.write(Data([1]), to: setPoint).record("first", in: pair.log).dispose()
    pair.wait(pair.gadgetLog, for: ["write"])
    pair.answer.withLock { $0 = .success }
    _ = peripheral.reactive.write(Data([2]), to: setPoint).record("second", in: pair.log)
    pair.wait(for: "second completed")
    #expect(pair.log.lines == ["first interrupted", "second completed"])
    run.dispose()
    pair.advance(seconds: 1)
    pair.expectNoListeners(of: peripheral)
  }

  @Test("notifications go on with the first observer and off with the last")
  func sharedValues() throws {
    let (peripheral, run) = try pair.connect()
    let reading = try pair.characteristic(Pair.readingUUID, of: peripheral)
    let values = peripheral.reactive.values(of: reading)
    let one = values.record("one", in: pair.log) { "\(Array($0))" }
    let two = values.record("two", in: pair.log) { "\(Array($0))" }
    pair.wait(pair.gadgetLog, for: ["subscribed: true"])
    pair.advance(seconds: 1)
    pair.manager.updateValue(Data([1]), for: pair.reading, onSubscribedCentrals: nil)
    pair.wait(for: "one: [1]", "two: [1]")
    one.dispose()
    pair.manager.updateValue(Data([2]), for: pair.reading, onSubscribedCentrals: nil)
    pair.wait(for: "two: [2]")
    two.dispose()
    pair.wait(pair.gadgetLog, for: ["subscribed: false"])
    pair.advance(seconds: 1)
    #expect(!reading.isNotifying)
    #expect(
      pair.log.lines == [
        "one: [1]", "two: [1]", "one interrupted", "two: [2]", "two interrupted",
      ])
    #expect(pair.gadgetLog.lines.count { $0.hasPrefix("subscribed") } == 2)
    run.dispose()
    pair.advance(seconds: 1)
    pair.expectNoListeners(of: peripheral)
  }

  @Test("a pending request fails when the peripheral goes, and waits for nothing")
  func lostRequest() throws {
    let (peripheral, _) = try pair.connect()
    let setPoint = try pair.characteristic(Pair.setPointUUID, of: peripheral)
    pair.answer.withLock { $0 = nil }
    _ = peripheral.reactive.read(setPoint).record("read", in: pair.log)
    peripheral.reactive.write(Data([1]), to: setPoint).record("write", in: pair.log).dispose()
    pair.wait(pair.gadgetLog, for: ["read"])
    pair.move(metres: 100_000)
    pair.wait(for: "connection failed: disconnected connectionTimeout")
    #expect(pair.log.lines.contains("read failed: disconnected connectionTimeout"))
    _ = pair.log.take()
    _ = peripheral.reactive.read(setPoint).record("late", in: pair.log)
    _ = peripheral.reactive.values(of: setPoint).record("values", in: pair.log)
    #expect(
      pair.log.lines == ["late failed: disconnected here", "values failed: disconnected here"])
    pair.expectNoListeners(of: peripheral)
  }

  @Test("a pending request fails when the radio goes")
  func powerOff() throws {
    let (peripheral, _) = try pair.connect()
    let setPoint = try pair.characteristic(Pair.setPointUUID, of: peripheral)
    let reading = try pair.characteristic(Pair.readingUUID, of: peripheral)
    pair.answer.withLock { $0 = nil }
    _ = peripheral.reactive.read(setPoint).record("read", in: pair.log)
    _ = peripheral.reactive.values(of: reading).record("values", in: pair.log)
    pair.wait(pair.gadgetLog, for: ["read"])
    pair.crash(pair.phone)
    pair.wait(for: "connection failed: not available, poweredOff")
    let failures = pair.log.lines.filter { $0.contains("failed") }
    #expect(failures.count == 3, "\(failures)")
    pair.advance(seconds: 60)
    pair.expectNoListeners(of: peripheral)
  }

  @Test("a connection that the app makes itself ends with the known reason")
  func ownConnection() throws {
    let peripheral = try pair.discover()
    for isLost in [false, true] {
      pair.central.connect(peripheral)
      #expect(pair.radio.advance(within: .seconds(60)) { peripheral.state == .connected })
      let reading = try pair.characteristic(Pair.readingUUID, of: peripheral)
      _ = peripheral.reactive.values(of: reading).record("values", in: pair.log)
      pair.advance(seconds: 1)
      if isLost {
        pair.move(metres: 100_000)
      } else {
        pair.central.cancelPeripheralConnection(peripheral)
      }
      #expect(pair.radio.advance(within: .seconds(60)) { peripheral.state == .disconnected })
    }
    #expect(
      pair.log.lines == ["values completed", "values failed: disconnected peripheralDisconnected"])
    pair.expectNoListeners(of: peripheral)
  }

  @Test("values fail when the peripheral withdraws the service")
  func withdrawn() throws {
    let (peripheral, _) = try pair.connect()
    let reading = try pair.characteristic(Pair.readingUUID, of: peripheral)
    _ = peripheral.reactive.values(of: reading).record("values", in: pair.log)
    _ = peripheral.reactive.modifiedServices.record("modified", in: pair.log) {
      "\($0.map(\.uuid.uuidString))"
    }
    pair.wait(pair.gadgetLog, for: ["subscribed: true"])
    pair.advance(seconds: 1)
    pair.manager.remove(pair.service)
    pair.wait(for: "values failed: not found, 2A6E", "modified: [\"181A\"]")
    #expect(peripheral.state == .connected)
  }

  @Test("values fail when some were lost, and not when a read is refused for lack of room")
  func lostValues() throws {
    let (peripheral, _) = try pair.connect()
    let reading = try pair.characteristic(Pair.readingUUID, of: peripheral)
    _ = peripheral.reactive.values(of: reading).record("values", in: pair.log)
    _ = peripheral.reactive.read(reading).record("read", in: pair.log)
    let delegate = peripheral.delegateProxy
    delegate?.peripheral(peripheral, didUpdateValueFor: reading, error: CBError(.outOfSpace))
    #expect(pair.log.take() == ["read failed: refused, outOfSpace"])
    delegate?.peripheral(
      peripheral, didUpdateValueFor: reading, error: CBError.notificationsDropped(3))
    #expect(pair.log.take() == ["values failed: refused, outOfSpace"])
  }

  @Test("a late report of an earlier connection's end doesn't end requests over the next")
  func connectionsAreTold() throws {
    let (peripheral, first) = try pair.connect()
    let old = try pair.characteristic(Pair.readingUUID, of: peripheral)
    _ = peripheral.reactive.values(of: old).record("old values", in: pair.log)
    pair.answer.withLock { $0 = nil }
    _ = peripheral.reactive.read(old).record("old read", in: pair.log)
    first.dispose()
    pair.wait(for: "old values completed", "old read failed: disconnected here")
    pair.answer.withLock { $0 = .success }
    let (again, _) = try pair.connect()
    #expect(again === peripheral)
    let new = try pair.characteristic(Pair.readingUUID, of: peripheral)
    _ = peripheral.reactive.values(of: new).record("values", in: pair.log)
    pair.wait(pair.gadgetLog, for: ["subscribed: true"])
    pair.answer.withLock { $0 = nil }
    _ = peripheral.reactive.read(new).record("read", in: pair.log)
    // What a thread does that was held up since the first connection ended.
    let listener = PeripheralListener.all.retain(for: peripheral)
    listener.ended(.disconnected(nil), for: peripheral)
    PeripheralListener.all.release(for: peripheral)
    pair.advance(seconds: 1)
    #expect(!pair.log.lines.contains { $0.contains("failed") || $0.contains("completed") })
    _ = pair.manager.reactive.updateValue(Data([7]), for: pair.reading).start()
    pair.wait(for: "values: 1 bytes")
  }

  @Test("more requests than the host takes at once are all answered, in order")
  func manyRequests() throws {
    let (peripheral, run) = try pair.connect()
    let setPoint = try pair.characteristic(Pair.setPointUUID, of: peripheral)
    let values = (0..<600).map { Data([UInt8($0 / 256), UInt8($0 % 256)]) }
    for value in values {
      let write = peripheral.reactive.write(value, to: setPoint).record("write", in: pair.log)
      // One that waits is given up.
      if value == values[300] { write.dispose() }
    }
    let count = { pair.log.lines.count { $0 == "write completed" } }
    #expect(pair.radio.advance(within: .seconds(300)) { count() == 599 }, "\(count())")
    #expect(pair.written.withLock { $0 } == values.filter { $0 != values[300] })
    run.dispose()
    pair.advance(seconds: 1)
    pair.expectNoListeners(of: peripheral)
  }

  @Test("a thousand writes without response wait for room, and arrive in order")
  func writesWithoutResponse() throws {
    let (peripheral, run) = try pair.connect()
    let setPoint = try pair.characteristic(Pair.setPointUUID, of: peripheral)
    let ready = peripheral.reactive.writeReadiness.record("room", in: pair.log) { "again" }
    let values = (0..<1_000).map { Data([UInt8($0 / 256), UInt8($0 % 256)]) }
    for value in values {
      let write = peripheral.reactive.write(value, to: setPoint, type: .withoutResponse)
      let run = write.record("write", in: pair.log)
      // One that waits is given up.
      if value == values[500] { run.dispose() }
    }
    #expect(pair.log.lines.count { $0 == "write completed" } == 128)
    #expect(
      pair.radio.advance(within: .seconds(120)) { pair.written.withLock { $0.count } == 999 })
    let expected = values.filter { $0 != values[500] }
    #expect(pair.written.withLock { $0 } == expected)
    #expect(pair.log.lines.count { $0 == "room: again" } > 1)
    ready.dispose()
    run.dispose()
    pair.advance(seconds: 1)
    pair.expectNoListeners(of: peripheral)
  }

  @Test("a slow observer gets all values in order: the peripheral is held back")
  func slowObserver() throws {
    let (peripheral, run) = try pair.connect()
    let reading = try pair.characteristic(Pair.readingUUID, of: peripheral)
    let received = Mutex<[Int]>([])
    let isReleased = Mutex(false)
    let values = peripheral.reactive.values(of: reading).startWithResult { result in
      // Handles values slowly until the test releases it.
      guard case .success(let value) = result else { return }
      for _ in 0..<20_000 where !isReleased.withLock({ $0 }) {}
      received.withLock { $0.append(Int(value[0]) << 8 | Int(value[1])) }
    }
    pair.wait(pair.gadgetLog, for: ["subscribed: true"])
    pair.advance(seconds: 1)
    let count = 3_000
    for number in 0..<count {
      let value = Data([UInt8(number >> 8), UInt8(number & 0xFF)])
      _ = pair.manager.reactive.updateValue(value, for: pair.reading).start()
    }
    pair.advance(seconds: 1)
    isReleased.withLock { $0 = true }
    #expect(
      pair.radio.advance(within: .seconds(300)) { received.withLock { $0.count } == count },
      "\(received.withLock { $0.count })")
    #expect(received.withLock { $0 } == Array(0..<count))
    values.dispose()
    run.dispose()
    pair.advance(seconds: 1)
    pair.expectNoListeners(of: peripheral)
  }

  @Test("concurrent runs that are started and disposed of at random leave nothing behind")
  func threads() throws {
    let (peripheral, run) = try pair.connect()
    let reading = try pair.characteristic(Pair.readingUUID, of: peripheral)
    let pair = pair
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      if thread == 0 {
        for _ in 0..<200 { pair.radio.advance(by: .milliseconds(50)) }
        return
      }
      for round in 0..<300 {
        let runs: [any Disposable] = [
          peripheral.reactive.values(of: reading).start(),
          peripheral.reactive.read(reading).start(),
          pair.central.reactive.connection(to: peripheral).start(),
          pair.central.reactive.discoveries().start(),
        ]
        for index in runs.indices { runs[(index + round + thread) % runs.count].dispose() }
      }
    }
    // The reads are answered, and only the connection is left.
    let isQuiet = pair.radio.advance(within: .seconds(600)) {
      PeripheralListener.all.useCount(for: peripheral) == 1
    }
    #expect(isQuiet)
    pair.advance(seconds: 10)
    #expect(peripheral.state == .connected)
    #expect(!reading.isNotifying)
    #expect(!pair.central.isScanning)
    run.dispose()
    pair.advance(seconds: 5)
    #expect(peripheral.state == .disconnected)
    pair.expectNoListeners(of: peripheral)
  }
}

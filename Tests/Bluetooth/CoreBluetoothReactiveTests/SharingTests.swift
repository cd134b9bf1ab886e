import BluetoothHost
import CoreBluetooth
import Essentials
import Foundation
import Reactive
import RunLoopSupport
import SimulatedRadio
import Synchronization
import Testing

@testable import CoreBluetoothAsync
@testable import CoreBluetoothReactive

@Suite("What several runs share")
struct SharingTests {
  /// Records the applied demands, and whether two threads applied them at the same time.
  private final class Applied: Sendable {
    private let state = Mutex((isInside: false, overlapCount: 0, last: [Int]()))

    func apply(_ demands: [Int]) {
      state.withLock { state in
        if state.isInside { state.overlapCount += 1 }
        (state.isInside, state.last) = (true, demands)
      }
      sched_yield()
      state.withLock { $0.isInside = false }
    }

    var overlapCount: Int { state.withLock { $0.overlapCount } }
    var last: [Int] { state.withLock { $0.last } }
  }

  /// Does the same on four threads, and waits for them.
  private func onThreads(_ work: @escaping @Sendable (Int) -> Void) async {
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<4 {
        group.addTask {
          await withCheckedContinuation { done in
            Thread.detachNewThread {
              work(number)
              done.resume()
            }
          }
        }
      }
    }
  }

  @Test("demands are applied by one thread at a time, and finally in their last state")
  func demands() async {
    let (demands, applied) = (Demands<String, Int>(), Applied())
    let kept = demands.add(7, for: "scan") { applied.apply($0) }
    await onThreads { number in
      for _ in 0..<500 {
        demands.add(number, for: "scan") { applied.apply($0) }.cancel()
        demands.reapply("scan") { applied.apply($0) }
      }
    }
    #expect(applied.overlapCount == 0)
    #expect(applied.last == [7])
    kept.cancel()
    #expect(applied.last == [])
    demands.reapply("scan") { _ in Issue.record("there is nothing to apply") }
  }

  @Test("the callback that applies demands may change them")
  func reentrantDemands() {
    let (demands, applied) = (Demands<String, Int>(), Applied())
    let other = ListenerRegistration()
    let run = demands.add(1, for: "scan") { [weak demands] now in
      applied.apply(now)
      if now == [1] { other.add(demands?.add(2, for: "scan") { applied.apply($0) }) }
    }
    #expect(applied.last == [1, 2])
    other.cancel()
    run.cancel()
    #expect(applied.last == [] && applied.overlapCount == 0)
  }

  @Test("values that wait for room in one lane do not hold up those in another, and stay in order")
  func lanes() {
    let queue = RoomQueue()
    let (full, free): (RoomQueue.Lane, RoomQueue.Lane) = ([UUID()], [UUID()])
    let isFull = Mutex(true)
    let sent = Mutex<[Int]>([])
    let add = { @Sendable (number: Int, lane: RoomQueue.Lane) in
      _ = queue.add(lane: lane) {
        if lane == full, isFull.withLock({ $0 }) { return .full }
        sent.withLock { $0.append(number) }
        return .sent
      } done: { _ in
      }
    }
    for number in 0..<4 { add(number, number % 2 == 0 ? full : free) }
    #expect(sent.withLock { $0 } == [1, 3])
    isFull.withLock { $0 = false }
    queue.sendWaiting()
    #expect(sent.withLock { $0 } == [1, 3, 0, 2])
  }

  @Test("values reach each receiver in order, also where some have several receivers")
  func overlappingLanes() {
    let queue = RoomQueue()
    let (one, two, three) = (UUID(), UUID(), UUID())
    let isFull = Mutex(true)
    let sent = Mutex<[Int]>([])
    let add = { @Sendable (number: Int, lane: RoomQueue.Lane) in
      queue.add(lane: lane) {
        if lane == [one, two], isFull.withLock({ $0 }) { return .full }
        sent.withLock { $0.append(number) }
        return .sent
      } done: { _ in
      }
    }
    var numbers: [UInt64] = []
    let lanes: [RoomQueue.Lane] = [
      [one, two], [two], [three], [one], [one, two, three], [three], [two],
    ]
    for (number, lane) in lanes.enumerated() { numbers.append(add(number, lane)) }
    #expect(sent.withLock { $0 } == [2], "the second update to the third waits for that to all")
    queue.remove(numbers[4])
    #expect(sent.withLock { $0 } == [2, 5])
    isFull.withLock { $0 = false }
    queue.sendWaiting()
    #expect(sent.withLock { $0 } == [2, 5, 0, 1, 3, 6])
  }

  @Test("values without a receiver hold up no others, and values of a lost connection neither")
  func withoutReceivers() {
    let queue = RoomQueue()
    let one = UUID()
    let sent = Mutex<[Int]>([])
    let add = { @Sendable (number: Int, connection: Int, lane: RoomQueue.Lane, isFull: Bool) in
      _ = queue.add(over: connection, lane: lane) {
        if isFull { return .full }
        sent.withLock { $0.append(number) }
        return .sent
      } done: { error in
        #expect((error == .cancelled) == (number < 3))
      }
    }
    add(0, 0, [], true)
    add(1, 0, [], false)
    add(2, 0, [one], true)
    add(3, 1, [one], false)
    add(4, 1, [UUID()], false)
    #expect(sent.withLock { $0 } == [4])
    queue.fail(before: 1, .cancelled)
    #expect(sent.withLock { $0 } == [4, 3])
  }

  @Test(
    "a value that waits for room is sent once, in order, by one thread at a time, without a lock")
  func room() async {
    let (queue, applied) = (RoomQueue(), Applied())
    let room = Mutex(0)
    let sent = Mutex<[Int]>([])
    let add = { @Sendable (number: Int) in
      _ = queue.add {
        // As a log handler of the app may.
        queue.remove(.max)
        applied.apply([number])
        let isFree = room.withLock { room in
          defer { room = max(0, room - 1) }
          return room > 0
        }
        guard isFree else { return .full }
        sent.withLock { $0.append(number) }
        return number == 99 ? .failed(.cancelled) : .sent
      } done: { error in
        #expect((error == .cancelled) == (number == 99))
      }
    }
    for number in 0..<1_000 { add(number) }
    await onThreads { _ in
      for _ in 0..<250 {
        room.withLock { $0 += 1 }
        queue.sendWaiting()
      }
    }
    #expect(applied.overlapCount == 0)
    #expect(sent.withLock { $0 } == Array(0..<1_000))
  }

  @Test("only the second of two runs that publish one service at the same time is refused")
  func publishing() {
    let pair = Pair()
    let service = CBMutableService(type: CBUUID(string: "180F"), primary: true)
    let first = pair.manager.reactive.publication(of: service).record("first", in: pair.log) { _ in
      "published"
    }
    let second = pair.manager.reactive.publication(of: service).record("second", in: pair.log)
    pair.wait(for: "first: published", "second failed: refused, invalidParameters")
    second.dispose()
    pair.advance(seconds: 1)
    #expect(pair.log.lines.filter { $0.hasPrefix("first") } == ["first: published"])
    first.dispose()
  }

  @Test("a write without response to a service that was withdrawn fails, and is not sent")
  func withdrawn() throws {
    let pair = Pair()
    let (peripheral, run) = try pair.connect()
    let setPoint = try pair.characteristic(Pair.setPointUUID, of: peripheral)
    pair.manager.remove(pair.service)
    #expect(pair.radio.advance(within: .seconds(20)) { peripheral.services?.isEmpty != false })
    let write = peripheral.reactive.write(Data([1]), to: setPoint, type: .withoutResponse)
    _ = write.record("write", in: pair.log)
    pair.wait(for: "write failed: not found, 2A6F")
    #expect(pair.written.withLock { $0 } == [])
    run.dispose()
  }

  @Test("updates of a characteristic that is not published any more fail, and hold up no others")
  func withdrawnUpdates() throws {
    let pair = Pair()
    let (peripheral, run) = try pair.connect()
    let reading = try pair.characteristic(Pair.readingUUID, of: peripheral)
    _ = peripheral.reactive.values(of: reading).record("value", in: pair.log)
    pair.wait(pair.gadgetLog, for: ["subscribed: true"])
    for _ in 0..<200 {
      _ = pair.manager.reactive.updateValue(Data([1]), for: pair.reading)
        .record("update", in: pair.gadgetLog)
    }
    #expect(pair.gadgetLog.lines.count { $0 == "update completed" } == 128)
    pair.manager.remove(pair.service)
    _ = pair.manager.reactive.updateValue(Data([1]), for: pair.reading)
      .record("late", in: pair.gadgetLog)
    let lines = pair.gadgetLog.lines
    #expect(lines.count { $0 == "update failed: not found, 2A6E" } == 72)
    #expect(lines.last == "late failed: not found, 2A6E")
    run.dispose()
  }

  @Test("an update waits only for centrals that are subscribed to its characteristic")
  func unconcernedCentral() throws {
    let pair = Pair()
    let (battery, other) = (CBUUID(string: "180F"), pair.radio.makeHost(name: "other"))
    let level = CBMutableCharacteristic(
      type: CBUUID(string: "2A19"), properties: .notify, value: nil, permissions: .readable)
    let service = CBMutableService(type: battery, primary: true)
    service.characteristics = [level]
    let publication = pair.manager.reactive.publication(of: service)
      .record("battery", in: pair.gadgetLog) { $0.uuid.uuidString }
    pair.wait(pair.gadgetLog, for: ["battery: 180F"])
    let central = BluetoothHost.$current.withValue(other) {
      CBCentralManager(delegate: nil, queue: DispatchQueue(label: "other"))
    }
    let follow = central.reactive.discoveries(withServices: [Pair.serviceUUID]).take(first: 1)
      .flatMap(.latest) { found in
        central.reactive.connection(to: found.peripheral)
          .flatMap(.latest) { _ in
            found.peripheral.reactive.characteristic(level.uuid, of: battery)
          }
          .flatMap(.latest) { found.peripheral.reactive.values(of: $0) }
      }
      .record("level", in: pair.log) { "\($0.count)" }
    pair.wait(pair.gadgetLog, for: ["subscribed: true"])
    let concerned = try #require(level.subscribedCentrals?.first)
    let (peripheral, run) = try pair.connect()
    let reading = try pair.characteristic(Pair.readingUUID, of: peripheral)
    _ = peripheral.reactive.values(of: reading).record("value", in: pair.log)
    let isFollowed = { pair.reading.subscribedCentrals?.isEmpty == false }
    #expect(pair.radio.advance(within: .seconds(20), until: isFollowed))
    let stalled = try #require(pair.reading.subscribedCentrals?.first)
    // More than is taken at once, for the one that does not follow the level.
    for _ in 0..<200 {
      _ = pair.manager.reactive.updateValue(Data([1]), for: pair.reading).start()
    }
    for centrals in [nil, [concerned], [concerned, stalled]] {
      _ = pair.gadgetLog.take()
      _ = pair.manager.reactive.updateValue(
        Data([1, 2]), for: level, onSubscribedCentrals: centrals
      ).record("level", in: pair.gadgetLog)
      #expect(pair.gadgetLog.lines == ["level completed"], "\(centrals?.count ?? 0)")
    }
    for run in [follow, publication, run] { run.dispose() }
  }
}

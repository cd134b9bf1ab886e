import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import CoreBluetooth

/// A manager with centrals that subscribed to its temperature; a test completes what is sent to them.
private final class Updater {
  let fixture = PeripheralManagerFixture()
  private var answered = 0
  private(set) var sent: [DeviceAddress: [RequestToken]] = [:]
  private(set) var values: [DeviceAddress: [[UInt8]]] = [:]

  init(_ centrals: [DeviceAddress]) {
    for central in centrals { subscribe(central) }
    fixture.record.clear()
  }

  func subscribe(_ central: DeviceAddress) {
    fixture.host.deliver(
      .linkOpened(LinkInfo(peer: central, role: .peripheral)), .subscribed(central, handle: 32))
  }

  func update(_ value: Data = Data([1]), for centrals: [DeviceAddress]? = nil) -> Bool {
    let known = fixture.recorder.centrals
    let isSent = fixture.manager.updateValue(
      value, for: fixture.temperature,
      onSubscribedCentrals: centrals.map { listed in
        known.filter { listed.contains($0.address) }
      })
    collect()
    return isSent
  }

  func collect() {
    let requests = fixture.host.requests
    for request in requests[answered...] {
      guard case .updateValue(_, let value, let peers?, let token) = request else { continue }
      for peer in peers {
        sent[peer, default: []].append(token)
        values[peer, default: []].append(value)
      }
    }
    answered = requests.count
  }

  /// Completes what was sent to a central.
  func complete(_ central: DeviceAddress) {
    for token in sent.removeValue(forKey: central) ?? [] {
      fixture.host.deliver(.completed(token, .success(.done)))
    }
  }

  /// Completes the oldest of what was sent to a central.
  func complete(_ central: DeviceAddress, _ count: Int) {
    let tokens = sent[central, default: []]
    sent[central] = Array(tokens.dropFirst(count))
    for token in tokens.prefix(count) { fixture.host.deliver(.completed(token, .success(.done))) }
  }

  /// Updates a central until it is full.
  func fill(_ central: DeviceAddress) {
    while update(for: [central]) {}
    fixture.record.clear()
  }

  func pass(_ span: TimeSpan) {
    fixture.host.scriptedLoop.pass(span)
    fixture.host.settle()
  }

  var lines: [String] { fixture.record.take() }
  func count(_ central: DeviceAddress) -> Int { values[central]?.count ?? 0 }
}

extension DeviceAddress {
  fileprivate static let stalled = DeviceAddress(bits: 0xC000_0000_0011, kind: .random)
  fileprivate static let fast = DeviceAddress(bits: 0xC000_0000_0012, kind: .random)
  fileprivate static let other = DeviceAddress(bits: 0xC000_0000_0013, kind: .random)
}

@Suite("Updates to several centrals")
struct UpdateWindowTests {
  private let most = Limits.updatesMax
  private let limit = Limits.updateHoldMax

  @Test("a central that takes nothing does not stop updates that are for another")
  func addressed() {
    let updater = Updater([.stalled, .fast])
    updater.fill(.stalled)
    for _ in 0..<1_000 {
      #expect(updater.update(for: [.fast]))
      updater.complete(.fast)
    }
    #expect(updater.count(.fast) == 1_000)
    #expect(!updater.update(for: [.stalled]))
    updater.complete(.stalled)
    #expect(updater.lines == ["ready"])
    #expect(updater.update(for: [.stalled]))
  }

  @Test("updates to all go on without a central that takes nothing for two seconds")
  func leftOut() {
    let updater = Updater([.stalled, .fast])
    updater.fill(.stalled)
    #expect(!updater.update())
    updater.pass(.milliseconds(1_999))
    #expect(!updater.update())
    #expect(updater.lines == [])
    updater.pass(.milliseconds(1))
    #expect(updater.lines == ["ready"])
    for _ in 0..<10 { #expect(updater.update()) }
    #expect(updater.count(.fast) == 10)
    #expect(updater.count(.stalled) == most)
    updater.complete(.stalled)
    #expect(updater.update(Data([9])))
    #expect(updater.values[.stalled]?.last == [9])
  }

  @Test("centrals that stall together hold updates up no longer than one")
  func together() {
    let centrals = (1...20).map { DeviceAddress(bits: 0xC000_0000_0100 + $0, kind: .random) }
    let updater = Updater(centrals + [.fast])
    for central in centrals { updater.fill(central) }
    #expect(!updater.update())
    updater.pass(limit)
    #expect(updater.lines.contains("ready"))
    #expect(updater.update())
    #expect(updater.count(.fast) == 1)
  }

  @Test("a central of 16 values a second and one of 100 miss nothing in minutes of updates to both")
  func differentSpeeds() {
    let updater = Updater([.stalled, .fast])
    var sentCount = 0
    // One turn of 10 ms each; the slow one takes a value in every sixth.
    for turn in 0..<18_000 {
      updater.pass(.milliseconds(10))
      updater.complete(.fast, 1)
      if turn.isMultiple(of: 6) { updater.complete(.stalled, 1) }
      if updater.update(Data([UInt8(truncatingIfNeeded: sentCount)])) { sentCount += 1 }
    }
    let expected = (0..<sentCount).map { [UInt8(truncatingIfNeeded: $0)] }
    #expect(updater.values[.stalled] == expected)
    #expect(updater.values[.fast] == expected)
    #expect(sentCount >= 3_000, "as many as the slow one takes, and a window")
  }

  @Test("a central that takes one value in each 1.9 seconds is slow, not stalled")
  func verySlow() {
    let updater = Updater([.stalled, .fast])
    updater.fill(.stalled)
    var sentCount = 0
    for _ in 0..<50 {
      while updater.update() {
        sentCount += 1
        updater.complete(.fast)
      }
      updater.pass(.milliseconds(1_900))
      updater.complete(.stalled, 1)
    }
    #expect(updater.count(.stalled) == most + sentCount)
    #expect(updater.count(.fast) == sentCount)
    #expect(sentCount >= 20)
  }

  @Test("the app is called a tenth of a second after a slow central has taken one value")
  func smallRoom() {
    let updater = Updater([.stalled])
    updater.fill(.stalled)
    updater.complete(.stalled, 1)
    updater.pass(.milliseconds(99))
    #expect(updater.lines == [])
    updater.pass(.milliseconds(1))
    #expect(updater.lines == ["ready"])
    #expect(updater.update())
    #expect(!updater.update())
  }

  @Test("a central that was left out gets values again once it has taken one")
  func thawed() {
    let updater = Updater([.stalled, .fast])
    updater.fill(.stalled)
    #expect(!updater.update())
    updater.pass(limit)
    #expect(updater.update())
    updater.complete(.stalled, 1)
    updater.pass(Limits.updateRoomDelay)
    #expect(updater.update(Data([9])))
    #expect(updater.values[.stalled]?.last == [9])
  }

  @Test("a central that takes one value and stalls again holds up the others only twice")
  func flapping() {
    let updater = Updater([.stalled, .fast])
    updater.fill(.stalled)
    for _ in 0..<2 {
      #expect(!updater.update())
      updater.pass(limit)
      updater.complete(.stalled, 1)
      updater.pass(Limits.updateRoomDelay)
      #expect(updater.update())
      updater.complete(.fast)
    }
    // Left out now, although it takes a value from time to time, until half its window is free.
    updater.complete(.stalled, 1)
    updater.pass(Limits.updateRoomDelay)
    for _ in 0..<10 {
      #expect(updater.update(Data([9])))
      updater.complete(.fast)
    }
    #expect(updater.values[.stalled]?.last != [9])
    updater.complete(.stalled)
    #expect(updater.update(Data([9])))
    #expect(updater.values[.stalled]?.last == [9])
  }

  @Test("a central with long connection intervals is not stalled before three of them have passed")
  func longIntervals() {
    let updater = Updater([.stalled, .fast])
    var link = LinkInfo(peer: .stalled, role: .peripheral)
    link.intervalUnits = 800
    link.subrateFactor = 2
    updater.fixture.host.deliver(.linkUpdated(link))
    updater.fill(.stalled)
    #expect(!updater.update())
    updater.pass(.milliseconds(5_999))
    #expect(updater.lines == [])
    updater.pass(.milliseconds(1))
    #expect(updater.lines == ["ready"])
  }

  @Test("a central that is slower, but takes values, misses none")
  func slower() {
    let updater = Updater([.stalled, .fast])
    var sentCount = 0
    for _ in 0..<50 {
      while updater.update() {
        sentCount += 1
        updater.complete(.fast)
      }
      updater.pass(.milliseconds(1_900))
      updater.complete(.stalled)
      #expect(updater.lines == ["ready"])
    }
    #expect(updater.count(.stalled) == sentCount)
    #expect(updater.count(.fast) == sentCount)
  }

  @Test("an update is never taken from the only central that it is for")
  func alone() {
    let updater = Updater([.stalled])
    updater.fill(.stalled)
    for _ in 0..<10 {
      #expect(!updater.update())
      updater.pass(limit)
    }
    #expect(updater.lines == [])
    updater.complete(.stalled)
    #expect(updater.lines == ["ready"])
  }

  @Test("updates to all are refused while all are full, until the first has room again")
  func allFull() {
    let updater = Updater([.stalled, .fast])
    while updater.update() {}
    updater.pass(limit)
    #expect(!updater.update())
    #expect(updater.lines == [])
    updater.complete(.fast)
    #expect(updater.lines == ["ready"])
    #expect(!updater.update(), "the other may hold it up for a time")
    updater.pass(limit)
    #expect(updater.lines == ["ready"])
    #expect(updater.update())
  }

  @Test("the app is called when a full central's link ends, and its window is not kept")
  func gone() {
    let updater = Updater([.stalled, .fast])
    updater.fill(.stalled)
    #expect(!updater.update())
    updater.fixture.host.deliver(
      .unsubscribed(.stalled, handle: 32),
      .linkClosed(.stalled, .disconnected(.connectionTimeout)))
    #expect(updater.lines.last == "ready")
    #expect(updater.update())
    #expect(updater.count(.stalled) == most)
    updater.subscribe(.stalled)
    #expect(updater.update(for: [.stalled]))
    #expect(updater.count(.stalled) == most + 1)
  }

  @Test("a value goes to a central that has subscribed though the app's queue is busy")
  func busyQueue() {
    let updater = Updater([])
    updater.fixture.host.post(.subscribed(.fast, handle: 32))
    #expect(updater.update())
    #expect(updater.count(.fast) == 1)
    updater.fixture.host.settle()
  }

  @Test("updates without subscribers wait for the host, too")
  func noSubscribers() {
    let fixture = PeripheralManagerFixture()
    func update() -> Bool {
      fixture.manager.updateValue(Data([1]), for: fixture.temperature, onSubscribedCentrals: nil)
    }
    for _ in 0..<most { #expect(update()) }
    #expect(!update())
    let tokens = fixture.host.requests.filter { $0.name == "updateValue" }.compactMap(\.token)
    #expect(tokens.count == most)
    for token in tokens { fixture.host.deliver(.completed(token, .success(.done))) }
    #expect(fixture.record.lines == ["ready"])
    #expect(update())
  }

  @Test("updates of two threads arrive in one order at all centrals")
  func order() async {
    let updater = Updater([.stalled, .fast, .other])
    let (manager, temperature) = (updater.fixture.manager, updater.fixture.temperature)
    await withTaskGroup(of: Void.self) { group in
      for thread in 0..<2 {
        group.addTask {
          for number in 0..<60 {
            manager.updateValue(
              Data([UInt8(thread), UInt8(number)]), for: temperature, onSubscribedCentrals: nil)
          }
        }
      }
    }
    updater.collect()
    #expect(updater.count(.fast) == 120)
    #expect(updater.values[.fast] == updater.values[.stalled])
    #expect(updater.values[.fast] == updater.values[.other])
  }

  @Test("a thousand centrals that come and go leave no windows behind")
  func manyCentrals() {
    var windows = UpdateWindows()
    var tokens: UInt64 = 0
    for number in 0..<1_000 {
      let central = DeviceAddress(bits: UInt64(number), kind: .random)
      windows.subscribed(central, to: 32) {
        tokens += 1
        return RequestToken(rawValue: tokens)
      }
      for _ in 0..<most { _ = windows.update(32, for: nil) }
      #expect(windows.update(32, for: nil) == .refuse([]))
      windows.unsubscribed(central)
      #expect(windows.closed(central)?.1.isAwaited == true)
    }
    #expect(windows.count == 0)
  }
}

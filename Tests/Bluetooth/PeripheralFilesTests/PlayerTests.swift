import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import PeripheralFiles

@Suite("Playing a peripheral file")
struct PlayerTests {
  private typealias Index = PeripheralFile.CharacteristicIndex
  private let rate = Index(service: 0, characteristic: 0)
  private let control = Index(service: 0, characteristic: 1)
  private let battery = Index(service: 1, characteristic: 0)
  private let note = Index(service: 1, characteristic: 1)

  /// Runs a player through virtual time, as a host does.
  private struct Run {
    var player: PeripheralPlayer
    var log: [(TimeSpan, PeripheralPlayer.Action)] = []

    init(_ text: String = Recordings.strap) throws {
      player = PeripheralPlayer(try PeripheralFile(Array(text.utf8)), now: .zero)
    }

    mutating func run(until end: TimeSpan) {
      while let wake = player.nextWake, wake <= .zero + end {
        var actions: [PeripheralPlayer.Action] = []
        player.wake(now: wake, into: &actions)
        log += actions.map { (wake - .zero, $0) }
      }
    }

    var notifications: [String] {
      log.compactMap { time, action in
        guard case .notify(_, let value) = action else { return nil }
        return "\(time.seconds) \(Hexadecimal.string(value))"
      }
    }
  }

  @Test("recorded notifications count from the first subscription, and repeat")
  func repeats() throws {
    var run = try Run()
    run.run(until: .seconds(10))
    #expect(run.notifications.isEmpty)
    run.player.setSubscribed(rate, true, now: .zero + .seconds(10))
    run.run(until: .seconds(13))
    #expect(run.notifications == ["10.2 0048", "11.2 0049", "12.2 0048"])
    #expect(try run.player.read(rate).get() == [0x00, 0x48])
  }

  @Test("a central that subscribes again gets the recording from its start")
  func again() throws {
    var run = try Run()
    run.player.setSubscribed(rate, true, now: .zero)
    run.run(until: .milliseconds(300))
    run.player.setSubscribed(rate, false, now: .zero + .milliseconds(300))
    run.run(until: .seconds(5))
    #expect(run.notifications == ["0.2 0048"])
    run.player.setSubscribed(rate, true, now: .zero + .seconds(5))
    run.run(until: .seconds(6))
    #expect(run.notifications == ["0.2 0048", "5.2 0048"])
  }

  @Test("a file that does not repeat is played once")
  func once() throws {
    var run = try Run(
      Recordings.strap.replacing("\"duration\": 2\n", with: "\"duration\": 2, \"repeats\": false\n")
    )
    run.player.setSubscribed(rate, true, now: .zero)
    run.run(until: .seconds(100))
    #expect(run.notifications == ["0.2 0048", "1.2 0049"])
    #expect(run.player.nextWake == nil)
  }

  @Test("a given write gets its recorded answer; another is kept")
  func answers() throws {
    var run = try Run()
    run.player.setSubscribed(rate, true, now: .zero)
    var actions: [PeripheralPlayer.Action] = []
    let now = Instant.zero + .seconds(1)
    #expect(throws: Never.self) {
      try run.player.write(control, [1], now: now, into: &actions).get()
    }
    let refusal = run.player.write(control, [2], now: now, into: &actions)
    #expect(throws: ATTErrorCode(rawValue: 0x80)) { try refusal.get() }
    // Notifications that were due before the write come before it.
    #expect(actions.contains(.notify(rate, [0x00, 0x48])))
    run.run(until: .milliseconds(1_100))
    #expect(run.notifications == ["1.03 00"])
    #expect(throws: Never.self) {
      try run.player.write(note, [7], now: now, into: &actions).get()
    }
    #expect(try run.player.read(note).get() == [7])
  }

  @Test("a read is refused as it was recorded")
  func readErrors() throws {
    let run = try Run()
    #expect(throws: ATTErrorCode.insufficientEncryption) { try run.player.read(battery).get() }
    #expect(try run.player.read(note).get() == Array("two".utf8))
  }

  @Test("advertising changes at its times, and begins anew after its duration")
  func advertising() throws {
    var run = try Run()
    run.run(until: .seconds(6))
    let times = run.log.map { $0.0.seconds }
    #expect(times == [0, 2, 3.5, 5.5])
    guard case .advertise(let data, _) = run.log[1].1 else {
      Issue.record("\(run.log[1])")
      return
    }
    #expect(data == [2, 1, 6])
  }

  @Test("a player that was not called for long plays at most one round")
  func lateness() throws {
    var run = try Run()
    run.player.setSubscribed(rate, true, now: .zero)
    var actions: [PeripheralPlayer.Action] = []
    run.player.wake(now: .zero + .seconds(86_400), into: &actions)
    let count = actions.count {
      if case .notify = $0 { true } else { false }
    }
    #expect(count <= 2)
    let wake = try #require(run.player.nextWake)
    #expect(wake - (.zero + .seconds(86_400)) < .seconds(4))
  }

  /// A file whose first characteristic notifies all of these values at once, over and over.
  private static func burst(_ count: Int, duration: String) -> String {
    let notifications = (0..<count).map { "{\"at\": 0, \"value\": {\"uint16\": \($0)}}" }
    return """
      {"services": [{"uuid": "180D", "characteristics": [
        {"uuid": "2A37", "properties": ["notify"], "notifications": [\(notifications.joined(separator: ","))]},
        {"uuid": "2A39", "properties": ["write"], "answers": [
          {"write": {"hex": "01"}, "notifications": [{"at": 0, "characteristic": "2A37", "value": {"hex": "ff"}}]}]}
      ]}], "duration": \(duration)}
      """
  }

  @Test("notifications that a file has at one time come at the pace of a link, in order")
  func pace() throws {
    var run = try Run(Self.burst(1_000, duration: "10"))
    run.player.setSubscribed(rate, true, now: .zero)
    run.run(until: .zero)
    #expect(run.log.count == 64)
    run.run(until: .seconds(9))
    let values = (0..<1_000).map { number in
      Hexadecimal.string([UInt8(number & 0xFF), UInt8(number >> 8)])
    }
    #expect(run.notifications.map { $0.split(separator: " ").last.map(String.init) } == values)
    #expect(run.log.last?.0 == .milliseconds(150))
    #expect(run.player.droppedCount == 0)
  }

  @Test("a round of ten milliseconds with thousands of events is no endless work")
  func shortRound() throws {
    var run = try Run(Self.burst(5_000, duration: "0.01"))
    run.player.setSubscribed(rate, true, now: .zero)
    run.run(until: .seconds(1))
    #expect((6_400...6_464).contains(run.log.count))
  }

  @Test("each of more lists than a turn has room for has its turn")
  func fairLists() throws {
    let list =
      "{\"uuid\": \"2A37\", \"properties\": [\"notify\"], \"every\": 0.01, "
      + "\"values\": [{\"hex\": \"00\"}, {\"hex\": \"01\"}]}"
    let service =
      "{\"uuid\": \"180D\", \"characteristics\": "
      + "[\(Array(repeating: list, count: 50).joined(separator: ","))]}"
    var run = try Run("{\"services\": [\(service), \(service), \(service)]}")
    for index in run.player.file.characteristicIndices {
      run.player.setSubscribed(index, true, now: .zero)
    }
    run.run(until: .seconds(1))
    var counts: [Index: Int] = [:]
    for case (_, .notify(let index, _)) in run.log { counts[index, default: 0] += 1 }
    // 6,400 in a second, for 150.
    #expect(counts.count == 150)
    #expect(counts.values.allSatisfy { (40...46).contains($0) }, "\(counts.values.sorted())")
  }

  @Test("answers that are to come at once keep to the pace, too")
  func answerPace() throws {
    var run = try Run(Self.burst(1, duration: "86400"))
    run.player.setSubscribed(rate, true, now: .zero)
    var actions: [PeripheralPlayer.Action] = []
    for _ in 0..<100 {
      #expect(throws: Never.self) {
        try run.player.write(control, [1], now: .zero, into: &actions).get()
      }
    }
    #expect(actions.count == 64)
    run.run(until: .milliseconds(20))
    #expect(actions.count + run.log.count == 101)
  }

  @Test("advertising changes at most every ten milliseconds")
  func advertisingPace() throws {
    let changes = (1...1_000).map { "{\"at\": 0.000001, \"data\": \"0201\($0 % 10)0\"}" }
    var run = try Run(
      "{\"advertising\": {\"data\": \"\", \"duration\": 0.01, \"changes\": "
        + "[\(changes.joined(separator: ","))]}}")
    run.run(until: .seconds(1))
    #expect((50...101).contains(run.log.count))
  }

  @Test("a file with everything in it is read as it was written")
  func roundTrip() throws {
    let file = try PeripheralFile(Array(Recordings.strap.utf8))
    let again = try PeripheralFile(Array(file.json.utf8))
    #expect(again == file)
    #expect(again.json == file.json)
  }

  @Test("a name that was made to disturb is written so that it is read back")
  func hostileNames() throws {
    var file = PeripheralFile()
    file.advertising = PeripheralFile.Advertising()
    file.name = "a\"\\\n\u{1B}[2J\u{202E}\u{0}é😀"
    #expect(try PeripheralFile(Array(file.json.utf8)).name == file.name)
    #expect(!file.json.unicodeScalars.contains("\u{1B}"))
  }
}

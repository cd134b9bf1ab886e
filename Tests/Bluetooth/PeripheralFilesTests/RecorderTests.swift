import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import PeripheralFiles

@Suite("Recording a device")
struct RecorderTests {
  private typealias Index = PeripheralFile.CharacteristicIndex
  private let receive = Index(service: 0, characteristic: 0)
  private let transmit = Index(service: 0, characteristic: 1)
  private let level = Index(service: 1, characteristic: 0)

  private var recorder: PeripheralRecorder {
    var recorder = PeripheralRecorder()
    var echo = PeripheralFile.Service(uuid: 0xFFE0)
    echo.characteristics = [
      .init(uuid: 0xFFE1, properties: .write), .init(uuid: 0xFFE2, properties: .notify),
    ]
    var battery = PeripheralFile.Service(uuid: 0x180F)
    battery.characteristics = [.init(uuid: 0x2A19, properties: [.read, .notify])]
    recorder.file.services = [echo, battery]
    return recorder
  }

  private func at(_ milliseconds: Int64) -> Instant { .zero + .milliseconds(milliseconds) }

  @Test("the advertising interval is estimated although advertisements are missed")
  func interval() throws {
    var recorder = recorder
    var random = SeededGenerator(seed: 3)
    var time: Int64 = 0
    for _ in 0..<200 {
      time += 100 + Int64.random(in: 0...10, using: &random)
      // A third is missed; the scan response follows closely.
      if Int.random(in: 0..<3, using: &random) == 0 { continue }
      for (response, delay) in [([UInt8](), Int64(0)), ([2, 0x09, 0x41], 1)] {
        recorder.heard(
          data: [2, 1, 6], scanResponse: response, isConnectable: true, rssi: -50,
          at: at(time + delay))
      }
    }
    let advertising = try #require(recorder.finished(at: at(time)).file.advertising)
    #expect((0.090...0.115).contains(advertising.interval.seconds))
    #expect(advertising.scanResponse == [2, 0x09, 0x41])
    #expect(advertising.changes.isEmpty && advertising.isConnectable)
  }

  @Test("a recording demands the weakest protection over which each access succeeded")
  func protection() {
    var recorder = recorder
    recorder.allowed(.read, to: level, over: .authentication)
    recorder.allowed(.read, to: level, over: .encryption)
    recorder.allowed(.read, to: level, over: .authentication)
    recorder.allowed(.notify, to: level, over: .authentication)
    recorder.allowed(.write, to: receive, over: .encryption)
    recorder.allowed(.notify, to: transmit, over: .encryption)
    recorder.allowed(.notify, to: transmit, over: .none)
    let file = recorder.finished(at: at(1)).file
    #expect(file[level].readNeedsEncryption && !file[level].readNeedsAuthentication)
    #expect(file[level].notifyNeedsEncryption && file[level].notifyNeedsAuthentication)
    #expect(!file[level].writeNeedsEncryption)
    #expect(file[receive].writeNeedsEncryption && !file[receive].writeNeedsAuthentication)
    #expect(!file[transmit].notifyNeedsEncryption)
  }

  @Test(
    "a recording demands the strongest protection of unanswered writes, unless a write was answered"
  )
  func unansweredWrites() {
    var recorder = recorder
    for index in [level, receive] {
      recorder.wroteUnanswered(to: index, over: .none)
      recorder.wroteUnanswered(to: index, over: .authentication)
      recorder.wroteUnanswered(to: index, over: .encryption)
    }
    recorder.allowed(.write, to: receive, over: .encryption)
    let file = recorder.finished(at: at(1)).file
    #expect(file[level].writeNeedsAuthentication)
    #expect(file[receive].writeNeedsEncryption && !file[receive].writeNeedsAuthentication)
  }

  @Test("alternating advertising is recorded with its times")
  func changes() throws {
    var recorder = recorder
    for step in 0..<4 {
      recorder.heard(
        data: [2, 0x0A, UInt8(step % 2)], scanResponse: [], isConnectable: false, rssi: nil,
        at: at(Int64(step) * 500))
    }
    let advertising = try #require(recorder.finished(at: at(2_000)).file.advertising)
    #expect(
      advertising.changes.map(\.time.nanoseconds) == [500_000_000, 1_000_000_000, 1_500_000_000])
    #expect(!advertising.isConnectable)
  }

  @Test("a notification that closely follows a write and never comes otherwise is its answer")
  func answers() {
    var recorder = recorder
    recorder.beginTimeline(at: at(0))
    recorder.notified(level, [87], at: at(400))
    recorder.notified(level, [86], at: at(1_400))
    recorder.endTimeline(at: at(2_000))
    recorder.wrote(receive, [1], error: nil, at: at(2_000))
    recorder.notified(transmit, [1], at: at(2_030))
    recorder.notified(level, [85], at: at(2_400))
    recorder.wrote(receive, [2], error: .init(rawValue: 0x80), at: at(3_000))
    let file = recorder.finished(at: at(4_000)).file
    #expect(file[transmit].notifications.isEmpty)
    #expect(file[level].notifications.map(\.value) == [[87], [86]])
    let answers = file[receive].answers
    #expect(answers.map(\.written) == [[1], [2]])
    #expect(answers.map(\.error) == [nil, ATTErrorCode(rawValue: 0x80)])
    #expect(
      answers[0].notifications
        == [.init(time: .milliseconds(30), target: transmit, value: [1])])
    #expect(file.duration == .seconds(2))
  }

  @Test("a read gives a value or an error; a value that a write changed is its answer")
  func reads() {
    var recorder = recorder
    recorder.file[receive].properties = [.read, .write]
    recorder.read(receive, .success([0]))
    recorder.read(level, .failure(.insufficientAuthentication))
    recorder.wrote(receive, [5], error: nil, at: at(0))
    recorder.read(receive, .success([4]))
    let file = recorder.finished(at: at(100)).file
    #expect(file[receive].values == [[0]])
    #expect(file[receive].answers.first?.value == [4])
    #expect(file[level].readError == .insufficientAuthentication)
  }

  @Test("a read that succeeds after it was refused leaves no refusal, whatever came between")
  func refusedAtFirst() {
    var recorder = recorder
    recorder.read(level, .failure(.insufficientAuthentication))
    recorder.notified(level, [80], at: at(10))
    recorder.read(level, .success([80]))
    recorder.read(level, .failure(.insufficientAuthentication))
    #expect(recorder.finished(at: at(20)).file[level].readError == nil)
  }

  @Test(
    "only the first accepted one of equal writes is kept, and the others' additions are counted")
  func equalWrites() {
    var recorder = recorder
    recorder.wrote(receive, [1], error: .insufficientAuthentication, at: at(0))
    recorder.wrote(receive, [1], error: nil, at: at(10))
    recorder.notified(transmit, [7], at: at(20))
    recorder.wrote(receive, [1], error: nil, at: at(2_000))
    recorder.notified(transmit, [8], at: at(2_010))
    let recording = recorder.finished(at: at(3_000))
    let answers = recording.file[receive].answers
    #expect(answers.count == 1 && answers.first?.error == nil)
    #expect(answers.first?.notifications.map(\.value) == [[7]])
    // The refusal; the last answer and its notification.
    #expect(recording.droppedCount == 3)
  }

  @Test("an endless recording stays within the bounds of a file")
  func bounds() throws {
    var recorder = recorder
    recorder.beginTimeline(at: at(0))
    for number in 0..<100_100 { recorder.notified(level, [1], at: at(Int64(number))) }
    #expect(recorder.droppedCount == 100)
    let file = recorder.finished(at: at(100_100)).file
    #expect(throws: Never.self) { try PeripheralFile(Array(file.json.utf8)) }
  }
}

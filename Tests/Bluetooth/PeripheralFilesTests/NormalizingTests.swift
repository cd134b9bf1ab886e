import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import PeripheralFiles

@Suite("Every recording is a file that can be read")
struct NormalizingTests {
  private typealias Index = PeripheralFile.CharacteristicIndex
  private let level = Index(service: 0, characteristic: 0)

  private func at(_ milliseconds: Int64) -> Instant { .zero + .milliseconds(milliseconds) }

  /// A recorder of a device with one characteristic.
  private func recorder(_ properties: CharacteristicProperties) -> PeripheralRecorder {
    var recorder = PeripheralRecorder()
    var service = PeripheralFile.Service(uuid: 0x180F)
    service.characteristics = [.init(uuid: 0x2A19, properties: properties)]
    recorder.file.services = [service]
    return recorder
  }

  private static func expectReadable(
    _ recording: PeripheralRecording, _ comment: Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let text = Array(recording.file.json.utf8)
    #expect(throws: Never.self, comment, sourceLocation: sourceLocation) {
      let again = try PeripheralFile(text)
      #expect(again == recording.file, comment, sourceLocation: sourceLocation)
    }
  }

  @Test("a fast sensor's recording is cut where a file is full, and all else is written")
  func bytes() {
    var recorder = recorder(.notify)
    recorder.beginTimeline(at: at(0))
    let value = [UInt8](repeating: 0xA5, count: 244)
    for number in 0..<60_000 { recorder.notified(level, value, at: at(Int64(number))) }
    let recording = recorder.finished(at: at(60_000))
    let kept = recording.file[level].notifications
    #expect(kept.count + recording.droppedCount == 60_000)
    // Nothing of the room is wasted that could be used.
    let limit = PeripheralFile.Limits.byteCount
    #expect((limit * 9 / 10...limit).contains(recording.file.json.utf8.count))
    #expect(kept.last?.time == .milliseconds(Int64(kept.count - 1)))
  }

  @Test("a large database leaves less room for notifications, and is written whole")
  func database() {
    var recorder = PeripheralRecorder()
    recorder.file.services = (0..<64).map { number in
      var service = PeripheralFile.Service(uuid: BluetoothUUID(UInt16(0x1900 + number)))
      service.characteristics = (0..<64).map { place in
        var characteristic = PeripheralFile.Characteristic(
          uuid: BluetoothUUID(high: UInt64(place), low: 1),
          properties: CharacteristicProperties(rawValue: 0xFF))
        characteristic.values = [[UInt8](repeating: 1, count: 512)]
        characteristic.descriptors = (0..<4).map { _ in
          .init(uuid: BluetoothUUID(high: 1, low: 2), value: [UInt8](repeating: 0x41, count: 512))
        }
        return characteristic
      }
      return service
    }
    for number in 0..<10_000 { recorder.notified(level, [1], at: at(Int64(number))) }
    let recording = recorder.finished(at: at(10_000))
    #expect(recording.file.characteristicIndices.count == 4_096)
    #expect(recording.file.characteristicIndices.allSatisfy { !recording.file[$0].values.isEmpty })
    #expect(recording.droppedCount > 10_000)
    Self.expectReadable(recording)
  }

  @Test("an operation that a characteristic cannot do is left out and counted")
  func properties() {
    var recorder = recorder([])
    recorder.notified(level, [1], at: at(0))
    recorder.notified(level, [2], at: at(10))
    let recording = recorder.finished(at: at(20))
    #expect(recording.file[level].properties.isEmpty)
    #expect(recording.file[level].notifications.isEmpty)
    #expect(recording.droppedCount == 2)
    Self.expectReadable(recording)
  }

  @Test("values longer than any attribute are left out and counted")
  func lengths() {
    var recorder = recorder([.read, .write, .notify])
    let long = [UInt8](repeating: 7, count: 513)
    recorder.read(level, .success(long))
    recorder.notified(level, long, at: at(0))
    recorder.wrote(level, long, error: nil, at: at(1))
    recorder.file[level].descriptors = [.init(uuid: 0x2901, value: long)]
    recorder.file[level].readError = ATTErrorCode(rawValue: 0)
    let recording = recorder.finished(at: at(20))
    #expect(recording.droppedCount == 5)
    #expect(recording.file[level].descriptors == [.init(uuid: 0x2901, value: [])])
    Self.expectReadable(recording)
  }

  @Test(
    "a recording of a day, and of more, ends where a file ends",
    arguments: [86_399_000, 86_400_000, 86_400_001, 200_000_000])
  func days(_ end: Int64) {
    var recorder = recorder(.notify)
    for (number, time) in [0, end / 2, end].enumerated() {
      recorder.heard(
        data: [2, 1, UInt8(number)], scanResponse: [], isConnectable: true, rssi: -40,
        at: at(time))
      recorder.notified(level, [UInt8(number)], at: at(time))
    }
    let recording = recorder.finished(at: at(end))
    let isLonger = end > 86_400_000
    #expect(
      recording.file[level].notifications.count == (end / 2 > 86_400_000 ? 1 : isLonger ? 2 : 3))
    #expect((recording.droppedCount > 0) == isLonger)
    Self.expectReadable(recording)
  }

  @Test("extended advertising loses its scan response, and no structure is cut in two")
  func advertising() {
    var recorder = recorder(.read)
    let structure = [21] + [UInt8](repeating: 0xFF, count: 21)
    let data = Array(repeatElement(structure, count: 12).joined())
    for (number, response) in [structure, [], structure].enumerated() {
      recorder.heard(
        data: data, scanResponse: response, isConnectable: true, rssi: 100,
        at: at(Int64(number)))
    }
    let recording = recorder.finished(at: at(10))
    #expect(recording.file.advertising?.data.count == 11 * 22)
    #expect(recording.file.advertising?.scanResponse == [])
    #expect(recording.droppedCount == 1)
    Self.expectReadable(recording)
  }

  @Test("scannable extended advertising, all of it in the scan response, is recorded as data")
  func scannable() {
    var recorder = recorder(.read)
    let long: [UInt8] = [101, 0xFF] + [UInt8](repeating: 7, count: 100)
    recorder.heard(data: [], scanResponse: long, isConnectable: false, rssi: nil, at: at(0))
    let recording = recorder.finished(at: at(100))
    #expect(recording.file.advertising?.data == long)
    #expect(recording.file.advertising?.scanResponse == [])
    #expect(recording.droppedCount == 0)
    Self.expectReadable(recording)
  }

  @Test("services that include each other are recorded without the circle")
  func circle() {
    var recorder = recorder(.read)
    recorder.file.services.append(.init(uuid: 0x180A))
    recorder.file.services[0].includedServices = [1, 1, 7]
    recorder.file.services[1].includedServices = [0]
    let recording = recorder.finished(at: at(0))
    #expect(recording.file.services.flatMap(\.includedServices).count == 1)
    #expect(recording.droppedCount == 3)
    Self.expectReadable(recording)
  }

  @Test("a device that revealed nothing is recorded in a file, too")
  func nothing() {
    Self.expectReadable(PeripheralRecorder().finished(at: at(0)))
  }

  @Test("whatever is observed, the file is read as it was written", arguments: 0..<300)
  func anything(seed: UInt64) {
    var random = RandomObservations(seed: seed)
    let recording = random.recording()
    Self.expectReadable(recording, "seed \(seed)")
  }

  @Test("whatever a capture holds, the file is read as it was written", arguments: 0..<300)
  func anyLink(seed: UInt64) {
    var random = RandomObservations(seed: seed)
    Self.expectReadable(random.link(), "seed \(seed)")
  }
}

/// Observations of devices that keep to no rule.
private struct RandomObservations {
  private typealias Index = PeripheralFile.CharacteristicIndex
  private var random: SeededGenerator

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  private mutating func number(_ range: ClosedRange<Int>) -> Int {
    Int.random(in: range, using: &random)
  }

  private mutating func flip() -> Bool { Bool.random(using: &random) }

  /// Mostly short, now and then about as long as a bound allows.
  private mutating func bytes(near limit: Int) -> [UInt8] {
    let count = number(0...3) == 0 ? number(limit - 1...limit + 1) : number(0...6)
    let isText = flip()
    return (0..<count).map { _ in
      UInt8(isText ? number(0x20...0x7E) : number(0...255))
    }
  }

  private mutating func uuid() -> BluetoothUUID {
    [0x2A19, 0x2A37, 0x2902, BluetoothUUID(high: 1, low: 2)][number(0...3)]
  }

  private mutating func error() -> ATTErrorCode { ATTErrorCode(rawValue: UInt8(number(0...255))) }

  private mutating func time() -> Instant {
    let scale = [1, 1_000, 3_600_000][number(0...2)]
    return .zero + .microseconds(Int64(number(0...30_000) * scale))
  }

  mutating func recording() -> PeripheralRecording {
    var recorder = PeripheralRecorder()
    let name = String(decoding: bytes(near: 248), as: UTF8.self)
    recorder.file.name = flip() ? nil : name
    recorder.file.address = DeviceAddress(
      bits: UInt64.random(in: 0 ... .max, using: &random), kind: flip() ? .public : .random)
    // One of three counts is beyond its bound now and then; all at once would take minutes.
    let large = number(0...11)
    for _ in 0..<(large == 0 ? 66 : number(0...3)) {
      recorder.file.services.append(
        service(large == 1 ? 66 : number(0...3), descriptorCount: large == 2 ? 18 : number(0...2)))
    }
    for service in recorder.file.services.indices where flip() {
      recorder.file.services[service].includedServices = (0..<number(0...3)).map { _ in
        number(-1...recorder.file.services.count)
      }
    }
    for _ in 0..<number(0...60) { observe(&recorder) }
    return recorder.finished(at: time())
  }

  private mutating func service(
    _ characteristicCount: Int, descriptorCount: Int
  ) -> PeripheralFile.Service {
    var service = PeripheralFile.Service(uuid: uuid())
    service.isPrimary = flip()
    for _ in 0..<characteristicCount {
      var characteristic = PeripheralFile.Characteristic(
        uuid: uuid(), properties: CharacteristicProperties(rawValue: UInt8(number(0...255))))
      characteristic.notifyNeedsEncryption = flip()
      characteristic.readNeedsAuthentication = flip()
      characteristic.writeNeedsAuthentication = flip()
      characteristic.notifyNeedsAuthentication = flip()
      for _ in 0..<descriptorCount {
        characteristic.descriptors.append(.init(uuid: uuid(), value: bytes(near: 512)))
      }
      service.characteristics.append(characteristic)
    }
    return service
  }

  private mutating func observe(_ recorder: inout PeripheralRecorder) {
    let indices = recorder.file.characteristicIndices
    guard let index = indices.randomElement(using: &random), number(0...4) > 0 else {
      return recorder.heard(
        data: bytes(near: [31, 251][number(0...1)]), scanResponse: bytes(near: 31),
        isConnectable: flip(), rssi: flip() ? nil : number(-128...127), at: time())
    }
    switch number(0...5) {
    case 0: recorder.read(index, .success(bytes(near: 512)))
    case 1: recorder.read(index, .failure(error()))
    case 2:
      recorder.wrote(index, bytes(near: 512), error: flip() ? nil : error(), at: time())
    case 3: flip() ? recorder.beginTimeline(at: time()) : recorder.endTimeline(at: time())
    default: recorder.notified(index, bytes(near: 512), at: time())
    }
  }

  // MARK: Attribute PDUs

  mutating func link() -> PeripheralRecording {
    var recorder = LinkRecorder(DeviceAddress(bits: 0xC012_3456_789A, kind: .random))
    recorder.linkOpened()
    for _ in 0..<number(0...120) {
      let time = time()
      let value = bytes(near: 512)[...]
      let handle = UInt16(number(0...12))
      switch number(0...7) {
      case 0:
        recorder.sent(.readByGroupTypeRequest(start: 1, end: .max, type: 0x2800), at: time)
        let end = flip() ? UInt16.max : UInt16(number(0...12))
        receive([0x11, 6] + Self.pair(handle) + Self.pair(end) + [0x0F, 0x18], time, &recorder)
      case 1:
        recorder.sent(.readByTypeRequest(start: 1, end: .max, type: 0x2803), at: time)
        let properties = UInt8(number(0...255))
        receive(
          [0x09, 7] + Self.pair(handle) + [properties] + Self.pair(handle &+ 1) + [0x19, 0x2A],
          time, &recorder)
      case 2:
        recorder.sent(.findInformationRequest(start: 1, end: .max), at: time)
        receive([0x05, 1] + Self.pair(handle) + [UInt8(number(0...9)), 0x29], time, &recorder)
      case 3:
        recorder.sent(.readRequest(handle: handle), at: time)
        recorder.received(.readResponse(value: value), at: time)
      case 4:
        recorder.sent(.readRequest(handle: handle), at: time)
        receive([0x01, 0x0A] + Self.pair(handle) + [UInt8(number(0...255))], time, &recorder)
      case 5:
        recorder.sent(.writeRequest(handle: handle, value: value), at: time)
        recorder.received(.writeResponse, at: time)
      case 6:
        recorder.heard(
          value.prefix(300), isResponse: flip(), isConnectable: flip(), rssi: -128, at: time)
      default:
        recorder.received(.handleValueNotification(handle: handle, value: value), at: time)
      }
    }
    return recorder.recording(at: time())
  }

  private func receive(_ bytes: [UInt8], _ time: Instant, _ recorder: inout LinkRecorder) {
    if let pdu = try? ATTPDU(decoding: bytes[...]) { recorder.received(pdu, at: time) }
  }

  private static func pair(_ number: UInt16) -> [UInt8] {
    [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
  }
}

import BluetoothMachines
import BluetoothWire
import Essentials
import Testing

@testable import PeripheralFiles

@Suite("Recording a device out of its attribute PDUs")
struct LinkRecorderTests {
  private static let address = DeviceAddress(bits: 0xC012_3456_789A, kind: .random)

  /// A link whose responses are given as bytes.
  private struct Link {
    var recorder = LinkRecorder(LinkRecorderTests.address)

    init() { recorder.linkOpened() }

    mutating func exchange(_ request: ATTPDU, _ response: [UInt8]) throws {
      recorder.sent(request, at: .zero)
      recorder.received(try ATTPDU(decoding: response[...]), at: .zero)
    }

    mutating func service(_ start: UInt16, _ end: UInt16, _ uuid: UInt16) throws {
      try exchange(
        .readByGroupTypeRequest(start: 1, end: .max, type: 0x2800),
        [0x11, 6] + pair(start) + pair(end) + pair(uuid))
    }

    mutating func characteristic(_ handle: UInt16, _ properties: UInt8, _ uuid: UInt16) throws {
      try exchange(
        .readByTypeRequest(start: 1, end: .max, type: 0x2803),
        [0x09, 7] + pair(handle) + [properties] + pair(handle + 1) + pair(uuid))
    }

    mutating func descriptor(_ handle: UInt16, _ uuid: UInt16, _ value: [UInt8]) throws {
      try exchange(
        .findInformationRequest(start: handle, end: .max), [0x05, 1] + pair(handle) + pair(uuid))
      try exchange(.readRequest(handle: handle), [0x0B] + value)
    }

    private func pair(_ number: UInt16) -> [UInt8] {
      [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
    }
  }

  @Test("a service that ends with the last handle of all keeps its descriptors")
  func lastHandle() throws {
    var link = Link()
    try link.service(0xFFF0, 0xFFFF, 0x180F)
    try link.characteristic(0xFFF1, 0x12, 0x2A19)
    try link.descriptor(0xFFF3, 0x2904, [1, 2])
    try link.descriptor(0xFFFF, 0x2901, Array("Level".utf8))
    let file = link.recorder.recording(at: .zero).file
    let characteristic = try #require(file.services.first?.characteristics.first)
    #expect(characteristic.descriptors.map(\.uuid) == [0x2904, 0x2901])
    #expect(characteristic.descriptors.map(\.value) == [[1, 2], Array("Level".utf8)])
  }

  @Test("what was read before the link was encrypted needs no encryption, what after does")
  func encryption() throws {
    var link = Link()
    try link.service(1, 9, 0x180D)
    for handle in [2, 4, 6] as [UInt16] { try link.characteristic(handle, 0x02, 0x2A37) }
    try link.exchange(.readRequest(handle: 3), [0x0B, 1])
    // Refused: authentication is insufficient.
    try link.exchange(.readRequest(handle: 5), [0x01, 0x0A, 5, 0, 0x05])
    link.recorder.encryptionChanged(isOn: true)
    for handle in [3, 5] as [UInt16] {
      try link.exchange(.readRequest(handle: handle), [0x0B, 1])
    }
    // Another link is not encrypted at first.
    link.recorder.linkClosed(at: .zero)
    link.recorder.linkOpened()
    try link.exchange(.readRequest(handle: 7), [0x0B, 1])
    let file = link.recorder.recording(at: .zero).file
    let characteristics = try #require(file.services.first?.characteristics)
    #expect(characteristics.map(\.readNeedsEncryption) == [false, true, false])
    #expect(characteristics.map(\.readError) == [nil, nil, nil])
  }

  @Test(
    "a write that is refused for lack of protection needs encryption, for other reasons nothing",
    arguments: [
      ATTErrorCode.insufficientAuthentication, .insufficientEncryption, .writeNotPermitted,
      .unlikelyError,
    ], [false, true])
  func refusedWrites(_ error: ATTErrorCode, _ isTakenLater: Bool) throws {
    var link = Link()
    try link.service(1, 9, 0x180D)
    try link.characteristic(2, 0x4C, 0x2A39)
    try link.exchange(
      .writeRequest(handle: 3, value: [1]), [0x01, 0x12, 3, 0, error.rawValue])
    if isTakenLater { try link.exchange(.writeRequest(handle: 3, value: [1]), [0x13]) }
    let file = link.recorder.recording(at: .zero).file
    let characteristic = try #require(file.services.first?.characteristics.first)
    let isProtection = error == .insufficientAuthentication || error == .insufficientEncryption
    #expect(characteristic.writeNeedsEncryption == (isProtection && !isTakenLater))
  }

  @Test("only an answer shows that a device takes a write without encryption", arguments: 0..<4)
  func writes(_ kind: Int) throws {
    var link = Link()
    try link.service(1, 9, 0x180D)
    try link.characteristic(2, 0x4C, 0x2A39)
    switch kind {
    case 0: link.recorder.sent(.writeCommand(handle: 3, value: [1]), at: .zero)
    case 1:
      link.recorder.sent(
        .signedWriteCommand(
          handle: 3, value: [1], signature: [UInt8](repeating: 0, count: 12)[...]),
        at: .zero)
    case 2: try link.exchange(.writeRequest(handle: 3, value: [1]), [0x13])
    default:
      try link.exchange(
        .prepareWriteRequest(handle: 3, offset: 0, value: [1]), [0x17, 3, 0, 0, 0, 1])
      try link.exchange(.executeWriteRequest(isExecuted: true), [0x19])
    }
    link.recorder.encryptionChanged(isOn: true)
    try link.exchange(.writeRequest(handle: 3, value: [2]), [0x13])
    let file = link.recorder.recording(at: .zero).file
    let characteristic = try #require(file.services.first?.characteristics.first)
    #expect(characteristic.writeNeedsEncryption == (kind < 2))
  }

  @Test(
    "a recorded service with 65 characteristics keeps 64, the last without the 65th's descriptors")
  func tooManyCharacteristics() throws {
    var link = Link()
    try link.service(1, 0xFFFF, 0x180F)
    for number in UInt16(0)..<65 {
      try link.characteristic(2 + 3 * number, 0x02, 0x2A19)
      try link.descriptor(4 + 3 * number, 0x2901, [UInt8(number)])
    }
    let recording = link.recorder.recording(at: .zero)
    let characteristics = try #require(recording.file.services.first?.characteristics)
    #expect(characteristics.count == 64)
    #expect(characteristics.map { $0.descriptors.map(\.value) } == (0..<64).map { [[UInt8($0)]] })
    #expect(recording.droppedCount == 1)
  }

  @Test("data over a link that is opened after another was closed is recorded, too")
  func secondLink() throws {
    var link = Link()
    try link.service(1, 9, 0x180D)
    try link.characteristic(2, 0x10, 0x2A37)
    let notification = ATTPDU.handleValueNotification(handle: 3, value: [0, 72])
    link.recorder.received(notification, at: .zero + .seconds(1))
    link.recorder.linkClosed(at: .zero + .seconds(2))
    link.recorder.linkOpened()
    link.recorder.received(notification, at: .zero + .seconds(4))
    let recording = link.recorder.recording(at: .zero + .seconds(5))
    let notified = recording.file.services.first?.characteristics.first?.notifications
    #expect(notified?.map(\.time) == [.zero, .seconds(3)])
  }

  @Test("the first value read of each descriptor is its value, of thousands, too")
  func manyDescriptors() throws {
    var link = Link()
    try link.service(1, 0xFFFF, 0x180F)
    var handle: UInt16 = 2
    for number in 0..<60 {
      try link.characteristic(handle, 0x02, UInt16(0x2A00 + number))
      for place in UInt8(0)..<16 {
        try link.descriptor(handle + 2 + UInt16(place), 0x2906, [place, UInt8(number)])
        try link.descriptor(handle + 2 + UInt16(place), 0x2906, [0xFF])
      }
      handle += 18
    }
    let file = link.recorder.recording(at: .zero).file
    let values = try #require(file.services.first).characteristics.map {
      $0.descriptors.map(\.value)
    }
    #expect(values == (0..<60).map { number in (0..<16).map { [UInt8($0), UInt8(number)] } })
  }
  @Test("an answer of this host as a server is not taken for a request")
  func bothAreClients() throws {
    var link = Link()
    try link.service(1, 9, 0x180F)
    try link.characteristic(2, 0x02, 0x2A19)
    link.recorder.sent(.readRequest(handle: 3), at: .zero)
    link.recorder.received(.readRequest(handle: 7), at: .zero)
    link.recorder.sent(.readResponse(value: [1]), at: .zero)
    link.recorder.received(.readResponse(value: [99]), at: .zero)
    let recording = link.recorder.recording(at: .zero)
    #expect(recording.file.services.first?.characteristics.first?.values == [[99]])
    #expect(recording.droppedCount == 0)
  }

  @Test("events of attributes discovered before the capture are dropped and counted")
  func undiscovered() throws {
    var link = Link()
    try link.service(1, 9, 0x180F)
    try link.characteristic(2, 0x12, 0x2A19)
    link.recorder.received(.handleValueNotification(handle: 3, value: [1]), at: .zero)
    link.recorder.received(.handleValueNotification(handle: 12, value: [1]), at: .zero)
    link.recorder.sent(.writeCommand(handle: 14, value: [1]), at: .zero)
    #expect(link.recorder.recording(at: .zero).droppedCount == 2)
  }
}

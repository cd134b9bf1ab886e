import BluetoothInterface
import BluetoothWire
import Essentials
import Simulation
import Testing

@testable import BluetoothMachines
@testable import GATTMachines

/// An attribute server that lies to our client.
@Suite("A host and the answers of a hostile server")
struct HostileServerTests {
  /// The server's answers to requests of one kind, and the required result of the operation.
  struct Lie: CustomTestStringConvertible {
    var description: String
    var operation: GATTOperation
    var request: ATTOpcode
    var answers: [String]
    var outcome: Result<HostReply, HostError>

    var testDescription: String { description }

    init(
      _ description: String, _ operation: GATTOperation, to request: ATTOpcode,
      _ answers: String..., outcome: Result<HostReply, HostError> = .failure(.invalidResponse)
    ) {
      self.description = description
      self.operation = operation
      self.request = request
      self.answers = answers
      self.outcome = outcome
    }
  }

  private static let part = HandleRange(1, 10)
  private static let noMultiple = Result<HostReply, HostError>.failure(
    .att(.attributeNotFound, handle: 3))
  private static let aLot = String(repeating: "41", count: 22)

  static let valueLies = [
    Lie("an error cut short", .read(3), to: .readRequest, "01 0a 03"),
    Lie("an error with a tail", .read(3), to: .readRequest, "01 0a 0300 01 00"),
    Lie(
      "an error that nobody knows", .read(3), to: .readRequest, "01 0a 0300 00",
      outcome: .failure(.att(ATTErrorCode(rawValue: 0), handle: 3))),
    Lie(
      "answers to others before its own", .read(3), to: .readRequest, "0d 41", "13",
      "01 0c 0300 01", "03 ff00", "19", "05 01 0300 0229", "0b 42",
      outcome: .success(.value([0x42]))),
    Lie(
      "a second answer", .read(3), to: .readRequest, "0b 41", "0b 42", "01 0a 0300 01",
      outcome: .success(.value([0x41]))),
    Lie(
      "only answers to others", .read(3), to: .readRequest, "0d 41", "11 06 0100 0500 0018",
      outcome: .failure(.attTimeout)),
    Lie(
      "an answer longer than any PDU", .read(3), to: .readRequest,
      "0b" + String(repeating: "41", count: 600), outcome: .failure(.attTimeout)),
    Lie(
      "requests instead of an answer", .read(3), to: .readRequest, "0a 0300", "02 1700", "1e",
      outcome: .failure(.attTimeout)),
    Lie(
      "a value that never ends", .read(3), to: .readBlobRequest, "0d" + aLot,
      outcome: .success(.value(Array(repeating: 0x41, count: 512)))),
    Lie("values without length", .readByUUID(0x2A19, in: .all), to: .readByTypeRequest, "09 00"),
    Lie(
      "values shorter than handles", .readByUUID(0x2A19, in: .all), to: .readByTypeRequest,
      "09 01 03"),
    Lie("no values", .readByUUID(0x2A19, in: .all), to: .readByTypeRequest, "09 03"),
    Lie(
      "values of two lengths", .readByUUID(0x2A19, in: .all), to: .readByTypeRequest,
      "09 03 0300 41 0400"),
    Lie(
      "the value of handle 0", .readByUUID(0x2A19, in: .all), to: .readByTypeRequest,
      "09 03 0000 41"),
    Lie(
      "values backwards", .readByUUID(0x2A19, in: .all), to: .readByTypeRequest,
      "09 03 0500 41 0400 41"),
    Lie(
      "a value out of the range", .readByUUID(0x2A19, in: part), to: .readByTypeRequest,
      "09 03 0b00 41"),
    Lie(
      "a value that is longer than the rest", .readMultiple([3, 4]),
      to: .readMultipleVariableRequest, "21 ffff 41", outcome: noMultiple),
    Lie("half a length", .readMultiple([3, 4]), to: .readMultipleVariableRequest, "21 01"),
    Lie("nothing at all", .readMultiple([3, 4]), to: .readMultipleVariableRequest, "21"),
    Lie("a write's answer with a value", .write(3, [1]), to: .writeRequest, "13 00"),
    Lie(
      "the echo of other bytes", .reliableWrite([AttributeValue(handle: 3, value: [1])]),
      to: .prepareWriteRequest, "17 0300 0000 02"),
    Lie(
      "the echo of another handle", .reliableWrite([AttributeValue(handle: 3, value: [1])]),
      to: .prepareWriteRequest, "17 0400 0000 01"),
    Lie(
      "the echo of another offset", .write(3, Array(repeating: 1, count: 100)),
      to: .prepareWriteRequest, "17 0300 ffff" + String(repeating: "01", count: 18)),
  ]

  static let discoveryLies = [
    Lie(
      "a service that ends before it starts", .discoverServices(nil), to: .readByGroupTypeRequest,
      "11 06 0500 0100 0018"),
    Lie(
      "a service at handle 0", .discoverServices(nil), to: .readByGroupTypeRequest,
      "11 06 0000 0000 0018"),
    Lie(
      "a service with a UUID of one byte", .discoverServices(nil), to: .readByGroupTypeRequest,
      "11 05 0100 0500 00"),
    Lie(
      "a service with a UUID of four bytes", .discoverServices(nil), to: .readByGroupTypeRequest,
      "11 08 0100 0500 00180018"),
    Lie(
      "services that overlap", .discoverServices(nil), to: .readByGroupTypeRequest,
      "11 06 0100 0a00 0018 0500 0f00 0118"),
    Lie(
      "the same service again and again", .discoverServices(nil), to: .readByGroupTypeRequest,
      "11 06 0100 0500 0018"),
    Lie("services of no length", .discoverServices(nil), to: .readByGroupTypeRequest, "11 00"),
    Lie("half a service", .discoverServices(nil), to: .readByGroupTypeRequest, "11 06 0100 05"),
    Lie("half a group", .discoverServices([0x180D]), to: .findByTypeValueRequest, "07 0100"),
    Lie(
      "a group that ends before it starts", .discoverServices([0x180D]),
      to: .findByTypeValueRequest, "07 0500 0100"),
    Lie(
      "the same group again and again", .discoverServices([0x180D]), to: .findByTypeValueRequest,
      "07 0100 0500"),
    Lie(
      "a characteristic outside of its service", .discoverCharacteristics(in: part, nil),
      to: .readByTypeRequest, "09 07 1400 02 1500 002a"),
    Lie(
      "a value before its declaration", .discoverCharacteristics(in: part, nil),
      to: .readByTypeRequest, "09 07 0400 02 0300 002a"),
    Lie(
      "a value that is its declaration", .discoverCharacteristics(in: part, nil),
      to: .readByTypeRequest, "09 07 0400 02 0400 002a"),
    Lie(
      "a value behind its service", .discoverCharacteristics(in: part, nil), to: .readByTypeRequest,
      "09 07 0200 02 0b00 002a"),
    Lie(
      "two declarations of one value", .discoverCharacteristics(in: part, nil),
      to: .readByTypeRequest, "09 07 0200 02 0500 002a 0300 02 0500 012a"),
    Lie(
      "a declaration without UUID", .discoverCharacteristics(in: part, nil), to: .readByTypeRequest,
      "09 05 0200 02 0300"),
    Lie(
      "an included service that ends before it starts", .discoverIncludedServices(in: part),
      to: .readByTypeRequest, "09 08 0200 0500 0100 0018"),
    Lie(
      "an include outside of its service", .discoverIncludedServices(in: part),
      to: .readByTypeRequest, "09 08 0b00 2000 2500 0018"),
    Lie(
      "an include cut short", .discoverIncludedServices(in: part), to: .readByTypeRequest,
      "09 05 0200 2000 25"),
    Lie(
      "types of a format that nobody knows", .discoverDescriptors(in: part),
      to: .findInformationRequest, "05 03 0100 0229"),
    Lie("no types", .discoverDescriptors(in: part), to: .findInformationRequest, "05 01"),
    Lie(
      "a descriptor out of the range", .discoverDescriptors(in: part), to: .findInformationRequest,
      "05 01 0b00 0229"),
    Lie(
      "descriptors backwards", .discoverDescriptors(in: part), to: .findInformationRequest,
      "05 01 0500 0229 0400 0229"),
    Lie(
      "a descriptor at handle 0", .discoverDescriptors(in: part), to: .findInformationRequest,
      "05 01 0000 0229"),
  ]

  @Test(
    "each lie fails its operation with a reason or is ignored, and the link is of use after it",
    arguments: [valueLies, discoveryLies])
  func lies(_ lies: [Lie]) throws {
    let rig = try HostileWorld()
    for lie in lies {
      rig.peer.answer = { request in
        if request == .readRequest(handle: 9) { return [bytes("0b 09")] }
        if lie.request == .readBlobRequest, case .readRequest = request {
          return [bytes("0b" + Self.aLot)]
        }
        guard request.opcode == lie.request, !request.isIntroduction else { return nil }
        return lie.answers.map(bytes)
      }
      try rig.meet()
      let result = rig.gatt(lie.operation)
      #expect(result == lie.outcome, "\(lie.description)")
      if lie.outcome == .failure(.attTimeout) {
        #expect(rig.endOfLink() == .attTimeout, "\(lie.description)")
      } else {
        #expect(rig.gatt(.read(9)) == .success(.value([9])), "after \(lie.description)")
        try rig.part()
      }
    }
    rig.peer.answer = { _ in nil }
    try rig.expectUnharmed()
  }

  @Test("a write whose echo differs is cancelled at the peer")
  func cancelledWrite() throws {
    let rig = try HostileWorld()
    try rig.meet()
    rig.peer.answer = {
      switch $0 {
      case .prepareWriteRequest: [bytes("17 0300 0000 63")]
      case .executeWriteRequest: [bytes("19")]
      default: nil
      }
    }
    let result = rig.gatt(.reliableWrite([AttributeValue(handle: 3, value: [1])]))
    #expect(result == .failure(.invalidResponse))
    #expect(rig.peer.attributes.last == ATTPDU.executeWriteRequest(isExecuted: false).bytes)
    try rig.expectUnharmed()
  }

  @Test(
    "a link has a valid MTU and is usable, whatever MTU and name the peer has")
  func introductions() throws {
    let rig = try HostileWorld()
    let names: [([UInt8], String?)] = [
      ([], nil), ([0, 0x41], nil), ([0x41, 0, 0x42], "A"), ([0xFF, 0xC0], "\u{FFFD}\u{FFFD}"),
      (Array(repeating: 0x41, count: 19), String(repeating: "A", count: 19)),
    ]
    let mtus: [(UInt16, Int)] = [(0, 23), (22, 23), (100, 100), (516, 516), (0xFFFF, 517)]
    for ((mtu, agreed), (name, told)) in zip(mtus, names) {
      rig.peer.answer = { request in
        switch request {
        case .exchangeMTURequest:
          [ATTPDU.exchangeMTUResponse(mtu: mtu).bytes, ATTPDU.exchangeMTUResponse(mtu: 77).bytes]
        case .readByTypeRequest(1, _, 0x2A00):
          [[0x09, UInt8(name.count + 2), 3, 0] + name]
        case .readRequest: [[0x0B] + Array(repeating: 7, count: agreed - 1), bytes("0b 41")]
        case .readBlobRequest: [bytes("0d")]
        default: nil
        }
      }
      try rig.meet()
      let value = Array(repeating: 7 as UInt8, count: min(agreed - 1, 512))
      #expect(rig.gatt(.read(3)) == .success(.value(value)), "\(mtu)")
      #expect(rig.link?.info.mtu == agreed, "\(mtu)")
      // The name is read when the link is idle.
      rig.world.run(for: .seconds(1))
      #expect(rig.link?.info.name == told, "\(name)")
      try rig.part()
    }
    rig.peer.answer = { _ in nil }
    try rig.expectUnharmed()
  }

  // MARK: Without end

  /// Servers that go on and on.
  static let endless: [(GATTOperation, @Sendable (ATTPDU) -> ATTPDU?)] = [
    (
      .discoverServices(nil),
      { request in
        guard case .readByGroupTypeRequest(let start, _, _) = request else { return nil }
        return .readByGroupTypeResponse(entry(6, start, start, 0x1800))
      }
    ),
    (
      .discoverServices([0x180D]),
      { request in
        guard case .findByTypeValueRequest(let start, _, _, _) = request else { return nil }
        return .findByTypeValueResponse(entry(4, start, start))
      }
    ),
    (
      .discoverIncludedServices(in: .all),
      { request in
        guard case .readByTypeRequest(let start, _, 0x2802) = request else { return nil }
        return .readByTypeResponse(entry(8, start, 1, 0xFFFF, 0x1800))
      }
    ),
    (
      .discoverCharacteristics(in: .all, nil),
      { request in
        guard case .readByTypeRequest(let start, _, 0x2803) = request else { return nil }
        let value = start &+ 1
        return .readByTypeResponse(
          ATTAttributeDataList(
            entryByteCount: 7,
            encoded: [UInt8(start & 255), UInt8(start >> 8), 2, UInt8(value & 255)]
              + [UInt8(value >> 8), 0, 0x2A]))
      }
    ),
    (
      .discoverDescriptors(in: .all),
      { request in
        guard case .findInformationRequest(let start, _) = request else { return nil }
        return .findInformationResponse(entry(4, start, 0x2901))
      }
    ),
    (
      .readByUUID(0x2A19, in: .all),
      { request in
        guard case .readByTypeRequest(let start, _, 0x2A19) = request else { return nil }
        return .readByTypeResponse(entry(4, start, 0x4141))
      }
    ),
  ]

  private static func entry<Entry>(_ byteCount: Int, _ words: UInt16...) -> ATTList<Entry> {
    var writer = ByteWriter()
    for word in words { writer.uint16(word) }
    return ATTList(entryByteCount: byteCount, encoded: writer.bytes[...])
  }

  @Test("a server with no end is left after a thousand attributes, while an honest one is served")
  func endlessServers() throws {
    let rig = try HostileWorld()
    try rig.meet(HostileWorld.honest)
    for (operation, server) in Self.endless {
      rig.peer.answer = { request in
        request.isIntroduction ? nil : server(request).map { [$0.bytes] }
      }
      try rig.meet()
      rig.peer.forgetHeard()
      let token = rig.start { .gatt(rig.peer.address, operation, $0) }
      try rig.useHonest()
      rig.world.run(atMost: .seconds(90)) { rig.result(of: token) != nil }
      #expect(
        rig.result(of: token) == .failure(.limitReached("attributes of a peer")), "\(operation)")
      #expect(rig.peer.heard.count <= 1_005, "\(operation)")
      try rig.part()
    }
    try rig.part(HostileWorld.honest)
    rig.peer.answer = { _ in nil }
    try rig.expectUnharmed()
  }

  @Test(
    "a peer with endless names is asked for a thousand of them, then its clients have their turn")
  func endlessNames() throws {
    let rig = try HostileWorld()
    rig.peer.answer = { request in
      switch request {
      case .readByTypeRequest(let start, _, 0x2A00):
        [ATTPDU.readByTypeResponse(Self.entry(4, start, 0x4141)).bytes]
      case .readRequest: [bytes("0b 07")]
      default: nil
      }
    }
    try rig.meet()
    #expect(rig.gatt(.read(3)) == .success(.value([7])))
    #expect(rig.peer.heard.count <= 1_005)
    try rig.expectUnharmed()
  }

  @Test("a peer's data is remembered up to a bound, and reported beyond it")
  func remembering() throws {
    let rig = try HostileWorld()
    rig.peer.answer = { request in
      guard case .findInformationRequest(let start, let end) = request else { return nil }
      let handles = start...min(end, start + 4)
      return [
        ATTPDU.findInformationResponse(
          ATTInformationList(
            entryByteCount: 4,
            encoded: handles.flatMap { [UInt8($0 & 255), UInt8($0 >> 8), 1, 0x29] }[...])
        ).bytes
      ]
    }
    try rig.meet()
    for count in 980..<990 as Range<UInt16> {
      let reply = rig.gatt(.discoverDescriptors(in: HandleRange(1, count)))
      guard case .success(.descriptors(let found)) = reply else {
        Issue.record("\(String(describing: reply))")
        continue
      }
      #expect(found.count == Int(count))
    }
    let kept = try #require(rig.link).gatt.database.descriptors.values.reduce(0) { $0 + $1.count }
    #expect(kept > 0)
    #expect(kept <= 3_000)
    try rig.expectUnharmed()
  }

  @Test("services that include each other are reported as they are, without an endless search")
  func includeLoop() throws {
    let rig = try HostileWorld()
    let includes: [UInt16: (UInt16, UInt16)] = [1: (11, 20), 11: (1, 10), 21: (21, 30)]
    rig.peer.answer = { request in
      switch request {
      case .readByTypeRequest(let start, _, 0x2802):
        guard let (first, last) = includes[start] else { return nil }
        return [ATTPDU.readByTypeResponse(Self.entry(8, start, first, last, 0x180D)).bytes]
      case .findInformationRequest(let start, _):
        return [ATTPDU.findInformationResponse(Self.entry(4, start, 0x2800)).bytes]
      default: return nil
      }
    }
    try rig.meet()
    for (start, (first, last)) in includes {
      let own = HandleRange(start, start + 9)
      rig.peer.forgetHeard()
      let service = RemoteService(uuid: 0x180D, range: HandleRange(first, last), isPrimary: true)
      #expect(rig.gatt(.discoverIncludedServices(in: own)) == .success(.services([service])))
      #expect(rig.peer.heard.count <= 5)
    }
    try rig.expectUnharmed()
  }
}

extension ATTPDU {
  /// Whether our host sends it to every peer, independently of its clients.
  var isIntroduction: Bool {
    switch self {
    case .exchangeMTURequest, .readByTypeRequest(_, _, 0x2A00),
      .findByTypeValueRequest(_, _, _, [0x01, 0x18]):
      true
    default: false
    }
  }
}

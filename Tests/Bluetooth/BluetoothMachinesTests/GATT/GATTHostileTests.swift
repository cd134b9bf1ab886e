import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines
@testable import GATTMachines

@Suite("GATT with hostile peers")
struct GATTHostileTests {
  static let operations: [GATTOperation] = [
    .discoverServices(nil), .discoverServices([0x180D, 0x180F]),
    .discoverIncludedServices(in: .all), .discoverCharacteristics(in: .all, nil),
    .discoverDescriptors(in: .all), .read(0x0018), .readByUUID(0x2803, in: .all),
    .readMultiple([3, 5, 0x18]), .write(0x0018, Array(repeating: 7, count: 100)),
    .reliableWrite([AttributeValue(handle: 0x18, value: [1, 2])]), .writeWithoutResponse(3, [1]),
  ]

  /// One seed: a server whose PDUs are changed on their way, with the client's every procedure.
  private func run(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var pair = GATTPair(mtuMax: Bool.random(using: &random) ? 23 : 100)
    let service = try pair.publish(.everything)
    pair.values[service.characteristics[2].valueHandle] = Array(repeating: 5, count: 200)
    var tampering = random.fork()
    pair.tamper = { Self.mutated($0, &tampering) }
    if Bool.random(using: &random) { pair.exchangeMTU() }
    var ids: [OperationID] = []
    for _ in 0..<6 {
      ids.append(pair.start(Self.operations[Int(random.next() % UInt64(Self.operations.count))]))
      if random.next() % 4 == 0 {
        let noise = (0..<Int(random.next() % 30)).map { _ in UInt8(random.next() & 0x3F) }
        pair.withClient { $0.receive(noise[...], now: .zero, into: &$1) }
      }
    }
    var wakeCount = 0
    while pair.advance(), wakeCount < 10 { wakeCount += 1 }
    #expect(wakeCount < 10, "seed \(seed) is never quiet")
    for id in ids { #expect(pair.results[id] != nil, "seed \(seed): \(id) never ended") }
    #expect(pair.pduCount < 20_000, "seed \(seed) sent \(pair.pduCount)")
  }

  private static func mutated(_ pdu: [UInt8], _ random: inout SeededGenerator) -> [UInt8]? {
    var pdu = pdu
    switch random.next() % 12 {
    case 0: pdu[Int(random.next() % UInt64(pdu.count))] = UInt8(random.next() & 0xFF)
    case 1: pdu.removeLast(Int(random.next() % UInt64(pdu.count)))
    case 2: pdu += (0...Int(random.next() % 20)).map { _ in UInt8(random.next() & 0xFF) }
    case 3:
      // Handles are where it hurts: the bytes after the opcode or the length.
      for index in pdu.indices.dropFirst().prefix(6) where random.next() % 2 == 0 {
        pdu[index] = [0, 1, 0x7F, 0xFF][Int(random.next() % 4)]
      }
    case 4 where random.next() % 8 == 0: return nil
    default: break
    }
    return pdu
  }

  @Test("whatever happens to a server's PDUs, every operation ends once", arguments: 0..<8)
  func mutatedServer(part: Int) throws {
    for seed in UInt64(part) * 500..<UInt64(part + 1) * 500 { try run(seed: seed) }
  }

  /// The answers to a search for the Database Hash, and for the Generic Attribute service.
  private static let nothingThere: [[UInt8]] = [
    [0x01, 0x08, 0x01, 0x00, 0x0A], [0x01, 0x06, 0x01, 0x00, 0x0A],
  ]

  @Test("discoveries that don't advance fail instead of going round in circles")
  func circles() throws {
    let answers: [(GATTOperation, String)] = [
      (.discoverServices(nil), "11 06 0100 0100 0018"),
      (.discoverServices(nil), "11 06 0500 0100 0018"),
      (.discoverServices(nil), "11 06 0000 0500 0018"),
      (.discoverServices(nil), "11 08 0100 0500 00180018"),
      (.discoverServices([0x180D]), "07 0100 0100"),
      (.discoverIncludedServices(in: .all), "09 08 0100 0100 0500 0018"),
      (.discoverCharacteristics(in: .all, nil), "09 07 0100 02 0200 002a"),
      (.discoverCharacteristics(in: .all, nil), "09 07 0200 02 0100 002a"),
      (.discoverDescriptors(in: .all), "05 01 0100 0229"),
      (.readByUUID(0x2A00, in: .all), "09 03 0100 41"),
    ]
    for (operation, hex) in answers {
      let answer = try #require(Hexadecimal.bytes(hex))
      var pair = GATTPair()
      // The client first looks for what tells of changes; this server has nothing.
      var answers = (hex.hasPrefix("09 03") ? [] : Self.nothingThere)[...]
      pair.tamper = { _ in answers.popFirst() ?? answer }
      #expect(throws: HostError.invalidResponse, "\(operation) \(hex)") { try pair.run(operation) }
      #expect(pair.pduCount <= 8)
    }
  }

  @Test("a server with no end is left after a thousand services")
  func endless() {
    var pair = GATTPair()
    var next: UInt16 = 0
    pair.tamper = { _ in
      defer { next += 1 }
      if next < 2 { return Self.nothingThere[Int(next)] }
      let handle = next - 1
      let bytes = [UInt8(handle & 0xFF), UInt8(handle >> 8)]
      return [0x11, 6] + bytes + bytes + [0x00, 0x18]
    }
    #expect(throws: HostError.limitReached("attributes of a peer")) {
      try pair.run(.discoverServices(nil))
    }
  }

  @Test("answers to nothing, second answers and answers to others are ignored and counted")
  func unsolicited() throws {
    var client = GATTClient(mtuMax: 100)
    var outputs: [GATTClient.Output] = []
    func receive(_ hex: String) {
      client.receive((Hexadecimal.bytes(hex) ?? [])[...], now: .zero, into: &outputs)
    }
    for hex in ["0b 41", "01 0a 0300 01", "13", "03 ff00", "", "1b 03", "1d", "23 0100 0500 41"] {
      receive(hex)
    }
    #expect(outputs.isEmpty)
    #expect(client.ignoredCount == 8)
    client.start(.read(3), id: OperationID(rawValue: 1), now: .zero, into: &outputs)
    receive("13")
    receive("01 12 0300 01")
    #expect(outputs.count == 1)
    receive("0b 41")
    receive("0b 42")
    #expect(outputs.count == 2)
    #expect(client.ignoredCount == 11)
    #expect(client.mtu == 23)
  }

  @Test("waiting operations are bounded, and a closed client answers all of them")
  func bounds() {
    var client = GATTClient(mtuMax: 100)
    var outputs: [GATTClient.Output] = []
    for number in UInt64(0)..<300 {
      client.start(.read(3), id: OperationID(rawValue: number), now: .zero, into: &outputs)
      client.start(
        .writeWithoutResponse(3, []), id: OperationID(rawValue: 1_000 + number), now: .zero,
        into: &outputs)
    }
    client.close(.notConnected, into: &outputs)
    let ended = outputs.compactMap { output in
      if case .completed(let id, _) = output { id } else { nil }
    }
    #expect(ended.count == 600)
    #expect(Set(ended).count == 600)
    outputs = []
    client.start(.read(3), id: OperationID(rawValue: 9), now: .zero, into: &outputs)
    #expect(outputs.count == 1)
  }

  /// The handles of the reads that a client sends while it starts these and gets an answer to each.
  private func readHandles(
    _ client: inout GATTClient, _ reads: [(handle: UInt16, requester: Requester)]
  ) -> [UInt16] {
    var outputs: [GATTClient.Output] = []
    for (index, read) in reads.enumerated() {
      client.start(
        .read(read.handle), id: OperationID(rawValue: UInt64(index)), for: read.requester,
        now: .zero, into: &outputs)
    }
    for _ in reads { client.receive([0x0B, 1], now: .zero, into: &outputs) }
    return outputs.compactMap { output in
      guard case .link(.send(let pdu, _, _)) = output, pdu.first == 0x0A else { return nil }
      return UInt16(pdu[1])
    }
  }

  @Test(
    "the operations of programs take turns, so that a program with many delays another by one at a time"
  )
  func turns() {
    var client = GATTClient(mtuMax: 100)
    let (flood, other) = (Requester.program(ProgramID(rawValue: 1)), Requester.client(.two))
    let reads: [(UInt16, Requester)] =
      [UInt16](repeating: 3, count: 100).map { ($0, flood) } + [(4, other), (5, other), (6, other)]
    let sent = readHandles(&client, reads)
    #expect(sent.count == 103)
    #expect(Array(sent.prefix(8)) == [3, 3, 4, 3, 5, 3, 6, 3])
  }

  @Test("a program whose operations are refused for their number takes no room from another one")
  func shares() {
    var client = GATTClient(mtuMax: 100)
    var outputs: [GATTClient.Output] = []
    var refused: [UInt64] = []
    func start(_ operation: GATTOperation, of program: UInt64, _ count: Int) {
      outputs = []
      for _ in 0..<count {
        client.start(
          operation, id: OperationID(rawValue: program),
          for: .program(ProgramID(rawValue: program)),
          now: .zero, into: &outputs)
      }
      for case .completed(let id, .failure(.limitReached)) in outputs {
        refused.append(id.rawValue)
      }
    }
    // 20 programs with more than any may have, which together have more than all may have, and one with few.
    for program: UInt64 in 1...20 { start(.read(3), of: program, 300) }
    #expect(refused.count > 20 * 40)
    refused = []
    start(.read(4), of: 21, 100)
    #expect(refused.isEmpty)
    start(.writeWithoutResponse(3, [1]), of: 1, 600)
    #expect(refused.count == 600 - GATTLimits.commandsInFlightMax)
    refused = []
    start(.writeWithoutResponse(4, [1]), of: 21, 200)
    #expect(refused.isEmpty)
  }

  @Test("a server survives any PDU, and answers each request at most once", arguments: 0..<4)
  func noise(part: Int) throws {
    for seed in UInt64(part) * 500..<UInt64(part + 1) * 500 {
      var random = SeededGenerator(seed: seed)
      var bench = ServerBench()
      try bench.add(.everything)
      for _ in 0..<60 {
        var pdu = (0..<Int(random.next() % 24)).map { _ in UInt8(random.next() & 0xFF) }
        if !pdu.isEmpty, random.next() % 8 != 0 { pdu[0] = UInt8(random.next() % 0x24) }
        // Handles that exist, mostly.
        if pdu.count > 2, random.next() % 4 != 0 {
          pdu[1] = UInt8(random.next() % 32)
          pdu[2] = 0
        }
        let sent = bench.receive(Hexadecimal.string(pdu))
        #expect(sent.count <= 2, "seed \(seed)")
        if random.next() % 2 == 0 { _ = bench.respond(.success([1, 2, 3])) }
        if random.next() % 16 == 0 { _ = bench.update(16, [1]) }
      }
      bench.now = .zero + .seconds(60)
      bench.act { $0.wake(now: $1, into: &$2) }
      #expect(bench.server.nextWake == nil, "seed \(seed)")
    }
  }
}

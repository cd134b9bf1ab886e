import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import Testing

/// A server alone, with PDUs as hexadecimal text.
struct ServerBench {
  static let peer = DeviceAddress(bits: 0xC0_0000_0000_01, kind: .random)
  static let owner = ClientID(rawValue: 7)

  var server: GATTServer
  var now = Instant.zero
  var requests: [ServerRequest] = []
  var updates: [Result<HostReply, HostError>] = []
  var failures: [HostError] = []
  var tags: [SendTag] = []
  var subscribed: [UInt16] = []

  init(mtuMax: Int = 64) {
    server = GATTServer(name: "Test", appearance: 0x0341, mtuMax: mtuMax)
    server.linkOpened(Self.peer)
  }

  /// Gives the server something to do and returns what it sent, in hexadecimal.
  @discardableResult
  mutating func act(
    _ body: (inout GATTServer, Instant, inout [GATTServer.Output]) -> Void
  ) -> [String] {
    var outputs: [GATTServer.Output] = []
    body(&server, now, &outputs)
    var sent: [String] = []
    for output in outputs {
      switch output {
      case .send(_, let pdu, let tag, _):
        sent.append(Hexadecimal.string(pdu))
        if let tag { tags.append(tag) }
      case .request(_, let request): requests.append(request)
      case .updateCompleted(_, _, let result): updates.append(result)
      case .bearerFailed(_, let error): failures.append(error)
      case .subscribed(_, _, let handle): subscribed.append(handle)
      case .unsubscribed, .clientChanged, .mtuChanged, .requestExpired, .protectionNeeded: break
      }
    }
    return sent
  }

  @discardableResult
  mutating func add(
    _ definition: ServiceDefinition, of owner: ClientID = Self.owner
  ) throws -> PublishedService {
    var result: Result<PublishedService, HostError>?
    act { result = $0.addService(definition, owner: owner, now: $1, into: &$2) }
    return try #require(result).get()
  }

  /// Opens a client of another process.
  mutating func open(_ client: UInt32, of app: String, user: UInt32 = 1_000) -> ClientID {
    let id = ClientID(rawValue: client)
    let publisher = PublisherID(userID: user, app: app, manager: "")
    act { server, _, _ in server.clientOpened(id, of: publisher) }
    return id
  }

  mutating func close(_ client: ClientID) {
    act { $0.clientClosed(client, now: $1, into: &$2) }
  }

  @discardableResult
  mutating func receive(_ hex: String, over bearer: ATTBearer = .fixed) -> [String] {
    let bytes = Hexadecimal.bytes(hex) ?? []
    return act { $0.receive(bytes[...], from: Self.peer, over: bearer, now: $1, into: &$2) }
  }

  mutating func respond(_ result: Result<[UInt8], ATTErrorCode>) -> [String] {
    guard let id = requests.last?.id else { return [] }
    return act { $0.respond(id, result, from: Self.owner, now: $1, into: &$2) }
  }

  @discardableResult
  mutating func update(
    _ handle: UInt16, _ value: [UInt8], of owner: ClientID = Self.owner
  ) -> [String] {
    act {
      $0.updateValue(
        handle: handle, value: value, peers: nil, token: RequestToken(rawValue: 1),
        owner: owner, now: $1, into: &$2)
    }
  }
}

@Suite("GATT server, PDU by PDU")
struct GATTServerTests {
  /// Handles 1–5 are Generic Access, 6–13 Generic Attribute; the table needs no others.
  @Test(
    "requests are answered as the specification says",
    arguments: [
      // Exchange MTU.
      ("02 1700", "03 4000"),
      // Find Information: all, a part, nothing there, no range at all.
      (
        "04 0100 ffff",
        "05 01 0100 0028 0200 0328 0300 002a 0400 0328 0500 012a"
      ),
      ("04 0900 0900", "05 01 0900 0229"), ("04 1100 ffff", "01 04 1100 0a"),
      ("04 0000 ffff", "01 04 0000 01"), ("04 0500 0400", "01 04 0500 01"),
      // Find By Type Value.
      ("06 0100 ffff 0028 0118", "07 0600 0f00"), ("06 0100 ffff 0028 0d18", "01 06 0100 0a"),
      ("06 0100 ffff 0a29 00", "01 06 0100 0a"),
      // An assigned number in its 128-bit form, which the table has in the short one.
      ("06 0100 ffff 0028 fb349b5f 80000080 00100000 01180000", "07 0600 0f00"),
      ("06 0100 ffff 0028 fb349b5f 80000080 00100000 0d180000", "01 06 0100 0a"),
      // Read By Group Type; grouping by characteristics is not allowed.
      ("10 0100 ffff 0028", "11 06 0100 0500 0018 0600 0f00 0118"),
      ("10 0200 0500 0028", "01 10 0200 0a"), ("10 0100 ffff 0328", "01 10 0100 10"),
      // Read By Type.
      ("08 0100 0500 0328", "09 07 0200 02 0300 002a 0400 02 0500 012a"),
      ("08 0100 ffff 002a", "09 06 0300 54657374"), ("08 0100 ffff 052a", "01 08 0800 02"),
      ("08 0100 ffff 0029", "01 08 0100 0a"), ("08 0200 0100 0328", "01 08 0200 01"),
      // Read and Read Blob.
      ("0a 0300", "0b 54657374"), ("0a ff00", "01 0a ff00 01"), ("0a 0800", "01 0a 0800 02"),
      ("0a 0900", "0b 0000"), ("0c 0300 0200", "0d 7374"), ("0c 0300 0400", "0d"),
      ("0c 0300 0500", "01 0c 0300 07"),
      // Read Multiple.
      ("0e 0300 0500", "0f 54657374 4103"), ("20 0300 0500", "21 0400 54657374 0200 4103"),
      ("0e 0300 ff00", "01 0e ff00 01"), ("20 0300 0800", "01 20 0800 02"),
      // Write.
      ("12 0900 0200", "13"), ("12 0900 0100", "01 12 0900 fd"), ("12 0900 02", "01 12 0900 0d"),
      ("12 0300 41", "01 12 0300 03"), ("12 ff00 41", "01 12 ff00 01"), ("12 0b00 07", "13"),
      // Prepare and execute.
      ("16 0b00 0000 01", "17 0b00 0000 01"), ("16 0300 0000 01", "01 16 0300 03"),
      ("18 01", "19"), ("18 00", "19"),
      // Unknown opcodes, malformed PDUs, and PDUs that are no requests.
      ("14", "01 14 0000 06"), ("0a 03", "01 0a 0000 04"), ("18 02", "01 18 0000 04"),
      ("0b 00", ""), ("13", ""), ("1e", ""), ("52 0900 0200", ""), ("57 01", ""), ("d2 0300", ""),
      ("1b 0300 00", ""), ("01 0a 0300 01", ""),
    ])
  func table(request: String, response: String) {
    var bench = ServerBench()
    let expected = response.filter { $0 != " " }
    #expect(bench.receive(request) == (expected.isEmpty ? [] : [expected]))
  }

  @Test("a message of handles, types and values hashes as in Core 5.4, Vol 3, Part G, appendix B")
  func hashVector() throws {
    let message = try #require(
      Hexadecimal.bytes(
        "0100 0028 0018 0200 0328 0a 0300 002a 0400 0328 02 0500 012a 0600 0028 0118"
          + "0700 0328 20 0800 052a 0900 0229 0a00 0328 0a 0b00 292b 0c00 0328 02 0d00 2a2b"
          + "0e00 0028 0818 0f00 0228 1400 1600 0f18 1000 0328 a2 1100 182a 1200 0229"
          + "1300 0029 0000 1400 0128 0f18 1500 0328 02 1600 192a"))
    let cipher = AES128(key: [UInt8](repeating: 0, count: 16))
    #expect(Hexadecimal.string(cipher.cmac(message)) == "f1ca2d48ecf58bac8a8830bbb9fba990")
  }

  @Test("the Database Hash covers declarations with their values, least significant byte first")
  func hash() throws {
    var bench = ServerBench()
    let battery = ServiceDefinition(
      uuid: 0x180F, isPrimary: false,
      characteristics: [
        CharacteristicDefinition(uuid: 0x2A19, properties: .read, permissions: .readable)
      ])
    try bench.add(battery)
    let first = bench.server.databaseHash()
    let second = bench.server.databaseHash()
    #expect(first == second)
    #expect(first.count == 16)
    // Handles, types and values of the declarations, as §7.3.1 puts them together.
    let message = try #require(
      Hexadecimal.bytes(
        "0100 0028 0018 0200 0328 02 0300 002a 0400 0328 02 0500 012a 0600 0028 0118"
          + "0700 0328 20 0800 052a 0900 0229 0a00 0328 0a 0b00 292b 0c00 0328 02 0d00 2a2b"
          + "0e00 0328 02 0f00 3a2b 1000 0128 0f18 1100 0328 02 1200 192a"))
    let cipher = AES128(key: [UInt8](repeating: 0, count: 16))
    #expect(first == cipher.cmac(message).reversed())
  }

  @Test("a client's answer goes to the peer: values cut, errors as they are, late ones nowhere")
  func dynamicRead() throws {
    var bench = ServerBench()
    let handle = try bench.add(.everything).characteristics[2].valueHandle
    let hex = Hexadecimal.string([UInt8(handle), 0])
    #expect(bench.receive("0a" + hex).isEmpty)
    #expect(bench.requests.last?.kind == .read(handle: handle, offset: 0))
    #expect(bench.receive("0a 0300").isEmpty, "one request at a time")
    #expect(bench.server.ignoredCount == 1)
    #expect(bench.respond(.success(Array(repeating: 0x41, count: 30))).first?.count == 46)
    #expect(bench.respond(.success([1])).isEmpty)
    #expect(bench.receive("0c" + hex + "0500").isEmpty)
    #expect(bench.requests.last?.kind == .read(handle: handle, offset: 5))
    #expect(bench.respond(.failure(.invalidOffset)) == ["010c" + hex + "07"])
    #expect(bench.receive("0a" + hex).isEmpty)
    #expect(bench.server.nextWake == .zero + .seconds(20))
    bench.now = .zero + .seconds(20)
    #expect(bench.act { $0.wake(now: $1, into: &$2) } == ["010a" + hex + "0e"])
    #expect(bench.server.nextWake == nil)
    #expect(bench.receive("0a 0300") == ["0b54657374"])
  }

  @Test("a client that leaves does not leave its peers waiting")
  func ownerLeaves() throws {
    var bench = ServerBench()
    let handle = try bench.add(.everything).characteristics[2].valueHandle
    let hex = Hexadecimal.string([UInt8(handle), 0])
    bench.receive("0a" + hex)
    let sent = bench.act { $0.removeAllServices(owner: ServerBench.owner, now: $1, into: &$2) }
    #expect(sent == ["010a" + hex + "0e"])
    #expect(bench.receive("0a" + hex) == ["010a" + hex + "01"])
  }

  @Test("the prepare queue is bounded, and too long or gappy values are refused at the end")
  func prepareQueue() throws {
    var bench = ServerBench(mtuMax: 517)
    let handle = try bench.add(.everything).characteristics[2].valueHandle
    let hex = Hexadecimal.string([UInt8(handle), 0])
    var accepted = 0
    while accepted < 1_000, bench.receive("16" + hex + "0000 41").first?.hasPrefix("17") == true {
      accepted += 1
    }
    #expect(accepted == 128)
    #expect(bench.receive("16" + hex + "0000 41") == ["0116" + hex + "09"])
    #expect(bench.receive("1800") == ["19"])
    bench.receive("16" + hex + "ff01 4142")
    #expect(bench.receive("1801") == ["0118" + hex + "0d"])
    bench.receive("16" + hex + "ffff 41")
    #expect(bench.receive("1801") == ["0118" + hex + "07"])
    bench.receive("16 0900 0100 00")
    #expect(bench.receive("1801") == ["01180900" + "07"])
    bench.receive("16 0900 0000 02")
    bench.receive("16 0900 0100 00")
    #expect(bench.receive("1801") == ["19"])
    #expect(bench.receive("0a 0900") == ["0b0200"])
    #expect(bench.requests.isEmpty)
  }

  @Test("notifications press back: too many under way are refused, then there is room again")
  func backPressure() throws {
    var bench = ServerBench()
    let rate = try bench.add(.everything).characteristics[0]
    let configuration = try #require(rate.configurationHandle)
    bench.receive("12" + Hexadecimal.string([UInt8(configuration), 0]) + "0100")
    for value in 0..<256 { #expect(bench.update(rate.valueHandle, [UInt8(value)]).count == 1) }
    #expect(bench.updates.isEmpty)
    #expect(bench.update(rate.valueHandle, [1]).isEmpty)
    #expect(bench.updates == [.failure(.limitReached("waiting notifications"))])
    let first = bench.tags[0]
    bench.act { server, _, outputs in server.sent(first, to: ServerBench.peer, into: &outputs) }
    #expect(bench.updates.last == .success(.done))
    #expect(bench.update(rate.valueHandle, [1]).count == 1)
    bench.act { $0.linkClosed(ServerBench.peer, now: $1, into: &$2) }
    #expect(bench.updates.count == 2 + 256)
  }

  @Test(
    "a program that sends values without end is refused, and takes no room from another one",
    arguments: [1, 2] as [UInt8])
  func shares(configuration: UInt8) throws {
    var bench = ServerBench()
    let value = CharacteristicDefinition(
      uuid: 0x2A19, properties: [.notify, .indicate], permissions: .readable)
    let definition = ServiceDefinition(uuid: 0x180F, characteristics: [value])
    let (flood, other) = (bench.open(1, of: "flood"), bench.open(2, of: "other"))
    let handles = try [flood, other].map { client in
      let published = try bench.add(definition, of: client).characteristics[0]
      let handle = try #require(published.configurationHandle)
      bench.receive("12" + Hexadecimal.string([UInt8(handle), 0, configuration, 0]))
      return published.valueHandle
    }
    // One indication is under way, and does not wait.
    for _ in 0..<257 { bench.update(handles[0], [1], of: flood) }
    bench.updates = []
    bench.update(handles[0], [1], of: flood)
    #expect(bench.updates.count == 1 && bench.updates[0] != .success(.done))
    bench.updates = []
    for _ in 0..<255 { bench.update(handles[1], [1], of: other) }
    #expect(bench.updates.isEmpty)
  }

  @Test("an indication that is not confirmed in 30 s ends the bearer")
  func unconfirmed() throws {
    var bench = ServerBench()
    let rate = try bench.add(.everything).characteristics[0]
    let configuration = try #require(rate.configurationHandle)
    bench.receive("12" + Hexadecimal.string([UInt8(configuration), 0]) + "0200")
    #expect(bench.update(rate.valueHandle, [1]).count == 1)
    #expect(bench.update(rate.valueHandle, [2]).isEmpty)
    bench.now = .zero + .seconds(30)
    bench.act { $0.wake(now: $1, into: &$2) }
    #expect(bench.failures == [.attTimeout])
    #expect(bench.updates == [.failure(.attTimeout), .failure(.attTimeout)])
    #expect(bench.receive("0a 0300").isEmpty)
    #expect(bench.update(rate.valueHandle, [2]).isEmpty)
  }

  @Test("indications that waited when a client chose notifications leave as those, in their order")
  func indicationsBecomeNotifications() throws {
    var bench = ServerBench()
    let rate = try bench.add(.everything).characteristics[0]
    let configuration = Hexadecimal.string([UInt8(try #require(rate.configurationHandle)), 0])
    let handle = Hexadecimal.string([UInt8(rate.valueHandle), 0])
    bench.receive("12" + configuration + "0200")
    for value in 1...3 { bench.update(rate.valueHandle, [UInt8(value)]) }
    let sent = bench.receive("12" + configuration + "0100")
    #expect(sent == ["13", "1b" + handle + "02", "1b" + handle + "03"])
    #expect(bench.update(rate.valueHandle, [4]) == ["1b" + handle + "04"])
    #expect(bench.receive("1e").isEmpty)
    #expect(bench.updates == [.success(.done)])
  }

  @Test("indications that waited when a client gave them up are not sent")
  func indicationsGivenUp() throws {
    var bench = ServerBench()
    let rate = try bench.add(.everything).characteristics[0]
    let configuration = Hexadecimal.string([UInt8(try #require(rate.configurationHandle)), 0])
    bench.receive("12" + configuration + "0200")
    for value in 1...3 { bench.update(rate.valueHandle, [UInt8(value)]) }
    #expect(bench.receive("12" + configuration + "0000") == ["13"])
    #expect(bench.receive("1e").isEmpty)
    #expect(bench.updates == [.success(.done), .success(.done), .success(.done)])
  }

  @Test("robust caching: a client that doesn't know of a change gets an error before it is served")
  func robustCaching() throws {
    var bench = ServerBench()
    #expect(bench.receive("12 0b00 01") == ["13"])
    #expect(bench.receive("12 0b00 00") == ["01120b0013"], "features cannot be taken back")
    try bench.add(.everything)
    #expect(bench.receive("0a 0300") == ["010a030012"])
    #expect(bench.receive("0a 0300") == ["0b54657374"])
    try bench.add(ServiceDefinition(uuid: 0x180F))
    #expect(bench.receive("08 0100 ffff 2a2b").first?.hasPrefix("0912") == true)
    #expect(bench.receive("0a 0300") == ["0b54657374"])
  }

  @Test("the handles of a removed service are those of the same one later, and of no other")
  func handles() throws {
    var bench = ServerBench()
    let first = try bench.add(.everything)
    bench.act { $0.removeService(first.range.start, owner: ServerBench.owner, now: $1, into: &$2) }
    // What peers see differs, or who may use it.
    var others = [ServiceDefinition.everything, .everything, .everything]
    others[0].characteristics[1].permissions = []
    others[1].isPrimary = false
    others[2].characteristics.removeLast()
    var end = first.range.end
    for other in others {
      let published = try bench.add(other)
      #expect(published.range.start > end)
      end = published.range.end
    }
    // A value is no part of what peers have cached.
    var same = ServiceDefinition.everything
    for index in same.characteristics.indices where same.characteristics[index].value != nil {
      same.characteristics[index].value = [42]
    }
    #expect(try bench.add(same) == first)
    let second = try bench.add(.everything)
    #expect(second.range.start > end)
    bench.act {
      $0.removeService(second.range.start, owner: ClientID(rawValue: 8), now: $1, into: &$2)
    }
    #expect(bench.receive("06 0100 ffff 0028 0d18").first?.hasPrefix("07") == true)
  }

  @Test("services of a program that is started again get their handles, in the order of before")
  func restart() throws {
    var bench = ServerBench()
    let hash = bench.server.databaseHash()
    let definitions = [
      ServiceDefinition.everything, ServiceDefinition(uuid: 0x180F), .everything,
    ]
    let first = try definitions.map { try bench.add($0) }
    let published = bench.server.databaseHash()
    bench.act { $0.removeAllServices(owner: ServerBench.owner, now: $1, into: &$2) }
    #expect(bench.server.databaseHash() == hash)
    #expect(try definitions.map { try bench.add($0) } == first)
    #expect(bench.server.databaseHash() == published)
  }

  @Test(
    "programs with the same service that end together get their own handles, in whatever order they come back"
  )
  func exchange() throws {
    var bench = ServerBench()
    let lamp = bench.open(1, of: "lamp")
    let strap = bench.open(2, of: "strap")
    let own = try bench.add(.everything, of: lamp)
    let other = try bench.add(.everything, of: strap)
    bench.close(lamp)
    bench.close(strap)
    #expect(try bench.add(.everything, of: bench.open(3, of: "strap")) == other)
    #expect(try bench.add(.everything, of: bench.open(4, of: "lamp")) == own)
  }

  @Test("a program gets no handles of another user's program, and none of one that has not ended")
  func otherPublishers() throws {
    var bench = ServerBench()
    let lamp = bench.open(1, of: "lamp")
    let range = try bench.add(.everything, of: lamp).range
    // It is started a second time before the first one has ended.
    let second = try bench.add(.everything, of: bench.open(2, of: "lamp")).range
    #expect(second.start > range.end)
    bench.close(lamp)
    let foreign = try bench.add(.everything, of: bench.open(3, of: "lamp", user: 1_001)).range
    #expect(foreign.start > second.end)
    let local = try bench.add(.everything).range
    #expect(local.start > foreign.end)
    #expect(try bench.add(.everything, of: bench.open(4, of: "lamp")).range == range)
  }

  @Test("a user whose programs vacate any number of handles doesn't take those of other users")
  func manyVacated() throws {
    var bench = ServerBench()
    let lamp = bench.open(1, of: "lamp", user: 1_001)
    let range = try bench.add(.everything, of: lamp).range
    bench.close(lamp)
    // Each of 300 attributes: 90,000 handles, more than there are.
    var large = ServiceDefinition(uuid: 0x180F)
    large.characteristics = Array(
      repeating: CharacteristicDefinition(uuid: 0x2A19, properties: .read, permissions: .readable),
      count: 150)
    for number: UInt32 in 1...300 {
      let client = bench.open(1 + number, of: "flood \(number)")
      _ = try bench.add(large, of: client)
      bench.close(client)
    }
    #expect(
      try bench.add(.everything, of: bench.open(1_000, of: "lamp", user: 1_001)).range == range)
  }

  @Test("a definition that cannot be served is refused with a reason")
  func badDefinitions() {
    var bench = ServerBench()
    let bad = [
      ServiceDefinition(uuid: 0x180D, includedServices: [0x77]),
      ServiceDefinition(
        uuid: 0x180D,
        characteristics: [
          CharacteristicDefinition(
            uuid: 0x2A37, properties: .read, permissions: .readable,
            value: Array(repeating: 0, count: 513))
        ]),
      ServiceDefinition(
        uuid: 0x180D,
        characteristics: [
          CharacteristicDefinition(
            uuid: 0x2A37, properties: .read, permissions: .readable,
            descriptors: [DescriptorDefinition(uuid: 0x2902, value: [0, 0])])
        ]),
      // These would send peers astray, and a long one has no place in the answer.
      ServiceDefinition(
        uuid: 0x180D,
        characteristics: [
          CharacteristicDefinition(
            uuid: 0x2A37, properties: .read, permissions: .readable,
            descriptors: [
              DescriptorDefinition(uuid: 0x2800, value: Array(repeating: 0, count: 300))
            ])
        ]),
      ServiceDefinition(
        uuid: 0x180D,
        characteristics: [
          CharacteristicDefinition(
            uuid: 0x2803, properties: .read, permissions: .readable, value: [])
        ]),
      ServiceDefinition(
        uuid: 0x180D,
        characteristics: Array(
          repeating: CharacteristicDefinition(
            uuid: 0x2A37, properties: .read, permissions: .readable),
          count: 40_000)),
    ]
    let errors =
      [
        "No service begins at handle 119, so none can be included.",
        "A value is longer than 512 bytes.", "The host adds descriptors 2900 and 2902 by itself.",
        "2800 to 2803 are reserved for declarations.",
        "2800 to 2803 are reserved for declarations.",
      ].map { HostError.invalidArgument($0) } + [.limitReached("attributes")]
    #expect(bad.count == errors.count)
    for (definition, error) in zip(bad, errors) {
      #expect(throws: error) { try bench.add(definition) }
    }
  }

  @Test("the programs of a machine can publish 5,000 services together, and not any number")
  func manyServices() throws {
    var bench = ServerBench()
    let sensor = ServiceDefinition(
      uuid: 0x180D,
      characteristics: [
        CharacteristicDefinition(uuid: 0x2A37, properties: .read, permissions: .readable)
      ])
    for _ in 0..<5_000 { try bench.add(sensor) }
    #expect(throws: HostError.limitReached("attributes")) {
      for _ in 0..<6_000 { try bench.add(sensor) }
    }
  }

  @Test("an operation without its property is refused, whatever the permissions allow")
  func properties() throws {
    var bench = ServerBench()
    let all: AttributePermissions = [.readable, .writeable]
    let place = try bench.add(
      ServiceDefinition(
        uuid: 0x180D,
        characteristics: [
          CharacteristicDefinition(uuid: 0x2A37, properties: .notify, permissions: all),
          CharacteristicDefinition(uuid: 0x2A38, properties: .write, permissions: all),
          CharacteristicDefinition(
            uuid: 0x2A39, properties: .writeWithoutResponse, permissions: all),
        ]))
    let handles = place.characteristics.map(\.valueHandle)
    func hex(_ opcode: UInt8, _ index: Int, _ rest: [UInt8] = []) -> String {
      let handle = handles[index]
      return Hexadecimal.string([opcode, UInt8(handle & 0xFF), UInt8(handle >> 8)] + rest)
    }
    func refusal(_ opcode: UInt8, _ index: Int, _ error: UInt8) -> [String] {
      ["01" + hex(opcode, index) + Hexadecimal.string([error])]
    }
    #expect(bench.receive(hex(0x0A, 0)) == refusal(0x0A, 0, 2))
    #expect(bench.receive(hex(0x12, 0, [1])) == refusal(0x12, 0, 3))
    #expect(bench.receive(hex(0x12, 2, [1])) == refusal(0x12, 2, 3))
    #expect(bench.receive(hex(0x16, 2, [0, 0, 1])) == refusal(0x16, 2, 3))
    #expect(bench.receive(hex(0x52, 1, [1])).isEmpty)
    #expect(bench.requests.isEmpty)
    bench.receive(hex(0x52, 2, [1]))
    bench.receive(hex(0x12, 1, [1]))
    #expect(bench.requests.count == 2)
  }
}

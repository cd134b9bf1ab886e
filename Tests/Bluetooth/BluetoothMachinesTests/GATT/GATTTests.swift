import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines
@testable import GATTMachines

@Suite("GATT, client against server")
struct GATTTests {
  static let token = RequestToken(rawValue: 1)

  @Test("the MTU is the smaller of what both take, on both sides")
  func mtu() {
    var pair = GATTPair(mtuMax: 517, serverMTUMax: 185)
    pair.exchangeMTU()
    #expect(pair.client.mtu == 185)
    pair.exchangeMTU()
    #expect(pair.pduCount == 2)
  }

  @Test("services are discovered, all or by UUID, and characteristics and descriptors in them")
  func discovery() throws {
    var pair = GATTPair()
    let published = try pair.publish(.everything)
    let long = try pair.publish(ServiceDefinition(uuid: ServiceDefinition.long128))
    let all = try #require(try pair.run(.discoverServices(nil)).services)
    #expect(all.map(\.uuid) == [0x1800, 0x1801, 0x180D, ServiceDefinition.long128])
    #expect(all[2].range == published.range)
    let some = try pair.run(.discoverServices([ServiceDefinition.long128, 0x180D, 0x1809]))
    #expect(some == .services([all[2], all[3]]))
    #expect(all[3].range == long.range)
    #expect(try pair.run(.discoverServices([])) == .services([]))

    let range = published.range
    let found = try #require(
      try pair.run(.discoverCharacteristics(in: range, nil)).characteristics)
    #expect(found.map(\.uuid) == [0x2A37, 0x2A38, ServiceDefinition.long128, 0x2A39])
    #expect(found.map(\.valueHandle) == published.characteristics.map(\.valueHandle))
    #expect(found.last?.endHandle == range.end)
    #expect(found[0].properties == [.notify, .indicate])
    let one = try pair.run(.discoverCharacteristics(in: range, [0x2A38]))
    #expect(one == .characteristics([found[1]]))

    let within = HandleRange(found[0].valueHandle + 1, found[0].endHandle)
    let descriptors = try #require(try pair.run(.discoverDescriptors(in: within)).descriptors)
    #expect(descriptors.map(\.uuid) == [0x2902, 0x2901])
    #expect(descriptors.first?.handle == published.characteristics.first?.configurationHandle)
    let none = HandleRange(found[1].valueHandle + 1, found[1].endHandle)
    #expect(try pair.run(.discoverDescriptors(in: none)) == .descriptors([]))
  }

  @Test("included services are found, those with a long UUID by an extra read")
  func included() throws {
    var pair = GATTPair()
    let short = try pair.publish(ServiceDefinition(uuid: 0x180F, isPrimary: false))
    let long = try pair.publish(ServiceDefinition(uuid: ServiceDefinition.long128))
    let outer = try pair.publish(
      ServiceDefinition(
        uuid: 0x1809, includedServices: [short.range.start, long.range.start]))
    #expect(
      try pair.run(.discoverIncludedServices(in: outer.range))
        == .services([
          RemoteService(uuid: 0x180F, range: short.range, isPrimary: false),
          RemoteService(uuid: ServiceDefinition.long128, range: long.range, isPrimary: true),
        ]))
    #expect(try pair.run(.discoverIncludedServices(in: short.range)) == .services([]))
  }

  @Test("values of every length are read whole", arguments: [0, 1, 21, 22, 23, 44, 45, 511, 512])
  func longRead(count: Int) throws {
    var pair = GATTPair()
    let service = try pair.publish(.everything)
    let handle = service.characteristics[2].valueHandle
    pair.values[handle] = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    #expect(try pair.run(.read(handle)) == .value(pair.values[handle] ?? [1]))
  }

  @Test("values of every length are written", arguments: [0, 1, 20, 21, 36, 37, 512])
  func longWrite(count: Int) throws {
    var pair = GATTPair()
    let service = try pair.publish(.everything)
    let handle = service.characteristics[2].valueHandle
    let value = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    pair.values[handle] = [9]
    #expect(try pair.run(.write(handle, value)) == .done)
    #expect(pair.values[handle] == value)
    #expect(pair.requests.count == 1)
  }

  @Test("reliable writes are one request with several entries, all or nothing")
  func reliableWrite() throws {
    var pair = GATTPair()
    let service = try pair.publish(.everything)
    let handle = service.characteristics[2].valueHandle
    let writes = [
      AttributeValue(handle: handle, value: [1, 2]),
      AttributeValue(handle: handle, value: Array(repeating: 3, count: 30)),
    ]
    #expect(try pair.run(.reliableWrite(writes)) == .done)
    guard case .write(let entries) = pair.requests.first?.kind else { return }
    #expect(entries.map(\.offset) == [0, 0, 18])
    #expect(pair.requests.count == 1)
    pair.refusal = .valueNotAllowed
    #expect(throws: HostError.att(.valueNotAllowed, handle: handle)) {
      try pair.run(.reliableWrite(writes))
    }
  }

  @Test("an echo that differs cancels the prepared writes")
  func wrongEcho() throws {
    var pair = GATTPair()
    let handle = try pair.publish(.everything).characteristics[2].valueHandle
    pair.tamper = { pdu in
      guard pdu.first == ATTOpcode.prepareWriteResponse.rawValue else { return pdu }
      return pdu.dropLast() + [pdu[pdu.count - 1] ^ 1]
    }
    #expect(throws: HostError.invalidResponse) {
      try pair.run(.reliableWrite([AttributeValue(handle: handle, value: [1])]))
    }
    #expect(pair.requests.isEmpty)
  }

  @Test("a write without response arrives and is done when the controller has it")
  func command() throws {
    var pair = GATTPair()
    let handle = try pair.publish(.everything).characteristics[2].valueHandle
    #expect(try pair.run(.writeWithoutResponse(handle, [1, 2, 3])) == .done)
    #expect(pair.values[handle] == [1, 2, 3])
    #expect(pair.requests.first?.needsResponse == false)
    let error = HostError.invalidArgument(
      "21 bytes in a write without response; this link takes 20.")
    #expect(throws: error) {
      try pair.run(.writeWithoutResponse(handle, Array(repeating: 0, count: 21)))
    }
  }

  @Test("several values are read in one request, those that were cut again")
  func multiple() throws {
    var pair = GATTPair()
    let service = try pair.publish(.everything)
    let (fixed, dynamic) = (
      service.characteristics[1].valueHandle, service.characteristics[2].valueHandle
    )
    pair.values[dynamic] = Array(0..<60)
    #expect(
      try pair.run(.readMultiple([fixed, dynamic, fixed]))
        == .values([
          AttributeValue(handle: fixed, value: [2]),
          AttributeValue(handle: dynamic, value: Array(0..<60)),
          AttributeValue(handle: fixed, value: [2]),
        ]))
    #expect(try pair.run(.readMultiple([])) == .values([]))
  }

  @Test("values are read by type, of the server and of its client")
  func byType() throws {
    var pair = GATTPair()
    let service = try pair.publish(.everything)
    #expect(
      try pair.run(.readByUUID(0x2A00, in: .all))
        == .values([AttributeValue(handle: 3, value: Array("Test".utf8))]))
    let handle = service.characteristics[2].valueHandle
    pair.values[handle] = [5, 6]
    #expect(
      try pair.run(.readByUUID(ServiceDefinition.long128, in: .all))
        == .values([AttributeValue(handle: handle, value: [5, 6])]))
    #expect(try pair.run(.readByUUID(0x2A19, in: .all)) == .values([]))
  }

  @Test("a device name that is too long is cut between characters")
  func longName() throws {
    // 62 × 4 bytes fit; of characters of three bytes, 82 and no part of another.
    for (character, count) in [("a€", 62), ("€", 82)] {
      var pair = GATTPair(name: String(repeating: character, count: 100))
      let expected = Array(String(repeating: character, count: count).utf8)
      #expect(try pair.run(.read(3)) == .value(expected))
    }
  }

  private static func encryption(isAuthenticated: Bool) -> EncryptionInfo {
    EncryptionInfo(keyByteCount: 16, isAuthenticated: isAuthenticated, isSecureConnections: true)
  }

  @Test("a value that needs authentication is refused after a pairing without it")
  func authentication() throws {
    var pair = GATTPair()
    let service = ServiceDefinition(
      uuid: 0x1815, isPrimary: true,
      characteristics: [
        CharacteristicDefinition(
          uuid: 0x2A56, properties: [.read, .write, .notify],
          permissions: [.readAuthenticationRequired, .writeAuthenticationRequired], value: nil,
          subscribingRequiresAuthentication: true)
      ])
    let published = try pair.publish(service).characteristics[0]
    let configuration = try #require(published.configurationHandle)
    for (link, error) in [
      (nil, ATTErrorCode.insufficientAuthentication),
      (Self.encryption(isAuthenticated: false), .insufficientAuthentication),
    ] as [(EncryptionInfo?, ATTErrorCode)] {
      pair.server.setEncryption(link, GATTPair.peer)
      for operation in [
        .read(published.valueHandle), .write(published.valueHandle, [1]),
        .write(configuration, [1, 0]),
      ] as [GATTOperation] {
        #expect { try pair.run(operation) } throws: { thrown in
          if case HostError.att(error, _)? = thrown as? HostError { true } else { false }
        }
      }
    }
    pair.server.setEncryption(Self.encryption(isAuthenticated: true), GATTPair.peer)
    #expect(try pair.run(.write(configuration, [1, 0])) == .done)
  }

  @Test("a value that needs encryption is refused as the specification requires")
  func encryption() throws {
    var pair = GATTPair()
    let handle = try pair.publish(.everything).characteristics[3].valueHandle
    #expect(throws: HostError.att(.insufficientAuthentication, handle: handle)) {
      try pair.run(.read(handle))
    }
    pair.server.setEncryption(nil, GATTPair.peer, hasKey: true)
    #expect(throws: HostError.att(.insufficientEncryption, handle: handle)) {
      try pair.run(.write(handle, [1]))
    }
    pair.server.setEncryption(Self.encryption(isAuthenticated: false), GATTPair.peer)
    #expect(try pair.run(.write(handle, [1])) == .done)
  }

  @Test("errors name their handles")
  func errors() throws {
    var pair = GATTPair()
    let service = try pair.publish(.everything)
    let fixed = service.characteristics[1].valueHandle
    #expect(throws: HostError.att(.invalidHandle, handle: 0x0999)) {
      try pair.run(.read(0x0999))
    }
    #expect(throws: HostError.att(.writeNotPermitted, handle: fixed)) {
      try pair.run(.write(fixed, [1]))
    }
    let rate = service.characteristics[0].valueHandle
    #expect(throws: HostError.att(.readNotPermitted, handle: rate)) { try pair.run(.read(rate)) }
    let configuration = rate + 1
    #expect(throws: HostError.att(.invalidAttributeValueLength, handle: configuration)) {
      try pair.run(.write(configuration, [1]))
    }
  }

  @Test("notifications reach subscribers, cut to the MTU, and none before or after")
  func notify() throws {
    var pair = GATTPair()
    let rate = try pair.publish(.everything).characteristics[0]
    let (handle, configuration) = (rate.valueHandle, try #require(rate.configurationHandle))
    pair.update(handle, [1])
    #expect(pair.received.isEmpty)
    #expect(pair.updates[Self.token] == .success(.done))
    #expect(try pair.run(.write(configuration, [1, 0])) == .done)
    #expect(try pair.run(.read(configuration)) == .value([1, 0]))
    #expect(pair.subscribed == [handle])
    pair.update(handle, Array(repeating: 7, count: 50))
    #expect(pair.received.map(\.value) == [Array(repeating: 7, count: 20)])
    #expect(pair.received.map(\.isIndication) == [false])
    #expect(try pair.run(.write(configuration, [0, 0])) == .done)
    #expect(pair.unsubscribed == [handle])
    pair.update(handle, [1])
    #expect(pair.received.count == 1)
  }

  @Test("indications are confirmed, one after the other")
  func indicate() throws {
    var pair = GATTPair()
    let rate = try pair.publish(.everything).characteristics[0]
    let configuration = try #require(rate.configurationHandle)
    #expect(try pair.run(.write(configuration, [2, 0])) == .done)
    for value in UInt8(0)..<5 { pair.update(rate.valueHandle, [value]) }
    #expect(pair.received.map(\.value) == [[0], [1], [2], [3], [4]])
    #expect(pair.received.map(\.isIndication) == [true, true, true, true, true])
    #expect(pair.updates[Self.token] == .success(.done))
    #expect(pair.server.nextWake == nil)
  }

  @Test("discoveries are remembered until services change")
  func remembering() throws {
    var pair = GATTPair()
    let service = try pair.publish(.everything)
    let first = try pair.run(.discoverServices(nil))
    let count = pair.pduCount
    #expect(try pair.run(.discoverServices(nil)) == first)
    #expect(pair.pduCount == count)
    #expect(pair.client.database.hash == pair.server.databaseHash())
    let isDue1 = pair.advance()
    #expect(isDue1)

    let more = try pair.publish(ServiceDefinition(uuid: 0x180F))
    #expect(pair.changedRanges == [more.range])
    #expect(pair.client.database.hash == nil)
    let hasReadHash = pair.advance()
    #expect(hasReadHash)
    #expect(pair.client.database.hash == pair.server.databaseHash())
    let all = try #require(try pair.run(.discoverServices(nil)).services)
    #expect(all.last?.range == more.range)
    pair.withServer {
      $0.removeService(service.range.start, owner: GATTPair.owner, now: .zero, into: &$1)
    }
    #expect(pair.changedRanges == [more.range, service.range])
  }

  @Test("a configuration descriptor that was found while services changed is searched for again")
  func staleConfiguration() throws {
    var pair = GATTPair()
    _ = try pair.publish(.everything)
    _ = try pair.run(.discoverServices(nil))
    let isSettled = pair.advance()
    #expect(isSettled)
    guard case .present(let changed, _)? = pair.client.database.serviceChanged else {
      Issue.record("the server has no Service Changed")
      return
    }
    let target = SubscriptionTarget(
      valueHandle: 0x60, endHandle: 0x61, usesIndications: false)
    var outputs: [GATTClient.Output] = []
    pair.client.start(
      .discoverDescriptors(in: HandleRange(0x61, 0x61)), id: OperationID(rawValue: 900),
      now: pair.now, into: &outputs)
    let indication = [0x1D, UInt8(changed & 0xFF), UInt8(changed >> 8), 0x01, 0x00, 0xFF, 0xFF]
    pair.client.receive(indication[...], now: pair.now, into: &outputs)
    pair.client.receive([0x05, 0x01, 0x61, 0x00, 0x02, 0x29], now: pair.now, into: &outputs)
    outputs = []
    pair.client.configure(
      target, bits: 1, id: OperationID(rawValue: 901), now: pair.now, into: &outputs)
    guard case .link(.send(let pdu, _, _))? = outputs.first else {
      Issue.record("nothing was sent")
      return
    }
    #expect(pdu.first != ATTOpcode.writeRequest.rawValue)
  }

  @Test("the first discovery costs one round trip more; a change right after it is noticed")
  func firstDiscovery() throws {
    var pair = GATTPair()
    _ = try pair.publish(.everything)
    let services = pair.start(.discoverServices([0x180D]))
    // The hash, the search and its rest, each asked and answered.
    #expect(pair.pduCount == 6)
    let range = try #require(try pair.results[services]?.get().services?.first?.range)
    // Step by step, with an app's pauses: still without requests of other clients in between.
    let steps: [GATTOperation] = [
      .discoverCharacteristics(in: range, nil), .discoverIncludedServices(in: range),
      .discoverDescriptors(in: range),
    ]
    for step in steps {
      pair.now = pair.now + .milliseconds(900)
      pair.start(step)
      let next = try #require(pair.client.nextWake)
      #expect(next > pair.now)
    }
    let more = try pair.publish(ServiceDefinition(uuid: 0x180F))
    #expect(pair.changedRanges == [])
    let isDue2 = pair.advance()
    #expect(isDue2)
    // No discovered service has changed.
    #expect(pair.changedRanges == [])
    let all = try #require(try pair.run(.discoverServices(nil)).services)
    #expect(all.contains { $0.range == more.range })
    #expect(pair.client.database.hash == pair.server.databaseHash())
    // From now on the peer tells.
    let last = try pair.publish(ServiceDefinition(uuid: 0x181A))
    #expect(pair.changedRanges == [last.range])
  }

  @Test("a peer without a Database Hash gets a Service Changed subscription before the discovery")
  func noHash() throws {
    var pair = GATTPair()
    _ = try pair.publish(.everything)
    var answerCount = 0
    pair.tamper = { pdu in
      answerCount += 1
      // Error Response to Read By Type: Attribute Not Found.
      return answerCount == 1 ? [0x01, 0x08, 0x01, 0x00, 0x0A] : pdu
    }
    _ = try pair.run(.discoverServices(nil))
    let more = try pair.publish(ServiceDefinition(uuid: 0x180F))
    #expect(pair.changedRanges == [more.range])
  }

  @Test(
    "a peer with a hash that refuses Service Changed is discovered anew, not read from the cache")
  func refusedWatch() throws {
    var pair = GATTPair()
    _ = try pair.publish(.everything)
    // To the subscription to Service Changed: Insufficient Authentication.
    pair.tamper = { $0 == [0x13] ? [0x01, 0x12, 0x00, 0x00, 0x05] : $0 }
    let before = try #require(try pair.run(.discoverServices(nil)).services)
    while pair.advance() {}
    let more = try pair.publish(ServiceDefinition(uuid: 0x180F))
    let after = try #require(try pair.run(.discoverServices(nil)).services)
    #expect(after.map(\.range) == before.map(\.range) + [more.range])
  }

  @Test("a kept database is used on the next link if the hash is the same, else dropped")
  func adoption() throws {
    var first = GATTPair()
    _ = try first.publish(.everything)
    let services = try first.run(.discoverServices(nil))
    let kept = first.client.database

    var second = first
    second.client = GATTClient(mtuMax: 517)
    second.server.linkOpened(GATTPair.peer)
    second.withClient { $0.adopt(kept, now: .zero, into: &$1) }
    let count = second.pduCount
    #expect(try second.run(.discoverServices(nil)) == services)
    #expect(second.pduCount == count)
    let more = try second.publish(ServiceDefinition(uuid: 0x180F))
    #expect(second.changedRanges == [more.range])

    var third = first
    _ = try third.publish(ServiceDefinition(uuid: 0x180F))
    third.client = GATTClient(mtuMax: 517)
    third.server.linkOpened(GATTPair.peer)
    third.withClient { $0.adopt(kept, now: .zero, into: &$1) }
    #expect(try third.run(.discoverServices(nil)) != services)
  }

  @Test("a server without an answer for 30 s fails its link and all requests")
  func timeout() throws {
    var pair = GATTPair()
    pair.tamper = { _ in nil }
    let first = pair.start(.read(3))
    let second = pair.start(.read(5))
    #expect(pair.client.nextWake == .zero + .seconds(30))
    while pair.advance() {}
    #expect(pair.results[first] == .failure(.attTimeout))
    #expect(pair.results[second] == .failure(.attTimeout))
    #expect(pair.bearerError == .attTimeout)
    let third = pair.start(.read(3))
    #expect(pair.results[third] == .failure(.attTimeout))
  }
}

extension HostReply {
  fileprivate var services: [RemoteService]? {
    if case .services(let found) = self { found } else { nil }
  }
  fileprivate var characteristics: [RemoteCharacteristic]? {
    if case .characteristics(let found) = self { found } else { nil }
  }
  fileprivate var descriptors: [RemoteDescriptor]? {
    if case .descriptors(let found) = self { found } else { nil }
  }
}

extension GATTPair {
  mutating func update(_ handle: UInt16, _ value: [UInt8]) {
    let now = now
    withServer {
      $0.updateValue(
        handle: handle, value: value, peers: nil, token: GATTTests.token, owner: Self.owner,
        now: now, into: &$1)
    }
  }
}

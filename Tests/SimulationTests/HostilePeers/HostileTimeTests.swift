import BluetoothInterface
import BluetoothWire
import Essentials
import Simulation
import Testing

@testable import BluetoothMachines

/// Peers that take their time, and peers that never know what they have.
@Suite("A host and a peer that is slow, silent or never the same")
struct HostileTimeTests {
  private static let operations: [GATTOperation] = [
    .discoverServices(nil), .discoverServices([0x180D]), .discoverIncludedServices(in: .all),
    .discoverCharacteristics(in: .all, nil), .discoverDescriptors(in: .all), .read(3),
    .readByUUID(0x2A19, in: .all), .readMultiple([3, 4]), .write(3, [1]),
    .write(3, Array(repeating: 1, count: 100)),
    .reliableWrite([AttributeValue(handle: 3, value: [1])]),
  ]

  @Test("silence ends any operation and the link after 30 s, and the next link works in full")
  func silence() throws {
    let rig = try HostileWorld()
    for operation in Self.operations {
      rig.peer.answer = { $0.isIntroduction ? nil : [] }
      try rig.meet()
      rig.world.run(for: .milliseconds(100))
      let start = rig.world.now
      let first = rig.start { .gatt(rig.peer.address, operation, $0) }
      let second = rig.start { .gatt(rig.peer.address, .read(4), $0) }
      #expect(rig.endOfLink() == .attTimeout, "\(operation)")
      let took = (rig.world.now - start).seconds
      #expect((30...33).contains(took), "\(operation) took \(took) s")
      for token in [first, second] {
        #expect(rig.result(of: token) == .failure(.attTimeout), "\(operation)")
      }
      rig.peer.answer = { $0 == .readRequest(handle: 4) ? [bytes("0b 04")] : nil }
      try rig.meet()
      #expect(rig.gatt(.discoverServices(nil)) == .success(.services([])), "\(operation)")
      #expect(rig.gatt(.read(4)) == .success(.value([4])), "\(operation)")
      try rig.part()
    }
    try rig.expectUnharmed()
  }

  @Test("a peer that doesn't even answer how long a PDU may be is left after 30 s, again and again")
  func silenceFromTheStart() throws {
    let rig = try HostileWorld()
    rig.peer.answer = { _ in [] }
    var options = ConnectOptions()
    options.reconnectsAutomatically = true
    try rig.meet(options)
    for _ in 0..<3 {
      let token = rig.start { .gatt(rig.peer.address, .read(3), $0) }
      #expect(rig.endOfLink() == .attTimeout)
      #expect(rig.result(of: token) == .failure(.attTimeout))
      rig.forgetEvents()
      try #require(rig.wait { if case .connected(rig.peer.address) = $0 { true } else { false } })
    }
    rig.peer.answer = { _ in nil }
    #expect(rig.endOfLink() == .attTimeout, "what was not answered before is still owed")
    try rig.expectUnharmed()
  }

  @Test(
    "unrelated PDUs don't buy a silent peer time",
    arguments: [
      "1b 0300 41", "1d 0300 41", "0d 41", "01 12 0300 01", "0a 0300", "1e", "13", "00", "",
    ])
  func chatter(_ hex: String) throws {
    let rig = try HostileWorld()
    rig.peer.answer = { $0.isIntroduction ? nil : [] }
    try rig.meet()
    rig.world.run(for: .milliseconds(100))
    let start = rig.world.now
    let token = rig.start { .gatt(rig.peer.address, .read(3), $0) }
    for second in 1...40 as ClosedRange<Int64> {
      rig.world.schedule(at: start + .seconds(second)) { rig.peer.attribute(bytes(hex)) }
    }
    #expect(rig.endOfLink() == .attTimeout)
    #expect((rig.world.now - start).seconds < 33)
    #expect(rig.result(of: token) == .failure(.attTimeout))
    try rig.expectUnharmed()
  }

  @Test(
    "a peer that answers just before each time-out is endured, and delays no other peer")
  func slowness() throws {
    let rig = try HostileWorld()
    let value = (0..<100).map { UInt8($0) }
    rig.peer.answer = { request in
      switch request {
      case .readRequest(3): [ATTPDU.readResponse(value: value[..<22]).bytes]
      case .readBlobRequest(3, let offset):
        [ATTPDU.readBlobResponse(value: value.dropFirst(Int(offset)).prefix(22)).bytes]
      default: nil
      }
    }
    rig.peer.slowness = .seconds(29)
    try rig.meet(HostileWorld.honest)
    try rig.meet()
    let start = rig.world.now
    let read = rig.start { .gatt(rig.peer.address, .read(3), $0) }
    let next = rig.start { .gatt(rig.peer.address, .read(4), $0) }
    while rig.result(of: read) == nil, (rig.world.now - start).seconds < 300 {
      let before = rig.world.now
      try rig.useHonest()
      #expect((rig.world.now - before).seconds < 3)
      rig.world.run(for: .seconds(10))
    }
    #expect(rig.result(of: read) == .success(.value(value)))
    // The exchange of the MTU and five requests for the value, 29 s each.
    #expect((170...195).contains((rig.world.now - start).seconds))
    #expect(rig.result(of: next) == nil)
    // A client that has enough of it is free at once.
    let leaving = rig.world.now
    try rig.part()
    #expect((rig.world.now - leaving).seconds < 3)
    #expect(rig.result(of: next) == .failure(.cancelled))
    try rig.part(HostileWorld.honest)
    try rig.expectUnharmed()
  }

  @Test("a silent central is left as a silent peripheral is, and may come again")
  func silentCentral() throws {
    let rig = try ServingWorld()
    for _ in 0..<2 {
      rig.peer.answer = { $0.isIntroduction ? nil : [] }
      try rig.intrude()
      try rig.meet()
      let start = rig.world.now
      let token = rig.start { .gatt(rig.peer.address, .read(3), $0) }
      #expect(rig.endOfLink() == .attTimeout)
      #expect((30...33).contains((rig.world.now - start).seconds))
      #expect(rig.result(of: token) == .failure(.attTimeout))
      rig.world.run(for: .seconds(1))
    }
    rig.peer.answer = { _ in nil }
    try rig.intrude()
    try rig.meet()
    #expect(rig.gatt(.read(3)) == .failure(.att(.attributeNotFound, handle: 3)))
    try rig.expectUnharmed()
  }

  // MARK: Never the same

  /// A server with Service Changed at 3, its configuration at 4, and the Database Hash at 6.
  private static func changing(
    _ request: ATTPDU, hash: () -> [UInt8], services: String = "11 06 0100 0600 0118"
  ) -> [[UInt8]]? {
    switch request {
    case .findByTypeValueRequest(_, _, _, [0x01, 0x18]): [bytes("07 0100 0600")]
    case .readByTypeRequest(1, _, 0x2803):
      [bytes("09 07 0200 20 0300 052a 0500 02 0600 2a2b")]
    case .findInformationRequest(4, _): [bytes("05 01 0400 0229")]
    case .writeRequest(4, _): [bytes("13")]
    case .readRequest(6): [ATTPDU.readResponse(value: hash()[...]).bytes]
    case .readByTypeRequest(1, _, 0x2B2A):
      [
        ATTPDU.readByTypeResponse(
          ATTAttributeDataList(entryByteCount: 18, encoded: ([6, 0] + hash())[...])
        ).bytes
      ]
    case .readByGroupTypeRequest(1, _, _): [bytes(services)]
    default: nil
    }
  }

  private static let service = RemoteService(
    uuid: 0x1801, range: HandleRange(1, 6), isPrimary: true)

  @Test("a Database Hash that is another each time makes nothing remembered, and nothing endless")
  func changingHash() throws {
    let rig = try HostileWorld()
    var count: UInt8 = 0
    rig.peer.answer = { request in
      Self.changing(request) {
        count &+= 1
        return Array(repeating: count, count: 16)
      }
    }
    for _ in 0..<4 {
      try rig.meet()
      #expect(rig.gatt(.discoverServices(nil)) == .success(.services([Self.service])))
      rig.world.run(for: .seconds(20))
      #expect(rig.peer.attributes.contains { $0.first == 0x10 }, "not asked anew")
      #expect(rig.peer.heard.count < 25)
      try rig.part()
    }
    try rig.expectUnharmed()
  }

  @Test("a Database Hash that hides a change leaves stale data until the peer reports the change")
  func lyingHash() throws {
    let rig = try HostileWorld()
    var services = "11 06 0100 0600 0118"
    rig.peer.answer = { request in
      Self.changing(request, hash: { Array(repeating: 1, count: 16) }, services: services)
    }
    try rig.meet()
    #expect(rig.gatt(.discoverServices(nil)) == .success(.services([Self.service])))
    try rig.part()
    services = "11 06 0100 0600 0118 0700 0900 0d18"
    try rig.meet()
    #expect(rig.gatt(.discoverServices(nil)) == .success(.services([Self.service])))
    rig.peer.attribute(bytes("1d 0300 0100 ffff"))
    #expect(rig.wait { if case .servicesChanged = $0 { true } else { false } })
    let other = RemoteService(uuid: 0x180D, range: HandleRange(7, 9), isPrimary: true)
    #expect(rig.gatt(.discoverServices(nil)) == .success(.services([Self.service, other])))
    try rig.expectUnharmed()
  }

  @Test("a storm of Service Changed is reported, confirmed and survived")
  func changeStorm() throws {
    let rig = try HostileWorld()
    rig.peer.answer = { Self.changing($0, hash: { Array(repeating: 1, count: 16) }) }
    try rig.meet()
    #expect(rig.gatt(.discoverServices(nil)) == .success(.services([Self.service])))
    let target = SubscriptionTarget(
      valueHandle: 3, configurationHandle: 4, usesIndications: true)
    #expect(rig.complete { .subscribe(rig.peer.address, target, $0) } == .success(.done))
    // After the discovery, the host subscribes to Service Changed.
    rig.world.run(for: .seconds(2))
    rig.forgetEvents()
    rig.peer.forgetHeard()
    let ranges = ["0100 ffff", "ffff 0100", "0000 0000", "0300 0300"]
    for count in 0..<1_000 { rig.peer.attribute(bytes("1d 0300 " + ranges[count % 4])) }
    rig.peer.attribute(bytes("1d 0300 01"))
    rig.world.run(for: .seconds(5))
    #expect(rig.peer.attributes.count { $0 == [0x1E] } == 1_001)
    #expect(rig.peer.heard.count < 1_020)
    let told = rig.events.count { if case .servicesChanged = $0 { true } else { false } }
    #expect(told == 1_000)
    #expect(rig.gatt(.discoverServices(nil)) == .success(.services([Self.service])))
    try rig.expectUnharmed()
  }

  @Test("a server that calls everybody out of sync is believed each time, and not asked for ever")
  func outOfSync() throws {
    let rig = try HostileWorld()
    rig.peer.answer = { request in
      request.isIntroduction ? nil : [[0x01, request.opcode.rawValue, 3, 0, 0x12]]
    }
    try rig.meet()
    for _ in 0..<50 {
      #expect(rig.gatt(.read(3)) == .failure(.att(.databaseOutOfSync, handle: 3)))
      #expect(
        rig.gatt(.discoverServices(nil)) == .failure(.att(.databaseOutOfSync, handle: 3)))
    }
    rig.world.run(for: .seconds(20))
    #expect(rig.peer.heard.count < 160)
    try rig.expectUnharmed()
  }
}

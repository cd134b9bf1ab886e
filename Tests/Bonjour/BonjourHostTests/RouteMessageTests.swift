import DiscoveryMachines
import Essentials
import Testing

@testable import BonjourHost

/// Messages as the kernel writes them, on a little-endian machine.
enum Kernel {
  static func message(_ type: UInt16, flags: UInt16 = 0, sequence: UInt32 = 7, _ body: [UInt8])
    -> [UInt8]
  {
    var writer = ByteWriter()
    writer.uint32(UInt32(16 + body.count))
    writer.uint16(type)
    writer.uint16(flags)
    writer.uint32(sequence)
    writer.uint32(4_242)
    writer.append(body)
    return padded(writer.bytes)
  }

  static func attribute(_ type: UInt16, _ value: [UInt8]) -> [UInt8] {
    var writer = ByteWriter()
    writer.uint16(UInt16(4 + value.count))
    writer.uint16(type)
    writer.append(value)
    return padded(writer.bytes)
  }

  static func link(
    _ type: UInt16 = 16, index: UInt32, flags: UInt32, name: String, carrierUpCount: UInt8 = 1
  ) -> [UInt8] {
    var writer = ByteWriter()
    writer.append([0, 0, 1, 0])
    writer.uint32(index)
    writer.uint32(flags)
    writer.uint32(0)
    writer.append(attribute(3, Array(name.utf8) + [0]))
    writer.append(attribute(4, [0xDC, 0x05, 0, 0]))
    writer.append(attribute(1, [2, 0, 0, 0, 0, 9]))
    writer.append(attribute(0x8000 | 18, attribute(1, [1, 2, 3])))
    writer.append(attribute(47, [carrierUpCount, 0, 0, 0]))
    return message(type, writer.bytes)
  }

  static func address(
    _ type: UInt16 = 20, index: UInt32, _ bytes: [UInt8], prefix: UInt8, flags: UInt32 = 0x80,
    peer: [UInt8]? = nil, origin: UInt8? = nil
  ) -> [UInt8] {
    var writer = ByteWriter()
    writer.append([bytes.count == 4 ? 2 : 10, prefix, UInt8(truncatingIfNeeded: flags), 0])
    writer.uint32(index)
    writer.append(attribute(1, peer ?? bytes))
    if bytes.count == 4 { writer.append(attribute(2, bytes)) }
    writer.append(attribute(8, [UInt8(truncatingIfNeeded: flags), 0, 0, 0]))
    if let origin { writer.append(attribute(11, [origin])) }
    return message(type, writer.bytes)
  }

  private static func padded(_ bytes: [UInt8]) -> [UInt8] {
    bytes + [UInt8](repeating: 0, count: -bytes.count & 3)
  }
}

private let third = InterfaceIndex(rawValue: 3)
private let linkLocal: [UInt8] = [0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]

@Suite("Messages of the kernel about interfaces")
struct RouteMessageTests {
  @Test("a link has its name, flags, hardware address and packet size")
  func link() throws {
    let messages = try RouteMessage.decode(
      Kernel.link(index: 3, flags: 0x1043, name: "wlan0")[...])
    var expected = SystemInterface(
      index: third, name: "wlan0", flags: .init(rawValue: 0x1043))
    expected.hardwareAddress = [2, 0, 0, 0, 0, 9]
    expected.carrierUpCount = 1
    #expect(messages == [.link(expected)])
    #expect(expected.isSuitable)
  }

  @Test("an address is the host's own, not its peer's, and is unusable while it is looked for")
  func address() throws {
    let bytes =
      Kernel.address(index: 3, [10, 0, 0, 5], prefix: 24, peer: [10, 0, 0, 1])
      + Kernel.address(index: 3, linkLocal, prefix: 64, flags: 0x40)
      + Kernel.address(21, index: 3, [10, 0, 0, 5], prefix: 24)
    let own = SystemInterface.Address(.v4(Inet4Address(10, 0, 0, 5)), prefixBitCount: 24)
    let six = SystemInterface.Address(
      .v6(Inet6Address(high: 0xFE80 << 48, low: 9)), prefixBitCount: 64, isUsable: false)
    #expect(
      try RouteMessage.decode(bytes[...]) == [
        .address(own, index: third), .address(six, index: third), .addressGone(own, index: third),
      ])
  }

  @Test("an address has its origin, where that is known")
  func origin() throws {
    let bytes = Kernel.address(index: 3, [169, 254, 7, 7], prefix: 16, origin: 169)
    let own = SystemInterface.Address(
      .v4(Inet4Address(169, 254, 7, 7)), prefixBitCount: 16, origin: 169)
    #expect(try RouteMessage.decode(bytes[...]) == [.address(own, index: third)])
  }

  @Test(
    "D19 B18 F13: a carrier that came back is noticed, also if both changes come together",
    arguments: [
      ([(0x1043, 2), (0x1003, 2), (0x1043, 3)], [false, false, true]),
      ([(0x1043, 2), (0x1043, 3)], [false, true]),
      ([(0x1043, 2), (0x1002, 2), (0x1043, 2)], [false, false, true]),
      ([(0x1043, 2), (0x1003, 3)], [false, false]),
      ([(0x1043, 2), (0x11043, 2)], [false, false]),
    ] as [([(UInt32, UInt8)], [Bool])])
  func carrier(_ links: [(UInt32, UInt8)], _ expected: [Bool]) throws {
    var table = InterfaceTable()
    var earlier: SystemInterface?
    let restarts = try links.map { flags, count in
      let bytes = Kernel.link(index: 3, flags: flags, name: "eth0", carrierUpCount: count)
      for message in try RouteMessage.decode(bytes[...]) { table.apply(message) }
      let interface = try #require(table.interfaces.first)
      defer { earlier = interface }
      return earlier.map(interface.hasRestarted) ?? false
    }
    #expect(restarts == expected)
  }

  @Test("the end of a dump shows whether it is consistent")
  func done() throws {
    let bytes =
      Kernel.message(3, [0, 0, 0, 0]) + Kernel.message(3, flags: 0x10, sequence: 8, [0, 0, 0, 0])
      + Kernel.message(2, [0xFF, 0xFF, 0xFF, 0xFF]) + Kernel.message(99, [])
    #expect(
      try RouteMessage.decode(bytes[...]) == [
        .done(sequence: 7, isConsistent: true), .done(sequence: 8, isConsistent: false),
        .failed(1, sequence: 7), .other,
      ])
  }

  @Test("a message that is cut or changed is decoded or refused")
  func hostile() {
    let good =
      Kernel.link(index: 3, flags: 0x1043, name: "wlan0")
      + Kernel.address(index: 3, linkLocal, prefix: 64)
    for count in 0..<good.count { _ = try? RouteMessage.decode(good[..<count]) }
    var generator = SeededGenerator(seed: 7)
    for _ in 0..<20_000 {
      var bytes = good
      for _ in 0..<3 {
        bytes[Int(generator.next(upperBound: UInt64(bytes.count)))] =
          UInt8(truncatingIfNeeded: generator.next())
      }
      _ = try? RouteMessage.decode(bytes[...])
    }
    let messageByteCount = Kernel.address(index: 3, linkLocal, prefix: 64).count
    let error = Truncated(needed: messageByteCount - 16, available: messageByteCount - 16 - 5)
    #expect(throws: error) { try RouteMessage.decode(good.dropLast(5)) }
    let impossible = Kernel.address(index: 3, [10, 0, 0, 5], prefix: 33)
    #expect((try? RouteMessage.decode(impossible[...])) == [.other])
  }

  @Test("a table follows links and addresses as they come, change and go")
  func table() throws {
    var table = InterfaceTable()
    func apply(_ bytes: [UInt8]) throws {
      for message in try RouteMessage.decode(bytes[...]) { table.apply(message) }
    }
    try apply(Kernel.address(index: 9, linkLocal, prefix: 64))
    #expect(table.interfaces.isEmpty)
    try apply(Kernel.link(index: 9, flags: 0x1003, name: "eth1"))
    try apply(Kernel.link(index: 2, flags: 0x1043, name: "eth0"))
    try apply(Kernel.address(index: 9, linkLocal, prefix: 64, flags: 0x40))
    #expect(table.interfaces.map(\.name) == ["eth0", "eth1"])
    #expect(table.interfaces.last?.forDiscovery.versions == [])
    try apply(Kernel.address(index: 9, linkLocal, prefix: 64))
    try apply(Kernel.link(index: 9, flags: 0x1043, name: "lan"))
    #expect(table.interfaces.last?.name == "lan")
    #expect(table.interfaces.last?.forDiscovery.versions == [.v6])
    try apply(Kernel.address(21, index: 9, linkLocal, prefix: 64))
    #expect(table.interfaces.last?.addresses == [])
    try apply(Kernel.link(17, index: 9, flags: 0, name: "lan"))
    #expect(table.interfaces.map(\.name) == ["eth0"])
  }
}

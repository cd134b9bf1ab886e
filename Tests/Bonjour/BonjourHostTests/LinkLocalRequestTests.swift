import ARPWire
import DiscoveryMachines
import Essentials
import Glibc
import Testing

@testable import BonjourHost

@Suite("What the kernel is asked to do for a link-local address")
struct LinkLocalRequestTests {
  private let address = Inet4Address(169, 254, 7, 7)
  private let third = InterfaceIndex(rawValue: 3)

  /// The attributes of a request, by type.
  private static func attributes(
    _ bytes: [UInt8], headByteCount: Int
  ) throws -> [UInt16: [UInt8]] {
    var reader = ByteReader(bytes)
    var message = try NetlinkMessage.read(&reader)
    #expect(reader.isAtEnd)
    _ = try message.body.slice(headByteCount)
    var found: [UInt16: [UInt8]] = [:]
    while let (type, value) = try message.body.netlinkAttribute() { found[type] = Array(value) }
    return found
  }

  @Test("the address is set with the scope of the link, a broadcast address and its route's metric")
  func set() throws {
    let bytes = LinkLocalAddressRequest.set(address, on: third).bytes()
    #expect(bytes.count % 4 == 0)
    #expect(Array(bytes[4..<8]) == [20, 0, 0x05, 0x05])
    #expect(Array(bytes[16..<24]) == [2, 16, 0, 253, 3, 0, 0, 0])
    let parts = try Self.attributes(bytes, headByteCount: 8)
    #expect(parts[1] == address.bytes)
    #expect(parts[2] == address.bytes)
    #expect(parts[4] == [169, 254, 255, 255])
    #expect(parts[9] == [0xD3, 0x07, 0, 0], "2003")
    #expect(parts[11] == [169])
  }

  @Test("the decoder for the kernel's messages reads the address as ours")
  func readBack() throws {
    let bytes = LinkLocalAddressRequest.set(address, on: third).bytes()
    let told = SystemInterface.Address(
      .v4(address), prefixBitCount: 16, origin: LinkLocalAddressRequest.origin)
    #expect(try RouteMessage.decode(bytes[...]) == [.address(told, index: third)])
    let removed = LinkLocalAddressRequest.remove(address, from: third).bytes()
    guard case .addressGone(let gone, third)? = try RouteMessage.decode(removed[...]).first else {
      Issue.record("It is no removal.")
      return
    }
    #expect(gone.address == .v4(address))
  }

  @Test("the rule for broadcasts comes in one batch, with every part at its position")
  func rule() throws {
    let requests = BroadcastRule.requests(on: "eth0")
    #expect(requests.map(\.type) == [16, 0x0A00, 0x0A03, 0x0A06, 17])
    let chain = try Self.attributes(requests[2].bytes(), headByteCount: 4)
    #expect(chain[7] == Array("filter".utf8) + [0])
    let rule = try Self.attributes(requests[3].bytes(), headByteCount: 4)
    var names: [String] = []
    var elements = ByteReader(try #require(rule[4]))
    while let (_, value) = try elements.netlinkAttribute() {
      var element = ByteReader(value)
      let name = try #require(try element.netlinkAttribute()).value
      names.append(String(decoding: name.dropLast(), as: UTF8.self))
    }
    #expect(names == ["payload", "cmp", "payload", "cmp", "immediate", "payload"])
  }

  @Test("a rule on an invalid interface, or without the capability, is refused")
  func refused() {
    #expect(throws: (any Error).self) { _ = try BroadcastRule(on: "too-long-to-be-an-interface") }
  }

  @Test("the filter lets through ARP from and for link-local addresses, and nothing else")
  func filter() {
    let other = Inet4Address(10, 0, 0, 1)
    let mac = MACAddress(rawValue: 0x0200_0000_0001)
    func frame(_ sender: Inet4Address, _ target: Inet4Address, type: UInt16 = 0x0806) -> [UInt8] {
      let packet = ARPPacket(
        .request, senderHardware: mac, senderAddress: sender, targetAddress: target)
      return EthernetFrame(
        to: .broadcast, from: mac, etherType: type, payload: packet.bytes[...]
      ).bytes
    }
    #expect(Self.run(ARPSocket.filter, on: frame(address, other)) > 42)
    #expect(Self.run(ARPSocket.filter, on: frame(other, address)) > 42)
    #expect(Self.run(ARPSocket.filter, on: frame(.any, address)) > 42)
    #expect(Self.run(ARPSocket.filter, on: frame(other, other)) == 0)
    #expect(Self.run(ARPSocket.filter, on: frame(address, other, type: 0x0800)) == 0)
    #expect(Self.run(ARPSocket.filter, on: [1, 2, 3]) == 0)
  }

  /// What the kernel does with a program of the classic Berkeley Packet Filter, as far as ours has
  /// it: reading past the end drops the packet.
  private static func run(_ program: [ARPSocket.FilterInstruction], on frame: [UInt8]) -> UInt32 {
    var accumulator: UInt32 = 0
    var counter = 0
    while program.indices.contains(counter) {
      let step = program[counter]
      counter += 1
      switch step.code {
      case 0x28:
        let offset = Int(step.operand)
        guard offset + 2 <= frame.count else { return 0 }
        accumulator = UInt32(frame[offset]) << 8 | UInt32(frame[offset + 1])
      case 0x15:
        counter += Int(accumulator == step.operand ? step.jumpIfTrue : step.jumpIfFalse)
      case 0x06: return step.operand
      default:
        Issue.record("an instruction that nobody knows")
        return 0
      }
    }
    Issue.record("the program ran past its end")
    return 0
  }

  @Test("a connection's own address is read from both kinds of sockets, or from none")
  func connections() throws {
    func message(_ source: [UInt8]) -> ByteReader {
      let id = [1, 2, 3, 4] + source + [UInt8](repeating: 0, count: 48 - 4 - source.count)
      return ByteReader([2, 1, 0, 0] + id + [UInt8](repeating: 0, count: 20))
    }
    let zeros = [UInt8](repeating: 0, count: 12)
    let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + address.bytes
    #expect(TCPConnections.Connection(message(address.bytes + zeros))?.source == address)
    #expect(TCPConnections.Connection(message(mapped))?.source == address)
    let six = [0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [1]
    #expect(try #require(TCPConnections.Connection(message(six))).source == nil)
    #expect(TCPConnections.Connection(ByteReader([2, 1, 0, 0, 1, 2])) == nil)
  }

  @Test("answers that are cut short are refused, and errors have their number")
  func answers() throws {
    let refusal: [UInt8] = [
      20, 0, 0, 0, 2, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF,
    ]
    var reader = ByteReader(refusal)
    #expect(try NetlinkMessage.read(&reader).errorNumber == 1)
    for count in 1..<refusal.count {
      var cut = ByteReader(refusal[..<count])
      // A number each: length, type, flags, sequence, whose it is; then what the length says.
      let fields = [0..<4, 4..<6, 6..<8, 8..<12, 12..<16, 16..<20]
      let field = try #require(fields.first { $0.contains(count) })
      let error = Truncated(needed: field.count, available: count - field.lowerBound)
      #expect(throws: error) { try NetlinkMessage.read(&cut) }
    }
    var odd = ByteReader(Array(refusal.prefix(16)) + [0, 0, 0, 0x80])
    #expect(try NetlinkMessage.read(&odd).errorNumber == .min)
  }
}

@Suite("Addresses that interfaces had")
struct LinkLocalStoreTests {
  private let mac = MACAddress(rawValue: 0x0200_0000_0001)

  @Test("F2: a stored address is read again, and an invalid one is ignored")
  func roundTrip() throws {
    let folder = try TemporaryFolder()
    let store = LinkLocalStore(folder: folder.path + "/state")
    #expect(store.address(of: mac) == nil)
    for address in [Inet4Address(169, 254, 7, 7), Inet4Address(169, 254, 200, 200)] {
      #expect(store.store(address, of: mac))
      #expect(store.address(of: mac) == address)
    }
    #expect(store.address(of: MACAddress(rawValue: 2)) == nil)
    try folder.write("169.254.1.999\n", to: "state/\(mac)")
    #expect(store.address(of: mac) == nil)
  }

  @Test("a link that another user put there is not followed")
  func links() throws {
    let folder = try TemporaryFolder()
    let (store, victim) = (LinkLocalStore(folder: folder.path), folder.path + "/victim")
    #expect(symlink(victim, "\(folder.path)/\(mac).new") == 0)
    #expect(!store.store(Inet4Address(169, 254, 7, 7), of: mac))
    #expect(access(victim, F_OK) != 0)
  }

  @Test("a folder that can't be written keeps no address, and the store reports it")
  func nowhere() {
    let store = LinkLocalStore(folder: "/proc/nothing/here")
    #expect(!store.store(Inet4Address(169, 254, 7, 7), of: mac))
    #expect(store.address(of: mac) == nil)
  }
}

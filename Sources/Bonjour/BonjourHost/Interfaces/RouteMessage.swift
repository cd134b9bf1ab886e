import DiscoveryMachines
import Essentials

/// What the kernel says about interfaces and addresses: messages of rtnetlink(7).
///
/// All numbers are in the host's byte order, which is little-endian wherever Swift runs on Linux. Anything but links and addresses is `other`.
enum RouteMessage: Hashable {
  /// An interface is there, or changed.
  case link(SystemInterface)
  /// An interface is gone.
  case linkGone(index: InterfaceIndex)
  /// An interface has an address, or its state changed.
  case address(SystemInterface.Address, index: InterfaceIndex)
  /// An interface has an address no longer.
  case addressGone(SystemInterface.Address, index: InterfaceIndex)
  /// The answer to a request is complete.
  case done(sequence: UInt32, isConsistent: Bool)
  /// A request failed with this error number.
  case failed(Int32, sequence: UInt32)
  /// Something else.
  case other

  /// What to ask the kernel for.
  enum Request: UInt16 {
    /// All interfaces (RTM_GETLINK).
    case links = 18
    /// All addresses (RTM_GETADDR).
    case addresses = 22
  }

  /// The request as bytes; its answer carries the sequence number.
  static func encode(_ request: Request, sequence: UInt32) -> [UInt8] {
    var body = ByteWriter()
    body.uint16(Header.request | Header.dump)
    body.uint32(sequence)
    body.uint32(0)  // from: the kernel fills it in
    // struct ifinfomsg, of which struct ifaddrmsg is the beginning: any family, nothing else.
    body.append([UInt8](repeating: 0, count: request == .links ? 16 : 8))
    var message = ByteWriter()
    message.uint32(UInt32(6 + body.bytes.count))
    message.uint16(request.rawValue)
    return message.bytes + body.bytes
  }

  /// All messages of one read.
  ///
  /// - Throws: `Truncated` where a message, or something inside of one, ends too early.
  static func decode(_ bytes: ArraySlice<UInt8>) throws(Truncated) -> [RouteMessage] {
    var reader = ByteReader(bytes)
    var messages: [RouteMessage] = []
    while !reader.isAtEnd {
      var (header, body) = try Header.read(&reader)
      messages.append(try decode(&header, &body))
    }
    return messages
  }

  private static func decode(
    _ header: inout Header, _ body: inout ByteReader
  ) throws(Truncated) -> RouteMessage {
    switch header.type {
    case 2:  // NLMSG_ERROR
      let number = Int32(bitPattern: try body.uint32())
      return .failed(-number, sequence: header.sequence)
    case 3:  // NLMSG_DONE
      return .done(sequence: header.sequence, isConsistent: header.flags & Header.interrupted == 0)
    case 16: return try link(&body).map(RouteMessage.link) ?? .other  // RTM_NEWLINK
    case 17: return try link(&body).map { .linkGone(index: $0.index) } ?? .other  // RTM_DELLINK
    case 20:  // RTM_NEWADDR
      return try address(&body).map { .address($0, index: $1) } ?? .other
    case 21:  // RTM_DELADDR
      return try address(&body).map { .addressGone($0, index: $1) } ?? .other
    default: return .other
    }
  }

  // MARK: Parts

  /// struct nlmsghdr.
  private struct Header {
    static let request: UInt16 = 0x1  // NLM_F_REQUEST
    static let dump: UInt16 = 0x300  // NLM_F_DUMP
    static let interrupted: UInt16 = 0x10  // NLM_F_DUMP_INTR
    private static let byteCount = 16

    var type: UInt16
    var flags: UInt16
    var sequence: UInt32

    /// The next header and what follows it.
    static func read(_ reader: inout ByteReader) throws(Truncated) -> (Header, ByteReader) {
      let length = Int(try reader.uint32())
      let header = Header(
        type: try reader.uint16(), flags: try reader.uint16(),
        sequence: try reader.uint32())
      _ = try reader.slice(4)
      guard length >= byteCount else { throw Truncated(needed: byteCount, available: length) }
      let body = try reader.slice(length - byteCount)
      reader.skipPadding(after: length)
      return (header, ByteReader(body))
    }
  }

  /// struct ifinfomsg and its attributes; nil for what has no name.
  private static func link(_ reader: inout ByteReader) throws(Truncated) -> SystemInterface? {
    _ = try reader.slice(4)  // family, padding, type of hardware
    let index = InterfaceIndex(rawValue: try reader.uint32())
    let flags = SystemInterface.Flags(rawValue: try reader.uint32())
    _ = try reader.slice(4)  // which flags changed
    var interface = SystemInterface(index: index, name: "", flags: flags)
    while let (type, value) = try attribute(&reader) {
      switch type {
      case 1: interface.hardwareAddress = Array(value)  // IFLA_ADDRESS
      case 3: interface.name = String(decoding: value.prefix { $0 != 0 }, as: UTF8.self)
      case 4:  // IFLA_MTU
        var number = ByteReader(value)
        interface.maxPacketByteCount = Int(try number.uint32())
      default: break
      }
    }
    return interface.name.isEmpty ? nil : interface
  }

  /// struct ifaddrmsg and its attributes; nil for what is neither IPv4 nor IPv6.
  private static func address(
    _ reader: inout ByteReader
  ) throws(Truncated) -> (SystemInterface.Address, index: InterfaceIndex)? {
    _ = try reader.uint8()  // family: the length tells it, too
    let prefixBitCount = Int(try reader.uint8())
    var flags = UInt32(try reader.uint8())
    _ = try reader.uint8()  // scope
    let index = InterfaceIndex(rawValue: try reader.uint32())
    var local: IPAddress?
    var other: IPAddress?
    while let (type, value) = try attribute(&reader) {
      switch type {
      case 1: other = IPAddress(bytes: value)  // IFA_ADDRESS: of the other end, if any
      case 2: local = IPAddress(bytes: value)  // IFA_LOCAL
      case 8:  // IFA_FLAGS: all of them
        var number = ByteReader(value)
        flags = try number.uint32()
      default: break
      }
    }
    guard let address = local ?? other, prefixBitCount <= address.bytes.count * 8 else {
      return nil
    }
    let unusable: UInt32 = 0x40 | 0x08  // IFA_F_TENTATIVE, IFA_F_DADFAILED
    let found = SystemInterface.Address(
      address, prefixBitCount: prefixBitCount, isUsable: flags & unusable == 0)
    return (found, index)
  }

  /// struct rtattr and its value; nil at the end.
  private static func attribute(
    _ reader: inout ByteReader
  ) throws(Truncated) -> (type: UInt16, value: ArraySlice<UInt8>)? {
    guard !reader.isAtEnd else { return nil }
    let length = Int(try reader.uint16())
    let type = try reader.uint16()
    guard length >= 4 else { throw Truncated(needed: 4, available: length) }
    let value = try reader.slice(length - 4)
    reader.skipPadding(after: length)
    return (type & 0x3FFF, value)  // without the two flags of the type
  }
}

extension ByteReader {
  /// Messages and attributes begin at multiples of four bytes; the last may end before.
  fileprivate mutating func skipPadding(after byteCount: Int) {
    _ = try? slice(min(-byteCount & 3, count))
  }
}

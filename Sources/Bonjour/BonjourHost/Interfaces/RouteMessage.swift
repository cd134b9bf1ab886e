import CNetlink
import DiscoveryMachines
import Essentials

/// A message of the kernel about interfaces and addresses (rtnetlink(7)).
///
/// Anything but links and addresses is `other`.
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

  /// A request to the kernel.
  enum Request: UInt16 {
    /// All interfaces (RTM_GETLINK).
    case links = 18
    /// All addresses (RTM_GETADDR).
    case addresses = 22
  }

  /// The request as bytes; its answer carries the sequence number.
  static func encode(_ request: Request, sequence: UInt32) -> [UInt8] {
    // struct ifinfomsg, of which struct ifaddrmsg is the beginning: any family, nothing else.
    let head = [UInt8](repeating: 0, count: request == .links ? 16 : 8)
    return NetlinkRequest(type: request.rawValue, flags: .dump, head: head)
      .bytes(sequence: sequence)
  }

  /// All messages of one read.
  ///
  /// - Throws: `Truncated` where a message, or something inside of one, ends too early.
  static func decode(_ bytes: ArraySlice<UInt8>) throws(Truncated) -> [RouteMessage] {
    var reader = ByteReader(bytes)
    var messages: [RouteMessage] = []
    while !reader.isAtEnd {
      messages.append(try decode(try NetlinkMessage.read(&reader)))
    }
    return messages
  }

  private static func decode(_ message: NetlinkMessage) throws(Truncated) -> RouteMessage {
    if let number = message.errorNumber { return .failed(number, sequence: message.sequence) }
    if message.isDone {
      return .done(
        sequence: message.sequence, isConsistent: message.flags & interruptedFlag == 0)
    }
    var body = message.body
    switch message.type {
    case UInt16(RTM_NEWLINK): return try link(&body).map(RouteMessage.link) ?? .other
    case UInt16(RTM_DELLINK):
      return try link(&body).map { .linkGone(index: $0.index) } ?? .other
    case UInt16(RTM_NEWADDR):
      return try address(&body).map { .address($0, index: $1) } ?? .other
    case UInt16(RTM_DELADDR):
      return try address(&body).map { .addressGone($0, index: $1) } ?? .other
    default: return .other
    }
  }

  /// Something changed while the kernel answered.
  private static let interruptedFlag = UInt16(NLM_F_DUMP_INTR)

  // MARK: Parts

  /// struct ifinfomsg and its attributes; nil without a name.
  private static func link(_ reader: inout ByteReader) throws(Truncated) -> SystemInterface? {
    _ = try reader.slice(4)  // family, padding, type of hardware
    let index = InterfaceIndex(rawValue: try reader.uint32())
    let flags = SystemInterface.Flags(rawValue: try reader.uint32())
    _ = try reader.slice(4)  // which flags changed
    var interface = SystemInterface(index: index, name: "", flags: flags)
    while let (type, value) = try reader.netlinkAttribute() {
      switch type {
      case UInt16(IFLA_ADDRESS): interface.hardwareAddress = Array(value)
      case UInt16(IFLA_IFNAME):
        interface.name = String(decoding: value.prefix { $0 != 0 }, as: UTF8.self)
      case UInt16(IFLA_MTU):
        var number = ByteReader(value)
        interface.maxPacketByteCount = Int(try number.uint32())
      case UInt16(IFLA_CARRIER_UP_COUNT):
        var number = ByteReader(value)
        interface.carrierUpCount = try number.uint32()
      default: break
      }
    }
    return interface.name.isEmpty ? nil : interface
  }

  /// struct ifaddrmsg and its attributes; nil for an address other than IPv4 and IPv6.
  private static func address(
    _ reader: inout ByteReader
  ) throws(Truncated) -> (SystemInterface.Address, index: InterfaceIndex)? {
    _ = try reader.uint8()  // family: the length determines it, too
    let prefixBitCount = Int(try reader.uint8())
    var flags = UInt32(try reader.uint8())
    _ = try reader.uint8()  // scope
    let index = InterfaceIndex(rawValue: try reader.uint32())
    var local: InetAddress?
    var other: InetAddress?
    var origin: UInt8 = 0
    while let (type, value) = try reader.netlinkAttribute() {
      switch type {
      case UInt16(IFA_ADDRESS): other = InetAddress(bytes: value)  // Of the other end, if any.
      case UInt16(IFA_LOCAL): local = InetAddress(bytes: value)
      case UInt16(IFA_FLAGS):  // All of them.
        var number = ByteReader(value)
        flags = try number.uint32()
      case UInt16(IFA_PROTO): origin = value.first ?? 0
      default: break
      }
    }
    guard let address = local ?? other, prefixBitCount <= address.bytes.count * 8 else {
      return nil
    }
    let unusable = UInt32(IFA_F_TENTATIVE | IFA_F_DADFAILED)
    let found = SystemInterface.Address(
      address, prefixBitCount: prefixBitCount, isUsable: flags & unusable == 0, origin: origin)
    return (found, index)
  }
}

import CNetlink
import Essentials

/// A message of netlink(7) that the kernel sent: its header and what follows it.
///
/// All numbers are in the host's byte order, which is little-endian wherever Swift runs on Linux.
struct NetlinkMessage {
  private static let headerByteCount = 16

  var type: UInt16
  var flags: UInt16
  var sequence: UInt32
  var body: ByteReader

  /// The next message of one read.
  static func read(_ reader: inout ByteReader) throws(Truncated) -> NetlinkMessage {
    let length = Int(try reader.uint32())
    let (type, flags) = (try reader.uint16(), try reader.uint16())
    let sequence = try reader.uint32()
    _ = try reader.slice(4)  // whose
    guard length >= headerByteCount else {
      throw Truncated(needed: headerByteCount, available: length)
    }
    let body = try reader.slice(length - headerByteCount)
    reader.skipNetlinkPadding(after: length)
    return NetlinkMessage(type: type, flags: flags, sequence: sequence, body: ByteReader(body))
  }

  /// Of an acknowledgement or a refusal (NLMSG_ERROR), the error's number, 0 for none; nil for any
  /// other message.
  var errorNumber: Int32? {
    guard type == UInt16(NLMSG_ERROR) else { return nil }
    var body = body
    return (try? body.uint32()).map { 0 &- Int32(truncatingIfNeeded: $0) }
  }

  /// Whether it ends an answer of several messages (NLMSG_DONE).
  var isDone: Bool { type == UInt16(NLMSG_DONE) }
}

extension ByteReader {
  /// The next attribute, struct rtattr and its value; nil at the end.
  mutating func netlinkAttribute() throws(Truncated) -> (type: UInt16, value: ArraySlice<UInt8>)? {
    guard !isAtEnd else { return nil }
    let length = Int(try uint16())
    let type = try uint16()
    guard length >= 4 else { throw Truncated(needed: 4, available: length) }
    let value = try slice(length - 4)
    skipNetlinkPadding(after: length)
    return (type & ~UInt16(NLA_F_NESTED | NLA_F_NET_BYTEORDER), value)
  }

  /// Messages and attributes begin at multiples of four bytes; the last may end before.
  fileprivate mutating func skipNetlinkPadding(after byteCount: Int) {
    _ = try? slice(min(-byteCount & 3, count))
  }
}

/// A request to the kernel (netlink(7)).
struct NetlinkRequest {
  /// What a request is like: NLM_F_REQUEST is in all.
  struct Flags: OptionSet {
    let rawValue: UInt16

    /// Report the result.
    static let acknowledge = Flags(rawValue: UInt16(NLM_F_ACK))
    /// Report all objects.
    static let dump = Flags(rawValue: UInt16(NLM_F_ROOT | NLM_F_MATCH))
    /// Replace an existing object.
    static let replace = Flags(rawValue: UInt16(NLM_F_REPLACE))
    /// Create the object if it doesn't exist.
    static let create = Flags(rawValue: UInt16(NLM_F_CREATE))
    /// After those that are there.
    static let append = Flags(rawValue: UInt16(NLM_F_APPEND))
  }

  var type: UInt16
  var flags: Flags
  /// The structure that every request of its type begins with.
  var head: [UInt8]
  var attributes: [NetlinkAttribute] = []

  /// The request as bytes; its answer carries the sequence number.
  func bytes(sequence: UInt32 = 1) -> [UInt8] {
    let body = head + attributes.flatMap(\.bytes)
    var writer = ByteWriter(capacity: 16 + body.count)
    writer.uint32(UInt32(16 + body.count))
    writer.uint16(type)
    writer.uint16(flags.rawValue | UInt16(NLM_F_REQUEST))
    writer.uint32(sequence)
    writer.uint32(0)  // from: the kernel fills it in
    writer.append(body)
    return writer.bytes
  }
}

/// A part of a request: struct rtattr, its value, and padding.
struct NetlinkAttribute {
  let bytes: [UInt8]

  /// A value of bytes.
  init(_ type: UInt16, _ value: [UInt8]) {
    var writer = ByteWriter(capacity: 8 + value.count)
    writer.uint16(UInt16(4 + value.count))
    writer.uint16(type)
    writer.append(value)
    writer.append([UInt8](repeating: 0, count: -value.count & 3))
    bytes = writer.bytes
  }

  /// A number in the host's byte order.
  init(_ type: UInt16, _ number: UInt32) {
    var value = ByteWriter()
    value.uint32(number)
    self.init(type, value.bytes)
  }

  /// A number in the network's byte order.
  init(_ type: UInt16, bigEndian number: UInt32) {
    var value = ByteWriter()
    value.bigEndian(UInt64(number), count: 4)
    self.init(type, value.bytes)
  }

  /// Text.
  init(_ type: UInt16, _ text: String) { self.init(type, Array(text.utf8) + [0]) }

  /// Parts in a part (NLA_F_NESTED).
  init(_ type: UInt16, _ parts: [NetlinkAttribute]) {
    self.init(type | UInt16(NLA_F_NESTED), parts.flatMap(\.bytes))
  }

  // MARK: Types that C's enumerations name

  init(_ type: some RawRepresentable<UInt32>, _ value: [UInt8]) {
    self.init(UInt16(type.rawValue), value)
  }

  init(_ type: some RawRepresentable<UInt32>, bigEndian number: UInt32) {
    self.init(UInt16(type.rawValue), bigEndian: number)
  }

  init(_ type: some RawRepresentable<UInt32>, _ text: String) {
    self.init(UInt16(type.rawValue), text)
  }

  init(_ type: some RawRepresentable<UInt32>, _ parts: [NetlinkAttribute]) {
    self.init(UInt16(type.rawValue), parts)
  }
}

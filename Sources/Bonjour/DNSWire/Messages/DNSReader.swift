/// Reads integers and names off a message; never reads past its end, never loops.
struct DNSReader {
  enum Limits {
    /// Compression pointers in one name: more than a name can have labels is an attack.
    static let pointersMax = 127
    /// Names remembered for when a pointer points at the whole of one.
    static let rememberedNamesMax = 16
  }

  /// The whole message; pointers count from its first byte.
  let message: ArraySlice<UInt8>
  /// The next byte to read, from the message's first.
  private(set) var position = 0
  /// Where reading ends for now.
  private var end: Int
  private var remembered: [(offset: Int, name: DNSName)] = []

  init(_ message: ArraySlice<UInt8>) {
    self.message = message
    end = message.count
  }

  /// How many bytes are left.
  var available: Int { end - position }

  /// Runs `body` with no more than the next `byteCount` bytes to read; nil, with nothing read,
  /// where it throws or leaves some of them.
  mutating func bounded<Value>(
    byteCount: Int, _ body: (inout DNSReader) throws(DNSWireError) -> Value
  ) -> Value? {
    let (start, outerEnd) = (position, end)
    end = min(end, start + byteCount)
    let value = try? body(&self)
    let isComplete = available == 0
    end = outerEnd
    if value == nil || !isComplete { position = start }
    return isComplete ? value : nil
  }

  mutating func uint8() throws(DNSWireError) -> UInt8 {
    let value = try byte(at: position)
    position += 1
    return value
  }

  mutating func uint16() throws(DNSWireError) -> UInt16 {
    try UInt16(uint8()) << 8 | UInt16(uint8())
  }

  mutating func uint32() throws(DNSWireError) -> UInt32 {
    try UInt32(uint16()) << 16 | UInt32(uint16())
  }

  mutating func slice(_ count: Int) throws(DNSWireError) -> ArraySlice<UInt8> {
    guard count >= 0, count <= available else {
      throw .truncated(needed: count, available: available)
    }
    let start = message.startIndex + position
    position += count
    return message[start..<start + count]
  }

  /// A string after its length (RFC 1035, §3.3).
  mutating func string() throws(DNSWireError) -> ArraySlice<UInt8> {
    try slice(Int(uint8()))
  }

  private func byte(at offset: Int) throws(DNSWireError) -> UInt8 {
    guard offset < end else { throw .truncated(needed: 1, available: 0) }
    return message[message.startIndex + offset]
  }

  /// A name, compressed or not (RFC 1035, §4.1.4). Every pointer must point before the part of the
  /// name that it ends, so that following them comes to an end.
  mutating func name() throws(DNSWireError) -> DNSName {
    let start = position
    if let known = try rememberedName() { return known }
    var bytes: [UInt8] = []
    var (cursor, limit, pointerCount) = (position, position, 0)
    while true {
      let length = try byte(at: cursor)
      switch length >> 6 {
      case 0:
        let labelEnd = cursor + 1 + Int(length)
        guard labelEnd <= end else {
          throw .truncated(needed: Int(length), available: end - cursor - 1)
        }
        let first = message.startIndex + cursor
        bytes.append(contentsOf: message[first...first + Int(length)])
        // The root label is still to come, unless this is it.
        let byteCount = bytes.count + (length == 0 ? 0 : 1)
        guard byteCount <= DNSName.Limits.nameByteCountMax else { throw .nameTooLong }
        cursor = labelEnd
        if pointerCount == 0 { position = cursor }
        if length == 0 { return remember(DNSName(uncheckedWireBytes: bytes), at: start) }
      case 3:
        let target = Int(length & 0x3F) << 8 | Int(try byte(at: cursor + 1))
        if pointerCount == 0 { position = cursor + 2 }
        pointerCount += 1
        guard target < limit, pointerCount <= Limits.pointersMax else {
          throw .invalidPointer(target: target)
        }
        (cursor, limit) = (target, target)
      default: throw .reservedLabelType(length)
      }
    }
  }

  /// The name for a pointer without labels before it, if the name at its target was read before.
  /// This is the usual form of names in a response.
  private mutating func rememberedName() throws(DNSWireError) -> DNSName? {
    let length = try byte(at: position)
    guard length >> 6 == 3 else { return nil }
    let target = Int(length & 0x3F) << 8 | Int(try byte(at: position + 1))
    guard let known = remembered.first(where: { $0.offset == target }) else { return nil }
    position += 2
    return known.name
  }

  private mutating func remember(_ name: DNSName, at offset: Int) -> DNSName {
    if remembered.count < Limits.rememberedNamesMax { remembered.append((offset, name)) }
    return name
  }
}

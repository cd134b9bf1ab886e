package import Essentials

/// A message between an owner and a client: one byte for its kind, then its fields.
package protocol PortSharingMessage: Hashable, Sendable {
  /// Reads a whole message. Takes any bytes.
  init(decoding bytes: ArraySlice<UInt8>) throws(PortSharingError)
  /// Appends the message as ``init(decoding:)`` reads it.
  func write(into writer: inout ByteWriter)
}

extension PortSharingMessage {
  /// The message after its length, as it is sent; nil if it is longer than any may be.
  package var frame: [UInt8]? {
    var writer = ByteWriter(capacity: 128)
    writer.uint32(0)
    write(into: &writer)
    let byteCount = writer.count - FrameReader.headByteCount
    guard byteCount <= PortSharingProtocol.messageByteCountMax else { return nil }
    for index in 0..<FrameReader.headByteCount {
      writer.bytes[index] = UInt8(truncatingIfNeeded: byteCount >> (8 * index))
    }
    return writer.bytes
  }
}

/// Cuts a stream of bytes into messages: four bytes of length, least significant first, before
/// each.
///
/// If complete messages are read after each append, it holds at most one incomplete message and the
/// bytes appended last, and almost nothing between messages.
package struct FrameReader: Sendable {
  static let headByteCount = 4
  /// From here on, memory that was read is given back.
  private static let compactionByteCount = 1 << 10

  private var bytes: [UInt8] = []
  /// The index of the first unread byte.
  private var start = 0

  /// A reader at the beginning of a stream.
  package init() {}

  /// How many bytes wait for the rest of their message.
  package var byteCount: Int { bytes.count - start }

  /// How much memory it keeps, in bytes.
  var capacity: Int { bytes.capacity }

  /// Takes in what arrived.
  package mutating func append(_ more: some Collection<UInt8>) {
    if start > 0 {
      bytes.removeSubrange(..<start)
      start = 0
    }
    bytes.append(contentsOf: more)
  }

  /// Frees the memory of bytes already read, if they are many.
  private mutating func compact() {
    guard start >= Self.compactionByteCount else { return }
    bytes = Array(bytes[start...])
    start = 0
  }

  /// The next message; nil if it is not complete. After an error the stream cannot be read further.
  package mutating func next<Message: PortSharingMessage>(
    _ type: Message.Type = Message.self
  ) throws(PortSharingError) -> Message? {
    var reader = ByteReader(bytes[start...])
    guard let length = try? reader.uint32() else {
      compact()
      return nil
    }
    guard length <= UInt32(PortSharingProtocol.messageByteCountMax) else {
      throw .messageTooLong(byteCount: Int(length))
    }
    guard let body = try? reader.slice(Int(length)) else {
      compact()
      return nil
    }
    start = body.endIndex
    return try Message(decoding: body)
  }
}

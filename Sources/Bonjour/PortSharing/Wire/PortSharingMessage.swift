package import Essentials

/// A message between an owner and a client: one byte for its kind, then its fields.
package protocol PortSharingMessage: Hashable, Sendable {
  /// Decodes a message. Any bytes are allowed as input.
  init(decoding bytes: ArraySlice<UInt8>) throws(PortSharingError)
  /// Appends the encoded message, which ``init(decoding:)`` decodes.
  func write(into writer: inout ByteWriter)
}

extension PortSharingMessage {
  /// The encoded message after its length, as it is sent; nil if it is too long.
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

/// Splits a stream of bytes into messages, each of which follows its length in four bytes, least
/// significant first.
///
/// If complete messages are read after each append, it holds at most one incomplete message and the
/// bytes appended last.
package struct FrameReader: Sendable {
  static let headByteCount = 4
  /// From here on, memory that was read is given back.
  private static let compactionByteCount = 1 << 10

  private var bytes: [UInt8] = []
  /// The index of the first unread byte.
  private var start = 0

  /// Creates a reader at the beginning of a stream.
  package init() {}

  /// The number of bytes that are not read yet.
  package var byteCount: Int { bytes.count - start }

  /// How much memory it keeps, in bytes.
  var capacity: Int { bytes.capacity }

  /// Appends received bytes.
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

  /// The next message; nil if it is incomplete. After an error the rest of the stream can't be
  /// read.
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

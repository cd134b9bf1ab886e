internal import Foundation

/// A message between the manager of apps and another process: its length in four bytes, least significant one
/// first, and its text in JSON.
package enum AppFrame {
  /// The maximum length of a text. A full queue of an app, a mebibyte of events, is shorter in JSON.
  package static let byteCountMax = 1 << 24
  /// The maximum length of the first message, before the other process is known.
  package static let greetingByteCountMax = 1 << 16
  private static let headByteCount = 4

  /// The bytes of a message.
  package static func bytes(of message: some Encodable) -> [UInt8] {
    let encoder = JSONEncoder()
    // Times of apps may be endless.
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    guard let data = try? encoder.encode(message) else {
      preconditionFailure("a message between apps and their manager can't be encoded")
    }
    let head = (0..<headByteCount).map { UInt8(truncatingIfNeeded: data.count >> (8 * $0)) }
    return head + data
  }

  /// Reads messages from bytes as they come.
  package struct Reader: Sendable {
    private var bytes: [UInt8] = []
    /// The maximum length of the next text.
    package var byteCountMax: Int

    package init(byteCountMax: Int = AppFrame.greetingByteCountMax) {
      self.byteCountMax = byteCountMax
    }

    package mutating func append(_ new: some Sequence<UInt8>) { bytes.append(contentsOf: new) }

    /// Nil until a whole message has come.
    package mutating func next<Message: Decodable>(
      _: Message.Type
    ) throws(AppFrameError) -> Message? {
      guard bytes.count >= headByteCount else { return nil }
      let length = bytes.prefix(headByteCount).reversed().reduce(0) { $0 << 8 | Int($1) }
      guard length <= byteCountMax else { throw .tooLong }
      let end = headByteCount + length
      guard bytes.count >= end else { return nil }
      defer { bytes.removeFirst(end) }
      let decoder = JSONDecoder()
      decoder.nonConformingFloatDecodingStrategy = .convertFromString(
        positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
      do {
        return try decoder.decode(Message.self, from: Data(bytes[headByteCount..<end]))
      } catch { throw .malformed }
    }
  }
}

/// Why bytes are no messages.
package enum AppFrameError: Error, Hashable, Sendable {
  case tooLong
  case malformed
}

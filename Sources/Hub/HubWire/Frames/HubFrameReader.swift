/// Splits a stream of bytes into messages, each of which follows its length in four bytes, least significant
/// first. The length counts the kind and the body.
///
/// Bytes may arrive in chunks of any size. A message within one chunk shares its storage; only a message that
/// spans chunks is copied, once, as its bytes arrive: a length costs no memory. If all messages are read after
/// each chunk, at most one incomplete message is stored.
///
/// After an error the rest of the stream can't be read: every call throws the same error.
package struct HubFrameReader: Sendable {
  static let headByteCount = 4

  /// The maximum length of a message, which grows after the greeting.
  package var byteCountMax: Int
  /// The number of messages that were skipped, because only a later version knows them.
  package private(set) var skippedCount = 0
  /// The beginning of a message whose rest has not arrived; empty most of the time.
  private var partial: [UInt8] = []
  /// The unread bytes of the last chunk.
  private var chunk: ArraySlice<UInt8> = []
  private var failure: HubWireError?

  /// Creates a reader at the beginning of a stream.
  package init(byteCountMax: Int = HubProtocol.messageByteCountMax) {
    self.byteCountMax = byteCountMax
  }

  /// The number of stored bytes, of an incomplete message or of messages not read yet.
  package var byteCount: Int { partial.count + chunk.count }
  /// How much memory an incomplete message takes, in bytes.
  var capacity: Int { partial.capacity }

  /// Appends received bytes. Read all messages before the next call, otherwise the bytes are copied behind the
  /// unread ones. Ignored after an error.
  package mutating func append(_ bytes: ArraySlice<UInt8>) {
    guard failure == nil else { return }
    if chunk.isEmpty { chunk = bytes } else { chunk += bytes }
  }

  /// Appends received bytes; shares their storage.
  package mutating func append(_ bytes: [UInt8]) { append(bytes[...]) }

  /// The next message that this version knows; nil if none is complete.
  package mutating func next<Message: HubWireMessage>(
    _: Message.Type = Message.self
  ) throws(HubWireError) -> Message? {
    if let failure { throw failure }
    do throws(HubWireError) {
      while let bytes = try nextFrame() {
        if let message = try Message.decode(bytes) { return message }
        skippedCount += 1
      }
      return nil
    } catch {
      failure = error
      chunk = []
      partial = []
      throw error
    }
  }

  /// The bytes of the next message without its head; nil if it is incomplete.
  private mutating func nextFrame() throws(HubWireError) -> ArraySlice<UInt8>? {
    if !partial.isEmpty { return try nextAcrossChunks() }
    guard chunk.count >= Self.headByteCount else { return keepRest() }
    let byteCount = Self.headByteCount + (try bodyByteCount(chunk))
    guard chunk.count >= byteCount else { return keepRest() }
    let frame = chunk.prefix(byteCount)
    chunk = chunk[frame.endIndex...]
    return frame.dropFirst(Self.headByteCount)
  }

  /// Keeps the beginning of a message until more bytes arrive.
  private mutating func keepRest() -> ArraySlice<UInt8>? {
    partial.append(contentsOf: chunk)
    chunk = []
    return nil
  }

  /// Completes the message in `partial`: first its head, then its body.
  private mutating func nextAcrossChunks() throws(HubWireError) -> ArraySlice<UInt8>? {
    take(upTo: Self.headByteCount)
    guard partial.count >= Self.headByteCount else { return nil }
    let byteCount = Self.headByteCount + (try bodyByteCount(partial[...]))
    take(upTo: byteCount)
    guard partial.count == byteCount else { return nil }
    let frame = partial
    partial = []
    return frame[Self.headByteCount...]
  }

  /// Moves bytes of the chunk to `partial` until that has this number of bytes.
  private mutating func take(upTo count: Int) {
    guard partial.count < count else { return }
    let taken = chunk.prefix(count - partial.count)
    partial.append(contentsOf: taken)
    chunk = chunk[taken.endIndex...]
  }

  private func bodyByteCount(_ head: ArraySlice<UInt8>) throws(HubWireError) -> Int {
    let length = head.prefix(Self.headByteCount).reversed().reduce(0) { $0 << 8 | Int($1) }
    guard (1...byteCountMax).contains(length) else { throw .invalidLength(length) }
    return length
  }
}

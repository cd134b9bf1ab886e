package import BluetoothInterface

/// Puts messages one behind the other, each after its length, as they are sent.
package struct HubFrameWriter: Sendable {
  private var encoder: HubEncoder

  /// Creates a writer without messages.
  package init(capacity: Int = 256) { encoder = HubEncoder(capacity: capacity) }

  /// The bytes of all messages.
  package var bytes: [UInt8] { encoder.bytes }
  /// The number of these bytes.
  package var byteCount: Int { encoder.count }

  /// Takes the bytes of all messages, and leaves none.
  package mutating func takeBytes() -> [UInt8] { encoder.takeBytes() }

  /// Appends a message. Appends nothing if it throws, because the message is longer than the maximum, has too
  /// many elements, or a name in it is too long.
  package mutating func append(_ message: some HubWireMessage) throws(HubWireError) {
    try message.write(into: &self)
  }

  /// Appends events of a session in as few messages as they fit in. Throws if one of them fits in no message;
  /// those before it are appended.
  package mutating func append(
    _ events: [HostEvent], of session: HubSessionID
  ) throws(HubWireError) {
    var next = 0
    while next < events.count {
      next = try appendFrame { encoder throws(HubWireError) in
        _ = encoder.byte(HubMessage.Number.events.rawValue)
        _ = try HubSessionID.coded(session, by: &encoder)
        return try Self.write(events, from: next, into: &encoder)
      }
    }
  }

  /// Writes events until the message is full, or until one that doesn't fit in any. Returns the index of the
  /// first one that is not written.
  private static func write(
    _ events: [HostEvent], from start: Int, into encoder: inout HubEncoder
  ) throws(HubWireError) -> Int {
    // The kind and the session are written already, which the limit allows for.
    let end = encoder.count + HubProtocol.messageByteCountMax - 16
    let last = min(events.count, start + HubProtocol.eventCountMax)
    for next in start..<last {
      let before = encoder.count
      do throws(HubWireError) {
        try HubEvents.write(events[next], by: &encoder)
        guard encoder.count <= end || next == start else {
          throw .invalidLength(encoder.count - before)
        }
      } catch {
        // Alone in a message, it is written, or its error is thrown.
        if next == start { throw error }
        encoder.truncate(to: before)
        return next
      }
    }
    return last
  }

  /// Appends a message whose kind and body `body` writes.
  mutating func appendFrame<Value>(
    _ body: (inout HubEncoder) throws(HubWireError) -> Value
  ) throws(HubWireError) -> Value {
    let start = encoder.count
    let headByteCount = HubFrameReader.headByteCount
    _ = encoder.fixed(0, byteCount: headByteCount)
    do throws(HubWireError) {
      let value = try body(&encoder)
      let byteCount = encoder.count - start - headByteCount
      guard byteCount <= HubProtocol.messageByteCountMax else { throw .invalidLength(byteCount) }
      encoder.overwrite(at: start, with: byteCount, byteCount: headByteCount)
      return value
    } catch {
      encoder.truncate(to: start)
      throw error
    }
  }
}

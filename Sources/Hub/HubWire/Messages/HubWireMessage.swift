/// A message of one direction.
package protocol HubWireMessage: Hashable, Sendable {
  /// Reads a message from its bytes, without its head: the kind, then the body. Any bytes are allowed. Nil
  /// for a kind that this version doesn't know and that may be skipped.
  static func decode(_ bytes: ArraySlice<UInt8>) throws(HubWireError) -> Self?
  /// Appends the message with its head.
  func write(into writer: inout HubFrameWriter) throws(HubWireError)
}

extension HubChoice {
  /// Reads the number and the fields of a message, and skips what a later version added behind them.
  static func decodeChoice(_ bytes: ArraySlice<UInt8>) throws(HubWireError) -> Self? {
    var decoder = HubDecoder(bytes)
    let kind = try decoder.byte()
    if let number = Number(rawValue: kind) { return try coded(nil, number, by: &decoder) }
    if kind & HubProtocol.mustUnderstand == 0 { return nil }
    throw .notUnderstood(of: "\(Self.self)", number: kind)
  }

  /// Appends a message of its number and its fields.
  func writeChoice(into writer: inout HubFrameWriter) throws(HubWireError) {
    try writer.appendFrame { encoder throws(HubWireError) in
      _ = try Self.coded(self, by: &encoder)
    }
  }
}

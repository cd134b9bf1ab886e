/// Why bytes or text could not be read as DNS. No decoder traps; all throw this.
public enum DNSWireError: Error, Equatable, Sendable {
  /// The bytes ended before the value did.
  case truncated(needed: Int, available: Int)
  /// A label of no bytes inside a name.
  case emptyLabel
  /// A label longer than 63 bytes.
  case labelTooLong(byteCount: Int)
  /// A name longer than 255 bytes before its root label.
  case nameTooLong
  /// A label whose first byte begins with the bits 01 or 10 (RFC 1035, §4.1.4).
  case reservedLabelType(UInt8)
  /// A compression pointer that doesn't point backwards, or one of too many in a row.
  case invalidPointer(target: Int)
  /// A backslash that is followed by neither a character nor a number of three digits up to 255.
  case invalidEscape
  /// A control character where people's text is expected.
  case controlCharacter(UInt8)
  /// The length of a record's data contradicts what the type demands.
  case invalidLength(Int)
  /// The message does not fit into the bytes it may have.
  case messageTooLong(byteCountMax: Int)
  /// A key of a TXT record is empty, or holds `=` or other characters than printable ASCII.
  case invalidKey
  /// A string longer than 255 bytes.
  case stringTooLong(byteCount: Int)
  /// Not `_name._tcp` or `_name._udp` with a name as RFC 6335 allows it.
  case invalidServiceType
}

/// The reason why bytes or text could not be decoded as DNS. No decoder traps; all throw this.
public enum DNSWireError: Error, Equatable, Sendable {
  /// The bytes end before the value does.
  case truncated(needed: Int, available: Int)
  /// An empty label inside a name.
  case emptyLabel
  /// A label longer than 63 bytes.
  case labelTooLong(byteCount: Int)
  /// A name longer than 255 bytes before its root label.
  case nameTooLong
  /// A label whose first byte begins with the bits 01 or 10 (RFC 1035, §4.1.4).
  case reservedLabelType(UInt8)
  /// A compression pointer that doesn't point backwards, or too many pointers in a row.
  case invalidPointer(target: Int)
  /// A backslash that is not followed by a character or by three digits up to 255.
  case invalidEscape
  /// A control character in text for users.
  case controlCharacter(UInt8)
  /// The length of a record's data is not valid for its type.
  case invalidLength(Int)
  /// The message is longer than its limit.
  case messageTooLong(byteCountMax: Int)
  /// A key of a TXT record is empty, or contains `=` or characters other than printable ASCII.
  case invalidKey
  /// A string longer than 255 bytes.
  case stringTooLong(byteCount: Int)
  /// The text is not `_name._tcp` or `_name._udp` with a name.
  case invalidServiceType
}

import BluetoothWire

extension Error {
  /// Whether bytes ended before what was read did.
  var isTruncated: Bool {
    if case WireError.truncated(let needed, let available) = self {
      needed > available
    } else {
      false
    }
  }
}

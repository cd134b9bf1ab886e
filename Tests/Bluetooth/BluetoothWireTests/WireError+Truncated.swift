import BluetoothWire

extension Error {
  /// Whether the bytes ended before the value did.
  var isTruncated: Bool {
    if let error = self as? WireError, case .truncated(let needed, let available) = error {
      needed > available
    } else {
      false
    }
  }
}

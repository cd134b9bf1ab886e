public import BluetoothMachines
public import BluetoothWire

extension HostConfiguration {
  /// Chooses the host's address by a name, as `AMBIT_ADDRESS` and `--address` have it: `private`, one
  /// that only bonded peers can tell from a stranger's and that changes every quarter of an hour;
  /// `controller`, the controller's own; or a random static one.
  ///
  /// - Parameters:
  ///   - name: Nil: a private one, or on the simulated radio, where nobody listens, the controller's.
  ///   - radio: The radio that the host is to use.
  /// - Throws: `HostAddressError` with one sentence that says what is wrong with the name.
  public mutating func chooseAddress(
    named name: String?, on radio: RadioChoice
  ) throws(HostAddressError) {
    address = nil
    switch name {
    case nil: usesPrivateAddress = if case .simulated = radio { false } else { true }
    case "private"?: usesPrivateAddress = true
    case "controller"?: usesPrivateAddress = false
    case let text?:
      address = try Self.address(parsing: text)
      usesPrivateAddress = false
    }
  }

  /// Reads an address that a host may choose for itself, as `AMBIT_ADDRESS` and `--address` name it:
  /// a random static one (Core 5.4, Vol 6, Part B, §1.3.2.1), such as `C4:12:34:56:78:9A`.
  ///
  /// - Throws: `HostAddressError` with one sentence that says what is wrong with the text.
  public static func address(parsing text: String) throws(HostAddressError) -> DeviceAddress {
    guard let address = DeviceAddress(text, kind: .random) else {
      throw HostAddressError(text, "an address has six bytes in hexadecimal")
    }
    guard address.randomKind == .static else {
      throw HostAddressError(text, "its first digit is none of C, D, E and F")
    }
    guard address.isIdentityAddress else {
      throw HostAddressError(text, "all bits of its random part are equal")
    }
    return address
  }
}

/// Why a text is no address that a host may choose.
public struct HostAddressError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The text that is no such address.
  public var text: String
  /// What is wrong with it.
  public var reason: String

  init(_ text: String, _ reason: String) {
    self.text = text
    self.reason = reason
  }

  /// One sentence for people, with what would have been right.
  public var description: String {
    "\"\(text)\" is no address that a host may choose: \(reason). "
      + "One is random static, as in C4:12:34:56:78:9A, or \"private\" or \"controller\"."
  }
}

public import BluetoothMachines
public import BluetoothWire

extension HostConfiguration {
  /// Chooses the host's address by the value of `AMBIT_ADDRESS` or `--address`: `private`, one that
  /// only bonded peers can resolve and that changes every quarter of an hour; `controller`, the
  /// controller's own; or a random static one.
  ///
  /// - Parameters:
  ///   - name: Nil: a private one, or on the simulated radio, where privacy is not needed, the
  ///     controller's.
  ///   - radio: The radio that the host is to use.
  /// - Throws: `HostAddressError` with the reason in one sentence.
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

  /// Parses an address that a host may choose for itself, as in `AMBIT_ADDRESS` and `--address`: a
  /// random static one (Core 5.4, Vol 6, Part B, §1.3.2.1), such as `C4:12:34:56:78:9A`.
  ///
  /// - Throws: `HostAddressError` with the reason in one sentence.
  public static func address(parsing text: String) throws(HostAddressError) -> DeviceAddress {
    guard let address = DeviceAddress(text, kind: .random) else {
      throw HostAddressError(text, "an address has six bytes in hexadecimal")
    }
    guard address.randomKind == .static else {
      throw HostAddressError(text, "its first digit must be C, D, E or F")
    }
    guard address.isIdentityAddress else {
      throw HostAddressError(text, "all bits of its random part are equal")
    }
    return address
  }
}

/// The reason why a text is not a valid address for a host.
public struct HostAddressError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The invalid text.
  public var text: String
  /// The reason.
  public var reason: String

  init(_ text: String, _ reason: String) {
    self.text = text
    self.reason = reason
  }

  /// A sentence for users, with the valid forms.
  public var description: String {
    "\"\(text)\" is no address that a host may choose: \(reason). "
      + "One is random static, as in C4:12:34:56:78:9A, or \"private\" or \"controller\"."
  }
}

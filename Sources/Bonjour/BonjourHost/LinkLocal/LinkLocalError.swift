import EventLoop

/// The reason why an interface can't get a link-local address.
public struct LinkLocalError: Error, Hashable, Sendable {
  /// The kind of an error. Later versions may add more.
  public struct Code: Hashable, Sendable {
    fileprivate let rawValue: UInt8

    /// The interface does not exist.
    public static let noInterface = Code(rawValue: 1)
    /// The interface has no Ethernet or Wi-Fi hardware address, so ARP is not possible.
    public static let noHardwareAddress = Code(rawValue: 2)
    /// Another program of this host configures the interface.
    public static let alreadyManaged = Code(rawValue: 3)
    /// This program lacks a capability, see ``LinkLocalError/Capability``.
    public static let notPermitted = Code(rawValue: 4)
    /// The system refused an operation.
    public static let refused = Code(rawValue: 5)
  }

  /// A required capability (capabilities(7)).
  public enum Capability: String, Hashable, Sendable {
    /// Needed to send and receive ARP.
    case rawSockets = "CAP_NET_RAW"
    /// Needed to set addresses and routes.
    case administration = "CAP_NET_ADMIN"
  }

  /// The errors of this version, for an exhaustive switch.
  package enum Reason: Hashable, Sendable {
    case noInterface(String)
    case noHardwareAddress(String)
    case alreadyManaged(String)
    case notPermitted(Capability)
    /// The operating system refused an operation with this error number.
    case refused(Int32)
  }

  package let reason: Reason

  /// The kind of the error.
  public var code: Code {
    switch reason {
    case .noInterface: .noInterface
    case .noHardwareAddress: .noHardwareAddress
    case .alreadyManaged: .alreadyManaged
    case .notPermitted: .notPermitted
    case .refused: .refused
    }
  }

  /// The error number of the system behind ``Code/refused``.
  public var systemErrorNumber: Int32? {
    if case .refused(let number) = reason { number } else { nil }
  }

  static func noInterface(_ name: String) -> LinkLocalError { .init(reason: .noInterface(name)) }
  static func noHardwareAddress(_ name: String) -> LinkLocalError {
    .init(reason: .noHardwareAddress(name))
  }
  static func alreadyManaged(_ name: String) -> LinkLocalError {
    .init(reason: .alreadyManaged(name))
  }
  static func notPermitted(_ capability: Capability) -> LinkLocalError {
    .init(reason: .notPermitted(capability))
  }
  static func refused(_ number: Int32) -> LinkLocalError { .init(reason: .refused(number)) }
}

extension LinkLocalError: CustomStringConvertible {
  /// A description in one sentence, without a full stop.
  public var description: String {
    switch reason {
    case .noInterface(let name): "there is no interface \"\(name)\""
    case .noHardwareAddress(let name):
      "\(name) is not an Ethernet or Wi-Fi interface, so ARP cannot probe for addresses on it"
    case .alreadyManaged(let name):
      "another program gives \(name) its link-local address already"
    case .notPermitted(let capability):
      "giving an interface an address takes the capabilities CAP_NET_RAW and CAP_NET_ADMIN, and "
        + "this program lacks \(capability.rawValue): run it as root, or give it both with setcap"
    case .refused(let number): "the system refused: \(SystemError(number: number).text)"
    }
  }
}

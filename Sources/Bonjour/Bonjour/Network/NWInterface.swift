internal import DiscoveryMachines
internal import Glibc

/// A network interface.
public struct NWInterface: Hashable, Sendable, CustomDebugStringConvertible {
  /// The medium of an interface.
  public enum InterfaceType: Hashable, Sendable {
    /// Another or an unknown medium.
    case other
    /// Wi-Fi.
    case wifi
    /// A mobile network.
    case cellular
    /// Ethernet.
    case wiredEthernet
    /// The loopback interface.
    case loopback
  }

  /// The medium.
  public let type: InterfaceType
  /// The name of the interface: `eth0`.
  public let name: String
  /// The index of the interface.
  public let index: Int

  /// The interface with the system's name for it; nil if no such interface exists.
  init?(name: String) {
    let index = if_nametoindex(name)
    guard index != 0 else { return nil }
    self.init(name: name, index: Int(index))
  }

  /// The interface of that number; nil if it is gone.
  init?(_ index: InterfaceIndex) {
    var buffer = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
    guard if_indextoname(index.rawValue, &buffer) != nil else { return nil }
    let name = buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
    self.init(name: String(decoding: name, as: UTF8.self), index: Int(index.rawValue))
  }

  init(name: String, index: Int) {
    self.name = name
    self.index = index
    type = Self.type(of: name)
  }

  /// The name of the interface.
  public var debugDescription: String { name }

  /// Whether both are the same interface.
  public static func == (a: NWInterface, b: NWInterface) -> Bool {
    a.index == b.index && a.name == b.name
  }

  /// Hashes the same properties that equality compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(index)
    hasher.combine(name)
  }

  /// By the names that Linux and systemd give (systemd.net-naming-scheme(7)).
  private static func type(of name: String) -> InterfaceType {
    switch name {
    case "lo": .loopback
    case _ where name.hasPrefix("wl"): .wifi
    case _ where name.hasPrefix("ww"): .cellular
    case _ where name.hasPrefix("e"): .wiredEthernet
    default: .other
    }
  }
}

extension InterfaceIndex {
  /// The interface as machines know it.
  init?(_ interface: NWInterface?) {
    guard let interface, let number = UInt32(exactly: interface.index) else { return nil }
    self.init(rawValue: number)
  }
}

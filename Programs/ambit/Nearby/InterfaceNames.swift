package import BonjourHost
package import DiscoveryMachines

/// The names of interfaces, including removed ones: the events of an interface's end arrive after
/// the system has forgotten its name.
package struct InterfaceNames {
  private let lookUp: @Sendable (InterfaceIndex) async -> String?
  private var known: [InterfaceIndex: String] = [:]

  init(_ lookUp: @escaping @Sendable (InterfaceIndex) async -> String?) { self.lookUp = lookUp }

  /// The names of the interfaces of a host.
  package init(of host: BonjourHost) {
    self.init { await host.interfaces[$0] }
  }

  /// The name that it has, or had last.
  package mutating func name(of index: InterfaceIndex?) async -> String? {
    guard let index else { return nil }
    if let name = await lookUp(index) { known[index] = name }
    return known[index]
  }
}

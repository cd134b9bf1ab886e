package import DNSWire
import DiscoveryMachines

/// The services of the local network, in an order that stays: one row for what goes by one name,
/// however many types it has and interfaces it is found on.
package struct NetworkTable: Sendable {
  /// Bounds of what the network can make the table grow to.
  enum Limits {
    /// More rows than anybody reads.
    static let rowCount = 2_000
    /// More types than a host has, and interfaces.
    static let placeCount = 64
  }

  /// Everything of one name.
  package struct Row: Hashable, Sendable {
    /// The name of the services, which mostly is that of a device.
    package var name: String
    /// Their types, in alphabetical order.
    package var types: [String] { Set(places.map { Self.text($0.type) }).sorted() }
    /// What the system calls the interfaces on which they are found, in alphabetical order.
    package var interfaces: [String] { Set(places.compactMap(\.interface)).sorted() }
    /// Order of arrival; never reused.
    var number: Int
    package fileprivate(set) var places: Set<Place>

    /// As the other commands take it: the name alone where TCP is meant.
    private static func text(_ type: ServiceType) -> String {
      let text = "\(type)"
      return text.hasPrefix("_") && text.hasSuffix("._tcp")
        ? String(text.dropFirst().dropLast(5)) : text
    }
  }

  /// One service on one interface.
  package struct Place: Hashable, Sendable {
    package var type: ServiceType
    package var domain: DNSName
    var interface: String?
  }

  private var byName: [String: Row] = [:]
  private var arrivals = 0

  var count: Int { byName.count }

  /// A service came or went.
  package mutating func take(_ change: NetworkListener.Change) {
    if change.isFound {
      add(change.service, on: change.interface)
    } else {
      remove(change.service, on: change.interface)
    }
  }

  /// A service was found.
  mutating func add(_ service: ServiceName, on interface: String?) {
    let name = service.instanceText
    guard byName[name] != nil || byName.count < Limits.rowCount else { return }
    if byName[name] == nil {
      arrivals += 1
      byName[name] = Row(name: name, number: arrivals, places: [])
    }
    guard let row = byName[name], row.places.count < Limits.placeCount else { return }
    byName[name]?.places.insert(Place(service, on: interface))
  }

  /// A service is gone.
  mutating func remove(_ service: ServiceName, on interface: String?) {
    let name = service.instanceText
    byName[name]?.places.remove(Place(service, on: interface))
    if byName[name]?.places.isEmpty == true { byName[name] = nil }
  }

  /// The rows in the order of arrival.
  package var ordered: [Row] { byName.values.sorted { $0.number < $1.number } }
}

extension NetworkTable.Place {
  fileprivate init(_ service: ServiceName, on interface: String?) {
    self.init(type: service.type, domain: service.domain, interface: interface)
  }
}

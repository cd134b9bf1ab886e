import BonjourHost
import DNSWire
import DiscoveryMachines

/// The TTLs of the records that results of a query for services rest on, which that query does not
/// report. A query for the records themselves does; both share their question on the network.
///
/// It has to begin first: each record is then reported to it before the result that rests on it.
final class RecordTimes: Sendable {
  private struct RecordKey: Hashable {
    var data: DNSRecordData
    var interface: InterfaceIndex?
  }

  private let seconds: Guarded<[RecordKey: UInt32]>
  private let query: Query

  /// Follows the records of a name and a type, until it is released.
  init(
    of name: DNSName, _ type: DNSType, on interface: InterfaceIndex? = nil, with host: BonjourHost
  ) {
    let seconds = Guarded<[RecordKey: UInt32]>([:])
    self.seconds = seconds
    query = host.query(
      .records(name, type), on: interface, options: QueryOptions(reachesBeyondLink: true)
    ) { found in
      switch found.event {
      case .recordAdded(let record):
        let heard = RecordKey(data: record.data, interface: found.interface)
        seconds.update { $0[heard] = record.ttlSeconds }
      case .recordRemoved(let record):
        let heard = RecordKey(data: record.data, interface: found.interface)
        seconds.update { $0[heard] = nil }
      default: break
      }
    }
  }

  /// The TTL in seconds of the PTR record that leads to a name; nil if that record is not known.
  func secondsOfPointer(to name: DNSName, on interface: InterfaceIndex?) -> UInt32? {
    let heard = RecordKey(data: .ptr(name), interface: interface)
    return seconds.update { $0[heard] }
  }

  /// The TTL in seconds of the SRV record with the host and port of a service.
  func secondsOfService(_ place: ServiceResolution, on interface: InterfaceIndex?) -> UInt32? {
    let all = seconds.value
    return all.first { heard, _ in
      guard heard.interface == interface, case .srv(let service) = heard.data else { return false }
      return service.target == place.host && service.port == place.port
    }?.value
  }
}

extension RecordTimes {
  /// Those of the records that list the services of a type or subtype; nil for a name that is too
  /// long for a query.
  convenience init?(listing services: NetworkText.Services, with host: BonjourHost) {
    let name =
      if let subtype = services.subtypes.first {
        try? services.type.name(ofSubtype: subtype, in: services.domain)
      } else {
        try? services.type.name(in: services.domain)
      }
    guard let name else { return nil }
    self.init(of: name, .ptr, with: host)
  }
}

internal import DNSWire
internal import Essentials

/// Where the host's name and addresses are registered: on the links on which something needs them.
///
/// A host that only sends queries neither probes for its name nor announces it. Once it is
/// registered on a link it stays so, until the link is restarted or gone: other hosts may be about
/// to use the addresses of a service that has just been unregistered.
extension Responder {
  /// Starts the host's name on a link, if something needs it there.
  mutating func startHost(on link: MulticastLink, now: Instant) {
    if needsHost(on: link) { start(.host, on: link, now: now) }
  }

  /// Starts the host's name where a registration needs it and it has not been started.
  mutating func startHost(neededBy id: RegistrationID, now: Instant) {
    guard let host = entries[.host], let entry = entries[id], entry.leads(to: host.name) else {
      return
    }
    for link in links(of: entry) where host.phases[link] == nil {
      start(.host, on: link, now: now)
    }
  }

  /// Whether a registration needs the host's name.
  var isHostNeeded: Bool {
    let name = hostName
    return isHostRegistered || entries.values.contains { $0.leads(to: name) }
  }

  /// Whether the host's name has to be registered on a link. No packet of the local link is sent,
  /// so the name is always known there.
  func needsHost(on link: MulticastLink) -> Bool {
    if isHostRegistered || link.interface == .localOnly { return true }
    let name = hostName
    return entries.values.contains { entry in
      entry.leads(to: name) && (entry.interface ?? link.interface) == link.interface
    }
  }
}

extension Responder.Entry {
  /// Whether its records lead to the addresses of the host of this name.
  fileprivate func leads(to host: DNSName) -> Bool {
    switch content {
    case .host: false
    case .service(let service): (service.host ?? host) == host
    case .record(let registration):
      switch registration.record.data {
      case .ptr(let target), .cname(let target): target == host
      case .srv(let service): service.target == host
      default: false
      }
    }
  }
}

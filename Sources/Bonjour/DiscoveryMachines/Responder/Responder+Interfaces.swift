internal import DNSWire
internal import Essentials

extension Responder {
  mutating func changeInterface(_ interface: NetworkInterface, now: Instant) {
    interfaces[interface.index] = interface
    let wanted = Set(interface.links)
    for link in linkOrder where link.interface == interface.index && !wanted.contains(link) {
      removeLink(link)
    }
    let new = interface.links.filter { links[$0] == nil }
    for link in new { addLink(link) }
    let hadAddress = hostHasAddress(on: interface.index)
    updateAddresses(of: interface, now: now)
    let hasAddress = hostHasAddress(on: interface.index)
    for link in interface.links where !hasAddress { entries[.host]?.phases[link] = nil }
    for link in interface.links {
      if new.contains(link) {
        startAll(on: link, now: now)
      } else if hasAddress, !hadAddress {
        startHost(on: link, now: now)
      }
    }
  }

  /// Whether the host's name has a probed address record on an interface.
  func hostHasAddress(on index: InterfaceIndex) -> Bool {
    entries[.host] != nil
      && sets(of: .host, on: index).contains { store[$0]?.isProbed == true }
  }

  mutating func restartInterface(_ index: InterfaceIndex, now: Instant) {
    guard let interface = interfaces[index] else { return }
    otherMappings = [:]
    for link in interface.links {
      removeLink(link)
      addLink(link)
      store.forgetMulticasts(on: link)
      startAll(on: link, now: now)
    }
  }

  mutating func removeInterface(_ index: InterfaceIndex, into actions: inout [Action]) {
    guard let interface = interfaces.removeValue(forKey: index) else { return }
    for link in interface.links { removeLink(link) }
    for id in sets(of: .host, on: index) {
      entries[.host]?.sets.removeAll { $0 == id }
      store.remove(id)
    }
    for id in idOrder { report(id, into: &actions) }
  }

  private mutating func addLink(_ link: MulticastLink) {
    links.add(link)
    linkOrder.append(link)
  }

  private mutating func removeLink(_ link: MulticastLink) {
    links.remove(link)
    linkOrder.removeAll { $0 == link }
    for id in idOrder { entries[existing: id].phases[link] = nil }
  }

  private mutating func startAll(on link: MulticastLink, now: Instant) {
    for id in idOrder where entries[id].map({ takesPart($0, on: link) }) ?? false {
      if id == .host { startHost(on: link, now: now) } else { start(id, on: link, now: now) }
    }
  }

  // MARK: Addresses

  /// Updates the host's record sets for the addresses of an interface, and announces changes.
  private mutating func updateAddresses(of interface: NetworkInterface, now: Instant) {
    // Another process has the host's name after it was handed over.
    guard entries[.host] != nil else { return }
    let wanted = addressSets(of: interface)
    var changed: [RecordSetID] = []
    for id in sets(of: .host, on: interface.index) {
      guard let old = store[id] else { continue }
      if let new = wanted.first(where: { $0.name == old.name && $0.type == old.type }) {
        guard new.records != old.records else { continue }
        store.setRecords(of: id, to: new.records)
        changed.append(id)
      } else {
        sayGoodbye(to: id, now: now)
        entries[.host]?.sets.removeAll { $0 == id }
        store.remove(id)
      }
    }
    for set in wanted {
      let isThere = sets(of: .host, on: interface.index).contains { id in
        store[id].map {
          $0.name == set.name && $0.type == set.type && $0.isNegative == set.isNegative
        } ?? false
      }
      guard !isThere else { continue }
      let id = store.insert(set)
      entries[.host]?.sets.append(id)
      changed.append(id)
    }
    for id in changed { announceChange(of: id, now: now) }
  }

  /// The host's records on one interface: all its addresses there and the reverse mapping of each
  /// to its name (RFC 6762, §4 and §6.2).
  func addressSets(of interface: NetworkInterface) -> [RecordSet] {
    let name = hostName
    let addresses = interface.addresses.map(\.address)
    var sets: [RecordSet] = []
    for (type, version) in [(DNSType.a, IPVersion.v4), (.aaaa, .v6)] {
      let data = addresses.filter { $0.version == version }.map(Self.addressData)
      guard !data.isEmpty else { continue }
      sets.append(
        hostSet(name, type, .unique(isProbed: true), data, interface: interface.index))
    }
    sets.append(hostSet(name, .nsec, .negative, [], interface: interface.index))
    // Two addresses that are the same have one way back.
    for address in Set(addresses).sorted(by: { $0.bytes.lexicographicallyPrecedes($1.bytes) }) {
      let reverseName = address.reverseName
      sets.append(
        hostSet(
          reverseName, .ptr, .unique(isProbed: false), [.ptr(name)], interface: interface.index))
      sets.append(hostSet(reverseName, .nsec, .negative, [], interface: interface.index))
    }
    return sets
  }

  private func hostSet(
    _ name: DNSName, _ type: DNSType, _ kind: RecordSet.Kind, _ data: [DNSRecordData],
    interface: InterfaceIndex
  ) -> RecordSet {
    let records = data.map {
      DNSRecord(name: name, flushesCache: true, ttlSeconds: Constants.hostTTLSeconds, data: $0)
    }
    return RecordSet(
      name: name, type: type, kind: kind, interface: interface, owner: .host, records: records)
  }

  private static func addressData(_ address: InetAddress) -> DNSRecordData {
    switch address {
    case .v4(let address): .a(address)
    case .v6(let address): .aaaa(address)
    }
  }
}

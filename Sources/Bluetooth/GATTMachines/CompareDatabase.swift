import BluetoothInterface
import BluetoothWire
import Essentials

/// Discovers the known attributes of a peer again and returns the services that changed.
///
/// For a peer whose Database Hash changed before it could indicate the changed range (Core 5.4, Vol
/// 3, Part G, §7.1 and §7.3): a service changed if it was removed or moved, has another UUID, or if
/// its contents changed. A new service between the known ones doesn't change them and has its own
/// range.
struct CompareDatabase: GATTProcedure {
  private enum Stage {
    case services(DiscoverServices)
    case included(HandleRange, DiscoverIncludedServices)
    case characteristics(HandleRange, DiscoverCharacteristics)
    case descriptors(HandleRange, DiscoverDescriptors)
  }

  private let old: RemoteDatabase
  private var new = RemoteDatabase()
  private var changes: [HandleRange] = []
  private var stage = Stage.services(DiscoverServices())
  /// Services whose contents have yet to be discovered.
  private var included: [HandleRange] = []
  private var characteristics: [HandleRange] = []
  private var descriptors: [HandleRange] = []

  init(_ old: RemoteDatabase) {
    self.old = old
    new.serviceChanged = old.serviceChanged
    new.hashHandle = old.hashHandle
  }

  mutating func start(mtu: Int) -> GATTStep {
    var search = DiscoverServices()
    let step = search.start(mtu: mtu)
    stage = .services(search)
    return step
  }

  mutating func received(_ response: ATTPDU, mtu: Int) -> GATTStep {
    let step: GATTStep
    switch stage {
    case .services(var search):
      step = search.received(response, mtu: mtu)
      stage = .services(search)
    case .included(let range, var search):
      step = search.received(response, mtu: mtu)
      stage = .included(range, search)
    case .characteristics(let range, var search):
      step = search.received(response, mtu: mtu)
      stage = .characteristics(range, search)
    case .descriptors(let range, var search):
      step = search.received(response, mtu: mtu)
      stage = .descriptors(range, search)
    }
    guard case .done(let reply) = step else { return step }
    take(reply)
    return next(mtu: mtu)
  }

  private mutating func take(_ reply: HostReply) {
    switch (stage, reply) {
    case (.services, .services(let found)): compare(found)
    case (.included(let range, _), .services(let found)):
      new.learn(.discoverIncludedServices(in: range), reply)
      if old.includedServices[range] != found { changed(range) }
    case (.characteristics(let range, _), .characteristics(let found)):
      new.learn(.discoverCharacteristics(in: range, nil), reply)
      if old.characteristics[range] != found { changed(range) }
    case (.descriptors(let range, _), .descriptors(let found)):
      new.learn(.discoverDescriptors(in: range), reply)
      if old.descriptors[range] != found { changed(service(around: range)) }
    default: assertionFailure("a discovery found something else than it looks for")
    }
  }

  private mutating func compare(_ found: [RemoteService]) {
    new.learn(.discoverServices(nil), .services(found))
    for service in old.knownServices where !found.contains(service) { changed(service.range) }
    for service in found where old.lacks(service) { changed(service.range) }
    // Services that are only included are not among the found; their contents tell.
    included = old.includedServices.keys.filter(isUnchanged).sorted { $0.start < $1.start }
    characteristics = old.characteristics.keys.filter(isUnchanged).sorted { $0.start < $1.start }
    descriptors = old.descriptors.keys.filter { isUnchanged(service(around: $0)) }
      .sorted { $0.start < $1.start }
  }

  private func isUnchanged(_ range: HandleRange) -> Bool { !changes.contains(range) }

  private mutating func changed(_ range: HandleRange) {
    if isUnchanged(range) { changes.append(range) }
  }

  /// The service that holds these descriptors, as far as it is known.
  private func service(around range: HandleRange) -> HandleRange {
    old.characteristics.keys.first { $0.contains(range.start) }
      ?? old.knownServices.first { $0.range.contains(range.start) }?.range ?? range
  }

  private mutating func next(mtu: Int) -> GATTStep {
    while let range = included.popLast() {
      guard isUnchanged(range) else { continue }
      var search = DiscoverIncludedServices(range, known: new)
      let step = search.start(mtu: mtu)
      stage = .included(range, search)
      if case .done(let reply) = step { take(reply) } else { return step }
    }
    while let range = characteristics.popLast() {
      guard isUnchanged(range) else { continue }
      var search = DiscoverCharacteristics(range)
      let step = search.start(mtu: mtu)
      stage = .characteristics(range, search)
      if case .done(let reply) = step { take(reply) } else { return step }
    }
    while let range = descriptors.popLast() {
      guard isUnchanged(service(around: range)) else { continue }
      var search = DiscoverDescriptors(range)
      let step = search.start(mtu: mtu)
      stage = .descriptors(range, search)
      if case .done(let reply) = step { take(reply) } else { return step }
    }
    return .compared(changes.sorted { $0.start < $1.start }, new)
  }
}

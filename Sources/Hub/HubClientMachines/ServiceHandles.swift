import BluetoothInterface

/// The services of a session with the handles that the client knows and those that the hub has given them.
///
/// Both are the same until the hub is started again and gives other handles. The client keeps those that it
/// knows.
struct ServiceHandles: Sendable {
  struct Service: Sendable {
    /// With the handles of included services that the client knows.
    var definition: ServiceDefinition
    /// The handles that the client knows.
    var visible: PublishedService
    /// The handles of the hub; nil while it hasn't published the service again.
    var wire: PublishedService?
  }

  private(set) var services: [Service] = []
  /// Value handles and first handles, where any differs.
  private var wireByVisible: [UInt16: UInt16] = [:]
  private var visibleByWire: [UInt16: UInt16] = [:]
  /// Whether all handles are the same.
  private var areSame = true

  /// The hub's handle for one that the client knows; nil if it has none.
  func wire(_ handle: UInt16) -> UInt16? { areSame ? handle : wireByVisible[handle] }
  /// The handle that the client knows; nil if it knows none.
  func visible(_ handle: UInt16) -> UInt16? { areSame ? handle : visibleByWire[handle] }

  /// The definition with the hub's handles; nil if an included service isn't published.
  func wire(_ definition: ServiceDefinition) -> ServiceDefinition? {
    var definition = definition
    for index in definition.includedServices.indices {
      guard let handle = wire(definition.includedServices[index]) else { return nil }
      definition.includedServices[index] = handle
    }
    return definition
  }

  /// Adds a service that the hub has published. Returns the handles for the client; nil if no handles are
  /// free.
  mutating func add(
    _ definition: ServiceDefinition, _ wire: PublishedService
  ) -> PublishedService? {
    guard let visible = freeHandles(for: wire) else { return nil }
    services.append(Service(definition: definition, visible: visible, wire: wire))
    remap()
    return visible
  }

  /// Whether any of the hub's handles in this range are those of another service.
  func isTaken(_ wire: HandleRange) -> Bool {
    services.contains {
      guard let other = $0.wire?.range else { return false }
      return other.start <= wire.end && wire.start <= other.end
    }
  }

  mutating func remove(_ visibleStart: UInt16) {
    services.removeAll { $0.visible.range.start == visibleStart }
    remap()
  }

  mutating func removeAll() {
    services = []
    remap()
  }

  /// The hub is gone, and with it all of its handles.
  mutating func hubLost() {
    for index in services.indices { services[index].wire = nil }
    remap()
  }

  /// The hub has published a service again. Returns false if the client doesn't have it any more, if it has
  /// other characteristics, or if its handles are another service's.
  mutating func restored(_ visibleStart: UInt16, _ wire: PublishedService) -> Bool {
    guard let index = services.firstIndex(where: { $0.visible.range.start == visibleStart }),
      services[index].visible.characteristics.count == wire.characteristics.count,
      !isTaken(wire.range)
    else { return false }
    services[index].wire = wire
    remap()
    return true
  }

  private mutating func remap() {
    areSame = services.allSatisfy { $0.wire == $0.visible }
    wireByVisible = [:]
    visibleByWire = [:]
    guard !areSame else { return }
    for service in services {
      guard let wire = service.wire else { continue }
      map(service.visible.range.start, wire.range.start)
      for (visible, actual) in zip(service.visible.characteristics, wire.characteristics) {
        map(visible.valueHandle, actual.valueHandle)
      }
    }
  }

  private mutating func map(_ visible: UInt16, _ wire: UInt16) {
    wireByVisible[visible] = wire
    visibleByWire[wire] = visible
  }

  /// The hub's handles if no service has them for the client, or else the lowest ones that are free.
  private func freeHandles(for wire: PublishedService) -> PublishedService? {
    let taken = services.map(\.visible.range).sorted { $0.start < $1.start }
    func isFree(_ start: Int, _ end: Int) -> Bool {
      !taken.contains { Int($0.start) <= end && start <= Int($0.end) }
    }
    let length = Int(wire.range.end) - Int(wire.range.start)
    if isFree(Int(wire.range.start), Int(wire.range.end)) { return wire }
    let starts = taken.map { Int($0.end) + 1 }
    guard let start = starts.first(where: { $0 + length <= 0xFFFF && isFree($0, $0 + length) })
    else { return nil }
    return wire.moved(by: start - Int(wire.range.start))
  }

  /// Whether the maps are those of the services, and no two services share handles.
  var isConsistent: Bool {
    func areApart(_ ranges: [HandleRange]) -> Bool {
      let ranges = ranges.sorted { $0.start < $1.start }
      return zip(ranges, ranges.dropFirst()).allSatisfy { $0.end < $1.start }
    }
    return areApart(services.map(\.visible.range))
      && areApart(services.compactMap(\.wire?.range))
      && wireByVisible.count == visibleByWire.count
  }
}

extension PublishedService {
  /// Whether its handles are in its range, in the order of the definition, so that computing with them is safe.
  func isValid(for definition: ServiceDefinition) -> Bool {
    guard range.start > 0, range.start <= range.end,
      characteristics.count == definition.characteristics.count
    else { return false }
    let handles = characteristics.map(\.valueHandle)
    return handles.allSatisfy { $0 > range.start && range.contains($0) }
      && zip(handles, handles.dropFirst()).allSatisfy { $0 < $1 }
      && characteristics.allSatisfy { $0.configurationHandle.map(range.contains) ?? true }
  }

  fileprivate func moved(by offset: Int) -> PublishedService {
    func move(_ handle: UInt16) -> UInt16 { UInt16(Int(handle) + offset) }
    return PublishedService(
      range: HandleRange(move(range.start), move(range.end)),
      characteristics: characteristics.map {
        PublishedCharacteristic(
          valueHandle: move($0.valueHandle), configurationHandle: $0.configurationHandle.map(move))
      })
  }
}

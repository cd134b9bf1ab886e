import BluetoothInterface
import BluetoothWire

/// The handles of removed services, for the same ones if they are published again: a program that is started again
/// has its handles, which peers may have cached (Core 5.4, Vol 3, Part G, §2.5.2).
struct VacatedHandles: Sendable {
  /// The maximum number of attributes that these services had. The services that were removed first are forgotten.
  static let attributeCountMax = GATTLimits.attributesMax

  /// In the order in which they were removed. No two of them share handles.
  private var entries: [(layout: ServiceDefinition, range: HandleRange)] = []
  private var attributeCount = 0

  /// A service was removed.
  mutating func add(_ layout: ServiceDefinition, _ range: HandleRange) {
    entries.append((layout, range))
    attributeCount += range.handleCount
    while attributeCount > Self.attributeCountMax {
      attributeCount -= entries.removeFirst().range.handleCount
    }
  }

  /// The first handle that the same service had, which it has again; nil if none is known. Of several, that of the one
  /// that was removed first: programs that are started again publish in the same order.
  mutating func take(_ layout: ServiceDefinition) -> UInt16? {
    guard let index = entries.firstIndex(where: { $0.layout == layout }) else { return nil }
    let range = entries.remove(at: index).range
    attributeCount -= range.handleCount
    return range.start
  }

  /// Another service has taken handles.
  mutating func remove(_ range: HandleRange) {
    entries.removeAll { $0.range.start <= range.end && range.start <= $0.range.end }
    attributeCount = entries.reduce(0) { $0 + $1.range.handleCount }
  }
}

extension HandleRange {
  fileprivate var handleCount: Int { Int(end) - Int(start) + 1 }
}

extension ServiceDefinition {
  /// What decides about its attributes and who may use them: all but the values.
  var layout: ServiceDefinition {
    var layout = self
    for index in layout.characteristics.indices {
      layout.characteristics[index].value = nil
      for descriptor in layout.characteristics[index].descriptors.indices {
        layout.characteristics[index].descriptors[descriptor].value = []
      }
    }
    return layout
  }
}

import BluetoothInterface
import BluetoothWire

/// The handles of removed services, for the same ones if their publisher publishes them again: a program that is
/// started again has its handles, which peers may have cached (Core 5.4, Vol 3, Part G, §2.5.2).
///
/// No other publisher gets them. With the handles of two programs exchanged, the database would have the hash of
/// before, and bonded peers would write to the wrong program.
struct VacatedHandles: Sendable {
  /// The maximum size of all entries. Of the user with the most, the services that were removed first are forgotten.
  static let sizeMax = GATTLimits.attributesMax

  private struct Entry: Sendable {
    let publisher: PublisherID?
    let layout: ServiceDefinition
    let range: HandleRange

    /// The number of attributes, and one for each 64 bytes of names: programs may have any name.
    var size: Int {
      let nameByteCount = publisher.map { $0.app.utf8.count + $0.manager.utf8.count } ?? 0
      return range.handleCount + nameByteCount / 64
    }
  }

  /// In the order in which they were removed. No two of them share handles.
  private var entries: [Entry] = []
  /// The size of the entries of each user; under nil of this process.
  private var sizes: [UInt32?: Int] = [:]
  private var size = 0

  /// The handles of all these services.
  var ranges: [HandleRange] { entries.map(\.range) }

  /// A service was removed.
  mutating func add(_ layout: ServiceDefinition, _ range: HandleRange, of publisher: PublisherID?) {
    let entry = Entry(publisher: publisher, layout: layout, range: range)
    entries.append(entry)
    count(entry, entry.size)
    while size > Self.sizeMax, let index = indexToForget() { remove(at: index) }
  }

  /// The first handle that the same service of this publisher had, which it has again; nil if none is known. Of
  /// several, that of the one that was removed first: programs that are started again publish in the same order.
  mutating func take(_ layout: ServiceDefinition, of publisher: PublisherID?) -> UInt16? {
    let found = entries.firstIndex { $0.publisher == publisher && $0.layout == layout }
    return found.map { remove(at: $0).range.start }
  }

  /// Another service has taken handles.
  mutating func remove(_ range: HandleRange) {
    for entry in entries where entry.range.overlaps(range) { count(entry, -entry.size) }
    entries.removeAll { $0.range.overlaps(range) }
  }

  /// The first entry of the user with the most; of several users, of the one whose entry is the first.
  private func indexToForget() -> Int? {
    let most = sizes.values.max()
    return entries.firstIndex { sizes[$0.publisher?.userID] == most }
  }

  @discardableResult
  private mutating func remove(at index: Int) -> Entry {
    let entry = entries.remove(at: index)
    count(entry, -entry.size)
    return entry
  }

  private mutating func count(_ entry: Entry, _ added: Int) {
    size += added
    let user = entry.publisher?.userID
    let sum = sizes[user, default: 0] + added
    sizes[user] = sum == 0 ? nil : sum
  }
}

extension HandleRange {
  fileprivate var handleCount: Int { Int(end) - Int(start) + 1 }

  fileprivate func overlaps(_ other: HandleRange) -> Bool {
    start <= other.end && other.start <= end
  }
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

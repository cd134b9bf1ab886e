internal import DNSWire

/// All record sets of a responder, by number and by name.
struct RecordStore: Sendable {
  private var sets: [RecordSetID: RecordSet] = [:]
  private var byName: [DNSName: [RecordSetID]] = [:]
  private var lastID = 0

  subscript(id: RecordSetID) -> RecordSet? {
    get { sets[id] }
    set { sets[id] = newValue }
  }

  /// The sets of a name, whoever owns them.
  func ids(named name: DNSName) -> [RecordSetID] { byName[name] ?? [] }

  /// The sets of a name, whoever owns them.
  func sets(named name: DNSName) -> [RecordSet] { ids(named: name).compactMap { sets[$0] } }

  mutating func insert(_ set: RecordSet) -> RecordSetID {
    lastID += 1
    let id = RecordSetID(rawValue: lastID)
    sets[id] = set
    byName[set.name, default: []].append(id)
    return id
  }

  /// Changes a set where it lies.
  mutating func update(_ id: RecordSetID, _ change: (inout RecordSet) -> Void) {
    guard let index = sets.index(forKey: id) else { return }
    change(&sets.values[index])
  }

  @discardableResult
  mutating func remove(_ id: RecordSetID) -> RecordSet? {
    guard let set = sets.removeValue(forKey: id) else { return nil }
    if byName[set.name]?.count == 1 {
      byName[set.name] = nil
    } else {
      byName[set.name]?.removeAll { $0 == id }
    }
    return set
  }

  /// Whether a record with this data is ours, on whatever interface: then who says it says nothing
  /// against us, be it an echo, another of our interfaces or a reflector.
  func owns(_ record: DNSRecord) -> Bool {
    ids(named: record.name).contains { id in
      sets[id]?.records.contains { $0.data == record.data } ?? false
    }
  }

  var allIDs: Dictionary<RecordSetID, RecordSet>.Keys { sets.keys }
}

internal import DNSWire
internal import Essentials

/// All record sets of a responder, by number and by name.
struct RecordStore: Sendable {
  private var sets: [RecordSetID: RecordSet] = [:]
  private var byName: [DNSName: Named] = [:]
  private var sharedByContent: [SharedContent: RecordSetID] = [:]
  private var lastID = 0

  /// What makes two registrations' shared records the same record.
  private struct SharedContent: Hashable {
    var name: DNSName
    var data: DNSRecordData
    var interface: InterfaceIndex?

    init(name: DNSName, data: DNSRecordData, interface: InterfaceIndex?) {
      self.name = name
      self.data = data
      self.interface = interface
    }

    init?(_ set: RecordSet) {
      guard set.isShared, let record = set.records.first else { return nil }
      name = set.name
      data = record.data
      interface = set.interface
    }
  }

  /// The sets of one name. There are thousands that a type's services share, but few of their own.
  private struct Named {
    var shared: [RecordSetID] = []
    /// How many shared sets there are of each type.
    var sharedCounts: [DNSType: Int] = [:]
    var own: [RecordSetID] = []

    var isEmpty: Bool { shared.isEmpty && own.isEmpty }
  }

  subscript(id: RecordSetID) -> RecordSet? {
    sets[id]
  }

  /// Another shared set with the same records, on the same links.
  func twin(of set: RecordSet) -> RecordSetID? {
    SharedContent(set).flatMap { sharedByContent[$0] }
  }

  /// The sets of a name, of all registrations.
  func ids(named name: DNSName) -> [RecordSetID] {
    guard let named = byName[name] else { return [] }
    if named.own.isEmpty { return named.shared }
    return named.shared.isEmpty ? named.own : named.shared + named.own
  }

  /// The sets of a name among which are all that answer a question for a type: without the shared
  /// ones where none of them does. A hostile message may ask for a thousand types of one name.
  func ids(named name: DNSName, asked type: DNSType) -> [RecordSetID] {
    guard let named = byName[name] else { return [] }
    let isAnsweredByShared =
      type == .any || named.sharedCounts[type] != nil || named.sharedCounts[.cname] != nil
    return isAnsweredByShared ? ids(named: name) : named.own
  }

  /// Whether there are unique sets of the name.
  func hasOwn(named name: DNSName) -> Bool { byName[name]?.own.isEmpty == false }

  /// The sets in which this record is, of those that are valid on an interface.
  func ids(saying record: DNSRecord, on interface: InterfaceIndex) -> [RecordSetID] {
    guard let named = byName[record.name] else { return [] }
    let own = named.own.filter { id in
      sets[id]?.records.contains { $0.data == record.data } ?? false
    }
    guard !named.shared.isEmpty else { return own }
    let shared = [nil, interface].compactMap { interface in
      sharedByContent[SharedContent(name: record.name, data: record.data, interface: interface)]
    }
    return shared + own
  }

  /// The sets of a name, of all registrations.
  func sets(named name: DNSName) -> [RecordSet] { ids(named: name).compactMap { sets[$0] } }

  mutating func insert(_ set: RecordSet) -> RecordSetID {
    lastID += 1
    let id = RecordSetID(rawValue: lastID)
    sets[id] = set
    if set.isShared {
      byName[set.name, default: Named()].shared.append(id)
      byName[existing: set.name].sharedCounts[set.type, default: 0] += 1
    } else {
      byName[set.name, default: Named()].own.append(id)
    }
    if let content = SharedContent(set) { sharedByContent[content] = id }
    return id
  }

  /// Changes a set where it lies.
  mutating func update(_ id: RecordSetID, _ change: (inout RecordSet) -> Void) {
    guard let index = sets.index(forKey: id) else {
      return assertionFailure("there is no set \(id)")
    }
    change(&sets.values[index])
  }

  /// Gives a set other records.
  mutating func setRecords(of id: RecordSetID, to records: [DNSRecord]) {
    guard let old = sets[id] else { return assertionFailure("there is no set \(id)") }
    forgetContent(of: old, id)
    update(id) { $0.records = records }
    if let content = sets[id].flatMap(SharedContent.init) { sharedByContent[content] = id }
  }

  private mutating func forgetContent(of set: RecordSet, _ id: RecordSetID) {
    guard let content = SharedContent(set), sharedByContent[content] == id else { return }
    sharedByContent[content] = nil
  }

  @discardableResult
  mutating func remove(_ id: RecordSetID) -> RecordSet? {
    guard let set = sets.removeValue(forKey: id) else { return nil }
    forgetContent(of: set, id)
    if set.isShared {
      byName[existing: set.name].shared.removeAll { $0 == id }
      let count = byName[existing: set.name].sharedCounts[set.type] ?? 0
      byName[existing: set.name].sharedCounts[set.type] = count > 1 ? count - 1 : nil
    } else {
      byName[existing: set.name].own.removeAll { $0 == id }
    }
    if byName[existing: set.name].isEmpty { byName[set.name] = nil }
    return set
  }

  /// Whether a record with this data is ours, on any interface: receiving it is no conflict, be it
  /// an echo, from another of our interfaces or from a reflector.
  func owns(_ record: DNSRecord) -> Bool {
    ids(named: record.name).contains { id in
      sets[id]?.records.contains { $0.data == record.data } ?? false
    }
  }

  /// Forgets what was multicast on this link: no host there has it cached.
  mutating func forgetMulticasts(on link: MulticastLink) {
    for index in sets.indices { sets.values[index].forgetMulticasts(on: link) }
  }
}

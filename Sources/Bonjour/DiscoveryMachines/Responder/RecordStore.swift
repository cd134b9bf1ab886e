internal import DNSWire
internal import Essentials

/// All record sets of a responder, by number and by name.
struct RecordStore: Sendable {
  var sets: [RecordSetID: RecordSet] = [:]
  var byName: [DNSName: Named] = [:]
  /// The sets that are valid on one interface.
  var byInterface: [InterfaceIndex: [RecordSetID]] = [:]
  /// The unique sets among those, by each of their records: the same addresses may be on several
  /// interfaces.
  var ownByContent: [Content: ShortList<RecordSetID>] = [:]
  #if DEBUG
    /// Counts work for tests.
    var work: WorkCounter?
  #endif
  /// More than one only where updates made them the same.
  var sharedByContent: [SharedContent: ShortList<RecordSetID>] = [:]
  private var lastID = 0

  /// What makes two registrations' shared records the same record.
  struct SharedContent: Hashable {
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

  /// A name with data.
  struct Content: Hashable {
    var name: DNSName
    var data: DNSRecordData

    init(_ record: DNSRecord) {
      name = record.name
      data = record.data
    }
  }

  /// The sets of one name. There are thousands that a type's services share, but few of their own.
  struct Named {
    var shared: [RecordSetID] = []
    /// How many shared sets there are of each type.
    var sharedCounts: [DNSType: Int] = [:]
    /// How many shared sets are valid on one interface.
    var sharedOnOneCount = 0
    /// The unique ones that are valid on all interfaces.
    var own: [RecordSetID] = []
    /// The unique ones that are valid on one: the host's name has some on each.
    var ownByInterface: [InterfaceIndex: [RecordSetID]] = [:]

    var hasOwn: Bool { !own.isEmpty || !ownByInterface.isEmpty }
    var isEmpty: Bool { shared.isEmpty && !hasOwn }

    func own(on interface: InterfaceIndex?) -> [RecordSetID] {
      guard let interface, let more = ownByInterface[interface] else { return own }
      return own + more
    }

    /// All unique ones, in the order in which they were inserted.
    var allOwn: [RecordSetID] {
      guard !ownByInterface.isEmpty else { return own }
      return (own + ownByInterface.values.joined()).sorted { $0.rawValue < $1.rawValue }
    }
  }

  subscript(id: RecordSetID) -> RecordSet? {
    #if DEBUG
      work?.record()
    #endif
    return sets[id]
  }

  /// Another shared set with the same records, on the same links.
  func twin(of set: RecordSet) -> RecordSetID? {
    SharedContent(set).flatMap { sharedByContent[$0]?.first }
  }

  /// The sets of a name, of all registrations.
  func ids(named name: DNSName) -> [RecordSetID] {
    guard let named = byName[name] else { return [] }
    return named.hasOwn ? named.shared + named.allOwn : named.shared
  }

  /// The sets of a name that are valid on an interface, and shared ones of others.
  func ids(named name: DNSName, on interface: InterfaceIndex) -> [RecordSetID] {
    guard let named = byName[name] else { return [] }
    return named.hasOwn ? named.shared + named.own(on: interface) : named.shared
  }

  /// The unique sets of a name that are valid on an interface; nil for those that are on all.
  func ownIDs(named name: DNSName, on interface: InterfaceIndex?) -> [RecordSetID] {
    byName[name]?.own(on: interface) ?? []
  }

  /// The sets that are valid on this interface only.
  func ids(on interface: InterfaceIndex) -> [RecordSetID] { byInterface[interface] ?? [] }

  /// The interfaces of unique sets with this record that are valid on one interface.
  func interfaces(saying record: DNSRecord) -> [InterfaceIndex?] {
    (ownByContent[Content(record)] ?? ShortList()).map { self[$0]?.interface }
  }

  /// A superset of a name's sets that answer a question for a type: without the shared ones if none
  /// of them answers it. A hostile message may ask for a thousand types of one name.
  func ids(
    named name: DNSName, asked type: DNSType, on interface: InterfaceIndex
  ) -> [RecordSetID] {
    guard let named = byName[name] else { return [] }
    let isAnsweredByShared =
      type == .any || named.sharedCounts[type] != nil || named.sharedCounts[.cname] != nil
    return isAnsweredByShared ? ids(named: name, on: interface) : named.own(on: interface)
  }

  /// Whether there are unique sets of the name.
  func hasOwn(named name: DNSName) -> Bool { byName[name]?.hasOwn == true }

  /// The sets in which this record is, of those that are valid on an interface.
  func ids(saying record: DNSRecord, on interface: InterfaceIndex) -> [RecordSetID] {
    guard let named = byName[record.name] else { return [] }
    let own = named.own(on: interface).filter { isIn($0, record) }
    guard !named.shared.isEmpty else { return own }
    let shared = [nil, interface].compactMap { interface in
      sharedByContent[SharedContent(name: record.name, data: record.data, interface: interface)]
    }.joined()
    return shared + own
  }

  private func isIn(_ id: RecordSetID, _ record: DNSRecord) -> Bool {
    self[id]?.records.contains { $0.data == record.data } ?? false
  }

  /// The sets of a name, of all registrations.
  func sets(named name: DNSName) -> [RecordSet] { ids(named: name).compactMap { self[$0] } }

  mutating func insert(_ set: RecordSet) -> RecordSetID {
    lastID += 1
    let id = RecordSetID(rawValue: lastID)
    sets[id] = set
    if set.isShared {
      byName[set.name, default: Named()].shared.append(id)
      byName[existing: set.name].sharedCounts[set.type, default: 0] += 1
      if set.interface != nil { byName[existing: set.name].sharedOnOneCount += 1 }
    } else if let interface = set.interface {
      byName[set.name, default: Named()].ownByInterface[interface, default: []].append(id)
    } else {
      byName[set.name, default: Named()].own.append(id)
    }
    if let interface = set.interface { byInterface[interface, default: []].append(id) }
    noteContent(of: set, id)
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
    noteContent(of: sets[existing: id], id)
  }

  private mutating func noteContent(of set: RecordSet, _ id: RecordSetID) {
    guard let content = SharedContent(set) else {
      guard set.interface != nil else { return }
      for record in set.records { ownByContent[Content(record), default: ShortList()].append(id) }
      return
    }
    sharedByContent[content, default: ShortList()].append(id)
  }

  private mutating func forgetContent(of set: RecordSet, _ id: RecordSetID) {
    guard let content = SharedContent(set) else {
      guard set.interface != nil else { return }
      for content in Set(set.records.map(Content.init)) {
        ownByContent[existing: content].removeAll { $0 == id }
        if ownByContent[existing: content].first == nil { ownByContent[content] = nil }
      }
      return
    }
    sharedByContent[existing: content].removeAll { $0 == id }
    if sharedByContent[existing: content].first == nil { sharedByContent[content] = nil }
  }

  @discardableResult
  mutating func remove(_ id: RecordSetID) -> RecordSet? {
    guard let set = sets.removeValue(forKey: id) else { return nil }
    forgetContent(of: set, id)
    if set.isShared {
      byName[existing: set.name].shared.removeAll { $0 == id }
      let count = byName[existing: set.name].sharedCounts[existing: set.type]
      assert(count > 0, "\(count) shared sets of type \(set.type)")
      byName[existing: set.name].sharedCounts[set.type] = count > 1 ? count - 1 : nil
      if set.interface != nil { byName[existing: set.name].sharedOnOneCount -= 1 }
    } else if let interface = set.interface {
      byName[existing: set.name].ownByInterface[existing: interface].removeAll { $0 == id }
      if byName[existing: set.name].ownByInterface[interface]?.isEmpty == true {
        byName[existing: set.name].ownByInterface[interface] = nil
      }
    } else {
      byName[existing: set.name].own.removeAll { $0 == id }
    }
    if let interface = set.interface {
      byInterface[existing: interface].removeAll { $0 == id }
      if byInterface[interface]?.isEmpty == true { byInterface[interface] = nil }
    }
    if byName[existing: set.name].isEmpty { byName[set.name] = nil }
    return set
  }

  /// Whether a record with this data is ours, on any interface: receiving it is no conflict, be it
  /// an echo, from another of our interfaces or from a reflector.
  func owns(_ record: DNSRecord) -> Bool {
    guard let named = byName[record.name] else { return false }
    if ownByContent[Content(record)] != nil { return true }
    if named.own.contains(where: { isIn($0, record) }) { return true }
    let content = SharedContent(name: record.name, data: record.data, interface: nil)
    if sharedByContent[content] != nil { return true }
    return named.sharedOnOneCount > 0 && named.shared.contains { isIn($0, record) }
  }

  /// Clears the times of multicasts on this link, because no host there has the records cached.
  mutating func forgetMulticasts(on link: MulticastLink) {
    for index in sets.indices { sets.values[index].forgetMulticasts(on: link) }
  }
}

#if DEBUG
  /// Counts the sets that a responder looks at. Only tests of its cost have one.
  final class WorkCounter: @unchecked Sendable {
    // Sendable because the one test that has it uses it on one thread.
    private(set) var count = 0

    func record() { count += 1 }
  }
#endif

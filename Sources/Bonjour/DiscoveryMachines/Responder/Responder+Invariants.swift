internal import DNSWire
internal import Essentials

// What must hold between the registrations, their records and the links whenever a responder is not
// at work.

extension Responder {
  /// Stops a debug build whose tables contradict each other. Release builds check nothing. Only so
  /// many entries of a table are checked: there may be thousands.
  func assertInvariants() {
    let limit = 4
    assert(
      violations(perTable: limit).isEmpty, violations(perTable: limit).joined(separator: "; "))
  }

  /// How the tables contradict each other; a sentence for each contradiction.
  ///
  /// - Parameter limit: How many entries of each table are checked.
  package func violations(perTable limit: Int = .max) -> [String] {
    var found = store.violations(perTable: limit)
    if Set(linkOrder) != Set(links.keys) || linkOrder.count != links.count {
      found.append("the links and their order differ")
    }
    for link in linkOrder where interfaces[link.interface]?.versions.contains(link.version) != true
    {
      found.append("a link of no interface")
    }
    for (id, entry) in entries.prefix(limit) { found += violations(of: entry, id, limit) }
    for (id, set) in store.sets.prefix(limit) {
      if set.owners.count == 0 { found.append("set \(id.rawValue) belongs to nothing") }
      for owner in set.owners.prefix(limit) where entries[owner]?.sets.contains(id) != true {
        found.append("set \(id.rawValue) is unknown to its registration")
      }
    }
    for state in links.values {
      found += state.violations()
      if state.probeRounds.contains(where: { $0.number > lastRoundNumber }) {
        found.append("a round of probes has a number that was never given")
      }
    }
    if isShutDown, !entries.isEmpty || links.count > 0 { found.append("it is not shut down") }
    return found
  }

  private func violations(of entry: Entry, _ id: RegistrationID, _ limit: Int) -> [String] {
    var found: [String] = []
    for set in entry.sets.prefix(limit) {
      guard let owners = store[set]?.owners else {
        found.append("registration \(id.rawValue) has a set that is gone")
        continue
      }
      if owners.count <= max(limit, 16), !owners.contains(id) {
        found.append("registration \(id.rawValue) has a set of others")
      }
    }
    if Set(entry.sets.prefix(limit)).count != entry.sets.prefix(limit).count {
      found.append("registration \(id.rawValue) has a set twice")
    }
    if !entry.addedSets.values.allSatisfy(entry.sets.contains) {
      found.append("registration \(id.rawValue) has an added record that is gone")
    }
    for (link, phase) in entry.phases {
      guard let state = links[link] else {
        found.append("registration \(id.rawValue) is on a link that is gone")
        continue
      }
      guard case .probing(let number) = phase else { continue }
      if state.probeRounds.first(where: { $0.number == number })?.members.contains(id) != true {
        found.append("registration \(id.rawValue) probes in no round")
      }
    }
    return found
  }
}

extension LinkState {
  /// How the tables contradict each other; a sentence for each contradiction.
  func violations() -> [String] {
    var found: [String] = []
    for round in probeRounds {
      if !(0...ResponderConstants.probeCount).contains(round.sentCount) {
        found.append("\(round.sentCount) probes were sent")
      }
      if round.members.isEmpty { found.append("a round of probes for nothing") }
    }
    if Set(probeRounds.map(\.number)).count != probeRounds.count {
      found.append("two rounds of probes have one number")
    }
    if announcementRounds.contains(where: {
      !(1...ResponderConstants.announcementCount).contains($0.left)
    }) {
      found.append("a round of announcements is over")
    }
    if batches.contains(where: \.sets.isEmpty) { found.append("no answers are to be sent") }
    if truncatedQueries.count > ResponderConstants.truncatedQueriesMax
      || quietQuestions.count > Self.quietQuestionsMax
    {
      found.append("too many questions are remembered")
    }
    if goodbyes.isEmpty != (goodbyesDue == nil) { found.append("goodbyes and their time differ") }
    return found
  }
}

extension RecordStore {
  /// How the tables contradict each other; a sentence for each contradiction.
  func violations(perTable limit: Int) -> [String] {
    var found: [String] = []
    for (id, set) in sets.prefix(limit) {
      guard let named = byName[set.name] else {
        found.append("set \(id.rawValue) is not found by its name")
        continue
      }
      let row = set.isShared ? named.shared : named.own(on: set.interface)
      if row.count <= max(limit, 16), row.count(where: { $0 == id }) != 1 {
        found.append("set \(id.rawValue) is not once among those of its name")
      }
      if let content = SharedContent(set),
        sharedByContent[content]?.count(where: { $0 == id }) != 1
      {
        found.append("set \(id.rawValue) is not found by its record")
      }
    }
    for (content, ids) in sharedByContent.prefix(limit) {
      for id in ids.prefix(limit) where sets[id].flatMap(SharedContent.init) != content {
        found.append("set \(id.rawValue) has another record")
      }
    }
    for (_, named) in byName.prefix(limit) {
      if named.isEmpty { found.append("a name without sets") }
      if named.sharedCounts.values.reduce(0, +) != named.shared.count {
        found.append("shared sets of some types are miscounted")
      }
    }
    return found
  }
}

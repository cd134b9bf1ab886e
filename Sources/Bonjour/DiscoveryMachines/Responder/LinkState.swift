internal import DNSWire
internal import Essentials

/// Pending probes, announcements, answers and goodbyes of a responder on one link.
struct LinkState: Sendable {
  /// Registrations that probe in step, so that they share packets.
  struct ProbeRound: Sendable {
    let number: Int
    var at: Instant
    var sentCount = 0
    var members: [RegistrationID]
  }

  /// Record sets that are announced in step.
  struct AnnouncementRound: Sendable {
    var at: Instant
    var left: Int
    var sets: [RecordSetID]
  }

  /// Answers that are multicast together.
  struct Batch: Sendable {
    var due: Instant
    /// How long ago a record must have been multicast to be so again.
    var interval: TimeSpan
    private(set) var sets: [RecordSetID] = []
    private var members: Set<RecordSetID> = []

    init(due: Instant, interval: TimeSpan) {
      self.due = due
      self.interval = interval
    }

    mutating func insert(_ id: RecordSetID) {
      if members.insert(id).inserted { sets.append(id) }
    }

    mutating func remove(_ id: RecordSetID) {
      if members.remove(id) != nil { sets.removeAll { $0 == id } }
    }
  }

  /// A query whose known answers have not all arrived.
  struct TruncatedQuery: Sendable {
    /// Gives their order.
    let number: Int
    var due: Instant
    var sets: [RecordSetID]
  }

  var probeRounds: [ProbeRound] = []
  var announcementRounds: [AnnouncementRound] = []
  var batches: [Batch] = []
  var truncatedQueries: [Endpoint: TruncatedQuery] = [:]
  /// Until when a question without known answers causes nothing new: all its answers wait to be
  /// sent or were just sent. So a flood of one question costs a look-up each.
  private(set) var quietQuestions: [DNSQuestion: Instant] = [:]
  var unicastBudget = UnicastBudget()
  var goodbyes: [DNSRecord] = []
  var goodbyesDue: Instant?

  var nextWake: Instant? {
    let starting = Instant.earliest(
      probeRounds.earliest(\.at), announcementRounds.earliest(\.at))
    let answering = Instant.earliest(
      batches.earliest(\.due), truncatedQueries.values.earliest(\.due))
    return .earliest(.earliest(starting, answering), goodbyesDue)
  }

  /// Sends goodbyes for these soon, with others.
  mutating func sayGoodbye(to records: [DNSRecord], now: Instant) {
    guard !records.isEmpty else { return }
    goodbyes += records
    if goodbyesDue == nil { goodbyesDue = now + ResponderConstants.goodbyeWait }
  }

  /// Puts an answer with others that go out at about the same time.
  mutating func enqueue(
    _ sets: [RecordSetID], within range: ClosedRange<Instant>, interval: TimeSpan,
    rng: inout SeededGenerator
  ) {
    guard !sets.isEmpty else { return }
    let isSuitable = { (batch: Batch) in
      range.contains(batch.due) && batch.interval == interval
    }
    let index: Int
    if let found = batches.firstIndex(where: isSuitable) {
      index = found
    } else {
      index = batches.count
      let due = range.lowerBound + rng.span(.zero, range.upperBound - range.lowerBound)
      batches.append(Batch(due: due, interval: interval))
    }
    assert(range.contains(batches[index].due), "answers wait for another time than they may")
    for id in sets { batches[index].insert(id) }
  }

  /// Questions that are remembered to be answered for the moment.
  static let quietQuestionsMax = 64

  mutating func noteQuiet(_ question: DNSQuestion, until time: Instant) {
    if quietQuestions.count >= Self.quietQuestionsMax { quietQuestions = [:] }
    quietQuestions[question] = time
  }

  /// Takes a set out of all answers that wait.
  mutating func suppress(_ id: RecordSetID) {
    for index in batches.indices { batches[index].remove(id) }
    batches.removeAll { $0.sets.isEmpty }
  }

  /// Announces sets, together with others that begin at about the same time.
  mutating func announce(_ sets: [RecordSetID], within range: ClosedRange<Instant>) {
    guard !sets.isEmpty else { return }
    let count = ResponderConstants.announcementCount
    if let index = announcementRounds.firstIndex(where: {
      $0.left == count && range.contains($0.at)
    }) {
      announcementRounds[index].sets += sets
    } else {
      announcementRounds.append(
        AnnouncementRound(at: range.upperBound, left: count, sets: sets))
    }
  }
}

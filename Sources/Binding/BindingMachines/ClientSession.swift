import Essentials
import JSONWire

/// What the server knows of one tab: what it has got, and what it has asked for.
struct ClientSession {
  let model: ModelID
  /// Names it, and no other of any server: messages are numbered anew in each.
  let epoch: String
  /// The stream that it is connected by.
  private(set) var stream: StreamID?
  /// Since when it has none.
  private(set) var idleSince: Instant?
  /// Whether the page was left, so that it comes back soon or never.
  private(set) var hasLeft = false

  /// The revision that the tab has; nil if it needs a snapshot.
  var sent: UInt64?
  /// The number of the last message that was applied. Messages are numbered from 1 on.
  private(set) var sequence: UInt64 = 0
  var owesAcknowledgement = false
  /// What the tab has set since its last patch. It gets what came of it, changed or not.
  var corrections: Set<ValuePath> = []
  private var rateLimit = PatchRateLimit()

  init(model: ModelID, epoch: String, now: Instant) {
    self.model = model
    self.epoch = epoch
    idleSince = now
  }

  // MARK: Connection

  /// Begins anew on a stream: with a snapshot.
  mutating func attach(to stream: StreamID) {
    assert(self.stream == nil, "a tab has two streams")
    self.stream = stream
    idleSince = nil
    hasLeft = false
    sent = nil
    corrections = []
  }

  mutating func detach(now: Instant) {
    assert(stream != nil, "a tab loses a stream that it doesn't have")
    stream = nil
    idleSince = now
    sent = nil
  }

  mutating func leave() { hasLeft = true }

  /// When the session ends unless the tab comes back; nil while it is connected.
  var end: Instant? {
    idleSince.map { $0 + (hasLeft ? BindingLimits.leftTimeMax : BindingLimits.idleTimeMax) }
  }

  // MARK: Messages

  enum Reception {
    /// It is the next one: its operations are to be performed.
    case next
    /// The one before it is missing, whose operations it has, too: they are to be performed first.
    case nextAndBefore
    /// It was performed before, and is only acknowledged again.
    case duplicate
    /// Others are missing before it, which will never come.
    case gap
  }

  /// Checks the number of a message and, if it is the next one, takes it.
  ///
  /// - Parameters:
  ///   - sets: The existing values that the message sets.
  ///   - setsBefore: The same of the message before it; nil if the message doesn't repeat that one.
  mutating func receive(
    _ number: UInt64, sets: [ValuePath], setsBefore: [ValuePath]? = nil
  ) -> Reception {
    guard number > sequence else {
      owesAcknowledgement = true
      return .duplicate
    }
    let missingCount = number - sequence - 1
    guard missingCount == 0 || (missingCount == 1 && setsBefore != nil) else { return .gap }
    sequence = number
    owesAcknowledgement = true
    // A snapshot has all anyway.
    if isFollowing { corrections.formUnion(sets) }
    guard missingCount == 1, let setsBefore else { return .next }
    if isFollowing { corrections.formUnion(setsBefore) }
    return .nextAndBefore
  }

  /// How many values are remembered to be written, for tests.
  var correctionCount: Int { corrections.count }

  // MARK: Patches

  /// Whether the tab gets patches; a snapshot otherwise.
  var isFollowing: Bool { sent != nil }

  /// Whether the tab lacks anything of the present revision.
  func lacks(_ revision: UInt64) -> Bool {
    owesAcknowledgement || sent.map { $0 < revision } ?? true
  }

  /// Whether the browser waits for the next write: a snapshot, or the acknowledgement of user
  /// input.
  var isUrgent: Bool { sent == nil || owesAcknowledgement }

  /// When the next snapshot or patch may leave.
  var nextPatch: Instant { sent == nil ? .zero : rateLimit.next(isUrgent: owesAcknowledgement) }

  /// The event that brings the tab up to date.
  ///
  /// - Parameter name: What names the view model.
  mutating func takeEvent(
    for tab: TabName, of name: String, state: inout PageState, now: Instant
  ) -> [UInt8] {
    var text = "event: \(sent == nil ? "snap" : "patch")\nid: \(epoch)-\(state.revision)\n"
    // Of a tab's name, no character is escaped.
    text += "data: {\"tab\":\"\(tab.text)\""
    if sent == nil { text += ",\"epoch\":\"\(epoch)\",\"model\":\"\(name)\"" }
    if sent == nil || owesAcknowledgement { text += ",\"a\":\(sequence)" }
    var bytes = Array(text.utf8)
    if let sent {
      assert(sent <= state.revision, "the tab has a revision that is still to come")
      bytes += state.patch(since: sent, corrections: corrections)
    } else {
      bytes += state.snapshot()
    }
    bytes += "}\n\n".utf8
    sent = state.revision
    owesAcknowledgement = false
    corrections = []
    rateLimit.take(now: now)
    return bytes
  }
}

/// The identifier of a view model with clients.
package struct ModelID: Hashable, Sendable, CustomStringConvertible {
  package var number: Int

  package init(number: Int) { self.number = number }

  package var description: String { "model \(number)" }
}

/// The identifier of a connection that sends events to one or more tabs of a browser.
package struct StreamID: Hashable, Sendable {
  package var number: Int

  package init(number: Int) { self.number = number }
}

/// The identifier of a pending request.
package struct RequestID: Hashable, Sendable {
  package var number: Int

  package init(number: Int) { self.number = number }
}

/// All conversations: a value that is updated with each event.
struct Conversations: Sendable {
  /// The bubbles of a conversation that are kept in memory; the store has all.
  static let bubbleCountMax = 500
  static let conversationCountMax = 1_000

  /// A conversation in the list of them.
  struct Row: Identifiable, Equatable, Sendable {
    /// The other account's address.
    let id: String
    /// The latest message.
    var latest = ""
    var time: Int64 = 0
    var unreadCount = 0
    var isTyping = false
  }

  /// Why there is no connection; nil while there is one.
  private(set) var offlineReason: String? = "Connecting …"
  private var rows: [String: Row] = [:]
  private var bubbles: [String: [Bubble]] = [:]
  /// States of messages that are not known yet: a server may be faster than the caller of `send`.
  private var earlyStates: [(key: Bubble.Key, state: Bubble.State)] = []
  private static let earlyStateCountMax = 256

  /// The conversations, the one with the latest message first.
  var list: [Row] {
    rows.values.sorted { ($1.time, $0.id) < ($0.time, $1.id) }
  }

  func row(of peer: String) -> Row? { rows[peer] }
  func bubbles(of peer: String) -> [Bubble] { bubbles[peer] ?? [] }

  func bubble(_ id: Bubble.ID) -> Bubble? {
    bubbles.values.lazy.compactMap { $0.last { $0.id == id } }.first
  }

  /// Adds an account without messages.
  mutating func add(_ peer: String) {
    guard rows[peer] == nil, rows.count < Self.conversationCountMax else { return }
    rows[peer] = Row(id: peer)
  }

  /// Adds earlier messages before those that are here already.
  mutating func add(history: [Bubble], of peer: String) {
    add(peer)
    let here = bubbles[peer] ?? []
    let keys = Set(here.map(\.key))
    bubbles[peer] = (history.filter { !keys.contains($0.key) } + here).suffix(Self.bubbleCountMax)
    showLatest(of: peer)
  }

  /// Adds a message, or replaces it.
  mutating func put(_ bubble: Bubble, isRead: Bool) {
    add(bubble.peer)
    guard rows[bubble.peer] != nil else { return }
    var list = bubbles[bubble.peer] ?? []
    if let place = list.lastIndex(where: { $0.key == bubble.key }) {
      list[place] = bubble
    } else {
      var bubble = bubble
      for early in earlyStates where early.key == bubble.key { bubble.advance(to: early.state) }
      earlyStates.removeAll { $0.key == bubble.key }
      list.append(bubble)
      if !isRead, !bubble.isOwn, !bubble.isNotice { rows[bubble.peer]?.unreadCount += 1 }
    }
    bubbles[bubble.peer] = list.suffix(Self.bubbleCountMax)
    rows[bubble.peer]?.isTyping = false
    showLatest(of: bubble.peer)
  }

  /// Follows an event.
  ///
  /// - Parameter isShown: Whether the messages of a peer are visible now.
  mutating func follow(_ event: MailboxEvent, isShown: (String) -> Bool) {
    switch event {
    case .connection(let reason): offlineReason = reason
    case .received(let bubble): put(bubble, isRead: isShown(bubble.peer))
    case .state(let key, let state):
      if peer(of: key) == nil {
        earlyStates.append((key, state))
        earlyStates.removeFirst(max(0, earlyStates.count - Self.earlyStateCountMax))
      }
      change(key) { $0.advance(to: state) }
    case .uploaded(let key, let message):
      guard let peer = peer(of: key), let old = bubbles[peer]?.first(where: { $0.key == key })
      else { return }
      var bubble = Bubble(
        key: message, peer: peer, isOwn: true, text: old.text, time: old.time, state: .waiting(nil))
      bubble.file = old.file
      // The state of the message may have come before its number.
      let isKnown = bubbles[peer]?.contains { $0.key == message } ?? false
      bubbles[peer]?.removeAll { $0.key == key }
      if !isKnown { put(bubble, isRead: true) }
    case .loaded(let key, let path): change(key) { $0.file?.place = .here(path: path) }
    case .typing(let peer, let isTyping): rows[peer]?.isTyping = isTyping
    }
  }

  mutating func setPlace(_ place: File.Place, of id: Bubble.ID) {
    guard let key = bubble(id)?.key else { return }
    change(key) { $0.file?.place = place }
  }

  mutating func markRead(_ peer: String) { rows[peer]?.unreadCount = 0 }

  private func peer(of key: Bubble.Key) -> String? {
    bubbles.first { $0.value.contains { $0.key == key } }?.key
  }

  private mutating func change(_ key: Bubble.Key, _ body: (inout Bubble) -> Void) {
    guard let peer = peer(of: key), let place = bubbles[peer]?.lastIndex(where: { $0.key == key })
    else { return }
    bubbles[peer]?[place].modify(body)
  }

  private mutating func showLatest(of peer: String) {
    guard let last = bubbles[peer]?.last else { return }
    let text = last.text.isEmpty ? last.file?.name ?? "" : last.text
    rows[peer]?.latest = String(text.prefix(80))
    rows[peer]?.time = last.time
  }
}

extension Bubble {
  fileprivate mutating func modify(_ body: (inout Bubble) -> Void) { body(&self) }

  /// States only advance; one that was read from the store may be older than the last one.
  fileprivate mutating func advance(to new: State) {
    if new.rank >= state?.rank ?? 0 { state = new }
  }
}

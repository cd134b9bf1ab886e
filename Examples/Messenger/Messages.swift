import Reactive

/// The conversations of an account, which all tabs and the terminal share.
@MainActor
final class Messages {
  let mailbox: any Mailbox
  /// All conversations now.
  let conversations: Property<Conversations>
  private let state = MutableProperty(Conversations())
  /// How many views show each conversation now.
  private var viewCounts: [String: Int] = [:]

  init(_ mailbox: any Mailbox) {
    self.mailbox = mailbox
    conversations = Property(capturing: state)
  }

  /// Reads the list of conversations, connects, and follows the account until the task is cancelled.
  func run() async {
    if let peers = try? await mailbox.peers() {
      for peer in peers { state.modify { $0.add(peer) } }
    }
    let messages = self
    await mailbox.run { event in await messages.follow(event) }
  }

  private func follow(_ event: MailboxEvent) {
    state.modify { $0.follow(event) { viewCounts[$0] != nil } }
    if case .received(let bubble) = event, viewCounts[bubble.peer] != nil { mark(bubble) }
  }

  /// A view shows a conversation from now on: its messages are read.
  func show(_ peer: String) {
    viewCounts[peer, default: 0] += 1
    let unread = state.value.row(of: peer)?.unreadCount ?? 0
    state.modify { conversations in
      conversations.add(peer)
      conversations.markRead(peer)
    }
    if unread > 0, let last = state.value.bubbles(of: peer).last(where: { !$0.isOwn }) {
      mark(last)
    }
    Task {
      guard let history = try? await mailbox.history(with: peer) else { return }
      state.modify { $0.add(history: history, of: peer) }
    }
  }

  /// A view shows it no more.
  func hide(_ peer: String) {
    guard let count = viewCounts[peer] else { return }
    viewCounts[peer] = count > 1 ? count - 1 : nil
  }

  /// Stores a text and files, in this order.
  func send(_ text: String, files: [String], to peer: String) async throws {
    if !text.isEmpty {
      let bubble = try await mailbox.send(text, to: peer)
      state.modify { $0.put(bubble, isRead: true) }
    }
    for path in files {
      let bubble = try await mailbox.send(file: path, to: peer)
      state.modify { $0.put(bubble, isRead: true) }
    }
  }

  /// Loads the file of a message.
  func load(_ id: Bubble.ID) async {
    guard let bubble = state.value.bubble(id), let file = bubble.file, file.place != .loading else {
      return
    }
    state.modify { $0.setPlace(.loading, of: id) }
    do {
      let path = try await mailbox.load(bubble)
      state.modify { $0.setPlace(.here(path: path), of: id) }
    } catch {
      state.modify { $0.setPlace(.failed("\(error)"), of: id) }
    }
  }

  private func mark(_ bubble: Bubble) {
    let mailbox = mailbox
    Task { await mailbox.markDisplayed(bubble) }
  }
}

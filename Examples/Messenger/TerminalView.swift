import Foundation
import Reactive

/// The conversations in a terminal, a line a message. A second view of the view model that the page shows.
@MainActor
final class TerminalView {
  private let messenger: Messenger
  private let messages: Messages
  private let write: (String) -> Void
  /// The printed form of each bubble.
  private var printed: [Bubble.ID: Bubble] = [:]
  private let observations = CompositeDisposable()

  static let help = """
    Type a message. "/to ADDRESS" opens a conversation, "/list" prints all, "/file PATH" sends a file,
    "/load" loads the latest file.
    """

  /// - Parameter write: Prints a line.
  init(_ messages: Messages, outbox: URL, write: @escaping (String) -> Void) {
    self.messages = messages
    self.write = write
    messenger = Messenger(messages, outbox: outbox)
    messenger.appeared()
    observations += messenger.with.signal.observeValues { [weak self] peer in
      MainActor.assumeIsolated { self?.begin(peer) }
    }
    observations += messenger.bubbles.producer.observe(on: UIScheduler()).startWithValues {
      [weak self] bubbles in MainActor.assumeIsolated { self?.show(bubbles) }
    }
    observations += messenger.offline.producer.skipRepeats().observe(on: UIScheduler())
      .startWithValues { [weak self] reason in
        MainActor.assumeIsolated { self?.write(reason.map { "-- \($0)" } ?? "-- Connected") }
      }
    observations += messenger.send.errors.observeValues { [weak self] error in
      MainActor.assumeIsolated { self?.write("-- \(error.text)") }
    }
  }

  deinit { observations.dispose() }

  /// Does what a line requests.
  func take(_ line: String) async {
    let words = line.split(separator: " ", maxSplits: 1).map(String.init)
    switch words.first {
    case nil: return
    case "/help": write(Self.help)
    case "/list": for row in messenger.list.value { write(Self.line(row)) }
    case "/to":
      guard let peer = messages.mailbox.normalized(words.dropFirst().first ?? "") else {
        write("-- An address looks like bob@chat.example.")
        return
      }
      messenger.with.value = peer
    case "/file": await send("", files: Array(words.dropFirst()))
    case "/load":
      if let bubble = messenger.bubbles.value.last(where: \.canLoad) {
        await messages.load(bubble.id)
      }
    default: await send(line, files: [])
    }
  }

  private func send(_ text: String, files: [String]) async {
    guard !messenger.with.value.isEmpty else {
      write("-- \"/to ADDRESS\" opens a conversation first.")
      return
    }
    do {
      try await messages.send(text, files: files, to: messenger.with.value)
    } catch {
      write("-- \(error)")
    }
  }

  private func begin(_ peer: String) {
    printed = [:]
    write("-- \(Self.safe(peer))")
    show(messenger.bubbles.value)
  }

  /// Prints new bubbles and changes of others.
  private func show(_ bubbles: [Bubble]) {
    for bubble in bubbles where printed[bubble.id] != bubble {
      if let old = printed.updateValue(bubble, forKey: bubble.id), old.text == bubble.text {
        if old.state != bubble.state, let state = bubble.stateText {
          write("   \(Self.safe(Self.content(bubble)).prefix(30)): \(Self.safe(state))")
        }
        if old.file?.place != bubble.file?.place, case .here(let path) = bubble.file?.place {
          write("   \(Self.safe(bubble.file?.name ?? "")): \(path)")
        }
      } else {
        write(Self.line(bubble))
      }
    }
  }

  private static func line(_ bubble: Bubble) -> String {
    let sender =
      bubble.isNotice ? "--" : bubble.isOwn ? "You:" : "\(bubble.nickname ?? bubble.peer):"
    let state = bubble.stateText.map { " (\($0))" } ?? ""
    return safe("\(bubble.timeText) \(sender) \(content(bubble))\(state)")
  }

  private static func line(_ row: Conversations.Row) -> String {
    let unread = row.unreadText.map { " (\($0) new)" } ?? ""
    return safe("\(row.id)\(unread) \(row.latest)")
  }

  private static func content(_ bubble: Bubble) -> String {
    let file = bubble.file.map { "[\($0.label)]" }
    return ([bubble.text, file].compactMap(\.self)).filter { !$0.isEmpty }.joined(separator: " ")
  }

  /// A text of others, without characters that control the terminal.
  private static func safe(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { scalar in
          switch scalar.properties.generalCategory {
          case .control, .format, .lineSeparator, .paragraphSeparator: " "
          default: scalar
          }
        }))
  }
}

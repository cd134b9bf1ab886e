#if Messaging
  import Foundation
  import Messaging

  /// An account on XMPP.
  final class AccountMailbox: Mailbox {
    /// The pause before the inbox is read again after an error of the disk.
    private static let retryPause = Duration.seconds(5)

    /// A file that is loaded without a question.
    private struct Wanted: Sendable {
      var key: Bubble.Key
      var file: Attachment
    }

    let account: MessagingAccount
    /// One is loaded after the other, the latest ones: a sender of thousands doesn't fill the disk.
    private let wanted = AsyncStream.makeStream(
      of: Wanted.self, bufferingPolicy: .bufferingNewest(32))

    var address: String { account.address }

    init(_ account: MessagingAccount) { self.account = account }

    func normalized(_ address: String) -> String? { MessagingAccount.normalizedAddress(address) }

    func peers() async throws -> [String] {
      let contacts = try await account.contacts().map(\.address)
      return contacts + (try await account.conversations().map(\.peer))
    }

    func history(with peer: String) async throws -> [Bubble] {
      var bubbles: [Bubble] = []
      for entry in try await account.history(with: peer) {
        switch entry {
        case .received(let item):
          bubbles.append(Bubble(item))
          await want(item)
        case .sent(let message):
          bubbles.append(Bubble(message))
          if let file = message.attachments.first {
            wanted.continuation.yield(Wanted(key: .sent(message.id.rawValue), file: file))
          }
        }
      }
      for transfer in try await account.fileTransfers() where transfer.recipient == peer {
        guard let state = Bubble.State(transfer.state) else { continue }
        var bubble = Bubble(file: transfer.path, .upload(transfer.id.rawValue), to: peer)
        bubble.state = state
        bubbles.append(bubble)
      }
      return bubbles
    }

    func send(_ text: String, to peer: String) async throws -> Bubble {
      let id = try await account.send(text, to: peer)
      return Bubble(
        key: .sent(id.rawValue), peer: peer, isOwn: true, text: text, time: .now,
        state: .waiting(nil))
    }

    func send(file path: String, to peer: String) async throws -> Bubble {
      let id = try await account.send(file: path, to: peer)
      var bubble = Bubble(file: path, .upload(id.rawValue), to: peer)
      bubble.state = .waiting(nil)
      return bubble
    }

    func load(_ bubble: Bubble) async throws -> String {
      guard let attachment = try await attachment(of: bubble) else {
        throw AttachmentError.noAddress
      }
      return try await account.download(attachment)
    }

    /// The file of a message, from the store: a page has only the bubble.
    private func attachment(of bubble: Bubble) async throws -> Attachment? {
      for entry in try await account.history(with: bubble.peer, limit: 1_000) {
        switch entry {
        case .received(let item) where bubble.key == .received(item.row):
          return item.attachments.first
        case .sent(let message) where bubble.key == .sent(message.id.rawValue):
          return message.attachments.first
        case .received, .sent: continue
        }
      }
      return nil
    }

    func markDisplayed(_ bubble: Bubble) async {
      guard let history = try? await account.history(with: bubble.peer, limit: 1_000) else {
        return
      }
      for case .received(let item) in history where bubble.key == .received(item.row) {
        _ = try? await account.markDisplayed(item)
      }
    }

    func run(_ take: @escaping @Sendable (MailboxEvent) async -> Void) async {
      let states = account.stateChanges()
      let connections = account.connectionStates()
      let typing = account.chatStateUpdates()
      let transfers = account.fileTransferChanges()
      account.start()
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await self.readInbox(take) }
        group.addTask {
          // Beside the inbox: a slow server of files doesn't hold up the next message.
          for await next in self.wanted.stream {
            guard let path = try? await self.account.download(next.file) else { continue }
            await take(.loaded(next.key, path: path))
          }
        }
        group.addTask {
          for await change in states {
            await take(.state(.sent(change.id.rawValue), Bubble.State(change.state)))
          }
        }
        group.addTask {
          for await state in connections { await take(.connection(Self.reason(state))) }
        }
        group.addTask {
          for await update in typing {
            await take(.typing(update.address, update.state == .composing))
          }
        }
        group.addTask {
          for await change in transfers {
            let key = Bubble.Key.upload(change.id.rawValue)
            if case .sent(let message) = change.state {
              await take(.uploaded(key, as: .sent(message.rawValue)))
            } else if let state = Bubble.State(change.state) {
              await take(.state(key, state))
            }
          }
        }
      }
    }

    /// Hands over the inbox. Its entries are acknowledged when they were taken; the store has them for later views.
    private func readInbox(_ take: @escaping @Sendable (MailboxEvent) async -> Void) async {
      while !Task.isCancelled {
        do {
          for try await item in account.inbox() {
            await take(.received(Bubble(item)))
            try await account.acknowledge(item)
            await want(item)
          }
          return
        } catch MessagingError.ended {
          return
        } catch {
          await take(.connection("The messages can't be read: \(error)"))
          try? await Task.sleep(for: Self.retryPause)
        }
      }
    }

    /// Has the file of a contact's message loaded.
    private func want(_ item: InboxItem) async {
      guard let file = item.attachments.first, (try? await account.mayDownload(item)) == true else {
        return
      }
      wanted.continuation.yield(Wanted(key: .received(item.row), file: file))
    }

    private static func reason(_ state: ConnectionState) -> String? {
      switch state {
      case .online: nil
      case .connecting: "Connecting …"
      case .stopped: "Not connected"
      case .offline(let reason, let isFinal):
        isFinal ? "Not connected: \(reason)" : "Offline: \(reason)"
      }
    }
  }

  extension Bubble {
    init(_ item: InboxItem) {
      let text: String
      var isNotice = true
      switch item.kind {
      case .message, .sentElsewhere:
        if let revision = item.revision {
          text = Self.text(revision)
          break
        }
        let hasContent = !item.text.isEmpty || !item.attachments.isEmpty
        text = hasContent ? item.text : "(a message that this app can't show)"
        isNotice = false
      case .gap(let count): text = "\(count) messages are missing here."
      case .archiveGap: text = "The server no longer has all earlier messages."
      case .historyStart: text = "Earlier messages are not on this machine."
      }
      self.init(
        key: .received(item.row), peer: item.peer, isOwn: item.kind == .sentElsewhere,
        isNotice: isNotice, text: text, nickname: item.nickname, time: item.time,
        file: item.attachments.first.map { File($0) })
    }

    private static func text(_ revision: MessageRevision) -> String {
      switch revision {
      case .correction(_, let text): "Corrected: \(text)"
      case .retraction: "An earlier message was withdrawn."
      case .reactions(_, let reactions): "Reacted: \(reactions.joined(separator: " "))"
      }
    }

    init(_ message: SentMessage) {
      self.init(
        key: .sent(message.id.rawValue), peer: message.recipient, isOwn: true, text: message.text,
        time: message.time, state: State(message.state),
        file: message.attachments.first.map { File($0) })
    }

    /// A file that is still to be uploaded.
    init(file path: String, _ key: Key, to peer: String) {
      let url = URL(filePath: path)
      self.init(key: key, peer: peer, isOwn: true, text: "", time: .now)
      let start = try? FileHandle(forReadingFrom: url).read(upToCount: 12)
      file = File(
        name: url.lastPathComponent, mediaType: start.flatMap { File.shownType(of: $0) },
        place: .here(path: path))
    }
  }

  extension File {
    init(_ attachment: Attachment) {
      self.init(
        name: attachment.name ?? "file", mediaType: attachment.mediaType,
        byteCount: attachment.byteCount, duration: attachment.duration,
        thumbnail: attachment.thumbnail?.bytes)
    }
  }

  extension Bubble.State {
    init(_ state: MessageState) {
      self =
        switch state {
        case .stored: .waiting(nil)
        case .acknowledged, .archived: .atServer
        case .received: .received
        case .displayed: .displayed
        case .failed(.deadline): .failed("not in time")
        case .failed(.closesStream(let condition)), .failed(.refused(let condition)):
          .failed(condition)
        }
    }

    /// Nil for a file whose message has its own state.
    init?(_ state: FileTransferState) {
      switch state {
      case .waiting(let reason): self = .waiting(reason)
      case .uploading(let count, let all):
        self = .uploading(all > 0 ? Double(count) / Double(all) : 0)
      case .sent: return nil
      case .failed(let failure): self = .failed("\(failure)")
      }
    }
  }

  extension Int64 {
    /// Milliseconds since 1970.
    fileprivate static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }
  }
#endif

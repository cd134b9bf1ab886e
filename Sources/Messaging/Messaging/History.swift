#if Messaging
  internal import MessagingHost
  internal import XMPPMachines
  internal import XMPPWire

  /// A message that was sent from here, as the store keeps it.
  public struct SentMessage: Hashable, Sendable {
    /// Its number.
    public var id: MessageID
    /// The address of the recipient's account.
    public var recipient: String
    /// The text.
    public var body: String
    /// The message's other elements as XML.
    public var elements: String
    /// Milliseconds since 1970 when it was stored, by this machine's clock.
    public var time: Int64
    /// Its fate.
    public var state: MessageState

    /// The files of the message.
    public var attachments: [Attachment] {
      SharedFile.files(in: elements).compactMap { Attachment($0) }
    }

    /// The text, without one that is only the address of a file.
    public var text: String {
      attachments.contains { $0.address == body } ? "" : body
    }
  }

  /// An entry of a conversation that the store keeps.
  public enum HistoryEntry: Hashable, Sendable {
    /// An entry of the inbox, whether or not the app has acknowledged it.
    case received(InboxItem)
    /// A message that was sent from here. Those to rooms are entries of the inbox.
    case sent(SentMessage)

    /// Milliseconds since 1970: of a received message by the server's clock, of a sent one by this machine's.
    public var time: Int64 {
      switch self {
      case .received(let item): item.time
      case .sent(let message): message.time
      }
    }
  }

  extension MessagingAccount {
    /// The latest messages of a conversation that the store keeps, the oldest first.
    ///
    /// The store keeps messages for a year, see <doc:WhatIsPromised>. Those of the inbox are in its order, those that were
    /// sent from here in theirs; the two are put together by their times. Entries that weren't acknowledged are here and in
    /// ``inbox()``, with the same ``InboxItem/row``.
    ///
    /// - Parameters:
    ///   - peer: The address of an account, or of a room.
    ///   - limit: The number of messages, 1,000 at most. They are looked for among the latest 50,000 of all conversations.
    public func history(
      with peer: String, limit: Int = 100
    ) async throws(MessagingError) -> [HistoryEntry] {
      let address = try jid(peer).bare.description
      let limit = max(0, min(limit, 1_000))
      do throws(StoreError) {
        let rows = try await host.history(with: address, limit: limit)
        return HistoryEntry.merged(
          rows.incoming.map { .received(InboxItem($0)) },
          rows.outgoing.map { .sent(SentMessage($0)) }, limit: limit)
      } catch {
        throw MessagingError(error)
      }
    }
  }

  extension HistoryEntry {
    /// The latest of both, the oldest first; each sequence keeps its order, also where times run backwards.
    ///
    /// - Parameters:
    ///   - received: The newest first.
    ///   - sent: The newest first.
    static func merged(
      _ received: [HistoryEntry], _ sent: [HistoryEntry], limit: Int
    ) -> [HistoryEntry] {
      var (received, sent) = (received[...], sent[...])
      var latest: [HistoryEntry] = []
      while latest.count < limit {
        let isReceived =
          switch (received.first, sent.first) {
          case (let item?, let message?): item.latestTime >= message.time
          case (_?, nil): true
          default: false
          }
        guard let next = isReceived ? received.popFirst() : sent.popFirst() else { break }
        latest.append(next)
      }
      return latest.reversed()
    }

    /// Many servers stamp what they have kept with whole seconds: it may have been sent until the next one.
    private var latestTime: Int64 { time % 1_000 == 0 ? time + 999 : time }
  }

  extension SentMessage {
    init(_ row: OutgoingRow) {
      self.init(
        id: MessageID(rawValue: row.id.rawValue), recipient: row.peer,
        body: row.content?.body ?? "", elements: row.content?.elements ?? "", time: row.date,
        state: MessageState(row.fate))
    }
  }
#endif

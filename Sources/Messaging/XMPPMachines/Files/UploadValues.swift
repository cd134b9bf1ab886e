#if Messaging
  package import Essentials
  package import XMPPWire

  /// The number of an upload, given once in a store.
  package struct UploadID: RawRepresentable, Hashable, Comparable, Sendable {
    package var rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
    package static func < (a: UploadID, b: UploadID) -> Bool { a.rawValue < b.rawValue }
  }

  /// Why a file was not sent.
  package enum UploadFailure: Error, Hashable, Sendable {
    case deadline
    case cancelled
    /// The server has no upload service.
    case unsupported
    /// The service takes files up to this size; nil if it has not told it.
    case tooLarge(byteCountMax: Int64?)
    /// The service refuses the file, with this condition or status.
    case refused(String)
    /// The file has not the size and the digest that it had.
    case changed
    case unreadable(String)
  }

  /// A file that is uploaded, and then sent as a message.
  package struct UploadRow: Hashable, Sendable {
    package enum Outcome: Hashable, Sendable {
      /// The row of the outbox with its message.
      case sent(RowID)
      case failed(UploadFailure)
    }

    package var id: UploadID
    /// The bare JID of the recipient, an account or a room.
    package var peer: String
    /// The id and origin-id that its message will have.
    package var originID: String
    package var path: String
    package var metadata: FileMetadata
    package var deadline: WallTime?
    package var date: WallTime
    /// Nil until it has ended.
    package var outcome: Outcome?

    package init(
      id: UploadID, peer: String, originID: String, path: String, metadata: FileMetadata,
      deadline: WallTime? = nil, date: WallTime, outcome: Outcome? = nil
    ) {
      self.id = id
      self.peer = peer
      self.originID = originID
      self.path = path
      self.metadata = metadata
      self.deadline = deadline
      self.date = date
      self.outcome = outcome
    }

    package var byteCount: Int64 { metadata.byteCount ?? 0 }
  }

  /// A change of what the store has about uploads.
  package enum UploadChange: Hashable, Sendable {
    case insert(UploadRow)
    case setOutcome(UploadID, UploadRow.Outcome)
    case forget(UploadID)
  }

  /// The request that puts a file, on its way.
  package struct UploadJob: Hashable, Sendable {
    package var id: UploadID
    /// Reports about earlier attempts are ignored.
    package var attempt: Int
    package var path: String
    package var metadata: FileMetadata
    package var slot: UploadSlot
  }

  /// How the request that puts a file has ended.
  package enum UploadEnd: Hashable, Sendable {
    /// The status of HTTP.
    case status(Int)
    /// The connection failed, or the server was silent, for this reason.
    case broken(String)
    case changed
    case unreadable(String)
  }

  package enum UploadEvent: Hashable, Sendable {
    /// The app sends a file.
    ///
    /// - ticket: The driver's number for the answer.
    /// - patience: After this time it fails; nil for never.
    case add(
      ticket: UInt64, peer: String, originID: String, path: String, FileMetadata,
      patience: TimeSpan?, wall: WallTime)
    case cancel(UploadID)
    case connected(isResumed: Bool)
    case disconnected
    /// A stanza has come. All but answers to this machine's requests are ignored.
    case received(XMLElement)
    case progress(UploadID, attempt: Int, byteCount: Int64)
    case finished(UploadID, attempt: Int, UploadEnd)
    /// The answer to `message`: the row of the outbox, or nil if it has no room.
    case messageStored(UploadID, RowID?)
    /// The other answer to `message`: it can't be sent, for this reason.
    case messageRefused(UploadID, String)
  }

  /// The state of an upload, for the app.
  package enum UploadState: Hashable, Sendable {
    /// It waits for a connection, or for another attempt for this reason.
    case waiting(reason: String?)
    case uploading(byteCount: Int64, of: Int64)
    case sent(RowID)
    case failed(UploadFailure)
  }

  package enum UploadAction: Hashable, Sendable {
    case change(UploadChange)
    case accepted(ticket: UInt64, UploadID)
    /// Too many files wait.
    case refused(ticket: UInt64)
    case send(XMLElement)
    case put(UploadJob)
    case stop(UploadID, attempt: Int)
    /// The file is at the service. The message and `sent` are stored in one transaction.
    case message(UploadRow, MessageContent)
    case state(UploadID, UploadState)
  }

  package struct UploadLimits: Hashable, Sendable {
    /// Files that wait.
    package var waitingMax = 1_000
    /// Rows that have ended and are kept, so that the app learns of them.
    package var endedMax = 256
    package var activeMax = 2
    package var itemMax = 32
    package var answerTime: TimeSpan = .seconds(30)
    package var firstPause: TimeSpan = .seconds(2)
    package var longestPause: TimeSpan = .seconds(600)
    /// The longest pause that a service may set for its quota.
    package var quotaPauseMax: TimeSpan = .seconds(86_400)
    /// Slots that a service gives and then refuses.
    package var refusedSlotMax = 3

    package init() {}
  }

  package struct StoredUploads: Hashable, Sendable {
    /// By id.
    package var rows: [UploadRow] = []

    package init() {}
  }
#endif

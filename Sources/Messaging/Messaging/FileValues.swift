#if Messaging
  internal import XMPPMachines
  internal import XMPPWire

  /// A file that was sent from here, in one store.
  public struct FileTransferID: RawRepresentable, Hashable, Comparable, Sendable {
    /// The number, from 1.
    public var rawValue: Int64

    /// Creates the number of a file that was sent before.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Whether `a` was sent before `b`.
    public static func < (a: FileTransferID, b: FileTransferID) -> Bool { a.rawValue < b.rawValue }
  }

  /// How far a file has come that was sent from here.
  public enum FileTransferState: Hashable, Sendable {
    /// It waits for a connection, or for another attempt for this reason.
    case waiting(reason: String?)
    /// The connection has taken this part of the bytes.
    case uploading(byteCount: Int64, of: Int64)
    /// It is at the upload service, and its message is in the outbox. The states of the message follow.
    case sent(MessageID)
    /// It was not sent, for this reason.
    case failed(Failure)

    /// The reason why a file was not sent.
    public enum Failure: Hashable, Sendable {
      /// The deadline that the app had set has passed.
      case deadline
      /// The app has canceled it.
      case canceled
      /// The server takes no files.
      case unsupported
      /// The server takes files up to this size; nil if it has not told the size.
      case tooLarge(byteCountMax: Int64?)
      /// The server refuses the file, with this condition or status.
      case refused(String)
      /// The file has changed since it was sent.
      case changed
      /// The file can't be read, for this reason.
      case unreadable(String)
    }
  }

  /// A change of the state of a file that was sent from here.
  public struct FileTransferChange: Hashable, Sendable {
    /// The file.
    public var id: FileTransferID
    /// Its new state.
    public var state: FileTransferState
  }

  /// A file that was sent from here.
  public struct FileTransfer: Hashable, Sendable {
    /// Its number.
    public var id: FileTransferID
    /// The address of the recipient's account.
    public var recipient: String
    /// Where the file is. It is read when it is uploaded.
    public var path: String
    /// Its size in bytes when it was sent.
    public var byteCount: Int64
    /// The state on disk: uploads under way are waiting.
    public var state: FileTransferState
  }

  /// A small picture of a file, which came with the message (XEP-0264). It is its sender's claim, and may show anything.
  public struct AttachmentThumbnail: Hashable, Sendable {
    /// The file, 24 KiB at most. An app decodes it as carefully as any picture of a stranger.
    public var bytes: [UInt8]
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`, by the first bytes.
    public var mediaType: String
    /// The announced width in pixels.
    public var width: Int?
    /// The announced height in pixels.
    public var height: Int?

    /// An address of `data` (RFC 2397) with the picture.
    public var dataAddress: String { "data:\(mediaType);base64,\(Base64.text(bytes))" }
  }

  /// A file of a message (XEP-0447, XEP-0066). All of it is its sender's claim.
  public struct Attachment: Hashable, Sendable {
    /// A name without folders, which a file may have here; nil without one.
    public var name: String?
    /// The media type, such as `image/jpeg`.
    public var mediaType: String?
    /// The size in bytes.
    public var byteCount: Int64?
    /// The SHA-256 digest.
    public var sha256: [UInt8]?
    /// The width of a picture in pixels.
    public var width: Int?
    /// The height of a picture in pixels.
    public var height: Int?
    /// The duration of a recording in milliseconds.
    public var duration: Int64?
    /// A small picture of it.
    public var thumbnail: AttachmentThumbnail?
    /// Where the file is. Not more than a text: the address of a stranger may lead anywhere.
    public var address: String

    let file: SharedFile

    /// Creates a file at an address, for a download.
    public init(
      address: String, name: String? = nil, byteCount: Int64? = nil, sha256: [UInt8]? = nil
    ) {
      let hashes = sha256.map { [FileHash(FileHash.sha256, $0)] } ?? []
      file = SharedFile(
        FileMetadata(name: name, byteCount: byteCount, hashes: hashes), sources: [address])
      (self.address, self.name) = (address, name.flatMap(SharedFile.fileName))
      (self.byteCount, self.sha256) = (byteCount, file.metadata.sha256)
    }

    init?(_ file: SharedFile) {
      guard
        let address = file.sources.first(where: { HTTPSAddress($0) != nil }) ?? file.sources.first
      else { return nil }
      self.file = file
      self.address = address
      let metadata = file.metadata
      let path = HTTPSAddress(address)?.target.prefix { $0 != "?" }
      name = (metadata.name ?? path.map(String.init)).flatMap(SharedFile.fileName)
      mediaType = metadata.mediaType ?? name.flatMap(MediaType.ofName)
      (byteCount, sha256) = (metadata.byteCount, metadata.sha256)
      (width, height, duration) = (metadata.width, metadata.height, metadata.duration)
      thumbnail = file.thumbnail.map {
        AttachmentThumbnail(
          bytes: $0.bytes, mediaType: $0.mediaType, width: $0.width, height: $0.height)
      }
    }
  }

  /// Why a file was not downloaded.
  public enum AttachmentError: Error, Hashable, Sendable {
    /// No address of the file is one of `https`.
    case noAddress
    /// This host has only addresses that aren't public.
    case privateAddress(host: String)
    /// More than five redirections followed each other, or one leads to no address of `https`.
    case badRedirect
    /// The server refuses it, with this status of HTTP.
    case refused(status: Int)
    /// The file is larger than this: than was announced, or than is downloaded.
    case tooLarge(byteCountMax: Int64)
    /// The file has not the size or the digest that was announced.
    case wrongContent
    /// The connection failed, for this reason. The next attempt goes on with the part that has come.
    case failed(String)
    /// The file can't be written here, for this reason.
    case disk(String)
  }

  extension AttachmentError: CustomStringConvertible {
    /// One sentence without a full stop.
    public var description: String {
      switch self {
      case .noAddress: "the file has no address of https"
      case .privateAddress(let host): "\(host) is not a public address"
      case .badRedirect: "the server's redirections lead to no file"
      case .refused(let status): "the server answers with status \(status)"
      case .tooLarge(let most): "the file has more than \(most) bytes"
      case .wrongContent: "the file is not the announced one"
      case .failed(let reason): reason
      case .disk(let reason): "the file can't be written: \(reason)"
      }
    }

    init(_ failure: DownloadFailure) {
      self =
        switch failure {
        case .noAddress: .noAddress
        case .privateAddress(let host): .privateAddress(host: host)
        case .tooManyRedirects, .badRedirect: .badRedirect
        case .refused(let status): .refused(status: status)
        case .tooLarge(let most): .tooLarge(byteCountMax: most)
        case .wrongContent: .wrongContent
        case .broken(let reason): .failed(reason)
        case .disk(let reason): .disk(reason)
        }
    }
  }

  extension InboxItem {
    /// The files of the message.
    public var attachments: [Attachment] {
      SharedFile.files(in: elements).compactMap { Attachment($0) }
    }

    /// The text, without one that is only the address of a file, and without a quotation of the message that it answers.
    public var text: String {
      attachments.contains { $0.address == body } ? "" : bodyWithoutQuotation
    }
  }

  extension FileTransferState {
    init(_ state: UploadState) {
      self =
        switch state {
        case .waiting(let reason): .waiting(reason: reason)
        case .uploading(let count, let all): .uploading(byteCount: count, of: all)
        case .sent(let row): .sent(MessageID(rawValue: row.rawValue))
        case .failed(let failure): .failed(Failure(failure))
        }
    }
  }

  extension FileTransferState.Failure {
    init(_ failure: UploadFailure) {
      self =
        switch failure {
        case .deadline: .deadline
        case .cancelled: .canceled
        case .unsupported: .unsupported
        case .tooLarge(let most): .tooLarge(byteCountMax: most)
        case .refused(let reason): .refused(reason)
        case .changed: .changed
        case .unreadable(let reason): .unreadable(reason)
        }
    }
  }

  extension FileTransfer {
    init(_ row: UploadRow) {
      let state: FileTransferState =
        switch row.outcome {
        case nil: .waiting(reason: nil)
        case .sent(let message): .sent(MessageID(rawValue: message.rawValue))
        case .failed(let failure): .failed(.init(failure))
        }
      self.init(
        id: FileTransferID(rawValue: row.id.rawValue), recipient: row.peer, path: row.path,
        byteCount: row.byteCount, state: state)
    }
  }
#endif

#if Messaging
  internal import MessagingHost
  internal import Synchronization
  internal import XMPPMachines
  internal import XMPPWire

  extension MessagingAccount {
    typealias FileAcceptance = @Sendable (Result<FileTransferID, MessagingError>) -> Void

    /// Uploads a file and sends it (XEP-0363, XEP-0447, XEP-0066). Returns when that is on disk: the file is then sent even
    /// if this process is killed now, by the next one.
    ///
    /// The file itself is not copied: it must stay as it is until it is sent, and is checked by its SHA-256 digest. Texts that
    /// are sent after it don't wait for it. Each attempt has a new place at the service.
    ///
    /// - Parameters:
    ///   - path: The path of a regular file of 4 GiB at most; servers take far less.
    ///   - recipient: The address of the recipient's account.
    ///   - deadline: The time after which it fails if the server doesn't have it; nil for never.
    public func send(
      file path: String, to recipient: String, deadline: Duration? = nil
    ) async throws(MessagingError) -> FileTransferID {
      guard let peer = JID(typed: recipient), peer.local != nil else {
        throw .invalidAddress(recipient)
      }
      let metadata: FileMetadata
      do throws(DiskFileError) {
        metadata = try await FileInspection.metadata(of: path)
      } catch {
        throw .file(path: path, reason: error.reason)
      }
      let patience = deadline.map(Self.span)
      let (host, reports) = (host, reports)
      let place = FileInspection.absolute(path)
      let result = await withCheckedContinuation {
        (continuation: CheckedContinuation<Result<FileTransferID, MessagingError>, Never>) in
        let ticket = reports.shared.withLock { shared in
          shared.makeFileTicket { continuation.resume(returning: $0) }
        }
        switch ticket {
        case .success(let ticket):
          host.send(ticket: ticket, file: place, metadata, to: peer, patience: patience)
        case .failure(let error): continuation.resume(returning: .failure(error))
        }
      }
      return try result.get()
    }

    /// Changes of the states of sent files from now on.
    public func fileTransferChanges() -> Updates<FileTransferChange> { reports.files.updates() }

    /// Sent files that are still to be uploaded, and the latest 256 others, by number.
    public func fileTransfers() async throws(MessagingError) -> [FileTransfer] {
      do throws(StoreError) {
        return try await host.uploads().map { FileTransfer($0) }
      } catch {
        throw MessagingError(error)
      }
    }

    /// Gives up a file that was not sent yet.
    public func cancel(_ id: FileTransferID) { host.cancel(UploadID(rawValue: id.rawValue)) }

    /// Downloads a file of a message, unless it is here, into the folder beside the store whose name ends with `.files`.
    ///
    /// Only `https` is used, and only public addresses unless the account's settings allow others, also after each of at most
    /// five redirections. The file has the announced size and digest, or the download fails. One that was cut goes on where
    /// it ended, where a digest was announced and the server has parts. Cancellation of the task ends the download.
    ///
    /// Other downloads may remove the file later: an app that keeps it moves or copies it.
    ///
    /// - Parameters:
    ///   - attachment: The file.
    ///   - progress: Called on any thread with the bytes that have come, and those of the whole if they are known.
    /// - Returns: The path of the file. Its name is not that of its sender.
    public func download(
      _ attachment: Attachment,
      progress: @escaping @Sendable (_ byteCount: Int64, _ all: Int64?) -> Void = { _, _ in }
    ) async throws(AttachmentError) -> String {
      do throws(DownloadFailure) {
        return try await files.path(of: attachment.file, name: attachment.name, progress: progress)
      } catch {
        throw AttachmentError(error)
      }
    }

    /// Whether files of a message may be downloaded without a question: its sender is a contact that gets this account's
    /// presence or whose presence it gets, or another device of this account has sent it; and each file has announced a size
    /// of `automaticByteCountMax` at most. Not those of rooms, whose services name the senders. A download shows the sender
    /// the address of this machine.
    public func mayDownload(_ item: InboxItem) async throws(MessagingError) -> Bool {
      guard item.nickname == nil else { return false }
      let sizes = item.attachments.map(\.byteCount)
      guard !sizes.isEmpty, sizes.allSatisfy({ ($0 ?? .max) <= automaticByteCountMax }) else {
        return false
      }
      if item.kind == .sentElsewhere { return true }
      guard item.kind == .message else { return false }
      return try await contacts().contains {
        $0.address == item.peer && $0.subscription != .none
      }
    }

    static func take(_ action: UploadAction, _ reports: Reports) {
      switch action {
      case .accepted(let ticket, let id):
        reports.finishFile(ticket, .success(FileTransferID(rawValue: id.rawValue)))
      case .refused(let ticket): reports.finishFile(ticket, .failure(.outboxFull))
      case .state(let id, let state):
        let id = FileTransferID(rawValue: id.rawValue)
        reports.files.send(FileTransferChange(id: id, state: FileTransferState(state)), for: id)
      case .change, .send, .put, .stop, .message: break
      }
    }
  }

  extension MessagingAccount.Shared {
    mutating func makeFileTicket(
      _ done: @escaping MessagingAccount.FileAcceptance
    ) -> Result<UInt64, MessagingError> {
      if isClosed { return .failure(.ended) }
      if let storeProblem { return .failure(.store(storeProblem)) }
      guard fileTickets.count < 1_000 else { return .failure(.outboxFull) }
      lastTicket += 1
      fileTickets[lastTicket] = done
      return .success(lastTicket)
    }
  }

  extension MessagingAccount.Reports {
    func finishFile(_ ticket: UInt64, _ result: Result<FileTransferID, MessagingError>) {
      shared.withLock { $0.fileTickets.removeValue(forKey: ticket) }?(result)
    }
  }
#endif

#if Messaging
  import AmbitCLI
  import ArgumentParser
  import Essentials
  import Foundation
  import JSONWire
  import Messaging
  import Synchronization

  /// Files as objects; docs/messages.md lists the keys.
  enum FileJSON {
    static func accepted(
      _ id: FileTransferID, path: String, to recipient: String, reference: String?
    ) -> JSON {
      .object([
        "event": .string("file-accepted"), "file": .integer(id.rawValue), "path": .string(path),
        "to": .string(recipient), "reference": reference.map(JSON.string),
      ])
    }

    static func change(_ change: FileTransferChange) -> JSON {
      let file = JSON.integer(change.id.rawValue)
      switch change.state {
      case .waiting(let reason):
        return .object([
          "event": .string("file-waiting"), "file": file, "reason": reason.map(JSON.string),
        ])
      case .uploading(let count, let all):
        return .object([
          "event": .string("file-uploading"), "file": file, "bytes": .integer(count),
          "size": .integer(all),
        ])
      case .sent(let message):
        return .object([
          "event": .string("file-sent"), "file": file, "id": .integer(message.rawValue),
        ])
      case .failed(let failure):
        return .object([
          "event": .string("file-failed"), "file": file,
          "reason": .string(FileText.text(failure)),
        ])
      }
    }

    static func attachment(_ attachment: Attachment) -> JSON {
      func number(_ value: Int64?) -> JSON? { value.map(JSON.integer) }
      return .object([
        "url": .string(attachment.address), "name": attachment.name.map(JSON.string),
        "type": attachment.mediaType.map(JSON.string), "size": number(attachment.byteCount),
        "sha256": attachment.sha256.map { .string(Hexadecimal.string($0)) },
        "width": number(attachment.width.map { Int64($0) }),
        "height": number(attachment.height.map { Int64($0) }),
        "duration": number(attachment.duration),
        "thumbnail": attachment.thumbnail.map { .string($0.dataAddress) },
      ])
    }
  }

  /// Files as lines for people.
  enum FileText {
    static func text(_ attachment: Attachment) -> String {
      var parts = [attachment.name ?? "file"]
      if let count = attachment.byteCount { parts.append(size(count)) }
      if let width = attachment.width, let height = attachment.height {
        parts.append("\(width)×\(height)")
      }
      if let duration = attachment.duration { parts.append(time(duration)) }
      return "[\(parts.joined(separator: ", "))] \(attachment.address)"
    }

    private static func size(_ count: Int64) -> String {
      count < 1_000
        ? "\(count) B" : count < 1_000_000 ? "\(count / 1_000) kB" : "\(count / 1_000_000) MB"
    }

    private static func time(_ milliseconds: Int64) -> String {
      let seconds = (milliseconds + 500) / 1_000
      return "\(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60)"
    }

    static func text(_ state: FileTransferState) -> String {
      switch state {
      case .waiting(let reason): reason.map { "Waiting: \($0)." } ?? "Waiting."
      case .uploading(let count, let all):
        all > 0 ? "Uploading: \(count * 100 / all) %." : "Uploading."
      case .sent: "Uploaded."
      case .failed(let failure): "Failed: \(text(failure))."
      }
    }

    static func text(_ failure: FileTransferState.Failure) -> String {
      switch failure {
      case .deadline: "it was not sent in time"
      case .canceled: "it was canceled"
      case .unsupported: "the server takes no files"
      case .tooLarge(let most):
        most.map { "the server takes files of \($0) bytes at most" }
          ?? "the server finds it too large"
      case .refused(let reason): "the server refuses it: \(reason)"
      case .changed: "the file has changed since it was sent"
      case .unreadable(let reason): "the file can't be read: \(reason)"
      }
    }
  }

  /// Commands of the pipe about files. They take their time beside those about messages.
  final class FileCommands: Sendable {
    private static let waitingMax = 256
    private static let downloadMax = 64

    private let commands: AsyncStream<PipeCommand>
    private let continuation: AsyncStream<PipeCommand>.Continuation
    private let done: AsyncStream<Void>
    private let doneContinuation: AsyncStream<Void>.Continuation
    private let downloadCount = Mutex(0)

    init() {
      (commands, continuation) = AsyncStream<PipeCommand>.makeStream(
        bufferingPolicy: .bufferingOldest(Self.waitingMax))
      (done, doneContinuation) = AsyncStream<Void>.makeStream()
    }

    /// False if too many commands wait.
    func add(_ command: PipeCommand) -> Bool {
      if case .enqueued = continuation.yield(command) { true } else { false }
    }

    /// Reports a command that was not added.
    static func refuse(_ command: PipeCommand, _ output: Output) {
      let reason = "too many commands about files wait"
      switch command {
      case .sendFile(_, _, let reference, _): report("refused", reference, reason, output)
      case .download(_, let reference): report("download-failed", reference, reason, output)
      default: break
      }
    }

    /// Waits until the commands so far are done.
    func finish() async {
      continuation.finish()
      for await _ in done {}
    }

    /// Performs commands until the end: sent files in their order, downloads beside each other.
    func run(_ account: MessagingAccount, _ output: Output) async {
      await withDiscardingTaskGroup { group in
        for await command in commands {
          switch command {
          case .sendFile(let recipient, let path, let reference, let deadline):
            await Self.send(path, to: recipient, reference, deadline, account, output)
          case .download(let attachment, let reference):
            guard take() else {
              Self.report(
                "download-failed", reference, "too many downloads are under way", output)
              continue
            }
            group.addTask {
              await Self.download(attachment, reference, account, output)
              self.downloadCount.withLock { $0 -= 1 }
            }
          default: break
          }
        }
      }
      doneContinuation.finish()
    }

    private func take() -> Bool {
      downloadCount.withLock { count in
        guard count < Self.downloadMax else { return false }
        count += 1
        return true
      }
    }

    private static func send(
      _ path: String, to recipient: String, _ reference: String?, _ deadline: Duration?,
      _ account: MessagingAccount, _ output: Output
    ) async {
      do throws(MessagingError) {
        let id = try await account.send(file: path, to: recipient, deadline: deadline)
        output.object(
          FileJSON.accepted(id, path: path, to: recipient, reference: reference), isOfRadio: false)
      } catch {
        report("refused", reference, error.description, output)
      }
    }

    private static func download(
      _ attachment: Attachment, _ reference: String?, _ account: MessagingAccount, _ output: Output
    ) async {
      do throws(AttachmentError) {
        let path = try await account.download(attachment)
        output.object(
          .object([
            "event": .string("downloaded"), "url": .string(attachment.address),
            "path": .string(path), "reference": reference.map(JSON.string),
          ]), isOfRadio: false)
      } catch {
        report("download-failed", reference, error.description, output)
      }
    }

    private static func report(
      _ event: String, _ reference: String?, _ reason: String, _ output: Output
    ) {
      output.object(
        .object([
          "event": .string(event), "reference": reference.map(JSON.string),
          "reason": .string(reason),
        ]), isOfRadio: false)
    }
  }

  extension PipeCommand {
    /// A command about files, by its name.
    static func fileCommand(
      _ name: String, _ command: JSONField, _ object: JSONObject
    ) throws(FileFault) -> PipeCommand {
      switch name {
      case "send-file":
        return .sendFile(
          to: try object.required("to", "an address").string(),
          path: try object.required("path", "a path").string(),
          reference: try object["reference"]?.string(),
          deadline: try object["deadline"]?.seconds(from: .zero, to: .seconds(366 * 86_400))
            .duration)
      case "cancel-file":
        return .cancelFile(
          Int64(try object.required("file", "a number").integer(1...Int(1 << 53))))
      case "download":
        let digest = object["sha256"]
        let bytes = try digest?.string()
        guard bytes.map({ Hexadecimal.bytes($0)?.count == 32 }) ?? true else {
          throw (digest ?? command).fault("a digest has 64 hexadecimal digits")
        }
        return .download(
          Attachment(
            address: try object.required("url", "an address").string(),
            name: try object["name"]?.string(),
            byteCount: try object["size"].map { (field) throws(FileFault) in
              Int64(try field.integer(0...Int(1 << 53)))
            },
            sha256: bytes.flatMap { Hexadecimal.bytes($0) }),
          reference: try object["reference"]?.string())
      default:
        throw unknown(name, command)
      }
    }
  }

  extension MessageSend {
    /// A file that was accepted. Its sequences are its own: the end of one that is uploaded before an earlier one is not
    /// missed.
    struct SentFile: Sendable {
      var id: FileTransferID
      var transfers: Updates<FileTransferChange>
      var changes: Updates<MessageStateChange>
    }

    /// Stores the files, each as a message of its own.
    func storeFiles(_ account: MessagingAccount) async throws(MessagingError) -> [SentFile] {
      var sent: [SentFile] = []
      for path in files {
        let (transfers, changes) = (account.fileTransferChanges(), account.stateChanges())
        let id = try await account.send(file: path, to: recipient.address)
        sent.append(SentFile(id: id, transfers: transfers, changes: changes))
        options.output.object(
          FileJSON.accepted(id, path: path, to: recipient.address, reference: nil),
          or: "Stored: \(path)")
      }
      return sent
    }

    /// Waits until the messages of files have a state, or have failed.
    ///
    /// - Throws: The first failure, after all of them.
    static func wait(for files: [SentFile], _ goal: Goal, _ output: Output) async throws {
      var failure: CommandFailure?
      for file in files {
        do {
          let message = try await wait(for: file.id, file.transfers, output)
          try await wait(for: message, goal, file.changes, output)
        } catch let error as CommandFailure { failure = failure ?? error }
      }
      if let failure { throw failure }
    }

    /// Checks files before the first message is stored.
    static func check(_ paths: [String]) throws(CommandFailure) {
      for path in paths {
        var information = stat()
        let reason: String
        if stat(path, &information) != 0 || access(path, R_OK) != 0 {
          reason = String(cString: strerror(errno))
        } else if information.st_mode & S_IFMT != S_IFREG {
          reason = "it is not a regular file"
        } else {
          continue
        }
        throw CommandFailure(.noInput, "\(path) can't be read: \(reason)")
      }
    }

    /// Waits until a file is uploaded; gives its message.
    static func wait(
      for id: FileTransferID, _ transfers: Updates<FileTransferChange>, _ output: Output
    ) async throws -> MessageID {
      for await change in transfers where change.id == id {
        output.object(FileJSON.change(change), or: FileText.text(change.state))
        switch change.state {
        case .sent(let message): return message
        case .failed(let failure):
          throw CommandFailure(.failure, "the file failed: \(FileText.text(failure))")
        case .waiting, .uploading: continue
        }
      }
      throw CommandFailure(.failure, "the account has ended")
    }
  }
#endif

#if Messaging
  import Foundation
  import Messaging

  /// The gate's side of a conversation with its owner, which gets a message and a picture for each visit.
  @MainActor
  final class Gate {
    /// The time for a message and its picture to reach the server. Afterwards they are sent when the app runs again.
    private static let timeMax = Duration.seconds(25)

    let account: MessagingAccount
    private let settings: Settings
    /// Called when the account is connected.
    var online: () async -> Void = {}
    /// Does something for which the app isn't suspended.
    var perform: (@escaping @MainActor () async -> Void) -> Void = { work in Task { await work() } }

    init(_ settings: Settings) throws {
      self.settings = settings
      var configuration = MessagingAccount.Configuration(
        address: settings.address, password: settings.password, storePath: "store/messages")
      configuration.server = settings.server.map { .init(host: $0.host, port: $0.port) }
      configuration.authorityFile = settings.authority
      configuration.programName = "GateAlert"
      // The system holds the connection by this name, and the owner's messages wake the app.
      configuration.restoreIdentifier = "messages"
      account = try MessagingAccount(configuration)
    }

    /// Connects, and follows the account.
    func start() {
      let (connections, problems) = (account.connectionStates(), account.problems())
      Task {
        for await state in connections {
          switch state {
          case .online(_, let isResumed):
            print(isResumed ? "online again" : "online")
            await online()
          case .offline(let reason, _): print("offline: \(reason)")
          case .connecting, .stopped: break
          }
        }
      }
      Task { for await problem in problems { print("problem: \(problem)") } }
      Task { await readInbox() }
      account.start()
    }

    private func readInbox() async {
      while true {
        do {
          for try await item in account.inbox() {
            try await take(item)
            try await account.acknowledge(item)
          }
          return
        } catch MessagingError.ended {
          return
        } catch {
          print("the inbox can't be read: \(error)")
          try? await Task.sleep(for: .seconds(5))
        }
      }
    }

    /// Answers the owner. The picture is stored for sending before the request is acknowledged: a process that is killed
    /// in between sends it twice, and never not at all.
    private func take(_ item: InboxItem) async throws {
      guard item.kind == .message, item.peer == settings.owner else { return }
      print("message: \(item.text)")
      guard item.text.lowercased() == "picture" else { return }
      let (states, files) = (account.stateChanges(), account.fileTransferChanges())
      // When the request is acknowledged the app may be suspended, but for the wait for its answer.
      guard let picture = try await sendPicture() else {
        let answer = try await account.send("There is no picture.", to: settings.owner)
        return perform { await Self.wait(for: Task { await Self.follow(answer, states) }) }
      }
      perform { await Self.wait(for: Task { await Self.follow(picture, files, states) }) }
    }

    /// Returns when the server has a file and its message, or the file isn't sent.
    private static func follow(
      _ id: FileTransferID, _ files: Updates<FileTransferChange>,
      _ states: Updates<MessageStateChange>
    ) async {
      for await change in files where change.id == id {
        switch change.state {
        case .sent(let message): return await follow(message, states)
        case .failed(let failure): return print("the picture is not sent: \(failure)")
        case .waiting, .uploading: break
        }
      }
    }

    /// Returns when the server has a message, or it isn't sent.
    private static func follow(_ id: MessageID, _ states: Updates<MessageStateChange>) async {
      for await change in states where change.id == id && change.state != .stored { return }
    }

    /// Sends the message and the picture. Returns when the server has both, or after its time.
    func report() async {
      let (states, files) = (account.stateChanges(), account.fileTransferChanges())
      do {
        let message = try await account.send("Someone is at the gate.", to: settings.owner)
        let picture = try await sendPicture()
        let waiting = Task {
          await Self.follow(message, states)
          if let picture { await Self.follow(picture, files, states) }
        }
        await Self.wait(for: waiting)
        print(picture == nil ? "reported without a picture" : "reported")
      } catch {
        print("not reported: \(error)")
      }
    }

    /// Gives an account that lost its connection while the app was suspended the time to connect.
    func connect() async {
      let states = account.connectionStates()
      if case .online = account.connectionState { return }
      await Self.wait(
        for: Task { for await state in states { if case .online = state { return } } })
    }

    private static func wait(for task: Task<Void, Never>) async {
      let limit = Task {
        try? await Task.sleep(for: timeMax)
        task.cancel()
      }
      await task.value
      limit.cancel()
    }

    /// A camera writes the next picture over the last one, and a file must stay as it is until it is sent: it is copied.
    /// Nil where the camera has none: the message is sent without it, and the owner's other messages are read.
    private func sendPicture() async throws(MessagingError) -> FileTransferID? {
      do {
        return try await account.send(file: copyPicture().path, to: settings.owner)
      } catch let error as MessagingError {
        guard case .file = error else { throw error }
        print("there is no picture: \(error)")
      } catch {
        print("there is no picture: \(error.localizedDescription)")
      }
      return nil
    }

    private func copyPicture() throws -> URL {
      let folder = URL(filePath: "pictures")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      removeSent(in: folder)
      let source = URL(filePath: settings.picture)
      let copy = folder.appending(path: "\(UUID().uuidString).\(source.pathExtension)")
      try FileManager.default.copyItem(at: source, to: copy)
      return copy
    }

    /// Removes all but the latest copies.
    private func removeSent(in folder: URL) {
      let files =
        (try? FileManager.default.contentsOfDirectory(
          at: folder, includingPropertiesForKeys: [.contentModificationDateKey])) ?? []
      let dated = files.map { file in
        (
          file,
          (try? file.resourceValues(forKeys: [.contentModificationDateKey]))?
            .contentModificationDate ?? .distantPast
        )
      }
      for (file, _) in dated.sorted(by: { $0.1 > $1.1 }).dropFirst(100) {
        try? FileManager.default.removeItem(at: file)
      }
    }
  }
#endif

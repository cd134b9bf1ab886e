#if Messaging
  import AmbitCLI
  import Foundation
  import Glibc
  import Testing

  @testable import AmbitMessage
  @testable import Messaging

  @Suite(.timeLimit(.minutes(5)))
  struct SentFileTests {
    private let transfers = UpdateFeed<FileTransferID, FileTransferChange>()
    private let changes = UpdateFeed<MessageID, MessageStateChange>()
    private let output = Output(isJSON: true)

    private func files(_ count: Int64) -> [MessageSend.SentFile] {
      (1...count).map { number in
        MessageSend.SentFile(
          id: FileTransferID(rawValue: number), transfers: transfers.updates(),
          changes: changes.updates())
      }
    }

    private func send(_ state: FileTransferState, of number: Int64) {
      let id = FileTransferID(rawValue: number)
      transfers.send(FileTransferChange(id: id, state: state), for: id)
    }

    private func send(_ state: MessageState, of number: Int64) {
      let id = MessageID(rawValue: number)
      changes.send(MessageStateChange(id: id, state: state), for: id)
    }

    @Test func `A file that is uploaded before an earlier one is not missed`() async throws {
      let files = files(3)
      send(.waiting(reason: "the upload service answers with status 503"), of: 1)
      for number: Int64 in [3, 2, 1] {
        send(.sent(MessageID(rawValue: 10 + number)), of: number)
        send(.acknowledged, of: 10 + number)
      }
      try await MessageSend.wait(for: files, .server, output)
    }

    @Test func `The failure of one file is reported when the others are sent`() async {
      let files = files(2)
      let (order, entry) = AsyncStream.makeStream(of: String.self)
      send(.failed(.changed), of: 1)
      let output = output
      Task {
        await #expect(throws: CommandFailure.self) {
          try await MessageSend.wait(for: files, .server, output)
        }
        entry.yield("reported")
        entry.finish()
      }
      entry.yield("sent")
      send(.sent(MessageID(rawValue: 12)), of: 2)
      send(.acknowledged, of: 12)
      #expect(await order.reduce(into: []) { $0.append($1) } == ["sent", "reported"])
    }

    @Test func `Files that can't be sent are refused before the first message is stored`() throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let good = folder.appending(path: "good").path
      try Data("x".utf8).write(to: URL(filePath: good))
      let pipe = folder.appending(path: "pipe").path
      #expect(mkfifo(pipe, 0o600) == 0)
      try MessageSend.check([good])
      for bad in [folder.path, folder.appending(path: "none").path, pipe, good + "/x", ""] {
        let failure = #expect(throws: CommandFailure.self) { try MessageSend.check([good, bad]) }
        #expect(failure?.status == .noInput)
      }
    }
  }
#endif

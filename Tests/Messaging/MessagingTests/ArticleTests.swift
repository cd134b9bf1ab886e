#if Messaging
  import Foundation
  import Messaging
  import Testing

  /// The listings of `Messaging.docc`, as parts of one app.
  private actor Screen {
    struct Row: Equatable {
      var text: String
      var state: MessageState
    }

    private let account: MessagingAccount
    private(set) var rows: [MessageID: Row] = [:]
    private(set) var banner: String?
    private var lines: [String] = []

    init(_ account: MessagingAccount) { self.account = account }

    func send() async throws {
      let id = try await account.send("The gate is open", to: "bob@chat.example")
      rows[id] = Row(text: "The gate is open", state: .stored)
    }

    func send(_ texts: [String]) async -> Int {
      let messages = texts.map { OutgoingMessage($0, to: "bob@chat.example") }
      let results = await account.send(messages)
      return results.filter { (try? $0.get()) != nil }.count
    }

    func followStates() async {
      for await change in account.stateChanges() {
        rows[change.id]?.state = change.state
      }
    }

    func followInbox() async throws {
      for try await item in account.inbox() {
        switch item.kind {
        case .message:
          try show(item.body, from: item.peer)
        case .sentElsewhere:
          try show(item.body, to: item.peer)
        case .gap(let count):
          try showNotice("\(count) messages are missing", in: item.peer)
        case .archiveGap, .historyStart:
          try showNotice("Earlier messages are not on this device", in: item.peer)
        }
        try await account.acknowledge(item)
      }
    }

    func showHistory() async throws {
      for entry in try await account.history(with: "bob@chat.example") {
        switch entry {
        case .received(let item): try show(item.text, from: item.peer)
        case .sent(let message): rows[message.id] = Row(text: message.text, state: message.state)
        }
      }
    }

    func followConnection() async {
      for await state in account.connectionStates() {
        switch state {
        case .online: banner = nil
        case .connecting: banner = "Connecting"
        case .offline(let reason, let isFinal): banner = isFinal ? reason : "Offline: \(reason)"
        case .stopped: banner = "Stopped"
        }
      }
    }

    private func show(_ text: String, from peer: String) throws { lines.append(peer + ": " + text) }
    private func show(_ text: String, to peer: String) throws { lines.append(text + " → " + peer) }
    private func showNotice(_ text: String, in peer: String) throws { lines.append(text) }
  }

  /// The overview of `Messaging.docc`.
  private func receive(path: String, password: String) async throws {
    let account = try MessagingAccount(
      .init(address: "ann@chat.example", password: password, storePath: path))
    account.start()
    let id = try await account.send("Good morning", to: "bob@chat.example")
    print("stored as", id)
    for try await item in account.inbox() {
      print(item.peer, item.body)
      try await account.acknowledge(item)
    }
  }

  @Suite("The listings of the articles")
  struct ArticleTests {
    @Test("The sequences that a screen follows end when the account is closed")
    func screen() async throws {
      let folder = FileManager.default.temporaryDirectory.appending(
        path: "account-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: folder) }
      var configuration = MessagingAccount.Configuration(
        address: "ann@chat.example", password: "secret", storePath: folder.path + "/messages")
      configuration.server = .init(host: "127.0.0.1", port: 1)
      let account = try MessagingAccount(configuration)
      let screen = Screen(account)
      async let states: Void = screen.followStates()
      async let inbox: Void = screen.followInbox()
      async let connection: Void = screen.followConnection()
      account.start()

      try await screen.send()
      #expect(await screen.send(["one", "two"]) == 2)
      #expect(await screen.rows.values.map(\.state) == [.stored])
      try await account.close()
      _ = try await (states, inbox, connection)
    }

    @Test("The overview's account refuses a store that another one uses")
    func overview() async throws {
      let folder = FileManager.default.temporaryDirectory.appending(
        path: "account-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: folder) }
      let path = folder.path + "/messages"
      let account = try MessagingAccount(
        .init(address: "ann@chat.example", password: "secret", storePath: path))
      await #expect(throws: MessagingError.storeInUse(processID: getpid())) {
        try await receive(path: path, password: "secret")
      }
      try await account.close()
    }
  }
#endif

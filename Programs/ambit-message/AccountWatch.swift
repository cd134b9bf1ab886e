#if Messaging
  import AmbitCLI
  import Essentials
  import JSONWire
  import Messaging

  /// What commands do about the connection of their account.
  enum AccountWatch {
    /// Throws when the connection has failed and is not tried again; warns when it is tried again.
    static func failIfFinal(
      _ connections: Updates<ConnectionState>, _ output: Output
    ) async throws {
      var outage = Outage()
      for await state in connections {
        if let reason = outage.news(state) { output.warn("\(reason); trying again") }
        guard case .offline(let reason, isFinal: true) = state else { continue }
        throw CommandFailure.offline(reason)
      }
    }

    /// Prints how the connection changes; throws when it has failed and is not tried again.
    static func report(_ connections: Updates<ConnectionState>, _ output: Output) async throws {
      var outage = Outage()
      for await state in connections {
        let news = outage.news(state)
        if output.isJSON {
          if let object = MessageJSON.connection(state) { output.object(object, isOfRadio: false) }
        } else if let news {
          output.warn("\(news); trying again")
        }
        guard case .offline(let reason, isFinal: true) = state else { continue }
        throw CommandFailure.offline(reason)
      }
    }
  }

  /// An outage, of which each attempt to connect has its reason.
  struct Outage {
    private var reported: Set<String> = []

    /// The reason of a failure that is tried again, once in an outage.
    mutating func news(_ state: ConnectionState) -> String? {
      switch state {
      case .online: reported = []
      case .offline(let reason, isFinal: false):
        return reported.insert(reason).inserted ? reason : nil
      case .connecting, .stopped, .offline: break
      }
      return nil
    }
  }

  extension MessagingAccount {
    /// Ends the connection in order; the server keeps the session for the next command.
    func finish() async throws {
      do throws(MessagingError) {
        try await close()
      } catch {
        throw CommandFailure(error)
      }
    }
  }

  extension RunOptions {
    /// Runs `body` until it is done; false if the time limit ended it before.
    func limited(_ body: @escaping @Sendable () async throws -> Void) async throws -> Bool {
      guard let timeout else {
        try await body()
        return true
      }
      return try await race(timeout.duration) {
        try await body()
        return true
      } ?? false
    }
  }

  extension Output {
    /// Prints an object with `--json`, and a line otherwise. The text may have parts of peers and of servers.
    func object(_ object: JSON, or text: @autoclosure () -> String) {
      if isJSON { self.object(object, isOfRadio: false) } else { line(MessageText.lines(text())) }
    }
  }

  /// Prints entries of the inbox, and acknowledges them.
  enum InboxPrinter {
    /// Prints entries as they come. Ends when a part of the output is lost.
    static func follow(_ account: MessagingAccount, _ output: Output) async throws {
      do {
        for try await item in account.inbox() {
          guard try await take(item, account, output) else { return }
        }
      } catch {
        throw CommandFailure(error)
      }
    }

    /// Prints the entries that wait, and returns. Ends when a part of the output is lost.
    static func printWaiting(_ account: MessagingAccount, _ output: Output) async throws {
      do throws(MessagingError) {
        while case let items = try await account.waitingItems(), !items.isEmpty {
          for item in items {
            guard try await take(item, account, output) else { return }
          }
        }
      } catch {
        throw CommandFailure(error)
      }
    }

    /// Prints an entry, and acknowledges it. False if it isn't known to be printed: a reader that takes nothing is no
    /// longer waited for after a signal or the time limit.
    static func take(
      _ item: InboxItem, _ account: MessagingAccount, _ output: Output
    ) async throws(MessagingError) -> Bool {
      show(item, output)
      guard !Output.hasLostText else { return false }
      try await account.acknowledge(item)
      return true
    }

    static func show(_ item: InboxItem, _ output: Output) {
      output.object(MessageJSON.item(item), or: MessageText.text(item))
    }
  }
#endif

#if Messaging
  package import Essentials
  internal import NIOCore
  internal import NIOPosix
  internal import Synchronization
  internal import XMPPMachines

  /// Withdraws the token that a server has issued in place of the password (XEP-0484, §3.6).
  package enum AccountToken {
    /// Connects and authenticates with the token for the last time, without a session. Closes the store.
    ///
    /// - Parameters:
    ///   - start: That of an account with a token.
    ///   - time: For the server, at most; shorter if connections fail.
    /// - Returns: Why the server still accepts the token; nil if it doesn't, and the store has forgotten it.
    package static func withdraw(
      _ start: AccountStart, within time: TimeSpan
    ) async throws(StoreError) -> String? {
      let (outcomes, reports) = AsyncStream.makeStream(of: Outcome.self)
      let last = LastReason()
      let observer = AccountObserver(
        changed: { connection in
          guard case .offline(let failure, let isFinal) = connection else { return }
          if case .stopped = failure {
            reports.yield(Outcome(reason: nil))
            return
          }
          if last.add(failure) || isFinal { reports.yield(Outcome(reason: failure.sentence)) }
        }, perform: { _ in }, rejected: { _, _ in },
        ended: { reports.yield(Outcome(reason: $0.sentence)) }, committed: { _ in })
      let loop = MultiThreadedEventLoopGroup.singleton.next()
      let host: AccountHost
      do {
        host = try AccountHost(start.forWithdrawal, observer: observer, on: loop)
      } catch {
        start.closeStore()
        throw .unusable("\(error)")
      }
      let deadline = loop.scheduleTask(in: .nanoseconds(time.nanoseconds)) {
        reports.yield(Outcome(reason: last.text))
      }
      host.start()
      let outcome = await outcomes.first { _ in true }
      deadline.cancel()
      try await host.close(keepsSession: true)
      guard let outcome else { return last.text }
      return outcome.reason
    }

    private struct Outcome: Sendable {
      var reason: String?
    }

    /// Why a connection that is tried again has failed last.
    private final class LastReason: Sendable {
      /// Connections that fail before the server counts as unreachable.
      private static let countMax = 3

      private let state = Mutex((text: "the server did not answer in time", count: 0))

      var text: String { state.withLock(\.text) }

      /// Whether no more is tried. A server that ends the stream, perhaps because it names another one, is reachable.
      func add(_ failure: StreamFailure) -> Bool {
        state.withLock { state in
          state.text = failure.sentence
          if case .stream = failure { return false }
          state.count += 1
          return state.count >= Self.countMax
        }
      }
    }
  }
#endif

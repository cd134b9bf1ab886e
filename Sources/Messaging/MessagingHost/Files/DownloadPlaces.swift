#if Messaging
  internal import Essentials
  internal import Synchronization

  /// The places of downloads that run at a time; the others wait in order. One that takes long leaves its place to the next
  /// one and goes on, so that slow servers don't hold up the files of others. May be used from any thread.
  final class DownloadPlaces: Sendable {
    private struct State {
      var running: Set<UInt64> = []
      /// Those that have left their places, and go on.
      var slow: Set<UInt64> = []
      var last: UInt64 = 0
      var waiting: [(number: UInt64, continuation: CheckedContinuation<Bool, Never>)] = []
    }

    private let countMax: Int
    private let slowCountMax: Int
    private let time: TimeSpan
    private let state = Mutex(State())

    /// - Parameters:
    ///   - countMax: The maximum number of those that have places.
    ///   - slowCountMax: The maximum number of those that have left them.
    ///   - time: How long a download has a place that another one waits for.
    init(
      countMax: Int = 4, slowCountMax: Int = 28, time: TimeSpan = .seconds(10)
    ) {
      self.countMax = countMax
      self.slowCountMax = slowCountMax
      self.time = time
    }

    /// Runs a download when there is a place for it; nil if the task was canceled before.
    func run<Value: Sendable>(_ download: () async -> Value) async -> Value? {
      let number = state.withLock { state in
        state.last += 1
        return state.last
      }
      guard await enter(number) else { return nil }
      let timer = Task {
        while (try? await Task.sleep(for: .nanoseconds(time.nanoseconds))) != nil {
          if leavePlace(number) { return }
        }
      }
      let value = await download()
      timer.cancel()
      end(number)
      return value
    }

    private func enter(_ number: UInt64) async -> Bool {
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let isEntered = state.withLock { state in
            guard state.running.count >= countMax else {
              state.running.insert(number)
              return true
            }
            state.waiting.append((number, continuation))
            return false
          }
          if isEntered { continuation.resume(returning: true) }
          if Task.isCancelled { stopWaiting(number) }
        }
      } onCancel: {
        stopWaiting(number)
      }
    }

    private func stopWaiting(_ number: UInt64) {
      let waiting = state.withLock { state in
        state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0) }
      }
      waiting?.continuation.resume(returning: false)
    }

    /// False if too many have left their places.
    private func leavePlace(_ number: UInt64) -> Bool {
      let isLeft = state.withLock { state in
        guard state.slow.count < slowCountMax else { return false }
        if state.running.remove(number) != nil { state.slow.insert(number) }
        return true
      }
      if isLeft { admit() }
      return isLeft
    }

    private func end(_ number: UInt64) {
      state.withLock { state in
        if state.running.remove(number) == nil { state.slow.remove(number) }
      }
      admit()
    }

    private func admit() {
      while true {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
          guard !state.waiting.isEmpty, state.running.count < countMax else { return nil }
          let next = state.waiting.removeFirst()
          state.running.insert(next.number)
          return next.continuation
        }
        guard let next else { return }
        next.resume(returning: true)
      }
    }
  }
#endif

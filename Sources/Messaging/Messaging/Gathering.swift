#if Messaging
  internal import Synchronization

  /// The answers to several requests.
  final class Gathering<Answer: Sendable>: Sendable {
    private let state: Mutex<(answers: [Answer?], leftCount: Int)>
    private let done: CheckedContinuation<[Answer], Never>

    private init(count: Int, _ done: CheckedContinuation<[Answer], Never>) {
      state = Mutex((Array(repeating: nil, count: count), count))
      self.done = done
    }

    private func take(_ answer: Answer, at place: Int) {
      let answers: [Answer]? = state.withLock { state in
        state.answers[place] = answer
        state.leftCount -= 1
        return state.leftCount == 0 ? state.answers.compactMap(\.self) : nil
      }
      if let answers { done.resume(returning: answers) }
    }

    /// Makes requests, and waits for all answers. Each request is answered once, with its place.
    static func collect(
      _ count: Int, _ make: (@escaping @Sendable (Int, Answer) -> Void) -> Void
    ) async -> [Answer] {
      guard count > 0 else { return [] }
      return await withCheckedContinuation { continuation in
        let gathering = Gathering(count: count, continuation)
        make { gathering.take($1, at: $0) }
      }
    }
  }
#endif

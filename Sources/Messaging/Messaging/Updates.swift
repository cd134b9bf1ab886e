#if Messaging
  internal import Synchronization

  /// Changes as they happen, for one iteration.
  ///
  /// Changes are kept from when the sequence was created until they are read. If one value changes again before it
  /// was read, only the latest is kept. The sequence ends early when changes of 100,000 values are unread. Iterating it
  /// a second time continues where the first iteration ended.
  public struct Updates<Value: Sendable>: AsyncSequence, Sendable {
    /// A change.
    public typealias Element = Value
    /// The sequence never fails.
    public typealias Failure = Never

    private let reader: any UpdateReader<Value>

    init(_ reader: any UpdateReader<Value>) { self.reader = reader }

    /// Begins to read changes.
    public func makeAsyncIterator() -> Iterator { Iterator(reader: reader) }

    /// Reads changes one after the other.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate let reader: any UpdateReader<Value>

      /// The next change; nil when the account has ended, or the task was cancelled.
      public func next() async -> Value? { await reader.next() }
    }
  }

  /// The reading end of a feed.
  protocol UpdateReader<Value>: AnyObject, Sendable {
    associatedtype Value: Sendable
    func next() async -> Value?
  }

  /// Hands changes to all readers. Each reader gets the latest value of each key, in the order in which the keys
  /// first changed since it read them.
  final class UpdateFeed<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Pending {
      var order: ArraySlice<Key> = []
      var values: [Key: Value] = [:]
      var waiting: CheckedContinuation<Value?, Never>?
      var isFull = false

      /// Keeps a change, or returns the reader that waits for it.
      mutating func take(_ value: Value, for key: Key) -> CheckedContinuation<Value?, Never>? {
        if let continuation = waiting.take() { return continuation }
        guard !isFull else { return nil }
        if values.updateValue(value, forKey: key) == nil { order.append(key) }
        isFull = order.count >= countMax
        return nil
      }

      /// The first change that was not read; nil if all were.
      mutating func next() -> Value? { order.popFirst().flatMap { values.removeValue(forKey: $0) } }
    }

    private static var countMax: Int { 100_000 }

    private struct State {
      var readers: [UInt64: Pending] = [:]
      var lastNumber: UInt64 = 0
      var hasEnded = false
    }

    private let state = Mutex(State())

    /// A new reader's sequence.
    func updates() -> Updates<Value> {
      let number = state.withLock { state in
        state.lastNumber += 1
        state.readers[state.lastNumber] = Pending()
        return state.lastNumber
      }
      return Updates(Reader(feed: self, number: number))
    }

    func send(_ value: Value, for key: Key) {
      let waiting = state.withLock { state in
        var waiting: [CheckedContinuation<Value?, Never>] = []
        for number in Array(state.readers.keys) {
          if let continuation = state.readers[number]?.take(value, for: key) {
            waiting.append(continuation)
          }
        }
        return waiting
      }
      for continuation in waiting { continuation.resume(returning: value) }
    }

    /// Ends all sequences once their readers have read the changes that are left.
    func end() {
      let waiting = state.withLock { state in
        state.hasEnded = true
        return state.readers.keys.compactMap { state.readers[$0]?.waiting.take() }
      }
      for continuation in waiting { continuation.resume(returning: nil) }
    }

    private func next(_ number: UInt64) async -> Value? {
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let ready: Value?? = state.withLock { state in
            if let value = state.readers[number]?.next() { return .some(value) }
            // A second iteration at the same time ends, and so does one that has missed changes.
            guard !state.hasEnded, let reader = state.readers[number], !reader.isFull,
              reader.waiting == nil
            else { return .some(nil) }
            state.readers[number]?.waiting = continuation
            return nil
          }
          if let ready { continuation.resume(returning: ready) }
          if Task.isCancelled { stopWaiting(number) }
        }
      } onCancel: {
        stopWaiting(number)
      }
    }

    private func stopWaiting(_ number: UInt64) {
      let waiting = state.withLock { $0.readers[number]?.waiting.take() }
      waiting?.resume(returning: nil)
    }

    private func remove(_ number: UInt64) { state.withLock { $0.readers[number] = nil } }

    private final class Reader: UpdateReader {
      let feed: UpdateFeed
      let number: UInt64

      init(feed: UpdateFeed, number: UInt64) {
        self.feed = feed
        self.number = number
      }

      deinit { feed.remove(number) }

      func next() async -> Value? { await feed.next(number) }
    }
  }
#endif

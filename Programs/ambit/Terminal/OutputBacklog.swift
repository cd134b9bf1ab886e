import Dispatch

/// The text for a reader that takes nothing for the moment, in a command that must not wait for its readers:
/// `ambit monitor`, which starts the commands of its user (docs/decisions/0186-the-commands-of-a-region-run-in-order.md),
/// and `ambit hub`, which serves other programs.
///
/// Texts beyond the bound are dropped and counted, and the reader gets the count in their place.
final class OutputBacklog: Sendable {
  private struct State {
    var byteCount = 0
    /// How many texts were dropped since the last that was taken.
    var droppedCount = 0
  }

  /// How many bytes wait at most: thousands of events.
  static let byteCountMax = 1 << 20
  /// How long a text is waited for that has no other before it, so that it usually is written before what the
  /// caller does next.
  private static let usualTime = DispatchTimeInterval.milliseconds(100)

  private let write: @Sendable ([UInt8]) -> Void
  private let count: @Sendable (Int) -> String
  private let state = Guarded(State())
  private let queue = DispatchQueue(label: "ambit.output")

  /// - Parameters:
  ///   - write: Writes a text, and waits for the reader.
  ///   - count: The text for a number of texts that were dropped.
  init(
    write: @escaping @Sendable ([UInt8]) -> Void, count: @escaping @Sendable (Int) -> String
  ) {
    self.write = write
    self.count = count
  }

  /// Writes a text as soon as the reader takes it, after earlier ones. From any thread.
  func add(_ text: [UInt8]) {
    let writing = DispatchGroup()
    // Under the lock, so that the texts of several threads are queued as they were counted.
    let isFirst = state.update { state in
      let isFirst = state.byteCount == 0
      guard isFirst || state.byteCount + text.count <= Self.byteCountMax else {
        state.droppedCount += 1
        return false
      }
      enqueue(takeCount(&state) + text, &state, writing)
      return isFirst
    }
    if isFirst { _ = writing.wait(timeout: .now() + Self.usualTime) }
  }

  /// Returns when everything is written.
  func finish() {
    state.update { state in
      if state.droppedCount > 0 { enqueue(takeCount(&state), &state, DispatchGroup()) }
    }
    queue.sync {}
  }

  private func takeCount(_ state: inout State) -> [UInt8] {
    guard state.droppedCount > 0 else { return [] }
    defer { state.droppedCount = 0 }
    return Array(count(state.droppedCount).utf8)
  }

  private func enqueue(_ text: [UInt8], _ state: inout State, _ writing: DispatchGroup) {
    state.byteCount += text.count
    queue.async(group: writing) { [self] in
      write(text)
      self.state.update { $0.byteCount -= text.count }
    }
  }
}

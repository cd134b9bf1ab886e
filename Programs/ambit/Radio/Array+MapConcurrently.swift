extension Array where Element: Sendable {
  /// Begins the same work for all elements at once, and takes what came of it in their order, each
  /// result as soon as those before it are taken. Cancels what still goes on where one fails.
  func mapConcurrently<Result: Sendable>(
    _ work: @escaping @Sendable (Element) async throws -> Result,
    then take: (Element, Result) async throws -> Void
  ) async throws {
    let tasks = map { element in Task { try await work(element) } }
    let cancel = { @Sendable in for task in tasks { task.cancel() } }
    defer { cancel() }
    try await withTaskCancellationHandler {
      for (element, task) in zip(self, tasks) { try await take(element, task.value) }
    } onCancel: {
      cancel()
    }
  }
}

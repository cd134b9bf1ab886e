extension Array where Element: Sendable {
  /// Starts `work` for all elements at once, and passes the results to `take` in the order of the
  /// elements. After an error the other tasks are cancelled.
  package func mapConcurrently<Result: Sendable>(
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

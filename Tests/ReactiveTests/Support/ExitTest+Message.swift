import Testing

extension ExitTest.Result {
  /// What the process said last, as text.
  var message: String { String(decoding: standardErrorContent, as: UTF8.self) }
}

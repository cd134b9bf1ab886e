internal import BindingMachines

/// A mistake in a page: it uses a name that its view model doesn't declare, or of another kind.
public struct PageProblem: Error, Hashable, Sendable, CustomStringConvertible {
  /// The name of the page's file.
  public var page: String
  /// The line, starting at 1.
  public var line: Int
  /// The problem as a sentence without a full stop.
  public var reason: String

  package init(page: String, line: Int, reason: String) {
    self.page = page
    self.line = line
    self.reason = reason
  }

  /// `index.html:12: data-text="emial": SignIn declares no value “emial”; did you mean “email”?`
  public var description: String { "\(page):\(line): \(reason)" }
}

extension ViewModel {
  /// Compares a page with this view model's bindings: each path in a `data-` attribute must exist,
  /// and be of the right kind.
  ///
  /// A server checks its pages when it starts. A test that expects no problems of each page finds
  /// them earlier.
  ///
  /// - Parameters:
  ///   - html: The page's text.
  ///   - page: The name of its file, for the messages.
  /// - Returns: The problems, in the order of the lines.
  public static func problems(inPage html: String, named page: String) -> [PageProblem] {
    problems(inPage: Array(html.utf8), named: page)
  }

  package static func problems(inPage html: [UInt8], named page: String) -> [PageProblem] {
    PageCheck.findings(in: html, schema: bindings.schema, modelName: "\(Self.self)")
      .map { PageProblem(page: page, line: $0.line, reason: $0.reason) }
  }
}

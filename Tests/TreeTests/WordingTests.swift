import Foundation
import Testing

/// A ratchet: the limits go down when a count does, and never up.
@Suite("The wording of comments and tests")
struct WordingTests {
  /// Phrases that avoid the noun or the verb that a sentence needs.
  private static let phrases: [(pattern: String, regex: NSRegularExpression)] = [
    #"\bwhat (?:is|was|has|are|were|have|had|there)\b"#, #"\b(?:says?|said)\b"#, #"\basks?\b"#,
    #"\bwho\b"#, #"\bstands?\b"#, #"\bis none\b"#, #"\bso (?:many|much)\b"#,
    #"\b(?:nobody|somebody|whoever|whatever)\b"#, #"\b(?:is|are|was|were|be|been) told\b"#,
  ].compactMap { pattern in
    (try? NSRegularExpression(pattern: pattern, options: .caseInsensitive)).map { (pattern, $0) }
  }

  /// Lines with such a phrase per 10,000 lines, at most.
  private static let limitOfComments = 49
  private static let limitOfPublicComments = 10
  private static let limitOfPages = 73

  private struct Line {
    var path: String
    var text: String
    var isPublic: Bool
  }

  private static let comments: [Line] = SourceTree.swiftFiles
    .filter { !$0.path.hasPrefix("Tests/TreeTests/Wording") }.flatMap { file in
      file.lines.indices.compactMap { index in
        let line = file.lines[index].trimmingCharacters(in: .whitespaces)
        guard line.hasPrefix("//") else { return nil }
        return Line(path: "\(file.path):\(index + 1)", text: line, isPublic: isPublic(file, index))
      }
    }

  /// Whether the declaration after a documentation comment is public.
  private static func isPublic(_ file: SourceFile, _ index: Int) -> Bool {
    guard file.lines[index].contains("///") else { return false }
    let declaration =
      file.lines[index...].lazy.map { $0.trimmingCharacters(in: .whitespaces) }
      .first { !$0.hasPrefix("//") && !$0.hasPrefix("@") } ?? ""
    return declaration.hasPrefix("public ") || declaration.hasPrefix("open ")
  }

  private static func hits(_ lines: [Line]) -> [String] {
    lines.filter { line in
      let range = NSRange(line.text.startIndex..., in: line.text)
      return phrases.contains { $0.regex.firstMatch(in: line.text, range: range) != nil }
    }.map { "\($0.path): \($0.text)" }
  }

  private static func expectFew(_ lines: [Line], limit: Int) {
    let found = hits(lines)
    let rate = found.count * 10_000 / max(1, lines.count)
    #expect(
      rate <= limit,
      "\(found.count) of \(lines.count) lines:\n\(found.prefix(40).joined(separator: "\n"))")
  }

  @Test("all phrases are regular expressions, so that the counts mean something")
  func patterns() {
    #expect(Self.phrases.count == 9)
    let line = Line(path: "", text: "// Whoever asks is told what there is.", isPublic: false)
    #expect(Self.hits([line]).count == 1)
    #expect(Self.comments.count > 10_000)
  }

  @Test("comments have few phrases that avoid a noun or a verb")
  func allComments() { Self.expectFew(Self.comments, limit: Self.limitOfComments) }

  @Test("public documentation has fewer phrases that avoid a noun or a verb")
  func publicComments() {
    Self.expectFew(Self.comments.filter(\.isPublic), limit: Self.limitOfPublicComments)
  }

  @Test("the README, the guides and the decisions have few phrases that avoid a noun or a verb")
  func pages() throws {
    var lines: [Line] = []
    for path in SourceTree.paths where path.hasSuffix(".md") {
      let page = try #require(SourceTree.load(path))
      var isListing = false
      for (index, text) in page.lines.enumerated() {
        if text.hasPrefix("```") { isListing.toggle() }
        if isListing || text.isEmpty { continue }
        lines.append(Line(path: "\(path):\(index + 1)", text: text, isPublic: true))
      }
    }
    Self.expectFew(lines, limit: Self.limitOfPages)
  }
}

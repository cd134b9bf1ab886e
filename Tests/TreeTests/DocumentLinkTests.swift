import Foundation
import Testing

@Suite("Links between documents")
struct DocumentLinkTests {
  private static let pages = SourceTree.paths.filter {
    $0.hasSuffix(".md") && !$0.hasPrefix("docs/decisions/")
  }

  /// The paths of links in a page, `[text](path)`, that lead to files of the project.
  private static func links(of page: String) throws -> [String] {
    let text = try #require(SourceTree.load(page)).lines.joined(separator: "\n")
    let folder = URL(filePath: "/" + page).deletingLastPathComponent()
    return text.matches(of: #/\]\(([^)\s]+)\)/#).compactMap { match in
      let link = match.1.prefix { $0 != "#" }
      guard !link.isEmpty, !link.contains(":") else { return nil }
      return String(folder.appending(path: String(link)).standardized.path.dropFirst())
    }
  }

  @Test
  func `Each link leads to a file or a folder`() throws {
    let files = Set(SourceTree.paths)
    for page in Self.pages {
      for link in try Self.links(of: page) {
        let isThere =
          files.contains(link) || files.contains { $0.hasPrefix(link + "/") }
          || FileManager.default.fileExists(atPath: SourceTree.root.appending(path: link).path)
        #expect(isThere, "\(page): \(link)")
      }
    }
  }

  @Test
  func `Each document is reached from the README`() throws {
    var reached: Set = ["README.md"]
    var waiting = ["README.md"]
    while let page = waiting.popLast() {
      for link in try Self.links(of: page) where link.hasSuffix(".md") {
        if reached.insert(link).inserted, SourceTree.load(link) != nil { waiting.append(link) }
      }
    }
    let documents = Self.pages.filter { $0.hasPrefix("docs/") || !$0.contains("/") }
    for document in documents where document != "CHANGELOG.md" {
      #expect(reached.contains(document), "\(document)")
    }
  }
}

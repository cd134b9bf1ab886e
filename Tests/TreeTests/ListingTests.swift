import Foundation
import Testing

@Suite("Listings in the documentation")
struct ListingTests {
  private static let articles = SourceTree.paths.filter {
    $0.contains(".docc/") && $0.hasSuffix(".md")
  }

  /// All code that is compiled and run: a listing must be part of it, apart from indentation.
  private static let code: [[String]] = SourceTree.swiftFiles
    .filter { $0.path.hasPrefix("Tests/") || $0.path.hasPrefix("Examples/") }
    .map { Self.trimmed($0.lines) }

  private static func trimmed(_ lines: [String]) -> [String] {
    lines.map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
  }

  @Test("listings are parts of code that is compiled", arguments: articles)
  func listings(_ path: String) throws {
    var listing: [String]?
    for line in Self.trimmed(try #require(SourceTree.load(path)).lines) {
      if line == "```swift" {
        listing = []
      } else if line == "```", let wanted = listing {
        let isThere = Self.code.contains { lines in
          lines.indices.contains { lines[$0...].starts(with: wanted) }
        }
        #expect(isThere, "\(path): \(wanted.first ?? "an empty listing")")
        listing = nil
      } else {
        listing?.append(line)
      }
    }
  }

  @Test("there are listings in several articles")
  func someListings() {
    let withListings = Self.articles.filter {
      SourceTree.load($0)?.lines.contains("```swift") == true
    }
    #expect(withListings.count >= 4)
  }

  @Test("every spelling in the migration page's tables is compiled")
  func migration() throws {
    func squeezed(_ text: some StringProtocol) -> String {
      String(text.filter { !$0.isWhitespace })
    }
    let page = try #require(
      SourceTree.load("Sources/Reactive/Reactive.docc/MigratingFromReactiveCocoa.md"))
    let tests = try #require(
      SourceTree.load("Tests/ReactiveTests/Documentation/MigrationTests.swift"))
    let code = squeezed(tests.lines.joined())
    let rows = page.lines.filter { $0.hasPrefix("| ") && !$0.hasPrefix("| ReactiveCocoa 2") }
    #expect(rows.count > 50)
    for row in rows {
      let columns = row.split(separator: "|")
      let spellings = columns[1].split(separator: "`").enumerated()
        .filter { $0.offset % 2 == 1 }.map(\.element)
      #expect(!spellings.isEmpty, "\(row)")
      for spelling in spellings {
        let isThere = code.contains(squeezed(spelling))
        #expect(isThere, "\(spelling)")
      }
    }
  }
}

import Foundation
import Testing

@Suite("The names of tests")
struct TestNameTests {
  /// A name that begins with one of these continues the name of its suite, and can't be read alone.
  private static let fragments = Set(
    """
    accepts adds against agree agrees allows also and are aren't as asks authenticates averages be
    been begins behaves behind being beside between beyond bring brings but by calls came can
    can't cannot carries closes come comes compares compiles completes computes connect connects
    contains converts corrects cut cuts decodes deletes delivered did dims discards discover
    disposes do does doesn't don't draws drives drops encodes encrypts end ends escapes explains
    fails find finds fits follow follows for forget forgets from fuses get gets give gives go goes
    had handles happen happens has hashes hasn't have haven't he holds ignores in interrupts into
    is isn't it its judges keep keeps knows learns leave leaves let lets lie loads looks loses
    makes may might moves must needs nor notes observes of offers on opens or outside passes
    performs prefers prints puts receives refuses rejects releases remember remembers removes
    repeats replaces resolves runs say says see sees sends serve serves sets share shares she
    should show shows so sorts sounds stand stands starts stays stops survives take takes talk
    tell tells that their them then they to too towards tracks transforms wait waits was were
    where which who whoever whom whomever whose will within won't work works writes
    """.split(whereSeparator: \.isWhitespace).map(String.init))

  /// Items of a conformance list precede some names: `A1, B2: `, `§8.1 `.
  private static let prefix = try? NSRegularExpression(
    pattern: #"^(?:(?:[A-G][0-9]{1,2}[ ,]*)+: |§[0-9.]+ |[0-9]+: )"#)

  private static func isFragment(_ name: String) -> Bool {
    let range = NSRange(name.startIndex..., in: name)
    let text = prefix?.stringByReplacingMatches(in: name, range: range, withTemplate: "") ?? name
    let words = text.split(separator: " ")
    guard let first = words.first, words.count > 1 else { return true }
    return fragments.contains(first.trimmingCharacters(in: .punctuationCharacters).lowercased())
  }

  private static let names: [(path: String, name: String)] = SourceTree.swiftFiles
    .filter { $0.path.hasPrefix("Tests/") && !$0.path.hasPrefix("Tests/TreeTests/TestName") }
    .flatMap { file in
      file.lines.joined(separator: "\n").matches(of: #/@Test\(\s*"([^"]+)"/#)
        .map { (file.path, String($0.1)) }
    }

  @Test("names of tests are whole sentences")
  func sentences() {
    #expect(Self.names.count > 3_000)
    for (path, name) in Self.names where Self.isFragment(name) {
      Issue.record("\(path): \(name)")
    }
  }

  @Test("a fragment is recognised, so that the test of names can fail")
  func recognition() {
    #expect(Self.isFragment("are named only by hosts"))
    #expect(Self.isFragment("and fails where the link ends"))
    #expect(Self.isFragment("debounce"))
    #expect(!Self.isFragment("A1: the cache keeps a record for its TTL"))
  }
}

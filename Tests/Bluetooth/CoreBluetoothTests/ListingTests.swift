import CoreBluetooth
import Testing

@Suite("Listings in the documentation")
struct ListingTests {
  @Test(
    "are parts of code that is compiled", arguments: ["BestPractices", "TestingWithoutHardware"])
  func listings(_ article: String) throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    func lines(_ path: String) throws -> [String] {
      try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
        .split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    }
    let examples = root.appendingPathComponent("Examples/BestPractices").path
    var code = try lines("Tests/Bluetooth/CoreBluetoothTests/EndToEndTests.swift")
    for file in try FileManager.default.contentsOfDirectory(atPath: examples).sorted() {
      code += try lines("Examples/BestPractices/\(file)")
    }
    var listing: [String]?
    var count = 0
    let path = "Sources/Bluetooth/CoreBluetooth/CoreBluetooth.docc/\(article).md"
    for line in try lines(path) {
      if line == "```swift" {
        listing = []
      } else if line == "```", let wanted = listing {
        let isThere = code.indices.contains { code[$0...].starts(with: wanted) }
        #expect(isThere, "\(wanted.first ?? "")")
        listing = nil
        count += 1
      } else {
        listing?.append(line)
      }
    }
    #expect(count > 0)
  }
}

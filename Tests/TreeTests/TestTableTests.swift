import Foundation
import Testing

@Suite("The table of bluetoothd's defects")
struct TestTableTests {
  @Test
  func `Each row names tests that are there`() throws {
    let swift = SourceTree.paths.filter {
      $0.hasPrefix("Tests/Bluetooth/BlueZ") && $0.hasSuffix(".swift")
    }.compactMap(SourceTree.load).map { $0.lines.joined(separator: "\n") }.joined(separator: "\n")
    let python = try #require(SourceTree.load("Interop/test_bluez_central.py")).lines
      .joined(separator: "\n")
    let rows = try #require(SourceTree.load("docs/bluez-defects.md")).lines.filter {
      $0.hasPrefix("| ") && !$0.hasSuffix("| test |")
    }
    var numbers: [Int] = []
    for row in rows {
      let cells = row.dropFirst(2).dropLast(2).components(separatedBy: " | ")
      if let number = Int(cells[0]) { numbers.append(number) }
      let tests = cells.last ?? ""
      let names = tests.matches(of: #/"([^"]+)"/#).map { String($0.1) }
      let functions = tests.matches(of: #/`(test_\w+)`/#).map { String($0.1) }
      #expect(tests == "none" || !(names + functions).isEmpty, "\(row)")
      for name in names { #expect(swift.contains("`\(name)`"), "\(name)") }
      for function in functions { #expect(python.contains("def \(function)("), "\(function)") }
    }
    #expect(numbers == Array(1...28))
  }
}

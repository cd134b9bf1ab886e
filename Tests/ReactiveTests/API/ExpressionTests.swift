import Foundation
import Testing

/// Expressions.swift in both language modes.
@Suite("Everyday expressions")
struct ExpressionTests {
  @Test(
    "every expression that users of ReactiveSwift write compiles",
    arguments: Compiler.LanguageMode.allCases)
  func compiles(in mode: Compiler.LanguageMode) throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "Expressions.swift")
    let source = try String(contentsOf: file, encoding: .utf8)
    let lines = source.split(separator: "\n", omittingEmptySubsequences: false)
    let errors = try Compiler.diagnostics(of: source, in: mode).filter { $0.contains(" error: ") }
    for error in errors {
      let number = error.prefix { $0 != ":" }
      let index = (Int(number) ?? 0) - 1
      Issue.record("\(error) | \(lines.indices.contains(index) ? lines[index] : "")")
    }
    #expect(source.contains("_ = p.flatMap(.latest) { _ in SignalProducer(value: 0) }"))
  }
}

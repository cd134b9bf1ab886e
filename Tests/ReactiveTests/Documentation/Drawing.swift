import Foundation
import Testing

/// A listing of marble diagrams in the documentation, a line each: what it is of, and when what
/// happens. See `MarbleDiagrams.md` for the rules.
struct Drawing: Sendable {
  struct Line: Sendable {
    /// The name of a stream, or the code that makes one.
    let label: String
    let diagram: String
    /// The frame below which the diagram begins: when the stream is started.
    let start: Int
  }

  let lines: [Line]

  /// - Parameter text: The lines, without the fences.
  init(_ text: [String]) {
    let parts = text.map { line -> (label: String, column: Int, diagram: String) in
      guard let gap = line.firstRange(of: "  ") else { return (line, line.count, "") }
      let diagram = line[gap.upperBound...].drop { $0 == " " }
      return (
        String(line[..<gap.lowerBound]),
        line.distance(from: line.startIndex, to: diagram.startIndex), String(diagram)
      )
    }
    let first = parts.map(\.column).min() ?? 0
    lines = parts.map { Line(label: $0.label, diagram: $0.diagram, start: $0.column - first) }
  }
}

/// A page of Reactive's documentation.
struct DocumentationPage: Sendable, CustomTestStringConvertible {
  let name: String
  let lines: [String]

  var testDescription: String { name }

  /// The drawings between "```marbles" and "```".
  var drawings: [Drawing] {
    var drawings: [Drawing] = []
    var listing: [String]?
    for line in lines {
      if line == "```marbles" {
        listing = []
      } else if line == "```", let text = listing {
        drawings.append(Drawing(text))
        listing = nil
      } else {
        listing?.append(line)
      }
    }
    return drawings
  }

  static let all: [DocumentationPage] = {
    let files = try? FileManager.default.contentsOfDirectory(
      at: catalogue, includingPropertiesForKeys: nil)
    return (files ?? []).filter { $0.pathExtension == "md" }.compactMap { file in
      guard let text = try? String(contentsOf: file, encoding: .utf8) else { return nil }
      return DocumentationPage(
        name: file.deletingPathExtension().lastPathComponent,
        lines: text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init))
    }.sorted { $0.name < $1.name }
  }()

  private static let catalogue = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Sources/Reactive/Reactive.docc")
}

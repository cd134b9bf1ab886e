import Foundation

/// One Swift file of this repository, as text.
struct SourceFile: Sendable {
  /// The path below the repository's root: `Sources/Essentials/Instant.swift`.
  let path: String
  let lines: [String]

  /// The module that the file belongs to; files outside `Sources` belong to none.
  var module: String? {
    let parts = path.split(separator: "/").map(String.init)
    guard parts.first == "Sources" else { return nil }
    return parts.dropFirst().first { Layers.all[$0] != nil }
  }

  /// The modules it imports, whatever the access level or attribute.
  var imports: [String] {
    lines.compactMap { line in
      let words = line.split(separator: " ").map(String.init)
      guard let index = words.firstIndex(of: "import"), words.count > index + 1,
        words[..<index].allSatisfy({ $0.hasPrefix("@") || Self.accessLevels.contains($0) })
      else { return nil }
      let name = words.dropFirst(index + 1).first { !Self.importKinds.contains($0) } ?? ""
      return name.split(separator: ".").first.map(String.init)
    }
  }

  private static let accessLevels: Set = [
    "public", "package", "internal", "private", "fileprivate",
  ]
  private static let importKinds: Set = ["struct", "class", "enum", "func", "protocol", "var"]

  /// The lines without comments and string literals, so that words in prose do not count as code.
  var code: [String] {
    lines.map { line in
      var text = line
      if let comment = text.range(of: "//") { text = String(text[..<comment.lowerBound]) }
      return text.replacing(#/"[^"]*"/#, with: "\"\"")
    }
  }

  /// The functions, initialisers and accessors with the number of lines each takes. Relies on the
  /// formatter: a body closes with a brace in the column where its declaration began.
  var functions: [(name: String, lineCount: Int)] {
    var found: [(String, Int)] = []
    let code = code
    for (start, line) in code.enumerated() {
      let body = line.drop { $0 == " " }
      let words = body.split(whereSeparator: { " (<".contains($0) })
      guard words.contains(where: { ["func", "init", "init?", "deinit"].contains($0) }),
        !body.hasPrefix("self"), !body.hasPrefix("try"), !body.hasPrefix(".")
      else { continue }
      let indentation = String(repeating: " ", count: line.count - body.count)
      guard let end = code[start...].firstIndex(where: { $0 == indentation + "}" }) else {
        continue
      }
      let opens = code[start...end].contains { $0.hasSuffix("{") }
      if opens { found.append((String(body), end - start + 1)) }
    }
    return found
  }
}

/// Every text file that git knows or would add.
enum SourceTree {
  static let root: URL = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  static let swiftFiles: [SourceFile] = paths.filter { $0.hasSuffix(".swift") }.compactMap(load)

  static var sources: [SourceFile] { swiftFiles.filter { $0.module != nil } }

  /// All files below the root, outside of hidden folders and what building leaves behind.
  static let paths: [String] = {
    let skipped: Set = [".build", ".git", ".venv", ".swiftpm", "node_modules", "__pycache__"]
    guard
      let walker = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
    else { return [] }
    var found: [String] = []
    for case let url as URL in walker {
      if skipped.contains(url.lastPathComponent) {
        walker.skipDescendants()
        continue
      }
      if !url.hasDirectoryPath { found.append(String(url.path.dropFirst(root.path.count + 1))) }
    }
    return found.sorted()
  }()

  static func load(_ path: String) -> SourceFile? {
    guard let text = try? String(contentsOf: root.appending(path: path), encoding: .utf8) else {
      return nil
    }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    return SourceFile(path: path, lines: lines)
  }
}

import Foundation

/// One Swift file of this repository, as text.
struct SourceFile: Sendable {
  /// The path below the repository's root: `Sources/Essentials/Instant.swift`.
  let path: String
  let lines: [String]
  /// The lines without comments and string literals, so that words in prose do not count as code.
  let code: [String]

  init(path: String, lines: [String]) {
    self.path = path
    self.lines = lines
    // Once, because many tests look at the code of all files.
    code = lines.map(Self.code(of:))
  }

  /// The module that the file belongs to; files outside `Sources` and `Programs` belong to none.
  var module: String? {
    let parts = path.split(separator: "/").map(String.init)
    if path.hasPrefix("Programs/ambit/Main/") { return "ambit" }
    if path.hasPrefix("Programs/ambit-hub/Main/") { return "ambit-hub" }
    if path.hasPrefix("Programs/ambit-hub/") { return "AmbitHub" }
    if path.hasPrefix("Programs/ambit-page/Main/") { return "ambit-page" }
    if path.hasPrefix("Programs/ambit-page/") { return "AmbitPage" }
    if path.hasPrefix("Programs/ambit-message/Main/") { return "ambit-message" }
    if path.hasPrefix("Programs/ambit-message/") { return "AmbitMessage" }
    if path.hasPrefix("Programs/ambit-apps/Main/") { return "ambit-apps" }
    if path.hasPrefix("Programs/ambit-apps/") { return "AmbitApps" }
    if path.hasPrefix("Programs/ambit/") { return "AmbitCLI" }
    guard parts.first == "Sources" else { return nil }
    // The innermost: a domain's folder may have the name of its face.
    return parts.dropFirst().dropLast().last { Layers.all[$0] != nil }
  }

  /// The modules it imports, with any access level or attribute.
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

  private static func code(of line: String) -> String {
    let text = line.range(of: "//").map { line[..<$0.lowerBound] } ?? line[...]
    guard text.contains("\"") else { return String(text) }
    var parts = text.split(separator: "\"", omittingEmptySubsequences: false)[...]
    var code = String(parts.popFirst() ?? "")
    // A literal is between two of the parts. Without a regular expression, which takes minutes for
    // all lines.
    while let literal = parts.popFirst() {
      code += parts.popFirst().map { "\"\"" + $0 } ?? "\"" + literal
    }
    return code
  }

  /// The types at the top level that other modules can see.
  var publicTypes: [String] {
    lines.compactMap { line in
      var words = line.split(separator: " ")[...]
      guard line.first?.isWhitespace == false,
        let access = words.popFirst(), ["public", "package", "open"].contains(access)
      else { return nil }
      words = words.drop { ["final", "indirect"].contains($0) }
      guard let kind = words.popFirst(), Self.typeKinds.contains(String(kind)) else { return nil }
      return words.first.map { String($0.prefix { $0.isLetter || $0.isNumber || $0 == "_" }) }
    }
  }

  private static let typeKinds: Set = ["struct", "enum", "class", "actor", "protocol"]

  /// The functions and initialisers with the number of lines each takes.
  var functions: [(name: String, lineCount: Int)] {
    code.indices.compactMap { start in
      let words = code[start].split(whereSeparator: { " (<".contains($0) })
      let name = words.first { ["func", "init", "init?", "deinit"].contains($0) }
      guard name != nil, words.first.map({ !$0.hasPrefix(".") && $0 != "try" }) == true,
        let end = endOfBody(from: start, in: code)
      else { return nil }
      return (code[start].trimmingCharacters(in: .whitespaces), end - start + 1)
    }
  }

  /// The line where the braces that open after `start` close again; nil for a requirement of a
  /// protocol, which has none. Relies on the formatter's indentation.
  private func endOfBody(from start: Int, in code: [String]) -> Int? {
    let indentation = code[start].prefix { $0 == " " }
    var depth = 0
    var hasOpened = false
    for index in start..<code.count {
      let line = code[index]
      let body = line.drop { $0 == " " }
      let isNextDeclaration =
        index > start && line.prefix { $0 == " " }.count <= indentation.count
        && !body.hasPrefix(")") && !body.hasPrefix("{") && !body.hasPrefix("where")
      if !hasOpened, isNextDeclaration { return nil }
      for character in line {
        if character == "{" { (depth, hasOpened) = (depth + 1, true) }
        if character == "}" { depth -= 1 }
      }
      if hasOpened, depth <= 0 { return index }
    }
    return nil
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

import Foundation
import Testing

@Suite("The documentation of the operators")
struct OperatorDocumentationTests {
  private static let sources = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../../Sources/Reactive").standardized
  private static let folders = [
    "Booleans", "Operators", "Producers", "Properties", "SideEffects", "Time",
  ]

  @Test("says what every parameter is, and what comes back", arguments: folders)
  func complete(_ folder: String) throws {
    let files = try Self.files(in: Self.sources.appending(path: folder))
    #expect(!files.isEmpty)
    for file in files {
      let text = try String(contentsOf: file, encoding: .utf8)
      // Overloads of three to ten streams have nothing to say of each.
      if text.hasPrefix("// Table") { continue }
      for function in Function.all(in: text) {
        let missing = function.undocumented
        #expect(missing.isEmpty, "\(file.lastPathComponent): \(function.signature)")
      }
    }
  }

  @Test("is looked at where it is")
  func looking() {
    let text = """
      /// Does.
      ///
      /// - Parameter a: One.
      @inlinable
      public func f<T>(_ a: T, by b: @escaping (T, Int) -> Bool = g()) -> Int {
        0
      }
      """
    #expect(Function.all(in: text).map(\.undocumented) == [["b", "what it returns"]])
  }

  private static func files(in folder: URL) throws -> [URL] {
    try FileManager.default.subpathsOfDirectory(atPath: folder.path)
      .filter { $0.hasSuffix(".swift") }.map { folder.appending(path: $0) }
  }
}

/// A public function, and what its documentation says.
private struct Function {
  var documentation: [String]
  var signature: String

  static func all(in text: String) -> [Function] {
    var found: [Function] = []
    var documentation: [String] = []
    var signature: String?
    for line in text.split(separator: "\n").map({ $0.trimmingCharacters(in: .whitespaces) }) {
      if let begun = signature {
        signature = begun + " " + line
      } else if line.hasPrefix("public func ") || line.hasPrefix("public static func ") {
        signature = line
      } else if line.hasPrefix("///") {
        documentation.append(line)
      } else if !line.hasPrefix("@") {
        documentation = []
      }
      guard let whole = signature, whole.hasSuffix("{") || whole.hasSuffix("}") else { continue }
      found.append(Function(documentation: documentation, signature: whole))
      (signature, documentation) = (nil, [])
    }
    return found
  }

  /// The parameters that aren't mentioned, and what is returned, if that isn't.
  var undocumented: [String] {
    let (parameters, result) = parts
    var missing = parameters.filter { name in
      !documentation.contains { line in
        line.contains("- Parameter \(name):") || line.contains("- \(name):")
      }
    }
    if result.contains("->"), !documentation.contains(where: { $0.contains("- Returns:") }) {
      missing.append("what it returns")
    }
    return missing
  }

  /// The names of the parameters that have one, and what follows the parentheses.
  private var parts: (parameters: [String], result: Substring) {
    var (names, name, depth) = ([String](), "", 0)
    var isName = true
    var previous: Character = " "
    for index in signature.indices {
      let character = signature[index]
      defer { previous = character }
      // Angle brackets before the first parenthesis are not counted: nothing is inside then.
      switch character {
      case "(": depth += 1
      case "[", "{", "<": if depth > 0 { depth += 1 }
      case ")", "]", "}": if depth > 0 { depth -= 1 }
      case ">": if depth > 0, previous != "-" { depth -= 1 }
      default: break
      }
      if depth == 0, character == ")" {
        return (names.filter { $0 != "_" }, signature[signature.index(after: index)...])
      }
      guard depth == 1 else { continue }
      switch character {
      case "(", ",": (isName, name) = (true, "")
      case ":" where isName:
        isName = false
        names.append(name.split(separator: " ").last.map(String.init) ?? "_")
      default: name.append(character)
      }
    }
    return (names, "")
  }
}

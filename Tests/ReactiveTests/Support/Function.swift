import Foundation

/// A public function of an extension in the sources, and its documentation.
struct Function {
  private struct Parameter {
    var label: String
    var name: String
  }

  /// The type that is extended.
  var owner: String
  var documentation: [String]
  var signature: String

  /// Those in the files of a folder of the library, without the overloads of three to ten streams,
  /// which have no documentation of their own.
  static func all(inFolder folder: String) throws -> [Function] {
    let place = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../Sources/Reactive").appending(path: folder).standardized
    return try FileManager.default.subpathsOfDirectory(atPath: place.path)
      .filter { $0.hasSuffix(".swift") }
      .map { try String(contentsOf: place.appending(path: $0), encoding: .utf8) }
      .filter { !$0.hasPrefix("// Table") }
      .flatMap(all(in:))
  }

  static func all(in text: String) -> [Function] {
    var found: [Function] = []
    var documentation: [String] = []
    var signature: String?
    var owner = ""
    for line in text.split(separator: "\n").map({ $0.trimmingCharacters(in: .whitespaces) }) {
      if let begun = signature {
        signature = begun + " " + line
      } else if line.hasPrefix("public func ") || line.hasPrefix("public static func ") {
        signature = line
      } else if line.hasPrefix("///") {
        documentation.append(line)
      } else if !line.hasPrefix("@") {
        documentation = []
        if line.hasPrefix("extension ") {
          owner = String(line.dropFirst(10).prefix { $0.isLetter })
        }
      }
      guard let whole = signature, whole.hasSuffix("{") || whole.hasSuffix("}") else { continue }
      found.append(Function(owner: owner, documentation: documentation, signature: whole))
      (signature, documentation) = (nil, [])
    }
    return found
  }

  /// As it is spelt in references: `take(first:)`.
  var name: String {
    let start = signature.range(of: "func ")?.upperBound ?? signature.startIndex
    let base = signature[start...].prefix { $0 != "(" && $0 != "<" }.filter { $0 != "`" }
    return "\(base)(\(parts.parameters.map { $0.label + ":" }.joined()))"
  }

  /// What follows the parentheses, up to the constraints.
  var result: String {
    let rest = parts.rest
    return String(rest[..<(rest.range(of: " where ")?.lowerBound ?? rest.endIndex)])
  }

  /// The parameters without a description, and the result if it has none.
  var undocumented: [String] {
    let names = parts.parameters.map(\.name).filter { $0 != "_" }
    var missing = names.filter { name in
      !documentation.contains { line in
        line.contains("- Parameter \(name):") || line.contains("- \(name):")
      }
    }
    if result.contains("->"), !documentation.contains(where: { $0.contains("- Returns:") }) {
      missing.append("what it returns")
    }
    return missing
  }

  /// The parameters, and what follows the parentheses.
  private var parts: (parameters: [Parameter], rest: String) {
    var (parameters, text, depth) = ([Parameter](), "", 0)
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
        return (parameters, String(signature[signature.index(after: index)...]))
      }
      guard depth == 1 else { continue }
      switch character {
      case "(", ",": (isName, text) = (true, "")
      case ":" where isName:
        isName = false
        let words = text.split(separator: " ").map(String.init)
        parameters.append(Parameter(label: words.first ?? "_", name: words.last ?? "_"))
      default: text.append(character)
      }
    }
    return (parameters, "")
  }
}

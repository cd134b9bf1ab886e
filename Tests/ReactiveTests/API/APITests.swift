import Foundation
import Testing

/// Compares the module's public interface, as the compiler sees it, with the checklist.
///
/// `reactive-api.tsv` lists every declaration of ReactiveSwift 7.2.1 that isn't deprecated: its
/// name with labels, and for the reader its declaration. A name may be listed several times: each
/// is an overload.
@Suite("The interface")
struct APITests {
  /// How many declarations may be missing.
  private static let missingMax = 0

  @Test("the interface has every declaration of the checklist")
  func complete() throws {
    let checklist = try Checklist.load()
    let graph = try SymbolGraph.ofBuiltModules()
    let missing = checklist.entries(missingFrom: graph)
    print("\(missing.count) of \(checklist.entries.count) declarations are missing")
    for entry in missing { print("  \(entry.name)    \(entry.declaration)") }
    #expect(missing.count <= Self.missingMax)
  }

  @Test("the checklist names missing declarations, counting overloads")
  func comparison() {
    let checklist = Checklist(text: "A\tclass A\nA.f(_:)\tfunc f(Int)\nA.f(_:)\tfunc f(Bool)\n")
    var graph = SymbolGraph()
    #expect(checklist.entries(missingFrom: graph).count == 3)
    graph.countByName = ["A": 1, "A.f(_:)": 1]
    #expect(checklist.entries(missingFrom: graph).map(\.declaration) == ["func f(Bool)"])
    graph.countByName["A.f(_:)"] = 2
    #expect(checklist.entries(missingFrom: graph).isEmpty)
  }

  @Test("a property that can be called is the method of its name")
  func callable() {
    let checklist = Checklist(text: "A.f(with:)\tfunc f(with: A)\n")
    var graph = SymbolGraph()
    graph.typeByProperty["A.f"] = "F"
    #expect(checklist.entries(missingFrom: graph).count == 1)
    graph.countByName["F.callAsFunction(with:)"] = 1
    #expect(checklist.entries(missingFrom: graph).isEmpty)
  }
}

/// The declarations that must be there.
private struct Checklist {
  struct Entry {
    var name: String
    var declaration: String
  }

  var entries: [Entry]

  init(text: String) {
    entries = text.split(separator: "\n").compactMap { line in
      let parts = line.split(separator: "\t", maxSplits: 1).map(String.init)
      return parts.count == 2 ? Entry(name: parts[0], declaration: parts[1]) : nil
    }
  }

  static func load() throws -> Checklist {
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "reactive-api.tsv")
    return Checklist(text: try String(contentsOf: file, encoding: .utf8))
  }

  func entries(missingFrom graph: SymbolGraph) -> [Entry] {
    var available = graph.countByName
    return entries.filter { entry in
      if let count = available[entry.name], count > 0 {
        available[entry.name] = count - 1
        return false
      }
      return !graph.hasSynthesized(entry.name) && !graph.hasCallable(entry.name)
    }
  }
}

/// The public symbols of the built modules.
private struct SymbolGraph: Decodable {
  struct Symbol: Decodable {
    struct Fragment: Decodable {
      var kind: String
      var spelling: String
    }
    struct Kind: Decodable {
      var identifier: String
    }

    var kind: Kind
    var pathComponents: [String]
    var declarationFragments: [Fragment]

    var name: String { pathComponents.joined(separator: ".") }

    /// The type of a property, without its arguments.
    var propertyType: String? {
      guard kind.identifier == "swift.property" else { return nil }
      return declarationFragments.first { $0.kind == "typeIdentifier" }?.spelling
    }
  }
  struct Relationship: Decodable {
    var kind: String
    var source: String
    var targetFallback: String?
  }

  /// How many overloads there are of each name.
  var countByName: [String: Int] = [:]
  /// What the properties are.
  var typeByProperty: [String: String] = [:]
  private var equatableTypes: Set<String> = []

  init() {}

  init(from decoder: any Decoder) throws {
    enum Key: CodingKey { case symbols, relationships }
    let container = try decoder.container(keyedBy: Key.self)
    for symbol in try container.decode([Symbol].self, forKey: .symbols) {
      countByName[symbol.name, default: 0] += 1
      if let type = symbol.propertyType { typeByProperty[symbol.name] = type }
    }
    for relation in try container.decode([Relationship].self, forKey: .relationships)
    where relation.kind == "conformsTo" && relation.targetFallback == "Swift.Equatable" {
      equatableTypes.insert(relation.source)
    }
  }

  /// Whether the compiler synthesizes the declaration: the `==` of an `Equatable` type.
  func hasSynthesized(_ name: String) -> Bool {
    guard name.hasSuffix(".==(_:_:)"), !equatableTypes.isEmpty else { return false }
    let type = name.split(separator: ".").dropLast().last.map(String.init) ?? ""
    return equatableTypes.contains { $0.contains(type) }
  }

  /// Whether the name is that of a property that can be called like the method.
  func hasCallable(_ name: String) -> Bool {
    guard let labels = name.firstIndex(of: "("),
      let type = typeByProperty[String(name[..<labels])]
    else { return false }
    return countByName["\(type).callAsFunction\(name[labels...])"] != nil
  }

  static func ofBuiltModules() throws -> SymbolGraph {
    let modules = Compiler.builtModules
    let output = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: output, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: output) }
    for module in ["Reactive", "ReactiveFoundation"]
    where FileManager.default.fileExists(
      atPath: modules.appending(path: "\(module).swiftmodule").path)
    {
      try extract(module, from: modules, to: output)
    }
    var whole = SymbolGraph()
    for file in try FileManager.default.contentsOfDirectory(
      at: output, includingPropertiesForKeys: nil)
    {
      let part = try JSONDecoder().decode(SymbolGraph.self, from: Data(contentsOf: file))
      whole.countByName.merge(part.countByName, uniquingKeysWith: +)
      whole.typeByProperty.merge(part.typeByProperty) { type, _ in type }
      whole.equatableTypes.formUnion(part.equatableTypes)
    }
    return whole
  }

  private static func extract(_ module: String, from modules: URL, to output: URL) throws {
    #if arch(x86_64)
      let target = "x86_64-unknown-linux-gnu"
    #else
      let target = "aarch64-unknown-linux-gnu"
    #endif
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [
      "swift", "symbolgraph-extract", "-module-name", module, "-I", modules.path,
      "-target", target, "-minimum-access-level", "public", "-skip-synthesized-members",
      "-output-dir", output.path,
    ]
    try process.run()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0, "the symbols of \(module) can't be extracted")
  }
}

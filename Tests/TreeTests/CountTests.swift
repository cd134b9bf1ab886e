import Foundation
import Testing

/// Ratchets: the number of checks goes up, and the number of promises down.
@Suite("The counts of checks and promises")
struct CountTests {
  /// Checks per 1,000 lines of code in all machines together.
  private static let checksMin = 12
  /// Public declarations in modules below the API modules.
  private static let publicDeclarationsMax = 2_023

  /// Modules whose public declarations users see through a module that exports them.
  private static let exported: Set = [
    "CoverFlowWebAssembly", "GATTMachines", "KeyValueObserving", "L2CAPMachines", "PairingMachines",
  ]
  /// Modules that have one for the compiler (docs/decisions/0303).
  private static let exceptions: Set = ["EventLoop"]

  private static func publicDeclarationCount(_ file: SourceFile) -> Int {
    file.code.count { line in
      let words = line.split(separator: " ").drop { $0.hasPrefix("@") }
      return words.first == "public" || words.first == "open"
    }
  }

  /// The number of assertions, and of invariants that debug builds check after each event.
  static func checkCount(_ file: SourceFile) -> Int {
    let assertions = ["assert(", "assertionFailure(", "precondition(", "preconditionFailure("]
    var count = 0
    // The indentation of the function of invariants that the line is in.
    var function: Substring?
    for line in file.code {
      count += assertions.count { line.contains($0) }
      let indentation = line.prefix { $0 == " " }
      if let start = function {
        if line.hasPrefix(start + "}") { function = nil }
        let isCheck = line.contains(".append(") || line.contains("require(")
        let isHelper = line.contains("func ") || line.contains(".append(what)")
        if isCheck && !isHelper { count += 1 }
      } else if line.contains("func "), line.hasSuffix("{"),
        line.lowercased().contains("violations")
      {
        function = indentation
      }
    }
    return count
  }

  @Test("Machines check themselves as often as before")
  func checks() {
    var (checks, lines) = (0, 0)
    for file in SourceTree.sources {
      guard let module = file.module, Layers.all[module]?.layer == .machines else { continue }
      checks += Self.checkCount(file)
      lines += file.code.count { line in line.contains { $0 != " " } }
    }
    #expect(lines > 40_000, "machines were not found")
    #expect(checks * 1_000 / max(1, lines) >= Self.checksMin, "\(checks) in \(lines) lines")
  }

  @Test("Assertions and invariants are counted, so that the counts mean something")
  func counting() {
    let text = """
      func add() {
        assert(violations().isEmpty)
        found.append(1)
      }
      func violations() -> [String] {
        var found: [String] = []
        func require(_ holds: Bool, _ what: String) {
          if !holds { found.append(what) }
        }
        require(count >= 0, "a count")
        if count > 9 { found.append("a bound") }
        return found
      }
      """
    let lines = text.split(separator: "\n").map(String.init)
    #expect(Self.checkCount(SourceFile(path: "x.swift", lines: lines)) == 3)
  }

  @Test("Only modules that users import have public declarations, and those below the API no more")
  func promises() throws {
    let products = try Manifest.loaded.get().libraries
    var count = 0
    for file in SourceTree.sources where file.path.hasPrefix("Sources/") {
      let declarations = Self.publicDeclarationCount(file)
      guard let module = file.module, declarations > 0 else { continue }
      let isImported =
        products.contains(module) || Self.exported.contains(module)
        || Self.exceptions.contains(module)
      #expect(isImported, "\(file.path): \(declarations) public declarations")
      if let layer = Layers.all[module]?.layer, layer.rawValue < Layer.api.rawValue {
        count += declarations
      }
    }
    #expect(count > 1_000, "declarations were not found")
    #expect(count <= Self.publicDeclarationsMax)
  }
}

import Foundation
import Testing

@Suite("Layers")
struct LayerTests {
  private let modules: [Manifest.Target]

  init() throws { modules = try Manifest.loaded.get().modules }

  @Test("every module of the package has a layer, and every layer's modules exist")
  func everyModule() {
    #expect(Set(modules.map(\.name)) == Set(Layers.all.keys))
    #expect(modules.count > 20)
  }

  @Test("a module depends on its own layer and on lower ones")
  func downwards() throws {
    for module in modules {
      let layer = try #require(Layers.all[module.name]).layer
      for dependency in module.dependencies where !dependency.isProduct {
        let other = try #require(Layers.all[dependency.name], "\(dependency.name)").layer
        #expect(
          other.rawValue <= layer.rawValue,
          "\(module.name) (\(layer)) depends on \(dependency.name) (\(other))")
      }
    }
  }

  @Test("API modules and bridges know a Bluetooth host by its sessions only")
  func sessions() throws {
    for module in modules {
      let layer = try #require(Layers.all[module.name]).layer
      guard [.api, .reactive, .bridges].contains(layer) else { continue }
      for name in [
        "BluetoothHost", "BluetoothMachines", "GATTMachines", "L2CAPMachines", "PairingMachines",
      ] {
        #expect(!module.dependencies.contains { $0.name == name }, "\(module.name): \(name)")
      }
    }
  }

  @Test("the layers whose code is pure use nothing of the system")
  func purity() {
    for (name, module) in Layers.all where module.layer.rawValue <= Layer.machines.rawValue {
      #expect(module.external.subtracting(["Swift"]).isEmpty, "\(name)")
      #expect(!module.mayTouchTheWorld && module.filesThatTouchTheWorld.isEmpty, "\(name)")
    }
  }

  @Test("a file imports only what its module depends on, and what its module may use of the system")
  func imports() throws {
    let dependencies = Dictionary(
      uniqueKeysWithValues: modules.map { ($0.name, Set($0.dependencies.map(\.name))) })
    for file in SourceTree.sources {
      let module = try #require(file.module)
      let external = try #require(Layers.all[module]).external
      for imported in file.imports where !external.contains(imported) {
        #expect(
          Layers.all[imported] != nil && dependencies[module]?.contains(imported) == true,
          "\(file.path) imports \(imported)")
      }
    }
  }

  @Test("the tree in the documentation has the package's modules, where they are")
  func documentedTree() throws {
    let page = try #require(SourceTree.load("docs/architecture.md"))
    let documented = Self.folders(inTreeOf: page.lines)
    for module in modules where module.type != "system" && !module.folder.hasSuffix("/Main") {
      #expect(documented.contains(module.folder), "\(module.folder) is not in the tree")
    }
    for folder in documented where folder.hasPrefix("Sources/") {
      let isFolder = modules.contains {
        $0.folder == folder || $0.folder.hasPrefix(folder + "/")
      }
      #expect(isFolder, "\(folder) is in the tree only")
    }
  }

  @Test("the table of layers in the documentation is that of the code")
  func documentedLayers() throws {
    let page = try #require(SourceTree.load("docs/architecture.md"))
    let rows = Layer.allCases.map { layer in
      let names = Layers.all.filter { $0.value.layer == layer }.keys
        .sorted { $0.lowercased() < $1.lowercased() }
      return "| \(layer.title) | \(names.map { "`\($0)`" }.joined(separator: ", ")) |"
    }
    let start = page.lines.firstIndex { $0 == "| layer | modules |" }
    let found = start.map { Array(page.lines[($0 + 2)...].prefix { $0.hasPrefix("|") }) } ?? []
    #expect(found == rows, "it should be:\n\(rows.joined(separator: "\n"))")
  }

  /// The folders of the tree that is drawn by indentation, with their paths.
  private static func folders(inTreeOf lines: [String]) -> Set<String> {
    var found: Set<String> = []
    var stack: [(indentation: Int, path: String)] = []
    guard let start = lines.firstIndex(of: "Sources/") else { return [] }
    for line in lines[start...] {
      if line.hasPrefix("```") { break }
      let indentation = line.prefix { $0 == " " }.count
      let names = line.trimmingCharacters(in: .whitespaces).split(separator: " ")
        .prefix { $0.hasSuffix("/") }
      stack.removeAll { $0.indentation >= indentation }
      let parent = stack.last?.path ?? ""
      for name in names { found.insert(parent + name.dropLast()) }
      if let name = names.first { stack.append((indentation, parent + name)) }
    }
    return found
  }
}

import Foundation

/// `Package.swift`, as the package manager reads it.
struct Manifest: Decodable, Sendable {
  struct Target: Decodable, Sendable {
    var name: String
    var type: String
    var path: String?
    var dependencies: [Dependency]

    /// The folder below the root.
    var folder: String { path ?? (type == "test" ? "Tests/\(name)" : "Sources/\(name)") }
  }

  /// One of `{"byName": [name, …]}`, `{"target": [name, …]}`, `{"product": [name, package, …]}`.
  struct Dependency: Decodable, Sendable {
    var name: String
    var isProduct: Bool

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Key.self)
      guard let kind = container.allKeys.first else {
        throw DecodingError.dataCorrupted(
          .init(codingPath: decoder.codingPath, debugDescription: "an unknown dependency"))
      }
      var list = try container.nestedUnkeyedContainer(forKey: kind)
      name = try list.decode(String.self)
      isProduct = kind == .product
    }

    private enum Key: String, CodingKey { case byName, target, product }
  }

  struct Product: Decodable, Sendable {
    var name: String
    var targets: [String]
  }

  var targets: [Target]
  var products: [Product]

  /// The modules that are in a product.
  var libraries: Set<String> { Set(products.flatMap(\.targets)) }

  /// Targets that users of the package may get: not tests, examples and tools of tests.
  var modules: [Target] {
    targets.filter { $0.folder.hasPrefix("Sources/") || $0.folder.hasPrefix("Programs/") }
  }

  /// Reads the manifest. A process of its own, because a manifest is a program.
  static let loaded = Result { () throws -> Manifest in
    let scratch = FileManager.default.temporaryDirectory
      .appending(path: "ambit-manifest-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: scratch) }
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [
      "swift", "package", "dump-package", "--package-path", SourceTree.root.path,
      "--scratch-path", scratch.path,
    ]
    // All of the package, also where tests of a part of it run.
    process.environment = ProcessInfo.processInfo.environment.filter {
      $0.key != "AMBIT_ONLY" && $0.key != "AMBIT_TESTS"
    }
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return try JSONDecoder().decode(Manifest.self, from: data)
  }
}

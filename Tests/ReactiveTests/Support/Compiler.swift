import Foundation

/// The compiler, for what can only be tested of code that doesn't compile, or of another language
/// mode.
enum Compiler {
  enum LanguageMode: String, CaseIterable {
    case swift5 = "5"
    case swift6 = "6"
  }

  /// Whether the wording of this compiler's diagnostics is known: tests were written against
  /// Swift 6.3, whose wording equals that of 6.2. For a later one, change the condition and run
  /// `swift test --filter SendableTests` to see the new wording.
  static var isWordingKnown: Bool {
    #if compiler(>=6.2) && compiler(<6.4)
      true
    #else
      false
    #endif
  }

  /// Whether a diagnostic has these words. Where the compiler's wording isn't known, that there is
  /// a diagnostic has to do.
  static func says(_ words: String, in diagnostic: String) -> Bool {
    !isWordingKnown || diagnostic.contains(words)
  }

  /// Where the modules under test are.
  static let builtModules = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent().appending(path: "Modules")

  /// Compiles a file that uses `Reactive`.
  ///
  /// An expression that takes longer than a second to check is an error.
  ///
  /// - Returns: Errors and warnings, each as `line: error: text` or `line: warning: text`.
  static func diagnostics(of source: String, in mode: LanguageMode) throws -> [String] {
    let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let file = directory.appending(path: "client.swift")
    try source.write(to: file, atomically: true, encoding: .utf8)

    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    // Data races are looked for behind the type checker.
    process.arguments = [
      "swiftc", "-emit-sil", "-o", "/dev/null", "-swift-version", mode.rawValue,
      "-I", builtModules.path, "-diagnostic-style", "llvm",
      "-Xfrontend", "-solver-expression-time-threshold=1", file.path,
    ]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()

    let marked = text.split(separator: "\n").compactMap { line -> String? in
      guard line.hasPrefix(file.path + ":") else { return nil }
      let parts = line.dropFirst(file.path.count + 1).split(separator: ":", maxSplits: 2)
      guard parts.count == 3, [" error", " warning"].contains(where: parts[2].hasPrefix) else {
        return nil
      }
      return "\(parts[0]):\(parts[2])"
    }
    // What isn't about a line, such as a module that can't be found, must not pass for silence.
    return process.terminationStatus == 0 || marked.contains { $0.contains("error") }
      ? marked : marked + ["0: error: \(text)"]
  }
}

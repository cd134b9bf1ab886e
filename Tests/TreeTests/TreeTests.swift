import Foundation
import Testing

@Suite("The tree")
struct TreeTests {
  @Test("every source file belongs to a module that the architecture knows")
  func everyFileHasAModule() {
    let strays = SourceTree.swiftFiles.filter { $0.path.hasPrefix("Sources/") && $0.module == nil }
    #expect(strays.map(\.path) == [])
    #expect(SourceTree.sources.count > 20, "the tree was not found at \(SourceTree.root.path)")
  }

  @Test("suites in real time are those that ./test runs by themselves")
  func realTime() throws {
    let script = try #require(SourceTree.load("test"))
    let line = try #require(script.lines.first { $0.hasPrefix("real_time=") })
    let list = try #require(line.firstMatch(of: #/\(([^)]*)\)/#)).1.split(separator: "|")
    #expect(list.count > 3)
    let names = ["AmbitRun", "EpollLoop", "socket(", "Task.sleep", "ContinuousClock()", "usleep("]
    for file in SourceTree.swiftFiles where file.path.hasPrefix("Tests/") {
      let target = file.path.split(separator: "/").first { $0.hasSuffix("Tests") && $0 != "Tests" }
      guard let target, !list.contains(target), target != "TreeTests" else { continue }
      for name in names where file.code.contains(where: { $0.contains(name) }) {
        let isKnown = Self.realTimeElsewhere.contains(file.path)
        #expect(isKnown, "\(file.path) uses \(name); see real_time in ./test")
      }
    }
  }

  @Test("A suite in real time runs in one of the processes")
  func realTimeProcesses() throws {
    let script = try #require(SourceTree.load("test"))
    func pattern(_ name: String) throws -> NSRegularExpression {
      let line = try #require(script.lines.first { $0.hasPrefix("\(name)='") })
      return try NSRegularExpression(pattern: String(line.dropFirst(name.count + 2).dropLast()))
    }
    func matches(_ suite: String, _ name: String) throws -> Bool {
      let range = NSRange(suite.startIndex..., in: suite)
      return try pattern(name).firstMatch(in: suite, range: range) != nil
    }
    let processes = ["command_line", "pages", "examples", "apps"]
    var suites: [String: Int] = [:]
    for file in SourceTree.swiftFiles where file.path.hasPrefix("Tests/") {
      let parts = file.path.dropLast(".swift".count).split(separator: "/")
      guard let target = parts.first(where: { $0.hasSuffix("Tests") && $0 != "Tests" }),
        let suite = parts.last
      else { continue }
      let name = "\(target).\(suite)/test()"
      let found = try processes.filter { try matches(name, $0) }
      #expect(found.count <= 1, "\(name) runs in \(found)")
      for process in found {
        suites[process, default: 0] += 1
        #expect(try matches(name, "real_time"), "\(name) runs among the unit tests, too")
      }
    }
    #expect(Set(suites.keys) == Set(processes), "a process has no suite")
  }

  /// Waits without a limit of its own, so that a busy machine makes it slow and nothing else.
  private static let realTimeElsewhere: Set = [
    "Tests/ReactiveTests/Schedulers/ClockSchedulerTests.swift"
  ]

  @Test("A time limit of tests ends only what hangs")
  func timeLimits() {
    var count = 0
    for file in SourceTree.swiftFiles where file.path.hasPrefix("Tests/") {
      let limits = file.lines.joined(separator: "\n")
        .matches(of: #/\.timeLimit\(\s*\.minutes\(\s*([0-9]+)\)/#)
      for limit in limits {
        count += 1
        let isGenerous = Int(limit.1).map { $0 >= 5 } ?? false
        #expect(isGenerous, "\(file.path): a busy machine may need longer than \(limit.1) minutes")
      }
    }
    #expect(count > 100, "limits were not found")
  }

  @Test("no two public types of the package have one name")
  func uniquePublicTypes() {
    var modules: [String: Set<String>] = [:]
    for file in SourceTree.sources where file.path.hasPrefix("Sources/") {
      for name in file.publicTypes { modules[name, default: []].insert(file.module ?? "") }
    }
    #expect(modules.count > 300, "types were not found")
    for (name, modules) in modules where modules.count > 1 {
      Issue.record("\(name) is a type of \(modules.sorted())")
    }
  }

  @Test("A package type with inlinable functions is usable from inline")
  func inlinableTypes() {
    var count = 0
    for file in SourceTree.sources {
      var type: (name: String, isUsable: Bool)?
      for (index, line) in file.code.enumerated() {
        if !line.hasPrefix(" "), line.contains("{") {
          let isType =
            line.contains("package ")
            && ["struct ", "class ", "enum "].contains { line.contains($0) }
          let isUsable = index > 0 && file.code[index - 1].hasPrefix("@usableFromInline")
          type = isType ? (line, isUsable || line.hasPrefix("@usableFromInline")) : nil
        }
        guard let type, line.hasPrefix("  @inlinable") else { continue }
        count += 1
        #expect(type.isUsable, "\(file.path): \(type.name)")
      }
    }
    #expect(count > 5, "no function was found")
  }

  @Test("a file has at most 600 lines, unless it is a table")
  func fileSize() {
    for file in SourceTree.swiftFiles {
      let isTable = file.lines.prefix(5).contains { $0.hasPrefix("// Table") }
      #expect(isTable || file.lines.count <= 601, "\(file.path) has \(file.lines.count) lines")
    }
  }

  @Test("a function has at most 60 lines")
  func functionSize() {
    for file in SourceTree.swiftFiles {
      for function in file.functions where function.lineCount > 60 {
        Issue.record("\(file.path): \(function.name) has \(function.lineCount) lines")
      }
    }
  }

  @Test("nothing is left over: no notes to self, no disabled tests")
  func leftovers() {
    for file in SourceTree.swiftFiles {
      guard !file.path.hasPrefix("Tests/TreeTests/") else { continue }
      for (index, text) in file.lines.enumerated() {
        // Apple's name for the text of an empty field.
        let line = text.replacing("textInputPlaceholder", with: "")
        for word in ["TODO", "FIXME", "XXX", "HACK", ".disabled(", "Placeholder"]
        where line.contains(word) {
          Issue.record("\(file.path):\(index + 1) contains \(word)")
        }
      }
    }
  }

  @Test("unchecked concurrency and unsafe code have a reason beside them")
  func unprovenClaims() {
    for file in SourceTree.sources {
      for (index, line) in file.code.enumerated() {
        let claims = ["@unchecked Sendable", "nonisolated(unsafe)", "try!", "as!"]
        for claim in claims where line.contains(claim) {
          let context = file.lines[max(0, index - 8)...index]
          let isExplained = context.contains { $0.contains("//") }
          #expect(isExplained, "\(file.path):\(index + 1) claims \(claim) without a comment")
        }
      }
    }
  }

  @Test("the files that a new user looks for exist")
  func frontDoor() {
    for path in [
      "README.md", "LICENSE", "CONTRIBUTING.md", "CHANGELOG.md", ".ci/run", "run", "test",
      ".swift-format", "docs/architecture.md",
    ] {
      let file = SourceTree.root.appending(path: path).path
      #expect(FileManager.default.fileExists(atPath: file), "\(path) is missing")
    }
  }

  @Test("the function finder finds functions, so that the size test can fail")
  func functionFinder() {
    let text = """
      struct A {
        func long(
          x: Int
        ) {
          g()
        }
        func short() -> Int { 1 }
        func required()
        init(a: Int) { self.a = a }
      }
      """
    let lines = text.split(separator: "\n").map(String.init)
    #expect(SourceFile(path: "x.swift", lines: lines).functions.map(\.lineCount) == [5, 1, 1])
  }
}

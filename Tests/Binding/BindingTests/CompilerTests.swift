import Foundation
import Testing

/// What can only be tested of code that doesn't compile: that the white list is the compiler's, too.
@Suite("A declaration that isn't right")
struct CompilerTests {
  private static let modules = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent().appending(path: "Modules")

  /// Compiles a view model with one member declared.
  ///
  /// - Returns: The errors.
  private static func errors(_ member: String) throws -> String {
    let source = """
      import Binding
      import Reactive
      struct Row: Identifiable, Equatable, Sendable {
        var id: Int
        var name: String
        var extra = Plain()
      }
      struct Plain: Equatable, Sendable { var x = 1 }
      final class Model: ViewModel {
        let text = MutableProperty("")
        let derived: Property<Int> = Property(value: 1)
        let plain = MutableProperty(Plain())
        let rows = MutableProperty<[Row]>([])
        let numbers = MutableProperty<[Int]>([])
        let go: Action<Void, Void, Never> = Action { .empty }
        let take: Action<Plain, Void, Never> = Action { _ in .empty }
        static let bindings: Bindings<Model> = ["x": \(member)]
      }
      """
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "model.swift")
    try source.write(to: file, atomically: true, encoding: .utf8)
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [
      "swiftc", "-typecheck", "-swift-version", "6", "-I", modules.path, file.path,
    ]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return process.terminationStatus == 0 ? "" : text
  }

  @Test(
    "a wrong declaration doesn't compile",
    arguments: [
      (".twoWay(\\.derived)", "MutablePropertyProtocol"),
      (".twoWay(\\.nothing)", "no member 'nothing'"),
      (".oneWay(\\.plain)", "BindableValue"),
      (".action(\\.text)", "error"),
      (".action(\\.take)", "BindableValue"),
      (".list(\\.numbers, [:])", "Identifiable"),
      (".list(\\.rows, [\"name\": .value(\\.nothing)])", "no member 'nothing'"),
      (".list(\\.rows, [\"extra\": .value(\\.extra)])", "BindableValue"),
      (".list(\\.rows)", "ViewModel"),
    ])
  func refused(_ member: String, _ words: String) throws {
    let errors = try Self.errors(member)
    #expect(errors.contains("error:"), "\(member) compiles")
    #expect(errors.contains(words), "\(member): \(errors)")
  }

  @Test(
    "a correct declaration compiles",
    arguments: [
      ".twoWay(\\.text)", ".oneWay(\\.text)", ".oneWay(\\.derived)", ".oneWay(\\.numbers)",
      ".action(\\.go)", ".list(\\.rows, [\"name\": .value(\\.name)])",
    ])
  func accepted(_ member: String) throws {
    #expect(try Self.errors(member) == "")
  }
}

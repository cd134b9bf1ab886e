import ArgumentParser
import Foundation

/// A command that another program performs. That program parses the words after it, and has their help.
protocol ProgramCommand: ParsableCommand {
  /// The program, in the folder of `ambit`.
  static var program: String { get }
  /// What the program is for, in its errors.
  static var purpose: String { get }
  /// The words by which the program knows the command.
  static var path: [String] { get }
  var words: [String] { get }
}

extension ProgramCommand {
  func run() throws {
    try ProgramReplacement.execute(Self.program, Self.path + words, for: Self.purpose)
  }
}

/// Programs that perform commands of `ambit`, in the folder of `ambit`.
enum ProgramReplacement {
  /// Whether a program is where ``execute(_:_:for:)`` looks for it.
  static func isInstalled(_ name: String) -> Bool { access(path(of: name), X_OK) == 0 }

  /// The path of a program that may not be installed.
  static func path(of name: String) -> String {
    URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
      .deletingLastPathComponent().appending(path: name).path
  }

  /// Replaces this process by a program, so that signals, the terminal and the exit status are its own.
  ///
  /// - Throws: `CommandFailure` if it can't be executed.
  static func execute(_ name: String, _ arguments: some Sequence<String>, for what: String) throws {
    let program = path(of: name)
    // Options in place of the command line's, which C strings end with a null pointer.
    var words = ([program] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    execv(program, &words)
    let reason = String(cString: strerror(errno))
    throw CommandFailure(
      .failure,
      "the program of \(what), \(program), can't be started: \(reason); build the product \(name)")
  }
}

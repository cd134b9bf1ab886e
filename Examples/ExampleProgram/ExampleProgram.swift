import Foundation

/// What the examples that are programs have in common: a command line, and an end that says why.
public enum ExampleProgram {
  /// Runs a program to its end. Where it throws, it writes why to standard error and ends the process:
  /// with status 64 where the command line is wrong (`EX_USAGE` of `sysexits.h`), else with 1.
  ///
  /// - Parameter usage: What is written, too, where the command line is wrong.
  @MainActor
  public static func run(usage: String, _ body: @MainActor () async throws -> Void) async {
    do {
      try await body()
    } catch let error as UsageError {
      fail("\(error.reason)\n\(usage)", status: 64)
    } catch {
      fail("\(error)", status: 1)
    }
  }

  private static func fail(_ reason: String, status: Int32) -> Never {
    FileHandle.standardError.write(Data("\(reason)\n".utf8))
    exit(status)
  }
}

/// Why a program can't do what its command line says.
public struct UsageError: Error {
  /// For people.
  public let reason: String

  /// An error with its reason.
  public init(reason: String) { self.reason = reason }
}

/// What is still to be read of a command line.
public struct Arguments {
  private var rest: ArraySlice<String>

  /// A command line without the program's name.
  public init(_ arguments: some Sequence<String>) { rest = Array(arguments)[...] }

  /// The next one; nil at the end.
  public mutating func next() -> String? { rest.popFirst() }

  /// What stands behind the name of an option.
  public mutating func value(of name: String) throws(UsageError) -> String {
    guard let value = rest.popFirst() else { throw UsageError(reason: "\(name) needs a value.") }
    return value
  }
}

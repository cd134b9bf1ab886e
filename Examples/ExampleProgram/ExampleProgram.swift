import Foundation

/// The common part of the example programs: the command line, and an exit with an error message.
public enum ExampleProgram {
  /// Runs a program to its end. If it throws, writes the error to standard error and ends the
  /// process: with status 64 for a wrong command line (`EX_USAGE` of `sysexits.h`), otherwise with
  /// 1.
  ///
  /// - Parameter usage: Written, too, if the command line is wrong.
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

/// An error in the command line.
public struct UsageError: Error {
  /// For people.
  public let reason: String

  /// An error with its reason.
  public init(reason: String) { self.reason = reason }
}

/// The arguments of a command line that haven't been read yet.
public struct Arguments {
  private var rest: ArraySlice<String>

  /// A command line without the program's name.
  public init(_ arguments: some Sequence<String>) { rest = Array(arguments)[...] }

  /// The next one; nil at the end.
  public mutating func next() -> String? { rest.popFirst() }

  /// Takes the argument after an option's name.
  public mutating func value(of name: String) throws(UsageError) -> String {
    guard let value = rest.popFirst() else { throw UsageError(reason: "\(name) needs a value.") }
    return value
  }
}

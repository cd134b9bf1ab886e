import Foundation

/// The common part of the example programs: the command line, and an exit with an error message.
public enum ExampleProgram {
  /// Runs a program to its end. If it throws, writes the error to standard error and ends the
  /// process: with status 64 for a wrong command line (`EX_USAGE` of `sysexits.h`), otherwise with
  /// 1.
  ///
  /// Lines that it prints are written at once, also into a pipe or a file.
  ///
  /// - Parameter usage: Written, too, if the command line is wrong, and alone for `--help`.
  @MainActor
  public static func run(usage: String, _ body: @MainActor () async throws -> Void) async {
    guard !CommandLine.arguments.dropFirst().contains(where: { ["--help", "-h"].contains($0) })
    else { return print(usage) }
    StandardOutput.divideIntoLines()
    do {
      try await body()
    } catch let error as UsageError {
      fail("\(error.reason)\n\(usage)", status: 64)
    } catch {
      fail("\(error)", status: 1)
    }
  }

  /// Prints the address of a page.
  public static func open(_ address: String) { print("Open \(address)") }

  /// Ends a program that was built without the traits that it needs.
  ///
  /// - Parameter traits: The names of all traits, as `--traits` has them.
  public static func failWithout(traits: String) -> Never {
    fail("This program was built without its server. Run it with: --traits \(traits)", status: 1)
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

  /// The port that an argument names.
  public static func port(_ argument: String) throws(UsageError) -> Int {
    guard let port = UInt16(argument) else {
      throw UsageError(reason: "“\(argument)” is no port.")
    }
    return Int(port)
  }

  /// The error for an argument that the program doesn't have.
  public init(unknown argument: String) { reason = "There is no option “\(argument)”." }
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

import ExampleProgram
import Foundation

/// The command line.
struct Options: Sendable {
  /// The account's address; nil for the demonstration.
  var address: String?
  var port = 8_080
  var isTerminal = false
  var folder = URL(filePath: "messenger")
  /// A server to be used instead of those that the domain names.
  var server: (host: String, port: UInt16)?
  var authority: String?
  var allowsPrivateFiles = false
  /// Seconds that the people of the demonstration take for a step.
  var pause = 1.0

  static let usage = """
    messenger ADDRESS [OPTIONS], with the account's password in MESSENGER_PASSWORD, or messenger --demo
      --terminal        in this terminal instead of a page
      --port PORT       of the page; 8080, or 0 for a free one
      --folder FOLDER   where messages and files are kept; messenger
      --server HOST:PORT    a server to be used instead of those that the domain names
      --authority FILE      authorities that are trusted besides the system's
      --private-files       files may be in private networks
      --demo [--pause SECONDS]   two people that don't exist, who answer
    """

  init(_ arguments: some Sequence<String>) throws(UsageError) {
    var arguments = Arguments(arguments)
    var isDemo = false
    while let argument = arguments.next() {
      switch argument {
      case "--demo": isDemo = true
      case "--terminal": isTerminal = true
      case "--private-files": allowsPrivateFiles = true
      case "--folder": folder = URL(filePath: try arguments.value(of: argument))
      case "--authority": authority = try arguments.value(of: argument)
      case "--port":
        guard let port = UInt16(try arguments.value(of: argument)) else {
          throw UsageError(reason: "--port needs a number up to 65535.")
        }
        self.port = Int(port)
      case "--pause":
        guard let pause = Double(try arguments.value(of: argument)), (0...60).contains(pause) else {
          throw UsageError(reason: "--pause needs up to 60 seconds.")
        }
        self.pause = pause
      case "--server":
        let parts = try arguments.value(of: argument).split(separator: ":")
        guard parts.count == 2, let port = UInt16(parts[1]) else {
          throw UsageError(reason: "--server needs HOST:PORT.")
        }
        server = (String(parts[0]), port)
      default:
        guard argument.contains("@"), address == nil else {
          throw UsageError(unknown: argument)
        }
        address = argument
      }
    }
    guard isDemo == (address == nil) else {
      throw UsageError(reason: "Name an account, or use --demo.")
    }
  }
}

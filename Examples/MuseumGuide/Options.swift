import BluetoothHost
import Foundation

/// What the program was asked for.
struct Options: Sendable {
  var port = 8_080
  /// How much faster than the clock the simulated visitor is.
  var speed = 2.0
  /// A file of exhibits, with their pictures in the folder `pictures` beside it; nil for those that come
  /// with the program.
  var exhibits: String?
  /// A radio that hears real beacons; nil for the simulated visit.
  var radio: RadioSelection?

  static let usage = """
    museum-guide [PORT] [--speed FACTOR] [--exhibits FILE] [--radio NAME]
      --speed      how much faster than the clock the simulated visitor walks; 2
      --exhibits   a file with other exhibits; their pictures are in the folder pictures beside it
      --radio      no simulated visitor, but the beacons around: hci0, for example
    """

  init(_ arguments: some Sequence<String>) throws(UsageError) {
    var arguments = Array(arguments)[...]
    while let argument = arguments.popFirst() {
      switch argument {
      case "--speed":
        let text = try Self.value(&arguments, of: argument)
        guard let speed = Double(text), (0.1...100).contains(speed) else {
          throw UsageError(reason: "A speed is a number from 0.1 to 100.")
        }
        self.speed = speed
      case "--exhibits": exhibits = try Self.value(&arguments, of: argument)
      case "--radio":
        let name = try Self.value(&arguments, of: argument)
        do throws(RadioChoiceError) {
          radio = try RadioSelection.select(named: name)
        } catch {
          throw UsageError(reason: "\(error)")
        }
      default:
        guard let port = UInt16(argument) else {
          throw UsageError(reason: "What is “\(argument)”?\n\(Self.usage)")
        }
        self.port = Int(port)
      }
    }
  }

  private static func value(
    _ arguments: inout ArraySlice<String>, of name: String
  ) throws(UsageError) -> String {
    guard let value = arguments.popFirst() else {
      throw UsageError(reason: "\(name) needs a value.\n\(usage)")
    }
    return value
  }
}

/// Why the program can't do what its command line says.
struct UsageError: Error {
  var reason: String
}

import BluetoothHost
import ExampleProgram

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
    var arguments = Arguments(arguments)
    while let argument = arguments.next() {
      switch argument {
      case "--speed":
        let text = try arguments.value(of: argument)
        guard let speed = Double(text), (0.1...100).contains(speed) else {
          throw UsageError(reason: "A speed is a number from 0.1 to 100.")
        }
        self.speed = speed
      case "--exhibits": exhibits = try arguments.value(of: argument)
      case "--radio":
        let name = try arguments.value(of: argument)
        do throws(RadioChoiceError) {
          radio = try RadioSelection.select(named: name)
        } catch {
          throw UsageError(reason: "\(error)")
        }
      default:
        guard let port = UInt16(argument) else {
          throw UsageError(unknown: argument)
        }
        self.port = Int(port)
      }
    }
  }
}

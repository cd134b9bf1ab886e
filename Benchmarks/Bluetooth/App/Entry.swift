// An app as people write them, on either side of Core Bluetooth's public API and of nothing else:
//   bluetooth-benchmark-app peripheral main|own
//   bluetooth-benchmark-app central JOB main|own SECONDS
// The radio is the one that AMBIT_RADIO names. `main` calls the delegate on the main queue, `own` on a
// queue of its own.
import Foundation

@main
struct Entry {
  static func main() {
    let arguments = CommandLine.arguments.dropFirst().map { $0 }
    switch arguments.first {
    case "peripheral" where arguments.count == 2:
      run(PeripheralApp(queue: queue(arguments[1])))
    case "central" where arguments.count == 4:
      guard let job = CentralApp.Job(rawValue: arguments[1]), let seconds = Double(arguments[3])
      else { fail("There is no job \(arguments[1]) of \(arguments[3]) s.") }
      run(CentralApp(job, seconds: seconds, queue: queue(arguments[2])))
    default: fail("Usage: peripheral main|own, central JOB main|own SECONDS")
    }
  }

  private static func queue(_ name: String) -> DispatchQueue? {
    name == "main" ? nil : DispatchQueue(label: "app")
  }

  private static func run(_ app: AnyObject) {
    withExtendedLifetime(app) { RunLoop.main.run() }
  }
}

/// Prints a line at once, also into a pipe.
func say(_ line: String) {
  print(line)
  fflush(nil)
}

/// Ends the app with a sentence on standard error.
func fail(_ sentence: String) -> Never {
  FileHandle.standardError.write(Data("\(sentence)\n".utf8))
  exit(1)
}

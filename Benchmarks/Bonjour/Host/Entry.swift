import DNSWire
import Essentials
import Glibc

/// One process of the benchmarks: a host that is measured, or one that generates load. It prints
/// its events in lines of words; `Benchmarks/run bonjour` starts the processes.
///
/// Times are nanoseconds of the monotonic clock, which is the same in all processes.
@main
struct Entry {
  static func main() async {
    var words = Words(CommandLine.arguments.dropFirst())
    do {
      switch words.next() {
      case "publish": try await register(&words)
      case "browse": try await browse(&words)
      case "hub": try await serve(&words)
      case "count": try count(&words)
      case "ask": try ask(&words)
      case "echo": try echo(&words)
      case "flood": try flood(&words)
      default: throw Misuse()
      }
    } catch {
      say("failed", "\(error)")
      exit(1)
    }
  }
}

/// The words of a command.
struct Words {
  private var rest: ArraySlice<String>

  init(_ words: ArraySlice<String>) { rest = words }

  mutating func next() -> String? { rest.popFirst() }

  mutating func required() throws(Misuse) -> String {
    guard let word = rest.popFirst() else { throw Misuse() }
    return word
  }

  mutating func number() throws(Misuse) -> Int {
    guard let number = Int(try required()) else { throw Misuse() }
    return number
  }
}

/// The command doesn't exist.
struct Misuse: Error {}

/// Writes a line at once.
func say(_ words: String...) {
  let line = Array((words.joined(separator: " ") + "\n").utf8)
  write(STDOUT_FILENO, line, line.count)
}

/// Waits until the parent process writes a line; exits at the end of input.
func awaitLine() -> String {
  guard let line = readLine() else { exit(0) }
  return line
}

enum Clock {
  static var nanoseconds: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}

import ArgumentParser
import BluetoothHost
import Essentials
import Foundation
import Simulation

/// Radios: which there are, and a simulated one for others.
struct Radio: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List the radios that can be used, or serve a simulated one.",
    subcommands: [RadioList.self],
    defaultSubcommand: RadioList.self)
}

/// Lists radios.
struct RadioList: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the radios that this machine has.",
    discussion: """
      EXAMPLES:
        ambit radio list
        ambit radio list --json
      """)

  @OptionGroup var options: GlobalOptions

  func run() async throws {
    let output = Output(isJSON: options.json)
    let chosen = try options.radioChoice()
    var radios = RadioText.found()
    if !radios.contains(where: { $0.choice == chosen }) {
      radios.append((chosen, RadioText.title(chosen)))
    }
    for (choice, title) in radios {
      let isChosen = choice == chosen
      if output.isJSON {
        output.object(
          .object([
            "event": .string("radio"), "radio": .string(choice.description),
            "title": .string(title), "chosen": .bool(isChosen),
          ]))
      } else {
        output.line("\(isChosen ? "*" : " ") \(Fit.column(choice.description, 28)) \(title)")
      }
    }
  }
}

/// What radios are called.
enum RadioText {
  /// The radio that a text names.
  static func choice(_ text: String) throws -> RadioChoice {
    do {
      return try RadioChoice(parsing: text)
    } catch {
      throw CommandFailure(.usage, error.description.trimmingSuffix("."))
    }
  }

  static func title(_ choice: RadioChoice) -> String {
    switch choice {
    case .simulated(let air): air.isPopulated ? "simulated radio" : "simulated radio, empty air"
    case .tcp(let host, let port): "controller at \(host):\(port)"
    case .unix(let path): "controller at \(path)"
    case .uart(let line): "controller on \(line.path)"
    case .hci(let index): "Linux controller hci\(index)"
    }
  }

  /// The simulated radio, the kernel's controllers and the serial lines of this machine.
  static func found() -> [(choice: RadioChoice, title: String)] {
    var radios: [(choice: RadioChoice, title: String)] = [(.standard, title(.standard))]
    for name in entries("/sys/class/bluetooth") {
      guard let choice = try? RadioChoice(parsing: name) else { continue }
      radios.append((choice, title(choice)))
    }
    for name in entries("/dev") where name.hasPrefix("ttyUSB") || name.hasPrefix("ttyACM") {
      guard let choice = try? RadioChoice(parsing: "uart:/dev/\(name)") else { continue }
      radios.append((choice, "serial line; a controller may be on it"))
    }
    return radios
  }

  private static func entries(_ path: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
  }
}

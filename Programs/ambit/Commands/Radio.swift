import ArgumentParser
import BluetoothHost
import BluetoothWire
import Essentials
import Foundation
import JSONWire
import SimulatedRadio
import Simulation

/// Radios: which there are, and a simulated one for others.
struct Radio: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List the radios that can be used, or serve a simulated one.",
    subcommands: [RadioList.self, RadioServe.self],
    defaultSubcommand: RadioList.self)
}

/// Lists radios.
struct RadioList: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the radios that this machine has.",
    discussion: """
      The radio that commands use is marked. Where that is a hub's, the hub is listed, too.

      EXAMPLES:
        ambit radio list
        ambit radio list --json
      """)

  @OptionGroup var options: GlobalOptions

  func run() async throws {
    let output = Output(isJSON: options.json)
    let hub = try options.hubPath()
    let bluez = hub == nil ? try await options.usedBlueZName() : nil
    let chosen: RadioChoice?
    do {
      chosen = hub == nil && bluez == nil ? try options.radioChoice() : nil
    } catch let failure as CommandFailure where failure.status == .noRadio {
      chosen = nil
    }
    var radios = RadioText.found()
    if let chosen, !radios.contains(where: { $0.choice == chosen }) {
      radios.append((chosen, RadioText.title(chosen)))
    }
    if let hub { Self.report("hub:" + hub, "hub", "radio of the hub at \(hub)", output) }
    if let bluez { Self.report(bluez, bluez, "bluetoothd's adapter", output) }
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

  /// Reports the radio that is chosen, and is not a controller of this process.
  ///
  /// - Parameters:
  ///   - radio: The radio in JSON.
  ///   - name: Its name for people.
  ///   - title: Its title.
  private static func report(_ radio: String, _ name: String, _ title: String, _ output: Output) {
    guard output.isJSON else {
      return output.line("* \(Fit.column(name, 28)) \(Fit.safe(title))")
    }
    output.object(
      .object([
        "event": .string("radio"), "radio": .string(radio), "title": .string(title),
        "chosen": .bool(true),
      ]))
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
    case .simulated(let air):
      if !air.files.isEmpty {
        "simulated radio with \(air.files.joined(separator: ", "))"
      } else {
        air.isPopulated ? "simulated radio" : "simulated radio, empty air"
      }
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

/// Serves a simulated radio.
struct RadioServe: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract:
      "Serve a simulated radio: every host that connects gets a controller on the same air.",
    discussion: """
      Speaks H4 (Core Specification, Volume 4, Part A), as Bumble, rootcanal's clients and \
      "ambit --radio tcp:…" do. Runs until Ctrl-C or --timeout.

      EXAMPLES:
        ambit radio serve                        on tcp:localhost:9100
        ambit radio serve tcp:0.0.0.0:9100 unix:/tmp/radio
        ambit radio serve --radio sim:empty      no devices but those that connect
        ambit radio serve --radio sim:floor.json a floor with walls, beacons and people; each
                                                 receiver has its own port, counting up from this
        ambit radio serve tcp:localhost:9100 tcp:localhost:9101
                                                 two hosts, each of which keeps its address when
                                                 it or the server is started again
        ambit --radio tcp:localhost:9100         (elsewhere) join
        ambit radio serve --air-capture air.pcap packets of connections, for Wireshark; encrypted
                                                 if the link is (see "ambit bonds decrypt")
      """)

  @OptionGroup var options: GlobalOptions

  @Argument(help: "Where to listen: tcp:HOST:PORT or unix:PATH; several are allowed.")
  var address: [String] = ["tcp:localhost:9100"]

  @Option(
    help: "Write the packets of simulated connections to a file for Wireshark.",
    completion: .file())
  var airCapture: String?

  func run() async throws {
    let end = ContinuousClock.now + (options.timeout?.duration ?? .seconds(366 * 24 * 3600))
    Output.limitWaiting(after: options.timeout?.duration)
    let output = Output(isJSON: options.json)
    let addresses = try address.map(Self.listenAddress)
    guard case .simulated(let air) = try options.radioChoice() else {
      throw CommandFailure(.usage, "only a simulated radio can be served: sim or sim:empty")
    }
    let recorder = try airCapture.map { try AirRecorder(path: $0) }
    let server = try await Self.serve(addresses, output) {
      // Its files were read when it was chosen; one that is gone since then is left out.
      let world = (try? air.makeWorld()) ?? World(seed: air.seed)
      recorder?.record(world)
      return world
    }
    try? await Task.sleep(until: end)
    await server.close()
  }

  /// Serves a world, and prints the addresses.
  static func serve(
    _ addresses: [RadioChoice], _ output: Output, makeWorld: @escaping @Sendable () -> World
  ) async throws -> RadioServer {
    let server: RadioServer
    do throws(RadioServerError) {
      server = try await RadioServer.start(at: addresses, makeWorld: makeWorld) {
        report($0, output)
      }
    } catch {
      throw CommandFailure(.radioUnavailable, error.description.trimmingSuffix("."))
    }
    for (index, address) in server.addresses.enumerated() {
      let places = server.placeNames
      report(address, places.isEmpty ? nil : places[index % places.count], output)
    }
    return server
  }

  /// Port 0 names no radio to connect to, but lets the system choose where to listen.
  static func listenAddress(_ text: String) throws -> RadioChoice {
    guard text.hasPrefix("tcp:"), text.hasSuffix(":0"),
      case .tcp(let host, _) = try RadioText.choice(text.dropLast() + "1")
    else { return try RadioText.choice(text) }
    return .tcp(host: host, port: 0)
  }

  private static func report(_ address: RadioChoice, _ place: String?, _ output: Output) {
    if output.isJSON {
      output.object(
        .object([
          "event": .string("serving"), "radio": .string(address.description),
          "place": place.map { .string($0) },
        ]))
    } else {
      output.line("Serving \(address)" + (place.map { ", at \(Fit.safe($0))" } ?? ""))
    }
  }

  private static func report(_ event: RadioServer.Event, _ output: Output) {
    switch event {
    case .connected(let controller, let address):
      if output.isJSON {
        return output.object(
          .object([
            "event": .string("hostConnected"), "controller": .string(controller),
            "address": .string(address.description),
          ]))
      }
      output.line("\(controller) connected, address \(address)")
    case .disconnected(let controller, let reason):
      if output.isJSON {
        return output.object(
          .object([
            "event": .string("hostDisconnected"), "controller": .string(controller),
            "reason": .string(reason),
          ]))
      }
      output.line("\(controller) disconnected: \(reason)")
    case .refused(let reason):
      if output.isJSON {
        return output.object(
          .object(["event": .string("hostRefused"), "reason": .string(reason)]))
      }
      output.line("A host was rejected: \(reason)")
    }
  }
}

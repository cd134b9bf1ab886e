import ArgumentParser
import BluetoothWire
import Essentials
import Foundation
import JSONWire
import SimulatedRadio
import Simulation

/// Lets hosts hear again what receivers heard.
struct TraceReplay: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "replay",
    abstract: "Serve a radio for each receiver of a trace, which replays its advertisements.",
    discussion: """
      Each receiver of the trace has its own radio, at successive ports from the first on. Other \
      commands use it like the radios with which the trace was recorded. It begins when the first \
      of them scans, and plays once. A btsnoop capture is the trace of one receiver, named after \
      the file; several captures are aligned by their times. Beacons whose name in the trace is not \
      UUID/MAJOR/MINOR@POWER are replayed as iBeacons, which are printed at the start.

      EXAMPLES:
        ambit trace replay day.csv
        ambit trace replay hall.btsnoop cellar.btsnoop --listen unix:/tmp/day
        ambit beacons --radio tcp:localhost:9100            (elsewhere)
        ambit locate --map map.json --receiver hall=tcp:localhost:9100 \\
          --receiver cellar=tcp:localhost:9101 --beacon E2C56DB5-DFFB-48D2-B060-D0F5A71096E0/1/7
      """)

  @OptionGroup var options: RunOptions

  @Option(
    help: ArgumentHelp("Where the first receiver's radio is.", valueName: "radio"))
  var listen = "tcp:localhost:9100"

  @Argument(help: "The traces or captures.", completion: .file())
  var files: [String]

  func run() async throws {
    let end = ContinuousClock.now + (options.timeout?.duration ?? .seconds(366 * 24 * 3600))
    Output.limitWaiting(after: options.timeout?.duration)
    let output = Output(isJSON: options.json)
    let trace = try TraceRecording(files, reportingTo: output)
    let recording = trace.recording
    for (name, beacon) in trace.standIns {
      output.note(
        "\(Fit.safe(name)) is replayed as \(beacon.uuid.fullDescription)/\(beacon.major)/\(beacon.minor)."
      )
    }
    if trace.skippedCount > 0 {
      output.note(
        "\(trace.skippedCount) advertisements are left out: only legacy ones are replayed.")
    }
    let server = try await RadioServe.serve([try RadioServe.listenAddress(listen)], output) {
      let world = World(seed: 1)
      world.replay(recording) {
        if output.isJSON {
          output.object(.object(["event": .string("replayed")]))
        } else {
          output.line("The trace is over.")
        }
      }
      return world
    }
    try? await Task.sleep(until: end)
    await server.close()
  }
}

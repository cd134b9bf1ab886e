import ArgumentParser
import BluetoothHost
import CoreBluetooth
import CoreBluetoothAsync
import Foundation
import JSONWire

/// Writes all HCI traffic of a scan to a file.
struct Capture: RadioCommand {
  static let configuration = CommandConfiguration(
    abstract: "Scan, and write all traffic with the radio to a file for Wireshark.",
    discussion: """
      Runs until Ctrl-C or --timeout. The file is in btsnoop format, or in pcapng if its name ends so; \
      Wireshark and tshark open both. An existing file is replaced. Other commands write a capture too, if \
      the environment variable AMBIT_CAPTURE names a file.

      As a live source of Wireshark: put a script into its folder for extcap programs (Help, About \
      Wireshark, Folders), with the lines "#!/bin/sh" and "exec ambit capture \"$@\"", and make it \
      executable. Then "Bluetooth LE (Ambit)" is among its interfaces.

      EXAMPLES:
        ambit capture air.btsnoop --timeout 30
        tshark -r air.btsnoop
      """)

  @OptionGroup var options: GlobalOptions

  @OptionGroup(visibility: .hidden) var extcap: ExtcapOptions

  @Argument(help: "The file to write.", completion: .file())
  var file: String?

  var capturePath: String? { extcap.fifo.map { "pcapng:" + $0 } ?? file }

  func validate() throws {
    guard file != nil || extcap.isRequest else {
      throw ValidationError("Name the file to write.")
    }
  }

  func run() async throws {
    if let lines = extcap.answer {
      for line in lines { Output(isJSON: false).line(line) }
    } else {
      try await runWithRadio()
    }
  }

  func run(_ session: Session) async throws {
    do {
      try await capture(session)
    } catch {
      // Wireshark closes its pipe to end the capture.
      guard extcap.fifo != nil, session.host.own?.captureFailure != nil else { throw error }
    }
  }

  private func capture(_ session: Session) async throws {
    let central = try await session.central()
    let count = Guarded(0)
    let file = file ?? "The capture"
    try await session.untilTime {
      try await session.whileRadioWorks(central) {
        for await _ in central.scan(allowDuplicates: true) {
          let heard = count.update { count in
            count += 1
            return count
          }
          if heard % 10 == 1 {
            session.output.progress("Writing \(file): \(heard) advertisements …")
          }
        }
        try await session.scanEnded(central)
      }
    }
    // What ended it then is not for this command to report as done.
    if let failure = session.host.own?.captureFailure { throw CommandFailure(failure) }
    guard extcap.fifo == nil else { return }
    if session.output.isJSON {
      session.output.object(
        .object([
          "event": .string("captured"), "file": .string(file),
          "advertisements": .integer(Int64(count.value)),
        ]))
    } else {
      session.output.note("\(file) holds \(count.value) advertisements.")
    }
  }
}

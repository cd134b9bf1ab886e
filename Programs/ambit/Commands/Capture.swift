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
      Runs until Ctrl-C or --timeout. The file is in btsnoop format, which Wireshark and tshark \
      open; an existing file is replaced. Other commands write a capture too, if the environment \
      variable AMBIT_CAPTURE names a file.

      EXAMPLES:
        ambit capture air.btsnoop --timeout 30
        tshark -r air.btsnoop
      """)

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The file to write.", completion: .file())
  var file: String

  var capturePath: String? { file }

  func run(_ session: Session) async throws {
    let central = try await session.central()
    let count = Guarded(0)
    let file = file
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

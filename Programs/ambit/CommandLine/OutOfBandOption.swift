import ArgumentParser
import BluetoothInterface
import BluetoothWire
import Essentials

/// What `--oob` takes: out-of-band data as hexadecimal digits, most significant first.
struct OutOfBandOption: ExpressibleByArgument {
  let data: OutOfBandData

  init?(argument: String) {
    let parts = argument.split(separator: ":", omittingEmptySubsequences: false)
    let values = parts.compactMap { Hexadecimal.bytes(String($0)) }.compactMap { SMPValue($0) }
    guard values.count == parts.count else { return nil }
    switch values.count {
    case 1: data = .legacy(temporaryKey: values[0])
    case 2: data = .secureConnections(confirm: values[0], random: values[1])
    default: return nil
    }
  }
}

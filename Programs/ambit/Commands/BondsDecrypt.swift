import ArgumentParser
import BluetoothHost
import BluetoothMachines
import BluetoothWire
import Essentials
import Foundation
import Glibc
import JSONWire

/// Decrypts a recording of the air with the keys of bonds.
struct BondsDecrypt: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "decrypt",
    abstract: "Decrypt a capture of the air with the keys of the bonds, for Wireshark.",
    discussion: """
      Reads a file of "ambit radio serve --air-capture", or any capture of Bluetooth LE connections \
      in libpcap's format with data link type 256, and writes the same packets decrypted, if the \
      capture includes the start of encryption and a key matches. The result contains the devices' \
      traffic in plain text.

      EXAMPLES:
        ambit radio serve --air-capture air.pcap
        ambit bonds decrypt air.pcap plain.pcap
        tshark -r plain.pcap -Y btatt
        ambit bonds decrypt air.pcap plain.pcap --key 8e4d1fa2c3b45d60718293a4b5c6d7e8
      """)

  @OptionGroup var options: BondOptions

  @Option(
    help: ArgumentHelp(
      "A long term key, 32 hexadecimal digits, most significant first; instead of the bonds' keys.",
      valueName: "digits"))
  var key: [String] = []

  @Argument(help: "The capture.", completion: .file())
  var file: String

  @Argument(help: "The file to write; only you may read it.", completion: .file())
  var result: String

  func validate() throws {
    for text in key where Self.key(text) == nil {
      throw ValidationError("\"\(text)\" is no key of 32 hexadecimal digits.")
    }
  }

  private static func key(_ text: String) -> SMPValue? {
    Hexadecimal.bytes(text).flatMap { SMPValue($0) }
  }

  func run() async throws {
    var keys = key.compactMap(Self.key)
    if key.isEmpty {
      let place = try await options.place()
      let bonds = try place.withStore { store throws(BondStoreError) in try store.load() }
      keys = bonds.flatMap { [$0.centralKey?.value, $0.peripheralKey?.value].compactMap(\.self) }
    }
    guard let data = FileManager.default.contents(atPath: file) else {
      throw CommandFailure(.noInput, "\"\(file)\" cannot be read")
    }
    var decryption = LinkDecryption(keys: keys)
    var written = LinkLayerCapture.header
    var counts = (packets: 0, decrypted: 0)
    do {
      let bytes = [UInt8](data)
      var reader = try LinkLayerCapture.Reader(bytes[...])
      while let packet = try reader.next() {
        let plain = decryption.decrypted(packet)
        counts.packets += 1
        if plain.isDecrypted { counts.decrypted += 1 }
        written += LinkLayerCapture.record(plain)
      }
    } catch {
      throw CommandFailure(.badData, "\"\(file)\" is no capture of the air, or is cut: \(error)")
    }
    try write(written)
    report(counts.packets, counts.decrypted, decryption.failureCount)
  }

  private func write(_ bytes: [UInt8]) throws {
    do throws(CaptureError) {
      let file = try CaptureFile.open(result)
      defer { close(file) }
      try CaptureFile.write(bytes, to: file, path: result)
    } catch {
      throw CommandFailure(error)
    }
  }

  private func report(_ packets: Int, _ decrypted: Int, _ failed: Int) {
    let output = Output(isJSON: options.json)
    guard !options.json else {
      return output.object(
        .object([
          "event": .string("decrypted"), "file": .string(result),
          "packets": .integer(Int64(packets)), "decrypted": .integer(Int64(decrypted)),
          "undecrypted": .integer(Int64(failed)),
        ]))
    }
    output.note(
      "\(result) holds \(packets) packets, of which \(decrypted) were encrypted"
        + (failed == 0 ? "." : ", and \(failed) that no key decrypted."))
  }
}

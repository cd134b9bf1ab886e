package import ArgumentParser
import BluetoothHost
import BluetoothMachines
import BluetoothWire
import Foundation
import PeripheralFiles

/// What every command that uses a radio takes.
package struct GlobalOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The radio: sim, sim:empty, sim:seed=7, sim:lossless, sim:FILE.json, tcp:HOST:PORT, "
        + "unix:PATH, hci0, bluez or bluez:hci0 (bluetoothd's, without root), "
        + "uart:DEVICE@BAUD; none: no radio, so that a service never gets simulated devices, and "
        + "fails with status 78. Default: that of the hub whose socket AMBIT_HUB names, else AMBIT_RADIO, "
        + "else that of a running hub, else the first controller that can be opened, else bluetoothd's if it is on, "
        + "else sim; each command reports which of the last two it is.",
      valueName: "radio"))
  var radio: String?

  @Option(
    help: ArgumentHelp(
      "This host's own address: private, which changes and which only bonded devices can resolve; controller, "
        + "the controller's own; or a random static one, as in C4:12:34:56:78:9A. Default: "
        + "AMBIT_ADDRESS, else private, or controller on the simulated radio.",
      valueName: "address"))
  package var address: String?

  @Option(
    help: ArgumentHelp(
      "Whether to pair with a device that has protected values: never; auto, by Just Works or with a "
        + "passkey or a number in this terminal; ask, only after consent in this terminal. After "
        + "commas: authenticated, without Just Works; secure-connections, without legacy pairing; "
        + "replace=never, ask or always, for bonds by Just Works; debug-keys. Default: AMBIT_PAIRING, "
        + "else auto.",
      valueName: "policy"))
  package var pair: String?

  @Option(
    help: ArgumentHelp(
      "Out-of-band data of the device to connect to, in hexadecimal digits: "
        + "CONFIRM:RANDOM for LE Secure Connections, or the temporary key for legacy pairing.",
      valueName: "data"))
  var oob: OutOfBandOption?

  @OptionGroup var run: RunOptions

  package init() {}

  var timeout: Seconds? { run.timeout }
  package var json: Bool { run.json }

  /// Whether neither an option nor the environment names a radio.
  var namesNoRadio: Bool {
    radio == nil && (ProcessInfo.processInfo.environment["AMBIT_RADIO"] ?? "").isEmpty
  }

  /// The radio that is meant.
  func radioChoice() throws -> RadioChoice { try radioSelection().radio }

  /// The radio that is meant, and why it is the one.
  func radioSelection() throws -> RadioSelection {
    let selection: RadioSelection
    do throws(RadioChoiceError) {
      selection = try .select(named: radio ?? ProcessInfo.processInfo.environment["AMBIT_RADIO"])
    } catch {
      throw CommandFailure(
        error.isNoRadio ? .noRadio : .usage, error.description.trimmingSuffix("."))
    }
    // A mistake in a file is an error of its own, not of the radio.
    if case .simulated(let air) = selection.radio {
      for path in air.files { _ = try SimulationFile.load(path) }
    }
    return selection
  }

  /// Chooses the pairings that the host accepts.
  func choosePairing(of configuration: inout HostConfiguration) throws {
    let environment = ProcessInfo.processInfo.environment["AMBIT_PAIRING"] ?? ""
    do throws(PairingChoiceError) {
      try configuration.choosePairing(named: pair ?? (environment.isEmpty ? nil : environment))
    } catch {
      throw CommandFailure(.usage, error.description.trimmingSuffix("."))
    }
  }

  /// Chooses the host's address.
  ///
  /// - Parameter fileAddress: The address in a peripheral file, where neither an option nor the
  ///   environment names one.
  func chooseAddress(
    of configuration: inout HostConfiguration, orIn fileAddress: DeviceAddress?,
    on radio: RadioChoice
  ) throws {
    let environment = ProcessInfo.processInfo.environment["AMBIT_ADDRESS"] ?? ""
    let name = address ?? (environment.isEmpty ? nil : environment)
    if name == nil, let fileAddress {
      configuration.address = fileAddress
      return
    }
    do throws(HostAddressError) {
      try configuration.chooseAddress(named: name, on: radio)
    } catch {
      throw CommandFailure(.usage, error.description.trimmingSuffix("."))
    }
  }
}

import BluetoothInterface
import BluetoothMachines
import Essentials
import EventLoop
import Glibc
package import Logging

extension BluetoothHost {
  /// The host that `AMBIT_RADIO`, `AMBIT_ADDRESS`, `AMBIT_PAIRING`, `AMBIT_AUTHORIZATION` and
  /// `AMBIT_CAPTURE` describe.
  static func fromEnvironment() -> BluetoothHost {
    make(
      radio: ProcessEnvironment.value("AMBIT_RADIO"),
      address: ProcessEnvironment.value("AMBIT_ADDRESS"),
      pairing: ProcessEnvironment.value("AMBIT_PAIRING"),
      authorization: ProcessEnvironment.value("AMBIT_AUTHORIZATION"),
      capturePath: ProcessEnvironment.value("AMBIT_CAPTURE"),
      logger: .bluetooth)
  }

  static func make(
    radio name: String?, address: String? = nil, pairing: String? = nil,
    authorization: String? = nil, capturePath: String?, logger: Logger
  ) -> BluetoothHost {
    if let refusal = BluetoothAuthorization.refusal(named: authorization) {
      return unavailable(.unauthorized(refusal), logger: logger)
    }
    var configuration = HostConfiguration()
    let selection: RadioSelection
    do {
      selection = try RadioSelection.select(named: name)
    } catch {
      return unavailable(.unsupported("AMBIT_RADIO: \(error)"), logger: logger)
    }
    do {
      try configuration.chooseAddress(named: address, on: selection.radio)
    } catch {
      return unavailable(.unsupported("AMBIT_ADDRESS: \(error)"), logger: logger)
    }
    do {
      try configuration.choosePairing(named: pairing)
    } catch {
      return unavailable(.unsupported("AMBIT_PAIRING: \(error)"), logger: logger)
    }
    report(selection, to: logger)
    let bondPath = bondPath(for: selection.radio, logger: logger)
    do {
      return try BluetoothHost(
        selection, configuration: configuration, captureTo: capturePath, bondsIn: bondPath,
        logger: logger)
    } catch {
      // A run without its capture is better than no run.
      logger.error("AMBIT_CAPTURE: \(error)")
      return BluetoothHost(
        selection, configuration: configuration, random: .random(), loop: RealTimeLoop(),
        security: .real(bonds: bondPath.map { BondStore(path: $0) }), logger: logger,
        makeTransport: selection.radio.transportFactory(on: .shared))
    }
  }

  /// Where bonds are kept; without such a place they end with the host.
  private static func bondPath(for radio: RadioChoice, logger: Logger) -> String? {
    do throws(BondStoreError) {
      return try BondStore.defaultPath(for: radio)
    } catch {
      logger.error("\(error)")
      return nil
    }
  }

  /// Logs which radio is used, if no radio was named.
  private static func report(_ selection: RadioSelection, to logger: Logger) {
    switch selection.origin {
    case .named: break
    case .detected: logger.info("The radio is \(selection.radio).")
    case .fallback(let reason) where selection.isSimulatedByDefault:
      logger.notice(
        """
        The radio is simulated, and so are the devices around it: \(reason) AMBIT_RADIO chooses \
        another radio, or "sim" without this message.
        """)
    case .fallback: break  // The host's problem says the same.
    }
  }

  /// A host that can't be used, with the error as its problem.
  private static func unavailable(_ error: HostError, logger: Logger) -> BluetoothHost {
    BluetoothHost(
      RadioSelection(.standard), configuration: HostConfiguration(),
      random: SeededGenerator(seed: 0), loop: RealTimeLoop(), logger: logger
    ) { UnavailableTransport(error) }
  }
}

extension BondStore {
  /// The default path of the bonds on this radio: the value of `AMBIT_BONDS`, or else
  /// ``defaultPath()``. Nil for the simulated radio, whose devices are new in each run, unless
  /// `AMBIT_BONDS` is set.
  public static func defaultPath(for radio: RadioChoice) throws(BondStoreError) -> String? {
    if let path = ProcessEnvironment.value("AMBIT_BONDS") { return path }
    if case .simulated = radio { return nil }
    return try defaultPath()
  }
}

extension Logger {
  /// The logger of hosts that are created without one. It is created on each access, so that it
  /// uses the log handler that the app has set with `LoggingSystem.bootstrap`.
  package static var bluetooth: Logger { Logger(label: "ambit.bluetooth") }
}

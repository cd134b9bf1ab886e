import BluetoothMachines
import Essentials
import EventLoop
import Glibc

extension BluetoothHost {
  /// The host that `AMBIT_RADIO`, `AMBIT_ADDRESS` and `AMBIT_CAPTURE` describe.
  static func fromEnvironment() -> BluetoothHost {
    make(
      radio: environment("AMBIT_RADIO"), address: environment("AMBIT_ADDRESS"),
      capturePath: environment("AMBIT_CAPTURE"), log: logToStandardError)
  }

  static func make(
    radio name: String?, address: String? = nil, capturePath: String?,
    log: @escaping @Sendable (String) -> Void
  ) -> BluetoothHost {
    var configuration = HostConfiguration()
    let radio: RadioChoice
    do {
      radio = try name.map { try RadioChoice(parsing: $0) } ?? .standard
    } catch {
      return unavailable("AMBIT_RADIO: \(error)", log: log)
    }
    do {
      configuration.address = try address.map { try HostConfiguration.address(parsing: $0) }
    } catch {
      return unavailable("AMBIT_ADDRESS: \(error)", log: log)
    }
    do {
      return try BluetoothHost(
        radio: radio, configuration: configuration, captureTo: capturePath, log: log)
    } catch {
      // A run without its capture is better than no run.
      log("AMBIT_CAPTURE: \(error)")
      let loop = EventLoopClock.shared()
      return BluetoothHost(
        radio: radio, configuration: configuration, chance: .random(), loop: loop, log: log,
        makeTransport: radio.transportMaker(on: loop))
    }
  }

  /// A host that only says why it cannot be used.
  private static func unavailable(
    _ sentence: String, log: @escaping @Sendable (String) -> Void
  ) -> BluetoothHost {
    BluetoothHost(
      radio: .standard, configuration: HostConfiguration(), chance: SeededGenerator(seed: 0),
      loop: EventLoopClock.shared(), log: log
    ) { UnavailableTransport(.unsupported(sentence)) }
  }

  private static func environment(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    let text = unsafe String(cString: value)
    return text.isEmpty ? nil : text
  }

  @Sendable
  private static func logToStandardError(_ sentence: String) {
    let line = Array("ambit: \(sentence)\n".utf8)
    _ = unsafe line.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}

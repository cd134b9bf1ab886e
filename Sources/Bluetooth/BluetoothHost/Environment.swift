import BluetoothMachines
import Essentials
import Glibc

extension BluetoothHost {
  /// The host that `AMBIT_RADIO` and `AMBIT_CAPTURE` describe.
  static func fromEnvironment() -> BluetoothHost {
    make(
      radio: environment("AMBIT_RADIO"), capturePath: environment("AMBIT_CAPTURE"),
      log: logToStandardError)
  }

  static func make(
    radio name: String?, capturePath: String?, log: @escaping @Sendable (String) -> Void
  ) -> BluetoothHost {
    do {
      let radio = try name.map { try RadioChoice(parsing: $0) } ?? .standard
      do {
        return try BluetoothHost(radio: radio, captureTo: capturePath, log: log)
      } catch {
        // A run without its capture is better than no run.
        log("AMBIT_CAPTURE: \(error)")
        return try BluetoothHost(radio: radio, log: log)
      }
    } catch {
      let sentence = "AMBIT_RADIO: \(error)"
      return BluetoothHost(
        radio: .standard, configuration: HostConfiguration(), chance: SeededGenerator(seed: 0),
        loop: EventLoopClock.shared(), log: log
      ) { UnavailableTransport(.unsupported(sentence)) }
    }
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

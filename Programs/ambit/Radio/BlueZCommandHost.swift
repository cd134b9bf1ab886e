#if BlueZ
  import BlueZHost
#endif
import BluetoothInterface
import Foundation
import Logging

/// The host of a command over bluetoothd.
package struct BlueZCommandHost: Sendable {
  /// The radio as `--radio` takes it.
  let name: String
  let provider: any HostSessionProvider
  /// The reason why the radio can't be used, in one sentence; nil if none is known.
  let problem: @Sendable () -> String?
  let close: @Sendable () async -> Void

  /// The radio's title on a screen.
  var title: String {
    let adapter = name.split(separator: ":").dropFirst().first
    return adapter.map { "bluetoothd's adapter \($0)" } ?? "bluetoothd's adapter"
  }
}

extension GlobalOptions {
  /// The host over bluetoothd, if an option or `AMBIT_RADIO` names it; nil for another radio.
  ///
  /// - Parameters:
  ///   - isCaptured: Whether all traffic is to be written to a file.
  ///   - onWarning: Called with a sentence about each warning. The reason why the radio can't be used is in `problem`
  ///     instead, because the command fails with it.
  /// - Throws: If the name or another option is invalid with it.
  func bluezHost(
    isCaptured: Bool, onWarning: @escaping @Sendable (String) -> Void
  ) throws -> BlueZCommandHost? {
    #if BlueZ
      guard let choice = try bluezRadio() else { return nil }
      return try bluezHost(
        named: choice.description, isCaptured: isCaptured, onWarning: onWarning)
    #else
      return nil
    #endif
  }

  /// The host over bluetoothd with a name of its radio; nil in a program without the trait BlueZ.
  func bluezHost(
    named name: String, isCaptured: Bool, onWarning: @escaping @Sendable (String) -> Void
  ) throws -> BlueZCommandHost? {
    #if BlueZ
      guard let choice = try BlueZRadio(parsing: name) else { return nil }
      try checkBlueZ(isCaptured: isCaptured)
      let problem = Guarded<(@Sendable () -> String?)?>(nil)
      let logger = Logger(label: "ambit.bluez") { _ in
        var log = SentenceLog { sentence, _ in
          if problem.value?() != sentence { onWarning(sentence) }
        }
        log.logLevel = .warning
        return log
      }
      let provider = BlueZSessionProvider(choice, logger: logger)
      problem.update { $0 = { [weak provider] in provider?.problem } }
      return BlueZCommandHost(
        name: choice.description, provider: provider, problem: { provider.problem },
        close: { await provider.close() })
    #else
      return nil
    #endif
  }

  #if BlueZ
    /// The radio of bluetoothd that an option or `AMBIT_RADIO` names; nil for another radio.
    private func bluezRadio() throws -> BlueZRadio? {
      let environment = ProcessInfo.processInfo.environment["AMBIT_RADIO"] ?? ""
      do throws(BlueZRadioError) {
        return try BlueZRadio(parsing: radio ?? environment)
      } catch {
        throw CommandFailure(.usage, error.description.trimmingSuffix("."))
      }
    }
  #endif

  /// The name of bluetoothd's radio, if an option or `AMBIT_RADIO` names that; nil for another radio.
  func bluezName() throws -> String? {
    #if BlueZ
      try bluezRadio()?.description
    #else
      nil
    #endif
  }

  #if BlueZ
    /// Fails if the command has an option that bluetoothd can't fulfil.
    private func checkBlueZ(isCaptured: Bool) throws {
      func fail(_ what: String) -> CommandFailure {
        CommandFailure(
          .usage,
          "bluetoothd has the radio, its address and its bonds, so \(what) needs another one, such as hci0"
        )
      }
      if isCaptured { throw fail("a capture") }
      if address != nil { throw fail("--address") }
      if pair != nil { throw fail("--pair") }
      if oob != nil { throw fail("--oob") }
      let environment = ProcessInfo.processInfo.environment
      for name in BlueZPresence.settingsOfHosts
      where !(environment[name] ?? "").isEmpty { throw fail(name) }
    }
  #endif
}

#if BlueZ
  import BlueZHost
#endif
import BluetoothHost
import BluetoothInterface
import HubPlaces

/// bluetoothd's radio for a command that names no radio (docs/decisions/0260-the-default-order-of-radios.md).
enum DefaultBlueZ {
  /// How long bluetoothd may take to report its radio: a command waits for it.
  static let answerMax = Duration.seconds(2)

  /// Whether the radio is used.
  enum Result: Sendable {
    case used(BlueZCommandHost)
    /// The reason is a sentence; nil where bluetoothd was not looked for.
    case notUsed(reason: String?)
  }

  /// Whether a radio is on within the time.
  static func isOn(
    _ provider: any HostSessionProvider, within time: Duration = answerMax
  ) async -> Bool {
    let (states, state) = AsyncStream.makeStream(
      of: RadioState.self, bufferingPolicy: .bufferingNewest(16))
    let session = provider.openSession { event in
      if case .stateChanged(let new) = event, new != .unknown { state.yield(new) }
    }
    defer { session.close() }
    let limit = Task {
      try? await Task.sleep(for: time)
      state.finish()
    }
    defer { limit.cancel() }
    for await state in states { return state == .poweredOn }
    return false
  }
}

extension GlobalOptions {
  /// The host over bluetoothd, where no radio is named, no controller may be opened alone, and bluetoothd's radio is
  /// on. It is not looked for in a process of tests, without a controller or a bus, and with an option that bluetoothd
  /// can't fulfil.
  ///
  /// - Parameters:
  ///   - selection: The radio that is used otherwise.
  ///   - isCaptured: Whether all traffic is to be written to a file.
  ///   - onWarning: Called with a sentence about each warning, the first of which is about the choice.
  func defaultBlueZ(
    insteadOf selection: RadioSelection, isCaptured: Bool,
    onWarning: @escaping @Sendable (String) -> Void
  ) async -> DefaultBlueZ.Result {
    #if BlueZ
      guard namesNoRadio, case .fallback(let reason) = selection.origin, !TestProcess.isCurrent,
        BlueZPresence.hasControllerAndBus()
      else { return .notUsed(reason: nil) }
      let host: BlueZCommandHost
      do {
        guard
          let new = try bluezHost(named: "bluez", isCaptured: isCaptured, onWarning: onWarning)
        else { return .notUsed(reason: nil) }
        host = new
      } catch {
        return .notUsed(reason: (error as? CommandFailure).map { "\($0.sentence)." })
      }
      guard await DefaultBlueZ.isOn(host.provider) else {
        let problem =
          host.problem() ?? "bluetoothd did not report its radio in \(DefaultBlueZ.answerMax)."
        await host.close()
        return .notUsed(reason: problem)
      }
      onWarning(
        "no radio was named, and bluetoothd's is used, beside other programs: \(reason) --radio or "
          + "AMBIT_RADIO names another, such as \"sim\"")
      return .used(host)
    #else
      return .notUsed(reason: nil)
    #endif
  }

  /// The name of bluetoothd's radio, if it is named, or used where none is; nil for another radio.
  func usedBlueZName() async throws -> String? {
    if let name = try bluezName() { return name }
    guard let selection = try? radioSelection(),
      case .used(let host) = await defaultBlueZ(
        insteadOf: selection, isCaptured: false, onWarning: { _ in })
    else { return nil }
    await host.close()
    return host.name
  }
}

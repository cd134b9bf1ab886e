import BluetoothInterface
import Glibc

/// A radio and the reason for its selection.
public struct RadioSelection: Hashable, Sendable {
  /// The reason why a radio was selected.
  public enum Origin: Hashable, Sendable {
    /// The program, the command line or `AMBIT_RADIO` names it.
    case named
    /// The first controller of this machine that this process may open; no radio was named.
    case detected
    /// No radio was named and no controller may be opened, so the simulated radio is used; a
    /// program without it waits for a controller. The associated value is the reason, as a
    /// sentence.
    case fallback(String)
  }

  /// The radio.
  public var radio: RadioChoice
  /// The reason for the selection.
  public var origin: Origin

  /// Creates a selection of a radio that the program names.
  public init(_ radio: RadioChoice) {
    self.radio = radio
    origin = .named
  }

  init(_ radio: RadioChoice, _ origin: Origin) {
    self.radio = radio
    self.origin = origin
  }

  /// Whether the radio is simulated although no radio was named. Programs that display discovered
  /// devices should tell their users.
  public var isSimulatedByDefault: Bool {
    if case .fallback = origin, case .simulated = radio { true } else { false }
  }

  /// Selects the radio of a program: the named one; or else the first controller of this machine
  /// that may be opened; or else the simulated one (docs/decisions/0056-the-default-radio.md).
  ///
  /// - Parameter name: The value of `AMBIT_RADIO` or `--radio`; nil or empty if not set.
  /// - Throws: `RadioChoiceError` if the name is invalid.
  public static func select(named name: String?) throws(RadioChoiceError) -> RadioSelection {
    if let name, !name.isEmpty { return RadioSelection(try RadioChoice(parsing: name)) }
    return selectDefault(
      controllers: RadioChoice.controllerIndexes(), hasSimulator: SimulatedRadioPlugIn.isInstalled
    ) { (index) throws(HostError) in
      Glibc.close(try UserChannel.open(index))
    }
  }

  /// - Parameters:
  ///   - controllers: The numbers of the machine's controllers, ascending.
  ///   - hasSimulator: Whether the program has the simulated radio.
  ///   - tryToOpen: Opens a controller's user channel and closes it again.
  static func selectDefault(
    controllers: [UInt16], hasSimulator: Bool, tryToOpen: (UInt16) throws(HostError) -> Void
  ) -> RadioSelection {
    var firstFailure: HostError?
    for index in controllers {
      do throws(HostError) {
        try tryToOpen(index)
        return RadioSelection(.hci(index), .detected)
      } catch {
        firstFailure = firstFailure ?? error
      }
    }
    let reason = firstFailure?.sentence ?? "This machine has no Bluetooth controller."
    let radio: RadioChoice = hasSimulator ? .standard : .hci(controllers.first ?? 0)
    return RadioSelection(radio, .fallback(reason))
  }
}

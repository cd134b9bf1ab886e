import BluetoothInterface
import Glibc

/// A radio, and why it is the one.
public struct RadioSelection: Hashable, Sendable {
  /// Why a radio was selected.
  public enum Origin: Hashable, Sendable {
    /// The program, the command line or `AMBIT_RADIO` names it.
    case named
    /// The first controller of this machine that this process may open; no radio was named.
    case detected
    /// No radio was named and no controller may be opened, so that it is simulated (or, in a
    /// program without the simulated radio, doesn't work yet). The sentence is the reason.
    case fallback(String)
  }

  /// The radio.
  public var radio: RadioChoice
  /// The reason for the selection.
  public var origin: Origin

  /// A radio that the program names.
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

  /// Selects the radio of a program: the named one; else the first controller of this machine that
  /// may be opened; else the simulated one (docs/decisions/0056-the-default-radio.md).
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

public import BluetoothWire
public import Essentials

/// The faults of a controller, all off by default.
public struct ControllerFaults: Hashable, Sendable {
  /// Until this time the controller receives nothing.
  public var deafUntil: Instant = .zero
  /// The controller performs commands but doesn't answer them.
  public var isSilent = false
  /// The controller neither performs nor answers these commands, although it lists them as
  /// supported.
  public var ignoredCommands: Set<HCIOpcode> = []
  /// Additional time for each command.
  public var commandDelay: TimeSpan = .zero
  /// The controller answers each command with this status, and performs none.
  public var commandStatus: HCIStatus?
  /// The probability that an invalid event precedes the answer to a command.
  public var garbageProbability = 0.0
  /// The probability that a report has an RSSI of 127, which means "not available".
  public var missingRSSIProbability = 0.0
  /// The controller accepts entries of its resolving list, but ignores them.
  public var resolvesNothing = false
  /// The controller reports resolved peers as if their identity addresses had been on the air.
  public var hidesResolution = false
  /// The controller never reports completed packets, so that its host runs out of buffers.
  public var withholdsCompletedPackets = false

  /// Creates a set without faults.
  public init() {}
}

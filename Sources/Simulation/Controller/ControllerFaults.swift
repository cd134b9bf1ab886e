public import BluetoothWire
public import Essentials

/// Faults of a controller; one field for each, all off by default.
public struct ControllerFaults: Hashable, Sendable {
  /// Hears nothing until then: a phone in a microwave kitchen.
  public var deafUntil: Instant = .zero
  /// Performs commands but answers none.
  public var isSilent = false
  /// Neither performs nor answers these commands, although it lists them as supported.
  public var ignoredCommands: Set<HCIOpcode> = []
  /// Additional time for each command.
  public var commandDelay: TimeSpan = .zero
  /// Answers each command with this status, and performs none.
  public var commandStatus: HCIStatus?
  /// Chance that an event that makes no sense precedes the answer to a command.
  public var garbageProbability = 0.0
  /// Chance that a report has an RSSI of 127, which means "not available".
  public var missingRSSIProbability = 0.0
  /// Takes entries of its resolving list and does nothing with them.
  public var resolvesNothing = false
  /// Reports resolved peers as if their identity addresses had been on the air.
  public var hidesResolution = false
  /// Never reports that packets were completed, so that its host runs out of buffers.
  public var withholdsCompletedPackets = false

  /// Nothing wrong.
  public init() {}
}

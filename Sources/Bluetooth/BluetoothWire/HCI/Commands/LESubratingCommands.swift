import Essentials

/// The subrating parameters that a host requests (Core 5.4, Vol 4, Part E, §7.8.123).
public struct SubrateRequest: HCIRecord {
  /// The minimum subrate factor, 1 ... 500: one of this many connection events is used.
  public var factorMin: UInt16
  /// The maximum subrate factor.
  public var factorMax: UInt16
  /// The maximum peripheral latency, in subrated events, 0 ... 499.
  public var latencyMax: UInt16
  /// The continuation number: the number of additional events that are used after one with data, 0
  /// ... 499.
  public var continuationNumber: UInt16
  /// After how long a silence the link counts as lost, in units of 10 ms.
  public var timeoutUnits10ms: UInt16

  /// A request from its raw values.
  public init(
    factorMin: UInt16, factorMax: UInt16, latencyMax: UInt16, continuationNumber: UInt16,
    timeoutUnits10ms: UInt16
  ) {
    self.factorMin = factorMin
    self.factorMax = factorMax
    self.latencyMax = latencyMax
    self.continuationNumber = continuationNumber
    self.timeoutUnits10ms = timeoutUnits10ms
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(
    Self.init(factorMin:factorMax:latencyMax:continuationNumber:timeoutUnits10ms:)
  ) {
    (
      $0.factorMin, $0.factorMax, $0.latencyMax, $0.continuationNumber,
      $0.timeoutUnits10ms
    )
  }

  /// Whether the fields are in their ranges and agree with each other (§7.8.124).
  public var isValid: Bool {
    (1...500).contains(factorMax) && (1...factorMax).contains(factorMin) && latencyMax <= 499
      && Int(factorMax) * (Int(latencyMax) + 1) <= 500 && continuationNumber < max(factorMax, 1)
      && (10...3200).contains(timeoutUnits10ms)
  }
}

/// Sets the acceptable parameters for subrate requests of peripherals on future connections.
package struct LESetDefaultSubrate: HCIRecord, HCICommand {
  /// LE Set Default Subrate (Core 5.4, Vol 4, Part E, §7.8.123).
  package static let opcode = HCIOpcode.leSetDefaultSubrate
  /// The acceptable parameters.
  package var request: SubrateRequest

  /// The command with its parameters.
  package init(request: SubrateRequest) {
    self.request = request
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(request:)) { $0.request }
}

/// Requests subrating; LE Subrate Change reports the outcome.
package struct LESubrateRequest: HCIRecord, HCICommand {
  /// LE Subrate Request (Core 5.4, Vol 4, Part E, §7.8.124).
  package static let opcode = HCIOpcode.leSubrateRequest
  /// The connection.
  package var handle: UInt16
  /// The requested parameters.
  package var request: SubrateRequest

  /// The command with its parameters.
  package init(handle: UInt16, request: SubrateRequest) {
    self.handle = handle
    self.request = request
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(handle:request:)) { ($0.handle, $0.request) }
}

/// The current subrating parameters of a connection.
package struct Subrate: HCIRecord {
  /// The subrate factor: one of this many connection events is used; 1: all.
  package var factor: UInt16
  /// The peripheral latency, in subrated events.
  package var latency: UInt16
  /// The continuation number: the number of additional events that are used after one with data.
  package var continuationNumber: UInt16
  /// After how long a silence the link counts as lost, in units of 10 ms.
  package var timeoutUnits10ms: UInt16

  /// A subrate from its raw values.
  package init(
    factor: UInt16, latency: UInt16, continuationNumber: UInt16, timeoutUnits10ms: UInt16
  ) {
    self.factor = factor
    self.latency = latency
    self.continuationNumber = continuationNumber
    self.timeoutUnits10ms = timeoutUnits10ms
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(
    Self.init(factor:latency:continuationNumber:timeoutUnits10ms:)
  ) { ($0.factor, $0.latency, $0.continuationNumber, $0.timeoutUnits10ms) }
}

/// A connection's subrating changed, or could not be changed.
package struct LESubrateChange: HCIRecord, HCIEventParameters {
  /// LE Subrate Change (Core 5.4, Vol 4, Part E, §7.7.65.35).
  package static let code = HCIEventCode.le(0x23)
  /// The status of the command or procedure.
  package var status: HCIStatus
  /// The connection.
  package var handle: UInt16
  /// The current parameters.
  package var subrate: Subrate

  /// The event with its parameters.
  package init(status: HCIStatus = .success, handle: UInt16, subrate: Subrate) {
    self.status = status
    self.handle = handle
    self.subrate = subrate
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(status:handle:subrate:)) {
    ($0.status, $0.handle, $0.subrate)
  }
}

import BluetoothWire
import Essentials

// Connection subrating (Core 5.4, Vol 6, Part B, §4.5.1 and §5.1.19).

extension SimulatedController {
  /// The controller's features, and those that its host has set.
  var features: LEFeatures { capabilities.features.union(settings.hostFeatures) }

  static func addSubratingCommands(to table: inout CommandTable) {
    table.acknowledge { (controller, command: LESetDefaultSubrate) throws(Refusal) in
      guard command.request.isValid else { throw Refusal(.invalidParameters) }
      controller.settings.subrate = command.request
    }
    table.status { (controller, command: LESubrateRequest) throws(Refusal) in
      let endpoint = try controller.requireEndpoint(command.handle)
      let request = command.request
      guard request.isValid, request.outlasts(endpoint.link.timing) else {
        throw Refusal(.invalidParameters)
      }
      guard controller.features.contains(.connectionSubratingHostSupport) else {
        throw Refusal(.commandDisallowed)
      }
      guard endpoint.peerEndpoint.controller.features.contains(.connectionSubratingHostSupport)
      else { throw Refusal(.unsupportedRemoteFeature) }
      try endpoint.requestProcedure(
        endpoint.role == .central
          ? .subrateIndication(request.chosen) : .subrateRequest(request))
    }
  }
}

extension SubrateRequest {
  /// Whether the supervision timeout is longer than two intervals of the silence that there may be
  /// (Core 5.4, Vol 4, Part E, §7.8.124).
  func outlasts(_ timing: ConnectionTiming) -> Bool {
    Int(timeoutUnits10ms) * 4
      > Int(timing.intervalUnits1250us) * Int(factorMax) * (Int(latencyMax) + 1)
  }

  /// The fewest events that this allows.
  var chosen: Subrate {
    Subrate(
      factor: factorMax, latency: latencyMax, continuationNumber: continuationNumber,
      timeoutUnits10ms: timeoutUnits10ms)
  }

  /// The parameters that both allow; nil if they have none in common.
  func common(with other: SubrateRequest) -> SubrateRequest? {
    let factorMax = min(self.factorMax, other.factorMax)
    let common = SubrateRequest(
      factorMin: max(factorMin, other.factorMin), factorMax: factorMax,
      latencyMax: min(latencyMax, other.latencyMax),
      continuationNumber: min(
        max(continuationNumber, other.continuationNumber), max(factorMax, 1) - 1),
      timeoutUnits10ms: min(timeoutUnits10ms, other.timeoutUnits10ms))
    return common.isValid ? common : nil
  }
}

extension Endpoint {
  /// As the central: handles a subrate request of the peripheral.
  func heardSubrateRequest(_ request: SubrateRequest) {
    guard role == .central, controller.features.contains(.connectionSubratingHostSupport) else {
      return enqueue(.reject(.subrateRequest, .unsupportedRemoteFeature))
    }
    guard let common = request.common(with: controller.settings.subrate),
      common.outlasts(link.timing)
    else { return enqueue(.reject(.subrateRequest, .unsupportedLinkParameter)) }
    enqueue(.subrateIndication(common.chosen))
  }
}

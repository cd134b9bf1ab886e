import BluetoothWire
import Essentials

// Commands about connections that exist.

extension SimulatedController {
  func endpoint(_ handle: UInt16) -> Endpoint? {
    Int(handle) < endpoints.count ? endpoints[Int(handle)] : nil
  }

  func requireEndpoint(_ handle: UInt16) throws(Refusal) -> Endpoint {
    guard handle <= Limits.connectionHandleMax else { throw Refusal(.invalidParameters) }
    guard let endpoint = endpoint(handle) else { throw Refusal(.unknownConnection) }
    return endpoint
  }

  static func addLinkCommands(to table: inout CommandTable) {
    addStatusCommands(to: &table)
    addTimingCommands(to: &table)
    addDataLengthCommands(to: &table)
    addPHYCommands(to: &table)
    addSubratingCommands(to: &table)
    addChannelCommands(to: &table)
  }

  private static func addStatusCommands(to table: inout CommandTable) {
    // The reasons that a host may give (§7.1.6).
    let reasons: Set<HCIStatus> = [
      .authenticationFailure, .remoteUserTerminatedConnection, .remoteLowResources,
      .remotePowerOff, .unsupportedRemoteFeature, .pairingNotAllowed,
      .unacceptableConnectionParameters,
    ]
    table.status { (controller, command: Disconnect) throws(Refusal) in
      let endpoint = try controller.requireEndpoint(command.handle)
      guard reasons.contains(command.reason) else { throw Refusal(.invalidParameters) }
      guard !endpoint.isTerminating else { throw Refusal(.commandDisallowed) }
      controller.afterAnswer { _ in endpoint.terminate(command.reason) }
    }
    table.status { (controller, command: ReadRemoteVersionInformation) throws(Refusal) in
      let endpoint = try controller.requireEndpoint(command.handle)
      controller.afterAnswer { _ in endpoint.readVersion() }
    }
    table.status { (controller, command: LEReadRemoteFeatures) throws(Refusal) in
      let endpoint = try controller.requireEndpoint(command.handle)
      try endpoint.requestProcedure(.featureRequest(controller.features))
    }
    table.complete { (controller, command: ReadRSSI) throws(Refusal) in
      let endpoint = try controller.requireEndpoint(command.handle)
      return ReadRSSIReturn(
        handle: command.handle,
        rssi: endpoint.rssi.map { Int8(max(-127, min(20, $0.rounded()))) })
    }
  }

  private static func addTimingCommands(to table: inout CommandTable) {
    table.status { (controller, command: LEConnectionUpdate) throws(Refusal) in
      let endpoint = try controller.requireEndpoint(command.handle)
      let timing = try command.timing.checked()
      try endpoint.requestProcedure(
        endpoint.role == .central
          ? .connectionUpdate(timing.chosen) : .connectionParameterRequest(timing))
    }
    table.acknowledgeLink {
      (controller, command: LERemoteConnectionParameterRequestReply) throws(Refusal) in
      let endpoint = try controller.requireEndpoint(command.handle)
      guard endpoint.awaitsParameterReply else { throw Refusal(.commandDisallowed) }
      let timing = try command.timing.checked()
      endpoint.awaitsParameterReply = false
      endpoint.enqueue(.connectionUpdate(timing.chosen))
    }
    table.acknowledgeLink {
      (controller, command: LERemoteConnectionParameterRequestNegativeReply) throws(Refusal) in
      let endpoint = try controller.requireEndpoint(command.handle)
      guard endpoint.awaitsParameterReply else { throw Refusal(.commandDisallowed) }
      endpoint.awaitsParameterReply = false
      endpoint.enqueue(.reject(.connectionParameterRequest, command.reason))
    }
  }

  private static func addDataLengthCommands(to table: inout CommandTable) {
    table.acknowledgeLink { (controller, command: LESetDataLength) throws(Refusal) in
      let endpoint = try controller.requireEndpoint(command.handle)
      guard 27...251 ~= command.txOctets, 328...17_040 ~= command.txTimeMicroseconds else {
        throw Refusal(.invalidParameters)
      }
      endpoint.ownLength.txOctets = command.txOctets
      endpoint.ownLength.txTimeMicroseconds = command.txTimeMicroseconds
      try endpoint.requestProcedure(.lengthRequest(endpoint.ownLength))
    }
    table.complete { (controller, _: LEReadSuggestedDefaultDataLength) in
      controller.settings.suggestedLength
    }
    table.acknowledge { (controller, command: LEWriteSuggestedDefaultDataLength) throws(Refusal) in
      let length = command.length
      guard 27...251 ~= length.txOctets, 328...17_040 ~= length.txTimeMicroseconds else {
        throw Refusal(.invalidParameters)
      }
      controller.settings.suggestedLength = length
    }
    table.complete { (_, _: LEReadMaximumDataLength) in
      LEMaximumDataLength(
        txOctets: 251, txTimeMicroseconds: 17_040, rxOctets: 251, rxTimeMicroseconds: 17_040)
    }
  }

  private static func addPHYCommands(to table: inout CommandTable) {
    table.complete { (controller, command: LEReadPHY) throws(Refusal) in
      let endpoint = try controller.requireEndpoint(command.handle)
      return LEReadPHYReturn(
        handle: command.handle, transmit: endpoint.transmitPHY,
        receive: endpoint.peerEndpoint.transmitPHY)
    }
    table.acknowledge { (controller, command: LESetDefaultPHY) throws(Refusal) in
      try controller.check(command.preference)
      controller.settings.phyPreference = command.preference
    }
    table.status { (controller, command: LESetPHY) throws(Refusal) in
      let endpoint = try controller.requireEndpoint(command.handle)
      try controller.check(command.preference)
      endpoint.phyPreference = command.preference
      try endpoint.requestProcedure(.phyRequest(command.preference))
    }
  }

  private func check(_ preference: PHYPreference) throws(Refusal) {
    for phys in [preference.transmit, preference.receive].compactMap({ $0 }) {
      guard !phys.isEmpty, phys.rawValue & ~7 == 0 else { throw Refusal(.invalidParameters) }
      guard phys.isSubset(of: capabilities.phys) else { throw Refusal(.unsupportedFeature) }
    }
  }

  private static func addChannelCommands(to table: inout CommandTable) {
    table.complete { (controller, command: LEReadChannelMap) throws(Refusal) in
      let endpoint = try controller.requireEndpoint(command.handle)
      return LEReadChannelMapReturn(handle: command.handle, channels: endpoint.link.channels)
    }
    table.acknowledge { (controller, command: LESetHostChannelClassification) throws(Refusal) in
      guard command.channels.bits.nonzeroBitCount >= 2 else { throw Refusal(.invalidParameters) }
      controller.settings.channels = command.channels
      for case let endpoint? in controller.endpoints where endpoint.role == .central {
        endpoint.enqueue(.channelMap(command.channels))
      }
    }
  }
}

import BluetoothWire
import Essentials

// Reset, masks, information, buffers.

extension SimulatedController {
  static func addInformationCommands(to table: inout CommandTable) {
    table.acknowledge { (controller, _: Reset) in controller.forgetEverything() }
    table.acknowledge { (controller, command: SetEventMask) in
      controller.settings.eventMask = command.mask
    }
    table.acknowledge { (_, _: SetEventMaskPage2) in }
    table.acknowledge { (controller, command: LESetEventMask) in
      controller.settings.leEventMask = command.mask
    }
    addVersionCommands(to: &table)
    addFeatureCommands(to: &table)
    addBufferCommands(to: &table)
    addPowerCommands(to: &table)
  }

  private static func addVersionCommands(to table: inout CommandTable) {
    table.complete { (controller, _: ReadLocalVersionInformation) in
      let capabilities = controller.capabilities
      return ReadLocalVersionInformationReturn(
        hciVersion: capabilities.version, hciSubversion: capabilities.subversion,
        linkVersion: capabilities.version, company: capabilities.company,
        linkSubversion: capabilities.subversion)
    }
    table.complete { (controller, _: ReadLocalSupportedCommands) in controller.supportedCommands }
    table.complete { (controller, _: ReadBDADDR) in
      let isPublic = controller.address.kind == .public
      return ReadBDADDRReturn(
        address: isPublic ? controller.address : DeviceAddress(bits: 0, kind: .public))
    }
  }

  private static func addFeatureCommands(to table: inout CommandTable) {
    let lmpFeatures: LMPFeatures = [.brEDRNotSupported, .leSupported]
    table.complete { (_, _: ReadLocalSupportedFeatures) in
      ReadLocalSupportedFeaturesReturn(features: lmpFeatures)
    }
    table.complete { (controller, command: ReadLocalExtendedFeatures) throws(Refusal) in
      guard command.page <= 1 else { throw Refusal(.invalidParameters) }
      let hostFeatures: UInt64 = controller.settings.supportsLEHost ? 2 : 0
      return ReadLocalExtendedFeaturesReturn(
        page: command.page, lastPage: 1,
        features: command.page == 0 ? lmpFeatures.rawValue : hostFeatures)
    }
    table.complete { (controller, _: LEReadLocalSupportedFeatures) in
      LEReadLocalSupportedFeaturesReturn(features: controller.capabilities.features)
    }
    table.complete { (controller, _: ReadLEHostSupport) in
      ReadLEHostSupportReturn(isSupported: controller.settings.supportsLEHost)
    }
    table.acknowledge { (controller, command: WriteLEHostSupport) in
      controller.settings.supportsLEHost = command.isSupported
    }
    table.acknowledge { (controller, command: LESetHostFeature) throws(Refusal) in
      guard command.bit < 64 else { throw Refusal(.invalidParameters) }
      let feature = LEFeatures(rawValue: 1 << UInt64(command.bit))
      guard feature == .connectionSubratingHostSupport, controller.capabilities.hasSubrating else {
        throw Refusal(.unsupportedFeature)
      }
      guard controller.endpointCount == 0 else { throw Refusal(.commandDisallowed) }
      if command.isSet {
        controller.settings.hostFeatures.insert(feature)
      } else {
        controller.settings.hostFeatures.remove(feature)
      }
    }
    table.complete { (_, _: LEReadSupportedStates) in
      LEReadSupportedStatesReturn(states: 0x3FF_FFFF_FFFF)
    }
    table.complete { (controller, _: LERand) in
      LERandReturn(random: controller.generator.next())
    }
  }

  private static func addBufferCommands(to table: inout CommandTable) {
    // LE has buffers of its own; there are none for classic links.
    table.complete { (_, _: ReadBufferSize) in
      ReadBufferSizeReturn(aclLength: 0, synchronousLength: 0, aclCount: 0, synchronousCount: 0)
    }
    table.complete { (controller, _: LEReadBufferSize) in
      LEReadBufferSizeReturn(
        aclLength: controller.capabilities.aclPacketLength,
        aclCount: controller.capabilities.aclPacketCount)
    }
    table.complete { (controller, _: LEReadBufferSizeV2) in
      LEReadBufferSizeV2Return(
        aclLength: controller.capabilities.aclPacketLength,
        aclCount: controller.capabilities.aclPacketCount, isochronousLength: 0,
        isochronousCount: 0)
    }
    table.acknowledge { (controller, command: SetControllerToHostFlowControl) throws(Refusal) in
      guard controller.endpointCount == 0 else { throw Refusal(.commandDisallowed) }
      controller.settings.limitsACL = command.mode == .acl || command.mode == .both
    }
    table.acknowledge { (controller, command: HostBufferSize) throws(Refusal) in
      guard command.aclCount > 0, command.aclLength > 0 else { throw Refusal(.invalidParameters) }
      controller.settings.hostBufferCount = Int(command.aclCount)
    }
    table.unanswered { (controller, command: HostNumberOfCompletedPackets) throws(Refusal) in
      for entry in command.packets {
        guard let endpoint = controller.endpoint(entry.handle) else {
          throw Refusal(.invalidParameters)
        }
        controller.hostCompleted(Int(entry.count), for: endpoint)
      }
    }
  }

  private static func addPowerCommands(to table: inout CommandTable) {
    table.complete { (controller, _: LEReadTransmitPower) in
      LEReadTransmitPowerReturn(minimumDBm: -20, maximumDBm: 20)
    }
    table.complete { (controller, _: LEReadRFPathCompensation) in
      controller.settings.pathCompensation
    }
    table.acknowledge { (controller, command: LEWriteRFPathCompensation) throws(Refusal) in
      let allowed: ClosedRange<Int16> = -1_280...1_280
      let compensation = command.compensation
      guard allowed.contains(compensation.transmitTenthDB),
        allowed.contains(compensation.receiveTenthDB)
      else { throw Refusal(.invalidParameters) }
      controller.settings.pathCompensation = compensation
    }
    table.complete { (controller, command: ReadTransmitPowerLevel) throws(Refusal) in
      _ = try controller.requireEndpoint(command.handle)
      return ReadTransmitPowerLevelReturn(
        handle: command.handle, dBm: command.isMaximum ? 20 : controller.capabilities.powerDBm)
    }
  }
}

// LE commands about the controller itself.

/// Sets the LE events that the controller sends.
package struct LESetEventMask: HCIRecord, HCICommand {
  /// LE Set Event Mask (Core 5.4, Vol 4, Part E, §7.8.1).
  package static let opcode = HCIOpcode.leSetEventMask
  /// The wanted events.
  package var mask: LEEventMask

  /// The command with its parameters.
  package init(mask: LEEventMask = .default) {
    self.mask = mask
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(mask:)) { $0.mask }
}

/// Reads how much LE data the controller can take at a time.
package struct LEReadBufferSize: ParameterlessCommand {
  /// The return parameters.
  package typealias Return = LEReadBufferSizeReturn
  /// LE Read Buffer Size [v1] (Core 5.4, Vol 4, Part E, §7.8.2).
  package static let opcode = HCIOpcode.leReadBufferSize

  /// The command.
  package init() {}
}

/// The controller's buffers for LE; zeros mean that it shares those of Read Buffer Size.
package struct LEReadBufferSizeReturn: HCIRecord {
  /// The longest ACL packet, in bytes after the header.
  package var aclLength: UInt16
  /// The number of ACL packets.
  package var aclCount: UInt8

  /// Parameters from their values.
  package init(aclLength: UInt16, aclCount: UInt8) {
    self.aclLength = aclLength
    self.aclCount = aclCount
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(aclLength:aclCount:)) {
    ($0.aclLength, $0.aclCount)
  }
}

/// Reads how much LE data, isochronous too, the controller can take at a time.
package struct LEReadBufferSizeV2: ParameterlessCommand {
  /// The return parameters.
  package typealias Return = LEReadBufferSizeV2Return
  /// LE Read Buffer Size [v2] (Core 5.4, Vol 4, Part E, §7.8.2).
  package static let opcode = HCIOpcode.leReadBufferSizeV2

  /// The command.
  package init() {}
}

/// The controller's buffers for LE; zeros mean that it shares those of Read Buffer Size.
package struct LEReadBufferSizeV2Return: HCIRecord {
  /// The longest ACL packet, in bytes after the header.
  package var aclLength: UInt16
  /// The number of ACL packets.
  package var aclCount: UInt8
  /// The longest isochronous packet.
  package var isochronousLength: UInt16
  /// The number of isochronous packets.
  package var isochronousCount: UInt8

  /// Parameters from their values.
  package init(
    aclLength: UInt16, aclCount: UInt8, isochronousLength: UInt16, isochronousCount: UInt8
  ) {
    self.aclLength = aclLength
    self.aclCount = aclCount
    self.isochronousLength = isochronousLength
    self.isochronousCount = isochronousCount
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(
    Self.init(aclLength:aclCount:isochronousLength:isochronousCount:)
  ) {
    ($0.aclLength, $0.aclCount, $0.isochronousLength, $0.isochronousCount)
  }
}

/// Reads the controller's LE features.
package struct LEReadLocalSupportedFeatures: ParameterlessCommand {
  /// The return parameters.
  package typealias Return = LEReadLocalSupportedFeaturesReturn
  /// LE Read Local Supported Features (Core 5.4, Vol 4, Part E, §7.8.3).
  package static let opcode = HCIOpcode.leReadLocalSupportedFeatures

  /// The command.
  package init() {}
}

/// The controller's LE features.
package struct LEReadLocalSupportedFeaturesReturn: HCIRecord {
  /// The features.
  package var features: LEFeatures

  /// Parameters from their values.
  package init(features: LEFeatures) {
    self.features = features
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(features:)) { $0.features }
}

/// Sets or clears a feature bit that belongs to the host.
package struct LESetHostFeature: HCIRecord, HCICommand {
  /// LE Set Host Feature (Core 5.4, Vol 4, Part E, §7.8.115).
  package static let opcode = HCIOpcode.leSetHostFeature
  /// The number of the feature bit.
  package var bit: UInt8
  /// Whether the host has the feature.
  package var isSet: Bool

  /// The command with its parameters.
  package init(bit: UInt8, isSet: Bool) {
    self.bit = bit
    self.isSet = isSet
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(bit:isSet:)) { ($0.bit, $0.isSet) }
}

/// Gives the controller its random address.
package struct LESetRandomAddress: HCIRecord, HCICommand {
  /// LE Set Random Address (Core 5.4, Vol 4, Part E, §7.8.4).
  package static let opcode = HCIOpcode.leSetRandomAddress
  /// The address.
  package var address: DeviceAddress

  /// The command with its parameters.
  package init(address: DeviceAddress) {
    self.address = address
  }

  /// The parameters in wire order. The address is encoded without its type, which is always random.
  package static let layout = HCILayout({ (bits: AddressBits) in Self(address: bits.asRandom) }) {
    AddressBits($0.address)
  }
}

/// Reads what the controller can do at the same time.
package struct LEReadSupportedStates: ParameterlessCommand {
  /// The return parameters.
  package typealias Return = LEReadSupportedStatesReturn
  /// LE Read Supported States (Core 5.4, Vol 4, Part E, §7.8.27).
  package static let opcode = HCIOpcode.leReadSupportedStates

  /// The command.
  package init() {}
}

/// The combinations of LE states that a controller supports.
package struct LEReadSupportedStatesReturn: HCIRecord {
  /// A bit for each combination of states.
  package var states: UInt64

  /// Parameters from their values.
  package init(states: UInt64) {
    self.states = states
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(states:)) { $0.states }
}

/// Encrypts a block with AES-128.
package struct LEEncrypt: HCIRecord, HCICommand {
  /// The return parameters.
  package typealias Return = LEEncryptReturn
  /// LE Encrypt (Core 5.4, Vol 4, Part E, §7.8.22).
  package static let opcode = HCIOpcode.leEncrypt
  /// The key.
  package var key: UInt128
  /// The block.
  package var plaintext: UInt128

  /// The command with its parameters.
  package init(key: UInt128, plaintext: UInt128) {
    self.key = key
    self.plaintext = plaintext
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(key:plaintext:)) { ($0.key, $0.plaintext) }
}

/// An encrypted block.
package struct LEEncryptReturn: HCIRecord {
  /// The block.
  package var encrypted: UInt128

  /// Parameters from their values.
  package init(encrypted: UInt128) {
    self.encrypted = encrypted
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(encrypted:)) { $0.encrypted }
}

/// Requests a random number.
package struct LERand: ParameterlessCommand {
  /// The return parameters.
  package typealias Return = LERandReturn
  /// LE Rand (Core 5.4, Vol 4, Part E, §7.8.23).
  package static let opcode = HCIOpcode.leRand

  /// The command.
  package init() {}
}

/// A random number.
package struct LERandReturn: HCIRecord {
  /// The number.
  package var random: UInt64

  /// Parameters from their values.
  package init(random: UInt64) {
    self.random = random
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(random:)) { $0.random }
}

/// Reads the weakest and the strongest power that the controller sends with.
package struct LEReadTransmitPower: ParameterlessCommand {
  /// The return parameters.
  package typealias Return = LEReadTransmitPowerReturn
  /// LE Read Transmit Power (Core 5.4, Vol 4, Part E, §7.8.74).
  package static let opcode = HCIOpcode.leReadTransmitPower

  /// The command.
  package init() {}
}

/// The power range of a controller.
package struct LEReadTransmitPowerReturn: HCIRecord {
  /// The weakest, in dBm.
  package var minimumDBm: Int8
  /// The strongest, in dBm.
  package var maximumDBm: Int8

  /// Parameters from their values.
  package init(minimumDBm: Int8, maximumDBm: Int8) {
    self.minimumDBm = minimumDBm
    self.maximumDBm = maximumDBm
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(minimumDBm:maximumDBm:)) {
    ($0.minimumDBm, $0.maximumDBm)
  }
}

/// Reads the gain between the controller and its antenna.
package struct LEReadRFPathCompensation: ParameterlessCommand {
  /// The return parameters.
  package typealias Return = LERFPathCompensation
  /// LE Read RF Path Compensation (Core 5.4, Vol 4, Part E, §7.8.75).
  package static let opcode = HCIOpcode.leReadRFPathCompensation

  /// The command.
  package init() {}
}

/// The gain between a controller and its antenna.
package struct LERFPathCompensation: HCIRecord {
  /// The compensation for transmission, in 0.1 dB.
  package var transmitTenthDB: Int16
  /// The compensation for reception, in 0.1 dB.
  package var receiveTenthDB: Int16

  /// Parameters from their values.
  package init(transmitTenthDB: Int16, receiveTenthDB: Int16) {
    self.transmitTenthDB = transmitTenthDB
    self.receiveTenthDB = receiveTenthDB
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(transmitTenthDB:receiveTenthDB:)) {
    ($0.transmitTenthDB, $0.receiveTenthDB)
  }
}

/// Sets the gain between the controller and its antenna.
package struct LEWriteRFPathCompensation: HCIRecord, HCICommand {
  /// LE Write RF Path Compensation (Core 5.4, Vol 4, Part E, §7.8.76).
  package static let opcode = HCIOpcode.leWriteRFPathCompensation
  /// The gain.
  package var compensation: LERFPathCompensation

  /// The command with its parameters.
  package init(compensation: LERFPathCompensation) {
    self.compensation = compensation
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(compensation:)) { $0.compensation }
}

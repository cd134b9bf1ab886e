// LE commands about the controller itself.

/// Sets the LE events that the controller sends.
public struct LESetEventMask: HCIRecord, HCICommand {
  /// LE Set Event Mask (Core 5.4, Vol 4, Part E, §7.8.1).
  public static let opcode = HCIOpcode.leSetEventMask
  /// The wanted events.
  public var mask: LEEventMask

  /// The command with its parameters.
  public init(mask: LEEventMask = .default) {
    self.mask = mask
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(mask:)) { $0.mask }
}

/// Reads how much LE data the controller can take at a time.
public struct LEReadBufferSize: ParameterlessCommand {
  /// The return parameters.
  public typealias Return = LEReadBufferSizeReturn
  /// LE Read Buffer Size [v1] (Core 5.4, Vol 4, Part E, §7.8.2).
  public static let opcode = HCIOpcode.leReadBufferSize

  /// The command.
  public init() {}
}

/// The controller's buffers for LE; zeros mean that it shares those of Read Buffer Size.
public struct LEReadBufferSizeReturn: HCIRecord {
  /// The longest ACL packet, in bytes after the header.
  public var aclLength: UInt16
  /// The number of ACL packets.
  public var aclCount: UInt8

  /// Parameters from their values.
  public init(aclLength: UInt16, aclCount: UInt8) {
    self.aclLength = aclLength
    self.aclCount = aclCount
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(aclLength:aclCount:)) {
    ($0.aclLength, $0.aclCount)
  }
}

/// Reads how much LE data, isochronous too, the controller can take at a time.
public struct LEReadBufferSizeV2: ParameterlessCommand {
  /// The return parameters.
  public typealias Return = LEReadBufferSizeV2Return
  /// LE Read Buffer Size [v2] (Core 5.4, Vol 4, Part E, §7.8.2).
  public static let opcode = HCIOpcode.leReadBufferSizeV2

  /// The command.
  public init() {}
}

/// The controller's buffers for LE; zeros mean that it shares those of Read Buffer Size.
public struct LEReadBufferSizeV2Return: HCIRecord {
  /// The longest ACL packet, in bytes after the header.
  public var aclLength: UInt16
  /// The number of ACL packets.
  public var aclCount: UInt8
  /// The longest isochronous packet.
  public var isochronousLength: UInt16
  /// The number of isochronous packets.
  public var isochronousCount: UInt8

  /// Parameters from their values.
  public init(
    aclLength: UInt16, aclCount: UInt8, isochronousLength: UInt16, isochronousCount: UInt8
  ) {
    self.aclLength = aclLength
    self.aclCount = aclCount
    self.isochronousLength = isochronousLength
    self.isochronousCount = isochronousCount
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(
    Self.init(aclLength:aclCount:isochronousLength:isochronousCount:)
  ) {
    ($0.aclLength, $0.aclCount, $0.isochronousLength, $0.isochronousCount)
  }
}

/// Reads the controller's LE features.
public struct LEReadLocalSupportedFeatures: ParameterlessCommand {
  /// The return parameters.
  public typealias Return = LEReadLocalSupportedFeaturesReturn
  /// LE Read Local Supported Features (Core 5.4, Vol 4, Part E, §7.8.3).
  public static let opcode = HCIOpcode.leReadLocalSupportedFeatures

  /// The command.
  public init() {}
}

/// The controller's LE features.
public struct LEReadLocalSupportedFeaturesReturn: HCIRecord {
  /// The features.
  public var features: LEFeatures

  /// Parameters from their values.
  public init(features: LEFeatures) {
    self.features = features
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(features:)) { $0.features }
}

/// Sets or clears a feature bit that belongs to the host.
public struct LESetHostFeature: HCIRecord, HCICommand {
  /// LE Set Host Feature (Core 5.4, Vol 4, Part E, §7.8.115).
  public static let opcode = HCIOpcode.leSetHostFeature
  /// The number of the feature bit.
  public var bit: UInt8
  /// Whether the host has the feature.
  public var isSet: Bool

  /// The command with its parameters.
  public init(bit: UInt8, isSet: Bool) {
    self.bit = bit
    self.isSet = isSet
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(bit:isSet:)) { ($0.bit, $0.isSet) }
}

/// Gives the controller its random address.
public struct LESetRandomAddress: HCIRecord, HCICommand {
  /// LE Set Random Address (Core 5.4, Vol 4, Part E, §7.8.4).
  public static let opcode = HCIOpcode.leSetRandomAddress
  /// The address.
  public var address: DeviceAddress

  /// The command with its parameters.
  public init(address: DeviceAddress) {
    self.address = address
  }

  /// The parameters in wire order. The address is encoded without its type, which is always random.
  public static let layout = HCILayout({ (bits: AddressBits) in Self(address: bits.asRandom) }) {
    AddressBits($0.address)
  }
}

/// Reads what the controller can do at the same time.
public struct LEReadSupportedStates: ParameterlessCommand {
  /// The return parameters.
  public typealias Return = LEReadSupportedStatesReturn
  /// LE Read Supported States (Core 5.4, Vol 4, Part E, §7.8.27).
  public static let opcode = HCIOpcode.leReadSupportedStates

  /// The command.
  public init() {}
}

/// The combinations of LE states that a controller supports.
public struct LEReadSupportedStatesReturn: HCIRecord {
  /// A bit for each combination of states.
  public var states: UInt64

  /// Parameters from their values.
  public init(states: UInt64) {
    self.states = states
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(states:)) { $0.states }
}

/// Encrypts a block with AES-128.
public struct LEEncrypt: HCIRecord, HCICommand {
  /// The return parameters.
  public typealias Return = LEEncryptReturn
  /// LE Encrypt (Core 5.4, Vol 4, Part E, §7.8.22).
  public static let opcode = HCIOpcode.leEncrypt
  /// The key.
  public var key: UInt128
  /// The block.
  public var plaintext: UInt128

  /// The command with its parameters.
  public init(key: UInt128, plaintext: UInt128) {
    self.key = key
    self.plaintext = plaintext
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(key:plaintext:)) { ($0.key, $0.plaintext) }
}

/// An encrypted block.
public struct LEEncryptReturn: HCIRecord {
  /// The block.
  public var encrypted: UInt128

  /// Parameters from their values.
  public init(encrypted: UInt128) {
    self.encrypted = encrypted
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(encrypted:)) { $0.encrypted }
}

/// Requests a random number.
public struct LERand: ParameterlessCommand {
  /// The return parameters.
  public typealias Return = LERandReturn
  /// LE Rand (Core 5.4, Vol 4, Part E, §7.8.23).
  public static let opcode = HCIOpcode.leRand

  /// The command.
  public init() {}
}

/// A random number.
public struct LERandReturn: HCIRecord {
  /// The number.
  public var random: UInt64

  /// Parameters from their values.
  public init(random: UInt64) {
    self.random = random
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(random:)) { $0.random }
}

/// Reads the weakest and the strongest power that the controller sends with.
public struct LEReadTransmitPower: ParameterlessCommand {
  /// The return parameters.
  public typealias Return = LEReadTransmitPowerReturn
  /// LE Read Transmit Power (Core 5.4, Vol 4, Part E, §7.8.74).
  public static let opcode = HCIOpcode.leReadTransmitPower

  /// The command.
  public init() {}
}

/// The power range of a controller.
public struct LEReadTransmitPowerReturn: HCIRecord {
  /// The weakest, in dBm.
  public var minimumDBm: Int8
  /// The strongest, in dBm.
  public var maximumDBm: Int8

  /// Parameters from their values.
  public init(minimumDBm: Int8, maximumDBm: Int8) {
    self.minimumDBm = minimumDBm
    self.maximumDBm = maximumDBm
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(minimumDBm:maximumDBm:)) {
    ($0.minimumDBm, $0.maximumDBm)
  }
}

/// Reads the gain between the controller and its antenna.
public struct LEReadRFPathCompensation: ParameterlessCommand {
  /// The return parameters.
  public typealias Return = LERFPathCompensation
  /// LE Read RF Path Compensation (Core 5.4, Vol 4, Part E, §7.8.75).
  public static let opcode = HCIOpcode.leReadRFPathCompensation

  /// The command.
  public init() {}
}

/// The gain between a controller and its antenna.
public struct LERFPathCompensation: HCIRecord {
  /// The compensation for transmission, in 0.1 dB.
  public var transmitTenthDB: Int16
  /// The compensation for reception, in 0.1 dB.
  public var receiveTenthDB: Int16

  /// Parameters from their values.
  public init(transmitTenthDB: Int16, receiveTenthDB: Int16) {
    self.transmitTenthDB = transmitTenthDB
    self.receiveTenthDB = receiveTenthDB
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(transmitTenthDB:receiveTenthDB:)) {
    ($0.transmitTenthDB, $0.receiveTenthDB)
  }
}

/// Sets the gain between the controller and its antenna.
public struct LEWriteRFPathCompensation: HCIRecord, HCICommand {
  /// LE Write RF Path Compensation (Core 5.4, Vol 4, Part E, §7.8.76).
  public static let opcode = HCIOpcode.leWriteRFPathCompensation
  /// The gain.
  public var compensation: LERFPathCompensation

  /// The command with its parameters.
  public init(compensation: LERFPathCompensation) {
    self.compensation = compensation
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(compensation:)) { $0.compensation }
}

// Events that are not of LE alone.

/// A command began, or did not.
public struct CommandStatus: HCIRecord, HCIEventParameters {
  /// Command Status (Core 5.4, Vol 4, Part E, §7.7.15).
  public static let code = HCIEventCode(0x0F)
  /// Whether it began.
  public var status: HCIStatus
  /// The number of commands that the host may send from now on.
  public var numberOfCommandPackets: UInt8
  /// The opcode of the command.
  public var opcode: HCIOpcode

  /// The event with its parameters.
  public init(status: HCIStatus = .success, numberOfCommandPackets: UInt8 = 1, opcode: HCIOpcode) {
    self.status = status
    self.numberOfCommandPackets = numberOfCommandPackets
    self.opcode = opcode
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(status:numberOfCommandPackets:opcode:)) {
    ($0.status, $0.numberOfCommandPackets, $0.opcode)
  }
}

/// A connection ended.
public struct DisconnectionComplete: HCIRecord, HCIEventParameters {
  /// Disconnection Complete (Core 5.4, Vol 4, Part E, §7.7.5).
  public static let code = HCIEventCode(0x05)
  /// Whether it did end.
  public var status: HCIStatus
  /// The connection.
  public var handle: UInt16
  /// The reason.
  public var reason: HCIStatus

  /// The event with its parameters.
  public init(status: HCIStatus = .success, handle: UInt16, reason: HCIStatus) {
    self.status = status
    self.handle = handle
    self.reason = reason
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(status:handle:reason:)) {
    ($0.status, $0.handle, $0.reason)
  }
}

/// A connection was encrypted, or could not be.
public struct EncryptionChange: HCIRecord, HCIEventParameters {
  /// Encryption Change [v1] (Core 5.4, Vol 4, Part E, §7.7.8).
  public static let code = HCIEventCode(0x08)
  /// The status of the command or procedure.
  public var status: HCIStatus
  /// The connection.
  public var handle: UInt16
  /// The current encryption.
  public var encryption: LinkEncryption

  /// The event with its parameters.
  public init(status: HCIStatus = .success, handle: UInt16, encryption: LinkEncryption) {
    self.status = status
    self.handle = handle
    self.encryption = encryption
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(status:handle:encryption:)) {
    ($0.status, $0.handle, $0.encryption)
  }
}

/// An encrypted connection got a new key.
public struct EncryptionKeyRefreshComplete: HCIRecord, HCIEventParameters {
  /// Encryption Key Refresh Complete (Core 5.4, Vol 4, Part E, §7.7.39).
  public static let code = HCIEventCode(0x30)
  /// The status of the command or procedure.
  public var status: HCIStatus
  /// The connection.
  public var handle: UInt16

  /// The event with its parameters.
  public init(status: HCIStatus = .success, handle: UInt16) {
    self.status = status
    self.handle = handle
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(status:handle:)) { ($0.status, $0.handle) }
}

/// The versions of a peer's controller.
public struct ReadRemoteVersionInformationComplete: HCIRecord, HCIEventParameters {
  /// Read Remote Version Information Complete (Core 5.4, Vol 4, Part E, §7.7.12).
  public static let code = HCIEventCode(0x0C)
  /// The status of the command or procedure.
  public var status: HCIStatus
  /// The connection.
  public var handle: UInt16
  /// The specification that it follows; 13 is 5.4.
  public var version: UInt8
  /// The manufacturer (Assigned Numbers, §7).
  public var company: UInt16
  /// The maker's revision.
  public var subversion: UInt16

  /// The event with its parameters.
  public init(
    status: HCIStatus = .success, handle: UInt16, version: UInt8, company: UInt16,
    subversion: UInt16
  ) {
    self.status = status
    self.handle = handle
    self.version = version
    self.company = company
    self.subversion = subversion
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(status:handle:version:company:subversion:)) {
    ($0.status, $0.handle, $0.version, $0.company, $0.subversion)
  }
}

/// The controller failed.
public struct HardwareError: HCIRecord, HCIEventParameters {
  /// Hardware Error (Core 5.4, Vol 4, Part E, §7.7.16).
  public static let code = HCIEventCode(0x10)
  /// The maker's code for the failure.
  public var hardwareCode: UInt8

  /// The event with its parameters.
  public init(hardwareCode: UInt8) {
    self.hardwareCode = hardwareCode
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(hardwareCode:)) { $0.hardwareCode }
}

/// The host sent more than the controller has buffers for.
public struct DataBufferOverflow: HCIRecord, HCIEventParameters {
  /// Data Buffer Overflow (Core 5.4, Vol 4, Part E, §7.7.26).
  public static let code = HCIEventCode(0x1A)
  /// The link type of ACL data.
  public static let acl: UInt8 = 1
  /// 0 synchronous, 1 ACL, 2 isochronous.
  public var linkType: UInt8

  /// The event with its parameters.
  public init(linkType: UInt8) {
    self.linkType = linkType
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(linkType:)) { $0.linkType }
}

/// Whether and how a link is encrypted.
public enum LinkEncryption: UInt8, HCICodable {
  /// The link is not encrypted.
  case off = 0
  /// The link is encrypted; on LE, with AES-CCM.
  case on = 1
  /// A classic link is encrypted with AES-CCM.
  case classicAESCCM = 2
}

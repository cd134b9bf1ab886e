// Events that are not of LE alone.

/// A command began, or did not.
package struct CommandStatus: HCIRecord, HCIEventParameters {
  /// Command Status (Core 5.4, Vol 4, Part E, §7.7.15).
  package static let code = HCIEventCode(0x0F)
  /// Whether it began.
  package var status: HCIStatus
  /// The number of commands that the host may send from now on.
  package var numberOfCommandPackets: UInt8
  /// The opcode of the command.
  package var opcode: HCIOpcode

  /// The event with its parameters.
  package init(status: HCIStatus = .success, numberOfCommandPackets: UInt8 = 1, opcode: HCIOpcode) {
    self.status = status
    self.numberOfCommandPackets = numberOfCommandPackets
    self.opcode = opcode
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(status:numberOfCommandPackets:opcode:)) {
    ($0.status, $0.numberOfCommandPackets, $0.opcode)
  }
}

/// A connection ended.
package struct DisconnectionComplete: HCIRecord, HCIEventParameters {
  /// Disconnection Complete (Core 5.4, Vol 4, Part E, §7.7.5).
  package static let code = HCIEventCode(0x05)
  /// Whether it did end.
  package var status: HCIStatus
  /// The connection.
  package var handle: UInt16
  /// The reason.
  package var reason: HCIStatus

  /// The event with its parameters.
  package init(status: HCIStatus = .success, handle: UInt16, reason: HCIStatus) {
    self.status = status
    self.handle = handle
    self.reason = reason
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(status:handle:reason:)) {
    ($0.status, $0.handle, $0.reason)
  }
}

/// A connection was encrypted, or could not be.
package struct EncryptionChange: HCIRecord, HCIEventParameters {
  /// Encryption Change [v1] (Core 5.4, Vol 4, Part E, §7.7.8).
  package static let code = HCIEventCode(0x08)
  /// The status of the command or procedure.
  package var status: HCIStatus
  /// The connection.
  package var handle: UInt16
  /// The current encryption.
  package var encryption: LinkEncryption

  /// The event with its parameters.
  package init(status: HCIStatus = .success, handle: UInt16, encryption: LinkEncryption) {
    self.status = status
    self.handle = handle
    self.encryption = encryption
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(status:handle:encryption:)) {
    ($0.status, $0.handle, $0.encryption)
  }
}

/// An encrypted connection got a new key.
package struct EncryptionKeyRefreshComplete: HCIRecord, HCIEventParameters {
  /// Encryption Key Refresh Complete (Core 5.4, Vol 4, Part E, §7.7.39).
  package static let code = HCIEventCode(0x30)
  /// The status of the command or procedure.
  package var status: HCIStatus
  /// The connection.
  package var handle: UInt16

  /// The event with its parameters.
  package init(status: HCIStatus = .success, handle: UInt16) {
    self.status = status
    self.handle = handle
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(status:handle:)) { ($0.status, $0.handle) }
}

/// The versions of a peer's controller.
package struct ReadRemoteVersionInformationComplete: HCIRecord, HCIEventParameters {
  /// Read Remote Version Information Complete (Core 5.4, Vol 4, Part E, §7.7.12).
  package static let code = HCIEventCode(0x0C)
  /// The status of the command or procedure.
  package var status: HCIStatus
  /// The connection.
  package var handle: UInt16
  /// The specification that it follows; 13 is 5.4.
  package var version: UInt8
  /// The manufacturer (Assigned Numbers, §7).
  package var company: UInt16
  /// The maker's revision.
  package var subversion: UInt16

  /// The event with its parameters.
  package init(
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
  package static let layout = HCILayout(Self.init(status:handle:version:company:subversion:)) {
    ($0.status, $0.handle, $0.version, $0.company, $0.subversion)
  }
}

/// The controller failed.
package struct HardwareError: HCIRecord, HCIEventParameters {
  /// Hardware Error (Core 5.4, Vol 4, Part E, §7.7.16).
  package static let code = HCIEventCode(0x10)
  /// The maker's code for the failure.
  package var hardwareCode: UInt8

  /// The event with its parameters.
  package init(hardwareCode: UInt8) {
    self.hardwareCode = hardwareCode
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(hardwareCode:)) { $0.hardwareCode }
}

/// The host sent more than the controller has buffers for.
package struct DataBufferOverflow: HCIRecord, HCIEventParameters {
  /// Data Buffer Overflow (Core 5.4, Vol 4, Part E, §7.7.26).
  package static let code = HCIEventCode(0x1A)
  /// The link type of ACL data.
  package static let acl: UInt8 = 1
  /// 0 synchronous, 1 ACL, 2 isochronous.
  package var linkType: UInt8

  /// The event with its parameters.
  package init(linkType: UInt8) {
    self.linkType = linkType
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(linkType:)) { $0.linkType }
}

/// Whether and how a link is encrypted.
package enum LinkEncryption: UInt8, HCICodable {
  /// The link is not encrypted.
  case off = 0
  /// The link is encrypted; on LE, with AES-CCM.
  case on = 1
  /// A classic link is encrypted with AES-CCM.
  case classicAESCCM = 2
}

package import Essentials

// Commands that are not of LE alone: link control, baseband, information, status.

/// Ends a connection.
package struct Disconnect: HCIRecord, HCICommand {
  /// Disconnect (Core 5.4, Vol 4, Part E, §7.1.6).
  package static let opcode = HCIOpcode.disconnect
  /// The connection.
  package var handle: UInt16
  /// The reason, which the peer gets.
  package var reason: HCIStatus

  /// The command with its parameters.
  package init(handle: UInt16, reason: HCIStatus = .remoteUserTerminatedConnection) {
    self.handle = handle
    self.reason = reason
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(handle:reason:)) { ($0.handle, $0.reason) }
}

/// Requests the version of the peer's controller, which an event reports.
package struct ReadRemoteVersionInformation: ConnectionCommand {
  /// Read Remote Version Information (Core 5.4, Vol 4, Part E, §7.1.23).
  package static let opcode = HCIOpcode.readRemoteVersionInformation
  /// The connection.
  package var handle: UInt16

  /// The command with its parameters.
  package init(handle: UInt16) {
    self.handle = handle
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(handle:)) { $0.handle }
}

/// Sets the events that the controller sends.
package struct SetEventMask: HCIRecord, HCICommand {
  /// Set Event Mask (Core 5.4, Vol 4, Part E, §7.3.1).
  package static let opcode = HCIOpcode.setEventMask
  /// The wanted events.
  package var mask: EventMask

  /// The command with its parameters.
  package init(mask: EventMask = .default) {
    self.mask = mask
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(mask:)) { $0.mask }
}

/// Resets the controller.
package struct Reset: ParameterlessCommand {
  /// Reset (Core 5.4, Vol 4, Part E, §7.3.2).
  package static let opcode = HCIOpcode.reset

  /// The command.
  package init() {}
}

/// Reads the power that a connection's packets are sent with.
package struct ReadTransmitPowerLevel: HCIRecord, HCICommand {
  /// The return parameters.
  package typealias Return = ReadTransmitPowerLevelReturn
  /// Read Transmit Power Level (Core 5.4, Vol 4, Part E, §7.3.35).
  package static let opcode = HCIOpcode.readTransmitPowerLevel
  /// The connection.
  package var handle: UInt16
  /// Whether to read the maximum rather than the current power.
  package var isMaximum: Bool

  /// The command with its parameters.
  package init(handle: UInt16, isMaximum: Bool = false) {
    self.handle = handle
    self.isMaximum = isMaximum
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(handle:isMaximum:)) { ($0.handle, $0.isMaximum) }
}

/// The power of a connection.
package struct ReadTransmitPowerLevelReturn: HCIRecord {
  /// The connection.
  package var handle: UInt16
  /// The power in dBm.
  package var dBm: Int8

  /// Parameters from their values.
  package init(handle: UInt16, dBm: Int8) {
    self.handle = handle
    self.dBm = dBm
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(handle:dBm:)) { ($0.handle, $0.dBm) }
}

/// Sets the data to which controller-to-host flow control applies.
package struct SetControllerToHostFlowControl: HCIRecord, HCICommand {
  /// Set Controller To Host Flow Control (Core 5.4, Vol 4, Part E, §7.3.38).
  package static let opcode = HCIOpcode.setControllerToHostFlowControl
  /// The kinds of data under flow control.
  package var mode: HostFlowControl

  /// The command with its parameters.
  package init(mode: HostFlowControl) {
    self.mode = mode
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(mode:)) { $0.mode }
}

/// Sets the size and number of the host's buffers.
package struct HostBufferSize: HCIRecord, HCICommand {
  /// Host Buffer Size (Core 5.4, Vol 4, Part E, §7.3.39).
  package static let opcode = HCIOpcode.hostBufferSize
  /// The longest ACL packet, in bytes after the header.
  package var aclLength: UInt16
  /// The longest synchronous packet.
  package var synchronousLength: UInt8
  /// The number of ACL packets.
  package var aclCount: UInt16
  /// The number of synchronous packets.
  package var synchronousCount: UInt16

  /// The command with its parameters.
  package init(
    aclLength: UInt16, synchronousLength: UInt8 = 0, aclCount: UInt16, synchronousCount: UInt16 = 0
  ) {
    self.aclLength = aclLength
    self.synchronousLength = synchronousLength
    self.aclCount = aclCount
    self.synchronousCount = synchronousCount
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(
    Self.init(aclLength:synchronousLength:aclCount:synchronousCount:)
  ) {
    ($0.aclLength, $0.synchronousLength, $0.aclCount, $0.synchronousCount)
  }
}

/// Sets additional events that the controller sends. None of them is specific to LE.
package struct SetEventMaskPage2: HCIRecord, HCICommand {
  /// Set Event Mask Page 2 (Core 5.4, Vol 4, Part E, §7.3.69).
  package static let opcode = HCIOpcode.setEventMaskPage2
  /// The wanted events, a bit each.
  package var mask: UInt64

  /// The command with its parameters.
  package init(mask: UInt64 = 0) {
    self.mask = mask
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(mask:)) { $0.mask }
}

/// Reads what Write LE Host Support wrote.
package struct ReadLEHostSupport: ParameterlessCommand {
  /// The return parameters.
  package typealias Return = ReadLEHostSupportReturn
  /// Read LE Host Support (Core 5.4, Vol 4, Part E, §7.3.78).
  package static let opcode = HCIOpcode.readLEHostSupport

  /// The command.
  package init() {}
}

/// Whether the host does LE.
package struct ReadLEHostSupportReturn: HCIRecord {
  /// Whether the host does LE.
  package var isSupported: Bool
  /// Once "simultaneous LE and BR/EDR"; of no meaning now.
  package var unused: UInt8

  /// Parameters from their values.
  package init(isSupported: Bool, unused: UInt8 = 0) {
    self.isSupported = isSupported
    self.unused = unused
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(isSupported:unused:)) {
    ($0.isSupported, $0.unused)
  }
}

/// Enables LE in a dual-mode controller.
package struct WriteLEHostSupport: HCIRecord, HCICommand {
  /// Write LE Host Support (Core 5.4, Vol 4, Part E, §7.3.79).
  package static let opcode = HCIOpcode.writeLEHostSupport
  /// Whether the host does LE.
  package var isSupported: Bool
  /// Once "simultaneous LE and BR/EDR"; of no meaning now.
  package var unused: UInt8

  /// The command with its parameters.
  package init(isSupported: Bool, unused: UInt8 = 0) {
    self.isSupported = isSupported
    self.unused = unused
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(isSupported:unused:)) {
    ($0.isSupported, $0.unused)
  }
}

/// Reads the version and the manufacturer of the controller.
package struct ReadLocalVersionInformation: ParameterlessCommand {
  /// The return parameters.
  package typealias Return = ReadLocalVersionInformationReturn
  /// Read Local Version Information (Core 5.4, Vol 4, Part E, §7.4.1).
  package static let opcode = HCIOpcode.readLocalVersionInformation

  /// The command.
  package init() {}
}

/// The versions of a controller.
package struct ReadLocalVersionInformationReturn: HCIRecord {
  /// The specification of HCI that it follows; 13 is 5.4 (Assigned Numbers, §2.1).
  package var hciVersion: UInt8
  /// The maker's revision of HCI.
  package var hciSubversion: UInt16
  /// The specification of the link layer that it follows.
  package var linkVersion: UInt8
  /// The manufacturer (Assigned Numbers, §7).
  package var company: UInt16
  /// The maker's revision of the link layer.
  package var linkSubversion: UInt16

  /// Parameters from their values.
  package init(
    hciVersion: UInt8, hciSubversion: UInt16, linkVersion: UInt8, company: UInt16,
    linkSubversion: UInt16
  ) {
    self.hciVersion = hciVersion
    self.hciSubversion = hciSubversion
    self.linkVersion = linkVersion
    self.company = company
    self.linkSubversion = linkSubversion
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(
    Self.init(hciVersion:hciSubversion:linkVersion:company:linkSubversion:)
  ) {
    ($0.hciVersion, $0.hciSubversion, $0.linkVersion, $0.company, $0.linkSubversion)
  }
}

/// Reads which commands the controller knows.
package struct ReadLocalSupportedCommands: ParameterlessCommand {
  /// The return parameters.
  package typealias Return = SupportedCommands
  /// Read Local Supported Commands (Core 5.4, Vol 4, Part E, §7.4.2).
  package static let opcode = HCIOpcode.readLocalSupportedCommands

  /// The command.
  package init() {}
}

/// Reads the controller's classic features, page 0.
package struct ReadLocalSupportedFeatures: ParameterlessCommand {
  /// The return parameters.
  package typealias Return = ReadLocalSupportedFeaturesReturn
  /// Read Local Supported Features (Core 5.4, Vol 4, Part E, §7.4.3).
  package static let opcode = HCIOpcode.readLocalSupportedFeatures

  /// The command.
  package init() {}
}

/// Classic features, page 0.
package struct ReadLocalSupportedFeaturesReturn: HCIRecord {
  /// The features.
  package var features: LMPFeatures

  /// Parameters from their values.
  package init(features: LMPFeatures) {
    self.features = features
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(features:)) { $0.features }
}

/// Reads a page of the controller's classic features.
package struct ReadLocalExtendedFeatures: HCIRecord, HCICommand {
  /// The return parameters.
  package typealias Return = ReadLocalExtendedFeaturesReturn
  /// Read Local Extended Features (Core 5.4, Vol 4, Part E, §7.4.4).
  package static let opcode = HCIOpcode.readLocalExtendedFeatures
  /// The page number.
  package var page: UInt8

  /// The command with its parameters.
  package init(page: UInt8) {
    self.page = page
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(page:)) { $0.page }
}

/// A page of classic features.
package struct ReadLocalExtendedFeaturesReturn: HCIRecord {
  /// The page number.
  package var page: UInt8
  /// The last page that has a feature.
  package var lastPage: UInt8
  /// The features, a bit each.
  package var features: UInt64

  /// Parameters from their values.
  package init(page: UInt8, lastPage: UInt8, features: UInt64) {
    self.page = page
    self.lastPage = lastPage
    self.features = features
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(page:lastPage:features:)) {
    ($0.page, $0.lastPage, $0.features)
  }
}

/// Reads the size and number of the controller's buffers. LE uses them if it has no separate ones.
package struct ReadBufferSize: ParameterlessCommand {
  /// The return parameters.
  package typealias Return = ReadBufferSizeReturn
  /// Read Buffer Size (Core 5.4, Vol 4, Part E, §7.4.5).
  package static let opcode = HCIOpcode.readBufferSize

  /// The command.
  package init() {}
}

/// The controller's buffers.
package struct ReadBufferSizeReturn: HCIRecord {
  /// The longest ACL packet, in bytes after the header.
  package var aclLength: UInt16
  /// The longest synchronous packet.
  package var synchronousLength: UInt8
  /// The number of ACL packets.
  package var aclCount: UInt16
  /// The number of synchronous packets.
  package var synchronousCount: UInt16

  /// Parameters from their values.
  package init(
    aclLength: UInt16, synchronousLength: UInt8, aclCount: UInt16, synchronousCount: UInt16
  ) {
    self.aclLength = aclLength
    self.synchronousLength = synchronousLength
    self.aclCount = aclCount
    self.synchronousCount = synchronousCount
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(
    Self.init(aclLength:synchronousLength:aclCount:synchronousCount:)
  ) {
    ($0.aclLength, $0.synchronousLength, $0.aclCount, $0.synchronousCount)
  }
}

/// Reads the controller's public address.
package struct ReadBDADDR: ParameterlessCommand {
  /// The return parameters.
  package typealias Return = ReadBDADDRReturn
  /// Read BD_ADDR (Core 5.4, Vol 4, Part E, §7.4.6).
  package static let opcode = HCIOpcode.readBDADDR

  /// The command.
  package init() {}
}

/// The public address of a controller; all zero where it has none.
package struct ReadBDADDRReturn: HCIRecord {
  /// The address.
  package var address: DeviceAddress

  /// Parameters from their values.
  package init(address: DeviceAddress) { self.address = address }

  /// The address without its type, which is always public.
  package static let layout = HCILayout({ (bits: AddressBits) in Self(address: bits.asPublic) }) {
    AddressBits($0.address)
  }
}

/// Reads how strongly the peer's packets arrive.
package struct ReadRSSI: ConnectionCommand {
  /// The return parameters.
  package typealias Return = ReadRSSIReturn
  /// Read RSSI (Core 5.4, Vol 4, Part E, §7.5.4).
  package static let opcode = HCIOpcode.readRSSI
  /// The connection.
  package var handle: UInt16

  /// The command with its parameters.
  package init(handle: UInt16) {
    self.handle = handle
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(handle:)) { $0.handle }
}

/// The signal strength of a connection.
package struct ReadRSSIReturn: HCIRecord {
  /// The connection.
  package var handle: UInt16
  /// The strength in dBm; nil where it is not available.
  package var rssi: Int8?

  /// Parameters from their values.
  package init(handle: UInt16, rssi: Int8?) {
    self.handle = handle
    self.rssi = rssi
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(handle:rssi:)) { ($0.handle, $0.rssi) }
}

/// Gives buffers back to the controller (Core 5.4, Vol 4, Part E, §7.3.40).
///
/// Answered only when something is wrong.
package struct HostNumberOfCompletedPackets: HCICommand {
  /// Host Number Of Completed Packets (Core 5.4, Vol 4, Part E, §7.3.40).
  package static let opcode = HCIOpcode.hostNumberOfCompletedPackets
  /// The connections and how many packets each gives back.
  package var packets: [CompletedPackets]

  /// The command with its parameters, at most 63 connections.
  package init(packets: [CompletedPackets]) {
    precondition(packets.count <= 63, "a command has room for 63 connections")
    self.packets = packets
  }

  /// Reads a count, then handle and number for each.
  package init(decoding reader: inout ByteReader) throws(WireError) {
    packets = Array(try NumberOfCompletedPackets(decoding: &reader))
  }

  /// Writes a count, then handle and number for each.
  package func encode(into writer: inout ByteWriter) {
    NumberOfCompletedPackets(packets).encode(into: &writer)
  }
}

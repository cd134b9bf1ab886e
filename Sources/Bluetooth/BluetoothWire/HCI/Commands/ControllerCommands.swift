public import Essentials

// Commands that are not of LE alone: link control, baseband, information, status.

/// Ends a connection.
public struct Disconnect: HCIRecord, HCICommand {
  /// Disconnect (Core 5.4, Vol 4, Part E, §7.1.6).
  public static let opcode = HCIOpcode.disconnect
  /// The connection.
  public var handle: UInt16
  /// The reason, which the peer gets.
  public var reason: HCIStatus

  /// The command with its parameters.
  public init(handle: UInt16, reason: HCIStatus = .remoteUserTerminatedConnection) {
    self.handle = handle
    self.reason = reason
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(handle:reason:)) { ($0.handle, $0.reason) }
}

/// Requests the version of the peer's controller, which an event reports.
public struct ReadRemoteVersionInformation: ConnectionCommand {
  /// Read Remote Version Information (Core 5.4, Vol 4, Part E, §7.1.23).
  public static let opcode = HCIOpcode.readRemoteVersionInformation
  /// The connection.
  public var handle: UInt16

  /// The command with its parameters.
  public init(handle: UInt16) {
    self.handle = handle
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(handle:)) { $0.handle }
}

/// Sets the events that the controller sends.
public struct SetEventMask: HCIRecord, HCICommand {
  /// Set Event Mask (Core 5.4, Vol 4, Part E, §7.3.1).
  public static let opcode = HCIOpcode.setEventMask
  /// The wanted events.
  public var mask: EventMask

  /// The command with its parameters.
  public init(mask: EventMask = .default) {
    self.mask = mask
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(mask:)) { $0.mask }
}

/// Resets the controller.
public struct Reset: ParameterlessCommand {
  /// Reset (Core 5.4, Vol 4, Part E, §7.3.2).
  public static let opcode = HCIOpcode.reset

  /// The command.
  public init() {}
}

/// Reads the power that a connection's packets are sent with.
public struct ReadTransmitPowerLevel: HCIRecord, HCICommand {
  /// The return parameters.
  public typealias Return = ReadTransmitPowerLevelReturn
  /// Read Transmit Power Level (Core 5.4, Vol 4, Part E, §7.3.35).
  public static let opcode = HCIOpcode.readTransmitPowerLevel
  /// The connection.
  public var handle: UInt16
  /// Whether to read the maximum rather than the current power.
  public var isMaximum: Bool

  /// The command with its parameters.
  public init(handle: UInt16, isMaximum: Bool = false) {
    self.handle = handle
    self.isMaximum = isMaximum
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(handle:isMaximum:)) { ($0.handle, $0.isMaximum) }
}

/// The power of a connection.
public struct ReadTransmitPowerLevelReturn: HCIRecord {
  /// The connection.
  public var handle: UInt16
  /// The power in dBm.
  public var dBm: Int8

  /// Parameters from their values.
  public init(handle: UInt16, dBm: Int8) {
    self.handle = handle
    self.dBm = dBm
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(handle:dBm:)) { ($0.handle, $0.dBm) }
}

/// Sets the data to which controller-to-host flow control applies.
public struct SetControllerToHostFlowControl: HCIRecord, HCICommand {
  /// Set Controller To Host Flow Control (Core 5.4, Vol 4, Part E, §7.3.38).
  public static let opcode = HCIOpcode.setControllerToHostFlowControl
  /// The kinds of data under flow control.
  public var mode: HostFlowControl

  /// The command with its parameters.
  public init(mode: HostFlowControl) {
    self.mode = mode
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(mode:)) { $0.mode }
}

/// Sets the size and number of the host's buffers.
public struct HostBufferSize: HCIRecord, HCICommand {
  /// Host Buffer Size (Core 5.4, Vol 4, Part E, §7.3.39).
  public static let opcode = HCIOpcode.hostBufferSize
  /// The longest ACL packet, in bytes after the header.
  public var aclLength: UInt16
  /// The longest synchronous packet.
  public var synchronousLength: UInt8
  /// The number of ACL packets.
  public var aclCount: UInt16
  /// The number of synchronous packets.
  public var synchronousCount: UInt16

  /// The command with its parameters.
  public init(
    aclLength: UInt16, synchronousLength: UInt8 = 0, aclCount: UInt16, synchronousCount: UInt16 = 0
  ) {
    self.aclLength = aclLength
    self.synchronousLength = synchronousLength
    self.aclCount = aclCount
    self.synchronousCount = synchronousCount
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(
    Self.init(aclLength:synchronousLength:aclCount:synchronousCount:)
  ) {
    ($0.aclLength, $0.synchronousLength, $0.aclCount, $0.synchronousCount)
  }
}

/// Sets additional events that the controller sends. None of them is specific to LE.
public struct SetEventMaskPage2: HCIRecord, HCICommand {
  /// Set Event Mask Page 2 (Core 5.4, Vol 4, Part E, §7.3.69).
  public static let opcode = HCIOpcode.setEventMaskPage2
  /// The wanted events, a bit each.
  public var mask: UInt64

  /// The command with its parameters.
  public init(mask: UInt64 = 0) {
    self.mask = mask
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(mask:)) { $0.mask }
}

/// Reads what Write LE Host Support wrote.
public struct ReadLEHostSupport: ParameterlessCommand {
  /// The return parameters.
  public typealias Return = ReadLEHostSupportReturn
  /// Read LE Host Support (Core 5.4, Vol 4, Part E, §7.3.78).
  public static let opcode = HCIOpcode.readLEHostSupport

  /// The command.
  public init() {}
}

/// Whether the host does LE.
public struct ReadLEHostSupportReturn: HCIRecord {
  /// Whether the host does LE.
  public var isSupported: Bool
  /// Once "simultaneous LE and BR/EDR"; of no meaning now.
  public var unused: UInt8

  /// Parameters from their values.
  public init(isSupported: Bool, unused: UInt8 = 0) {
    self.isSupported = isSupported
    self.unused = unused
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(isSupported:unused:)) {
    ($0.isSupported, $0.unused)
  }
}

/// Enables LE in a dual-mode controller.
public struct WriteLEHostSupport: HCIRecord, HCICommand {
  /// Write LE Host Support (Core 5.4, Vol 4, Part E, §7.3.79).
  public static let opcode = HCIOpcode.writeLEHostSupport
  /// Whether the host does LE.
  public var isSupported: Bool
  /// Once "simultaneous LE and BR/EDR"; of no meaning now.
  public var unused: UInt8

  /// The command with its parameters.
  public init(isSupported: Bool, unused: UInt8 = 0) {
    self.isSupported = isSupported
    self.unused = unused
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(isSupported:unused:)) {
    ($0.isSupported, $0.unused)
  }
}

/// Reads the version and the manufacturer of the controller.
public struct ReadLocalVersionInformation: ParameterlessCommand {
  /// The return parameters.
  public typealias Return = ReadLocalVersionInformationReturn
  /// Read Local Version Information (Core 5.4, Vol 4, Part E, §7.4.1).
  public static let opcode = HCIOpcode.readLocalVersionInformation

  /// The command.
  public init() {}
}

/// The versions of a controller.
public struct ReadLocalVersionInformationReturn: HCIRecord {
  /// The specification of HCI that it follows; 13 is 5.4 (Assigned Numbers, §2.1).
  public var hciVersion: UInt8
  /// The maker's revision of HCI.
  public var hciSubversion: UInt16
  /// The specification of the link layer that it follows.
  public var linkVersion: UInt8
  /// The manufacturer (Assigned Numbers, §7).
  public var company: UInt16
  /// The maker's revision of the link layer.
  public var linkSubversion: UInt16

  /// Parameters from their values.
  public init(
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
  public static let layout = HCILayout(
    Self.init(hciVersion:hciSubversion:linkVersion:company:linkSubversion:)
  ) {
    ($0.hciVersion, $0.hciSubversion, $0.linkVersion, $0.company, $0.linkSubversion)
  }
}

/// Reads which commands the controller knows.
public struct ReadLocalSupportedCommands: ParameterlessCommand {
  /// The return parameters.
  public typealias Return = SupportedCommands
  /// Read Local Supported Commands (Core 5.4, Vol 4, Part E, §7.4.2).
  public static let opcode = HCIOpcode.readLocalSupportedCommands

  /// The command.
  public init() {}
}

/// Reads the controller's classic features, page 0.
public struct ReadLocalSupportedFeatures: ParameterlessCommand {
  /// The return parameters.
  public typealias Return = ReadLocalSupportedFeaturesReturn
  /// Read Local Supported Features (Core 5.4, Vol 4, Part E, §7.4.3).
  public static let opcode = HCIOpcode.readLocalSupportedFeatures

  /// The command.
  public init() {}
}

/// Classic features, page 0.
public struct ReadLocalSupportedFeaturesReturn: HCIRecord {
  /// The features.
  public var features: LMPFeatures

  /// Parameters from their values.
  public init(features: LMPFeatures) {
    self.features = features
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(features:)) { $0.features }
}

/// Reads a page of the controller's classic features.
public struct ReadLocalExtendedFeatures: HCIRecord, HCICommand {
  /// The return parameters.
  public typealias Return = ReadLocalExtendedFeaturesReturn
  /// Read Local Extended Features (Core 5.4, Vol 4, Part E, §7.4.4).
  public static let opcode = HCIOpcode.readLocalExtendedFeatures
  /// The page number.
  public var page: UInt8

  /// The command with its parameters.
  public init(page: UInt8) {
    self.page = page
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(page:)) { $0.page }
}

/// A page of classic features.
public struct ReadLocalExtendedFeaturesReturn: HCIRecord {
  /// The page number.
  public var page: UInt8
  /// The last page that has a feature.
  public var lastPage: UInt8
  /// The features, a bit each.
  public var features: UInt64

  /// Parameters from their values.
  public init(page: UInt8, lastPage: UInt8, features: UInt64) {
    self.page = page
    self.lastPage = lastPage
    self.features = features
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(page:lastPage:features:)) {
    ($0.page, $0.lastPage, $0.features)
  }
}

/// Reads the size and number of the controller's buffers. LE uses them if it has no separate ones.
public struct ReadBufferSize: ParameterlessCommand {
  /// The return parameters.
  public typealias Return = ReadBufferSizeReturn
  /// Read Buffer Size (Core 5.4, Vol 4, Part E, §7.4.5).
  public static let opcode = HCIOpcode.readBufferSize

  /// The command.
  public init() {}
}

/// The controller's buffers.
public struct ReadBufferSizeReturn: HCIRecord {
  /// The longest ACL packet, in bytes after the header.
  public var aclLength: UInt16
  /// The longest synchronous packet.
  public var synchronousLength: UInt8
  /// The number of ACL packets.
  public var aclCount: UInt16
  /// The number of synchronous packets.
  public var synchronousCount: UInt16

  /// Parameters from their values.
  public init(
    aclLength: UInt16, synchronousLength: UInt8, aclCount: UInt16, synchronousCount: UInt16
  ) {
    self.aclLength = aclLength
    self.synchronousLength = synchronousLength
    self.aclCount = aclCount
    self.synchronousCount = synchronousCount
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(
    Self.init(aclLength:synchronousLength:aclCount:synchronousCount:)
  ) {
    ($0.aclLength, $0.synchronousLength, $0.aclCount, $0.synchronousCount)
  }
}

/// Reads the controller's public address.
public struct ReadBDADDR: ParameterlessCommand {
  /// The return parameters.
  public typealias Return = ReadBDADDRReturn
  /// Read BD_ADDR (Core 5.4, Vol 4, Part E, §7.4.6).
  public static let opcode = HCIOpcode.readBDADDR

  /// The command.
  public init() {}
}

/// The public address of a controller; all zero where it has none.
public struct ReadBDADDRReturn: HCIRecord {
  /// The address.
  public var address: DeviceAddress

  /// Parameters from their values.
  public init(address: DeviceAddress) { self.address = address }

  /// The address without its type, which is always public.
  public static let layout = HCILayout({ (bits: AddressBits) in Self(address: bits.asPublic) }) {
    AddressBits($0.address)
  }
}

/// Reads how strongly the peer's packets arrive.
public struct ReadRSSI: ConnectionCommand {
  /// The return parameters.
  public typealias Return = ReadRSSIReturn
  /// Read RSSI (Core 5.4, Vol 4, Part E, §7.5.4).
  public static let opcode = HCIOpcode.readRSSI
  /// The connection.
  public var handle: UInt16

  /// The command with its parameters.
  public init(handle: UInt16) {
    self.handle = handle
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(handle:)) { $0.handle }
}

/// The signal strength of a connection.
public struct ReadRSSIReturn: HCIRecord {
  /// The connection.
  public var handle: UInt16
  /// The strength in dBm; nil where it is not available.
  public var rssi: Int8?

  /// Parameters from their values.
  public init(handle: UInt16, rssi: Int8?) {
    self.handle = handle
    self.rssi = rssi
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(handle:rssi:)) { ($0.handle, $0.rssi) }
}

/// Gives buffers back to the controller (Core 5.4, Vol 4, Part E, §7.3.40).
///
/// Answered only when something is wrong.
public struct HostNumberOfCompletedPackets: HCICommand {
  /// Host Number Of Completed Packets (Core 5.4, Vol 4, Part E, §7.3.40).
  public static let opcode = HCIOpcode.hostNumberOfCompletedPackets
  /// The connections and how many packets each gives back.
  public var packets: [CompletedPackets]

  /// The command with its parameters, at most 63 connections.
  public init(packets: [CompletedPackets]) {
    precondition(packets.count <= 63, "a command has room for 63 connections")
    self.packets = packets
  }

  /// Reads a count, then handle and number for each.
  public init(decoding reader: inout ByteReader) throws(WireError) {
    packets = Array(try NumberOfCompletedPackets(decoding: &reader))
  }

  /// Writes a count, then handle and number for each.
  public func encode(into writer: inout ByteWriter) {
    NumberOfCompletedPackets(packets).encode(into: &writer)
  }
}

public import Essentials

// Extended advertising.

/// Gives an advertising set its random address.
public struct LESetAdvertisingSetRandomAddress: HCIRecord, HCICommand {
  /// LE Set Advertising Set Random Address (Core 5.4, Vol 4, Part E, §7.8.52).
  public static let opcode = HCIOpcode.leSetAdvertisingSetRandomAddress
  /// The handle of the advertising set.
  public var set: UInt8
  /// The address.
  public var address: DeviceAddress

  /// The command with its parameters.
  public init(set: UInt8, address: DeviceAddress) {
    self.set = set
    self.address = address
  }

  /// The parameters in wire order. The address is encoded without its type, which is always random.
  public static let layout = HCILayout({ (set: UInt8, bits: AddressBits) in
    Self(set: set, address: bits.asRandom)
  }) { ($0.set, AddressBits($0.address)) }
}

/// Creates an advertising set, or changes the parameters of an existing one.
public struct LESetExtendedAdvertisingParameters: HCIRecord, HCICommand {
  /// The return parameters.
  public typealias Return = LESetExtendedAdvertisingParametersReturn
  /// LE Set Extended Advertising Parameters [v1] (Core 5.4, Vol 4, Part E, §7.8.53).
  public static let opcode = HCIOpcode.leSetExtendedAdvertisingParameters
  /// The handle of the advertising set.
  public var set: UInt8
  /// The properties of the advertising events.
  public var properties: AdvertisingEventProperties
  /// The shortest interval, in units of 0.625 ms.
  public var intervalMinUnits625us: UInt32
  /// The longest interval, in units of 0.625 ms.
  public var intervalMaxUnits625us: UInt32
  /// On which channels.
  public var channels: AdvertisingChannels
  /// Under which address.
  public var ownAddressType: OwnAddressType
  /// The target of directed advertising.
  public var peer: DeviceAddress
  /// The filter policy for scan and connection requests.
  public var filterPolicy: AdvertisingFilterPolicy
  /// The wanted power; nil leaves it to the controller.
  public var powerDBm: Int8?
  /// The PHY of the advertising channels.
  public var primaryPHY: PHY
  /// The maximum number of advertising events that may be skipped before the data is sent.
  public var secondaryMaximumSkip: UInt8
  /// The PHY of the data.
  public var secondaryPHY: PHY
  /// The number that scanners see, 0 ... 15.
  public var setID: UInt8
  /// Whether scan requests are reported to the host.
  public var notifiesScanRequests: Bool

  /// The command with its parameters.
  public init(
    set: UInt8, properties: AdvertisingEventProperties, intervalMinUnits625us: UInt32,
    intervalMaxUnits625us: UInt32, channels: AdvertisingChannels = .all,
    ownAddressType: OwnAddressType = .public,
    peer: DeviceAddress = DeviceAddress(bits: 0, kind: .public),
    filterPolicy: AdvertisingFilterPolicy = .unfiltered, powerDBm: Int8? = nil,
    primaryPHY: PHY = .le1M, secondaryMaximumSkip: UInt8 = 0, secondaryPHY: PHY = .le1M,
    setID: UInt8 = 0, notifiesScanRequests: Bool = false
  ) {
    self.set = set
    self.properties = properties
    self.intervalMinUnits625us = intervalMinUnits625us
    self.intervalMaxUnits625us = intervalMaxUnits625us
    self.channels = channels
    self.ownAddressType = ownAddressType
    self.peer = peer
    self.filterPolicy = filterPolicy
    self.powerDBm = powerDBm
    self.primaryPHY = primaryPHY
    self.secondaryMaximumSkip = secondaryMaximumSkip
    self.secondaryPHY = secondaryPHY
    self.setID = setID
    self.notifiesScanRequests = notifiesScanRequests
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(
    {
      (
        set: UInt8, properties: AdvertisingEventProperties, intervalMin: UInt24,
        intervalMax: UInt24, channels: AdvertisingChannels, ownAddressType: OwnAddressType,
        peer: DeviceAddress, filterPolicy: AdvertisingFilterPolicy, powerDBm: Int8?,
        primaryPHY: PHY, secondaryMaximumSkip: UInt8, secondaryPHY: PHY, setID: UInt8,
        notifiesScanRequests: Bool
      ) in
      Self(
        set: set, properties: properties, intervalMinUnits625us: intervalMin.value,
        intervalMaxUnits625us: intervalMax.value, channels: channels,
        ownAddressType: ownAddressType, peer: peer, filterPolicy: filterPolicy,
        powerDBm: powerDBm, primaryPHY: primaryPHY, secondaryMaximumSkip: secondaryMaximumSkip,
        secondaryPHY: secondaryPHY, setID: setID, notifiesScanRequests: notifiesScanRequests)
    },
    {
      (
        $0.set, $0.properties, UInt24($0.intervalMinUnits625us), UInt24($0.intervalMaxUnits625us),
        $0.channels, $0.ownAddressType, $0.peer, $0.filterPolicy, $0.powerDBm, $0.primaryPHY,
        $0.secondaryMaximumSkip, $0.secondaryPHY, $0.setID, $0.notifiesScanRequests
      )
    })
}

/// The power that an advertising set got.
public struct LESetExtendedAdvertisingParametersReturn: HCIRecord {
  /// The power in dBm.
  public var dBm: Int8

  /// Parameters from their values.
  public init(dBm: Int8) {
    self.dBm = dBm
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(dBm:)) { $0.dBm }
}

/// The fragment of advertising data that a command contains (Core 5.4, Vol 4, Part E, §7.8.54).
public enum AdvertisingDataOperation: UInt8, HCICodable {
  /// A fragment between the first and the last.
  case intermediate = 0
  /// The first of several.
  case first = 1
  /// The last of several.
  case last = 2
  /// All of it.
  case complete = 3
  /// No data: the data is unchanged, but gets a new identifier.
  case unchanged = 4
}

/// A command that carries extended advertising data.
public protocol ExtendedDataCommand: HCICommand {
  /// The handle of the advertising set.
  var set: UInt8 { get }
  /// The fragment of the data.
  var operation: AdvertisingDataOperation { get }
  /// Whether the controller should send the data in as few packets as it can.
  var avoidsFragmentation: Bool { get }
  /// The data or the part of it, at most 251 bytes.
  var data: [UInt8] { get }

  /// The command with its parameters.
  init(
    set: UInt8, operation: AdvertisingDataOperation, avoidsFragmentation: Bool, data: [UInt8])
}

extension ExtendedDataCommand {
  /// Reads the parameters, then a length of at most 251 and the data.
  public init(decoding reader: inout ByteReader) throws(WireError) {
    self.init(
      set: try reader.value(), operation: try reader.value(),
      avoidsFragmentation: try reader.value(), data: Array(try reader.counted()))
    guard data.count <= 251 else { throw .invalidLength(data.count) }
  }

  /// Writes the parameters, then the length and the data.
  public func encode(into writer: inout ByteWriter) {
    precondition(data.count <= 251, "a command carries 251 bytes of advertising data at most")
    writer.uint8(set)
    operation.encode(into: &writer)
    avoidsFragmentation.encode(into: &writer)
    writer.uint8(UInt8(truncatingIfNeeded: data.count))
    writer.append(data)
  }
}

/// Sets the data of an advertising set.
public struct LESetExtendedAdvertisingData: ExtendedDataCommand {
  /// LE Set Extended Advertising Data (Core 5.4, Vol 4, Part E, §7.8.54).
  public static let opcode = HCIOpcode.leSetExtendedAdvertisingData
  /// The handle of the advertising set.
  public var set: UInt8
  /// The fragment of the data.
  public var operation: AdvertisingDataOperation
  /// Whether the controller should send the data in as few packets as it can.
  public var avoidsFragmentation: Bool
  /// The data or the part of it, at most 251 bytes.
  public var data: [UInt8]

  /// The command with its parameters.
  public init(
    set: UInt8, operation: AdvertisingDataOperation = .complete, avoidsFragmentation: Bool = true,
    data: [UInt8]
  ) {
    self.set = set
    self.operation = operation
    self.avoidsFragmentation = avoidsFragmentation
    self.data = data
  }
}

/// Sets the scan response of an advertising set.
public struct LESetExtendedScanResponseData: ExtendedDataCommand {
  /// LE Set Extended Scan Response Data (Core 5.4, Vol 4, Part E, §7.8.55).
  public static let opcode = HCIOpcode.leSetExtendedScanResponseData
  /// The handle of the advertising set.
  public var set: UInt8
  /// The fragment of the data.
  public var operation: AdvertisingDataOperation
  /// Whether the controller should send the data in as few packets as it can.
  public var avoidsFragmentation: Bool
  /// The data or the part of it, at most 251 bytes.
  public var data: [UInt8]

  /// The command with its parameters.
  public init(
    set: UInt8, operation: AdvertisingDataOperation = .complete, avoidsFragmentation: Bool = true,
    data: [UInt8]
  ) {
    self.set = set
    self.operation = operation
    self.avoidsFragmentation = avoidsFragmentation
    self.data = data
  }
}

/// Starts or stops advertising sets.
public struct LESetExtendedAdvertisingEnable: HCICommand {
  /// LE Set Extended Advertising Enable (Core 5.4, Vol 4, Part E, §7.8.56).
  public static let opcode = HCIOpcode.leSetExtendedAdvertisingEnable

  /// An advertising set with its duration.
  public struct Entry: HCIRecord {
    /// The handle of the advertising set.
    public var set: UInt8
    /// For how long, in units of 10 ms; 0 is until stopped.
    public var durationUnits10ms: UInt16
    /// After how many advertising events it ends; 0 is never.
    public var eventCountMax: UInt8

    /// Parameters from their values.
    public init(set: UInt8, durationUnits10ms: UInt16 = 0, eventCountMax: UInt8 = 0) {
      self.set = set
      self.durationUnits10ms = durationUnits10ms
      self.eventCountMax = eventCountMax
    }

    /// The parameters in wire order.
    public static let layout = HCILayout(Self.init(set:durationUnits10ms:eventCountMax:)) {
      ($0.set, $0.durationUnits10ms, $0.eventCountMax)
    }
  }

  /// Whether to advertise.
  public var isEnabled: Bool
  /// The sets, at most 63; none with `isEnabled` false stops all.
  public var sets: [Entry]

  /// The command with its parameters.
  public init(isEnabled: Bool, sets: [Entry] = []) {
    self.isEnabled = isEnabled
    self.sets = sets
  }

  /// Reads the flag, a count, and that number of sets.
  public init(decoding reader: inout ByteReader) throws(WireError) {
    isEnabled = try reader.value()
    sets = []
    let count = try UInt8(decoding: &reader)
    guard count <= 63 else { throw .invalidLength(Int(count)) }
    for _ in 0..<count { sets.append(try reader.value()) }
  }

  /// Writes the flag, a count, and the sets.
  public func encode(into writer: inout ByteWriter) {
    precondition(sets.count <= 63, "a command has room for 63 advertising sets")
    isEnabled.encode(into: &writer)
    writer.uint8(UInt8(truncatingIfNeeded: sets.count))
    for entry in sets { entry.encode(into: &writer) }
  }
}

/// Reads how long extended advertising data may be.
public struct LEReadMaximumAdvertisingDataLength: ParameterlessCommand {
  /// The return parameters.
  public typealias Return = LEReadMaximumAdvertisingDataLengthReturn
  /// LE Read Maximum Advertising Data Length (Core 5.4, Vol 4, Part E, §7.8.57).
  public static let opcode = HCIOpcode.leReadMaximumAdvertisingDataLength

  /// The command.
  public init() {}
}

/// The maximum length of extended advertising data.
public struct LEReadMaximumAdvertisingDataLengthReturn: HCIRecord {
  /// The most bytes, 31 ... 1650.
  public var byteCount: UInt16

  /// Parameters from their values.
  public init(byteCount: UInt16) {
    self.byteCount = byteCount
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(byteCount:)) { $0.byteCount }
}

/// Reads the number of advertising sets that the controller supports.
public struct LEReadNumberOfSupportedAdvertisingSets: ParameterlessCommand {
  /// The return parameters.
  public typealias Return = LEReadNumberOfSupportedAdvertisingSetsReturn
  /// LE Read Number Of Supported Advertising Sets (Core 5.4, Vol 4, Part E, §7.8.58).
  public static let opcode = HCIOpcode.leReadNumberOfSupportedAdvertisingSets

  /// The command.
  public init() {}
}

/// The number of supported advertising sets.
public struct LEReadNumberOfSupportedAdvertisingSetsReturn: HCIRecord {
  /// The number; it may change.
  public var count: UInt8

  /// Parameters from their values.
  public init(count: UInt8) {
    self.count = count
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(count:)) { $0.count }
}

/// Removes an advertising set.
public struct LERemoveAdvertisingSet: HCIRecord, HCICommand {
  /// LE Remove Advertising Set (Core 5.4, Vol 4, Part E, §7.8.59).
  public static let opcode = HCIOpcode.leRemoveAdvertisingSet
  /// The handle of the advertising set.
  public var set: UInt8

  /// The command with its parameters.
  public init(set: UInt8) {
    self.set = set
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(set:)) { $0.set }
}

/// Removes all advertising sets.
public struct LEClearAdvertisingSets: ParameterlessCommand {
  /// LE Clear Advertising Sets (Core 5.4, Vol 4, Part E, §7.8.60).
  public static let opcode = HCIOpcode.leClearAdvertisingSets

  /// The command.
  public init() {}
}

package import Essentials

// Extended advertising.

/// Gives an advertising set its random address.
package struct LESetAdvertisingSetRandomAddress: HCIRecord, HCICommand {
  /// LE Set Advertising Set Random Address (Core 5.4, Vol 4, Part E, §7.8.52).
  package static let opcode = HCIOpcode.leSetAdvertisingSetRandomAddress
  /// The handle of the advertising set.
  package var set: UInt8
  /// The address.
  package var address: DeviceAddress

  /// The command with its parameters.
  package init(set: UInt8, address: DeviceAddress) {
    self.set = set
    self.address = address
  }

  /// The parameters in wire order. The address is encoded without its type, which is always random.
  package static let layout = HCILayout({ (set: UInt8, bits: AddressBits) in
    Self(set: set, address: bits.asRandom)
  }) { ($0.set, AddressBits($0.address)) }
}

/// Creates an advertising set, or changes the parameters of an existing one.
package struct LESetExtendedAdvertisingParameters: HCIRecord, HCICommand {
  /// The return parameters.
  package typealias Return = LESetExtendedAdvertisingParametersReturn
  /// LE Set Extended Advertising Parameters [v1] (Core 5.4, Vol 4, Part E, §7.8.53).
  package static let opcode = HCIOpcode.leSetExtendedAdvertisingParameters
  /// The handle of the advertising set.
  package var set: UInt8
  /// The properties of the advertising events.
  package var properties: AdvertisingEventProperties
  /// The shortest interval, in units of 0.625 ms.
  package var intervalMinUnits625us: UInt32
  /// The longest interval, in units of 0.625 ms.
  package var intervalMaxUnits625us: UInt32
  /// On which channels.
  package var channels: AdvertisingChannels
  /// Under which address.
  package var ownAddressType: OwnAddressType
  /// The target of directed advertising.
  package var peer: DeviceAddress
  /// The filter policy for scan and connection requests.
  package var filterPolicy: AdvertisingFilterPolicy
  /// The wanted power; nil leaves it to the controller.
  package var powerDBm: Int8?
  /// The PHY of the advertising channels.
  package var primaryPHY: PHY
  /// The maximum number of advertising events that may be skipped before the data is sent.
  package var secondaryMaximumSkip: UInt8
  /// The PHY of the data.
  package var secondaryPHY: PHY
  /// The number that scanners see, 0 ... 15.
  package var setID: UInt8
  /// Whether scan requests are reported to the host.
  package var notifiesScanRequests: Bool

  /// The command with its parameters.
  package init(
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
  package static let layout = HCILayout(
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
package struct LESetExtendedAdvertisingParametersReturn: HCIRecord {
  /// The power in dBm.
  package var dBm: Int8

  /// Parameters from their values.
  package init(dBm: Int8) {
    self.dBm = dBm
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(dBm:)) { $0.dBm }
}

/// The fragment of advertising data that a command contains (Core 5.4, Vol 4, Part E, §7.8.54).
package enum AdvertisingDataOperation: UInt8, HCICodable {
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
package protocol ExtendedDataCommand: HCICommand {
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
  package init(decoding reader: inout ByteReader) throws(WireError) {
    self.init(
      set: try reader.value(), operation: try reader.value(),
      avoidsFragmentation: try reader.value(), data: Array(try reader.counted()))
    guard data.count <= 251 else { throw .invalidLength(data.count) }
  }

  /// Writes the parameters, then the length and the data.
  package func encode(into writer: inout ByteWriter) {
    precondition(data.count <= 251, "a command carries 251 bytes of advertising data at most")
    writer.uint8(set)
    operation.encode(into: &writer)
    avoidsFragmentation.encode(into: &writer)
    writer.uint8(UInt8(truncatingIfNeeded: data.count))
    writer.append(data)
  }
}

/// Sets the data of an advertising set.
package struct LESetExtendedAdvertisingData: ExtendedDataCommand {
  /// LE Set Extended Advertising Data (Core 5.4, Vol 4, Part E, §7.8.54).
  package static let opcode = HCIOpcode.leSetExtendedAdvertisingData
  /// The handle of the advertising set.
  package var set: UInt8
  /// The fragment of the data.
  package var operation: AdvertisingDataOperation
  /// Whether the controller should send the data in as few packets as it can.
  package var avoidsFragmentation: Bool
  /// The data or the part of it, at most 251 bytes.
  package var data: [UInt8]

  /// The command with its parameters.
  package init(
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
package struct LESetExtendedScanResponseData: ExtendedDataCommand {
  /// LE Set Extended Scan Response Data (Core 5.4, Vol 4, Part E, §7.8.55).
  package static let opcode = HCIOpcode.leSetExtendedScanResponseData
  /// The handle of the advertising set.
  package var set: UInt8
  /// The fragment of the data.
  package var operation: AdvertisingDataOperation
  /// Whether the controller should send the data in as few packets as it can.
  package var avoidsFragmentation: Bool
  /// The data or the part of it, at most 251 bytes.
  package var data: [UInt8]

  /// The command with its parameters.
  package init(
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
package struct LESetExtendedAdvertisingEnable: HCICommand {
  /// LE Set Extended Advertising Enable (Core 5.4, Vol 4, Part E, §7.8.56).
  package static let opcode = HCIOpcode.leSetExtendedAdvertisingEnable

  /// An advertising set with its duration.
  package struct Entry: HCIRecord {
    /// The handle of the advertising set.
    package var set: UInt8
    /// For how long, in units of 10 ms; 0 is until stopped.
    package var durationUnits10ms: UInt16
    /// After how many advertising events it ends; 0 is never.
    package var eventCountMax: UInt8

    /// Parameters from their values.
    package init(set: UInt8, durationUnits10ms: UInt16 = 0, eventCountMax: UInt8 = 0) {
      self.set = set
      self.durationUnits10ms = durationUnits10ms
      self.eventCountMax = eventCountMax
    }

    /// The parameters in wire order.
    package static let layout = HCILayout(Self.init(set:durationUnits10ms:eventCountMax:)) {
      ($0.set, $0.durationUnits10ms, $0.eventCountMax)
    }
  }

  /// Whether to advertise.
  package var isEnabled: Bool
  /// The sets, at most 63; none with `isEnabled` false stops all.
  package var sets: [Entry]

  /// The command with its parameters.
  package init(isEnabled: Bool, sets: [Entry] = []) {
    self.isEnabled = isEnabled
    self.sets = sets
  }

  /// Reads the flag, a count, and that number of sets.
  package init(decoding reader: inout ByteReader) throws(WireError) {
    isEnabled = try reader.value()
    sets = []
    let count = try UInt8(decoding: &reader)
    guard count <= 63 else { throw .invalidLength(Int(count)) }
    for _ in 0..<count { sets.append(try reader.value()) }
  }

  /// Writes the flag, a count, and the sets.
  package func encode(into writer: inout ByteWriter) {
    precondition(sets.count <= 63, "a command has room for 63 advertising sets")
    isEnabled.encode(into: &writer)
    writer.uint8(UInt8(truncatingIfNeeded: sets.count))
    for entry in sets { entry.encode(into: &writer) }
  }
}

/// Reads how long extended advertising data may be.
package struct LEReadMaximumAdvertisingDataLength: ParameterlessCommand {
  /// The return parameters.
  package typealias Return = LEReadMaximumAdvertisingDataLengthReturn
  /// LE Read Maximum Advertising Data Length (Core 5.4, Vol 4, Part E, §7.8.57).
  package static let opcode = HCIOpcode.leReadMaximumAdvertisingDataLength

  /// The command.
  package init() {}
}

/// The maximum length of extended advertising data.
package struct LEReadMaximumAdvertisingDataLengthReturn: HCIRecord {
  /// The most bytes, 31 ... 1650.
  package var byteCount: UInt16

  /// Parameters from their values.
  package init(byteCount: UInt16) {
    self.byteCount = byteCount
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(byteCount:)) { $0.byteCount }
}

/// Reads the number of advertising sets that the controller supports.
package struct LEReadNumberOfSupportedAdvertisingSets: ParameterlessCommand {
  /// The return parameters.
  package typealias Return = LEReadNumberOfSupportedAdvertisingSetsReturn
  /// LE Read Number Of Supported Advertising Sets (Core 5.4, Vol 4, Part E, §7.8.58).
  package static let opcode = HCIOpcode.leReadNumberOfSupportedAdvertisingSets

  /// The command.
  package init() {}
}

/// The number of supported advertising sets.
package struct LEReadNumberOfSupportedAdvertisingSetsReturn: HCIRecord {
  /// The number; it may change.
  package var count: UInt8

  /// Parameters from their values.
  package init(count: UInt8) {
    self.count = count
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(count:)) { $0.count }
}

/// Removes an advertising set.
package struct LERemoveAdvertisingSet: HCIRecord, HCICommand {
  /// LE Remove Advertising Set (Core 5.4, Vol 4, Part E, §7.8.59).
  package static let opcode = HCIOpcode.leRemoveAdvertisingSet
  /// The handle of the advertising set.
  package var set: UInt8

  /// The command with its parameters.
  package init(set: UInt8) {
    self.set = set
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(set:)) { $0.set }
}

/// Removes all advertising sets.
package struct LEClearAdvertisingSets: ParameterlessCommand {
  /// LE Clear Advertising Sets (Core 5.4, Vol 4, Part E, §7.8.60).
  package static let opcode = HCIOpcode.leClearAdvertisingSets

  /// The command.
  package init() {}
}

package import Essentials

// Legacy advertising and scanning.

/// Sets the parameters of legacy advertising.
package struct LESetAdvertisingParameters: HCIRecord, HCICommand {
  /// LE Set Advertising Parameters (Core 5.4, Vol 4, Part E, §7.8.5).
  package static let opcode = HCIOpcode.leSetAdvertisingParameters
  /// The shortest interval, in units of 0.625 ms.
  package var intervalMinUnits625us: UInt16
  /// The longest interval, in units of 0.625 ms.
  package var intervalMaxUnits625us: UInt16
  /// The advertising type.
  package var type: AdvertisingType
  /// Under which address.
  package var ownAddressType: OwnAddressType
  /// The target of directed advertising.
  package var peer: DeviceAddress
  /// On which channels.
  package var channels: AdvertisingChannels
  /// The filter policy for scan and connection requests.
  package var filterPolicy: AdvertisingFilterPolicy

  /// The command with its parameters.
  package init(
    intervalMinUnits625us: UInt16 = 0x0800, intervalMaxUnits625us: UInt16 = 0x0800,
    type: AdvertisingType = .connectable, ownAddressType: OwnAddressType = .public,
    peer: DeviceAddress = DeviceAddress(bits: 0, kind: .public),
    channels: AdvertisingChannels = .all, filterPolicy: AdvertisingFilterPolicy = .unfiltered
  ) {
    self.intervalMinUnits625us = intervalMinUnits625us
    self.intervalMaxUnits625us = intervalMaxUnits625us
    self.type = type
    self.ownAddressType = ownAddressType
    self.peer = peer
    self.channels = channels
    self.filterPolicy = filterPolicy
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(
    Self.init(
      intervalMinUnits625us:intervalMaxUnits625us:type:ownAddressType:peer:channels:filterPolicy:)
  ) {
    (
      $0.intervalMinUnits625us, $0.intervalMaxUnits625us, $0.type, $0.ownAddressType, $0.peer,
      $0.channels, $0.filterPolicy
    )
  }
}

/// Reads the power that advertising is sent with.
package struct LEReadAdvertisingPhysicalChannelTxPower: ParameterlessCommand {
  /// The return parameters.
  package typealias Return = LEReadAdvertisingPhysicalChannelTxPowerReturn
  /// LE Read Advertising Physical Channel Tx Power (Core 5.4, Vol 4, Part E, §7.8.6).
  package static let opcode = HCIOpcode.leReadAdvertisingPhysicalChannelTxPower

  /// The command.
  package init() {}
}

/// The power of advertising.
package struct LEReadAdvertisingPhysicalChannelTxPowerReturn: HCIRecord {
  /// The power in dBm.
  package var dBm: Int8

  /// Parameters from their values.
  package init(dBm: Int8) {
    self.dBm = dBm
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(dBm:)) { $0.dBm }
}

/// A command that carries legacy advertising data: a length, and 31 bytes with padding.
package protocol LegacyDataCommand: HCICommand {
  /// The data, at most 31 bytes.
  var data: [UInt8] { get }

  /// The command with its data.
  init(data: [UInt8])
}

extension LegacyDataCommand {
  /// Reads a length of at most 31, then 31 bytes.
  package init(decoding reader: inout ByteReader) throws(WireError) {
    let length = Int(try UInt8(decoding: &reader))
    guard length <= 31 else { throw .invalidLength(length) }
    do throws(Truncated) {
      self.init(data: Array(try reader.slice(31).prefix(length)))
    } catch {
      throw WireError(error)
    }
  }

  /// Writes the length, the data and zeros up to 31 bytes.
  package func encode(into writer: inout ByteWriter) {
    precondition(data.count <= 31, "legacy advertising data has 31 bytes at most")
    writer.uint8(UInt8(truncatingIfNeeded: data.count))
    writer.append(data)
    writer.append(repeatElement(0, count: 31 - data.count))
  }
}

/// Sets the data of legacy advertising.
package struct LESetAdvertisingData: LegacyDataCommand {
  /// LE Set Advertising Data (Core 5.4, Vol 4, Part E, §7.8.7).
  package static let opcode = HCIOpcode.leSetAdvertisingData
  /// The data, at most 31 bytes.
  package var data: [UInt8]

  /// The command with its parameters.
  package init(data: [UInt8]) { self.data = data }
}

/// Sets the scan response of legacy advertising.
package struct LESetScanResponseData: LegacyDataCommand {
  /// LE Set Scan Response Data (Core 5.4, Vol 4, Part E, §7.8.8).
  package static let opcode = HCIOpcode.leSetScanResponseData
  /// The data, at most 31 bytes.
  package var data: [UInt8]

  /// The command with its parameters.
  package init(data: [UInt8]) { self.data = data }
}

/// Starts or stops advertising.
package struct LESetAdvertisingEnable: HCIRecord, HCICommand {
  /// LE Set Advertising Enable (Core 5.4, Vol 4, Part E, §7.8.9).
  package static let opcode = HCIOpcode.leSetAdvertisingEnable
  /// Whether to advertise.
  package var isEnabled: Bool

  /// The command with its parameters.
  package init(isEnabled: Bool) {
    self.isEnabled = isEnabled
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(isEnabled:)) { $0.isEnabled }
}

/// Sets the parameters of scanning.
package struct LESetScanParameters: HCIRecord, HCICommand {
  /// LE Set Scan Parameters (Core 5.4, Vol 4, Part E, §7.8.10).
  package static let opcode = HCIOpcode.leSetScanParameters
  /// Whether scanning is active: it requests scan responses.
  package var type: ScanType
  /// The scan interval and window.
  package var timing: ScanTiming
  /// The own address type in scan requests.
  package var ownAddressType: OwnAddressType
  /// The filter policy of the scanner.
  package var filterPolicy: ScanFilterPolicy

  /// The command with its parameters.
  package init(
    type: ScanType = .passive, timing: ScanTiming = ScanTiming(),
    ownAddressType: OwnAddressType = .public, filterPolicy: ScanFilterPolicy = .basicUnfiltered
  ) {
    self.type = type
    self.timing = timing
    self.ownAddressType = ownAddressType
    self.filterPolicy = filterPolicy
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(type:timing:ownAddressType:filterPolicy:)) {
    ($0.type, $0.timing, $0.ownAddressType, $0.filterPolicy)
  }
}

/// Starts or stops scanning.
package struct LESetScanEnable: HCIRecord, HCICommand {
  /// LE Set Scan Enable (Core 5.4, Vol 4, Part E, §7.8.11).
  package static let opcode = HCIOpcode.leSetScanEnable
  /// Whether to scan.
  package var isEnabled: Bool
  /// Whether each device is reported once only.
  package var filtersDuplicates: Bool

  /// The command with its parameters.
  package init(isEnabled: Bool, filtersDuplicates: Bool = false) {
    self.isEnabled = isEnabled
    self.filtersDuplicates = filtersDuplicates
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(isEnabled:filtersDuplicates:)) {
    ($0.isEnabled, $0.filtersDuplicates)
  }
}

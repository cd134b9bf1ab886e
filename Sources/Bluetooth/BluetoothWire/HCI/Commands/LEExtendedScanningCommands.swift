package import Essentials

// Extended scanning and connecting: parameters for each PHY.

/// The parameters of extended scanning on one PHY.
package struct ExtendedScanParameters: HCIRecord {
  /// Whether scanning is active: it requests scan responses.
  package var type: ScanType
  /// The scan interval and window.
  package var timing: ScanTiming

  /// Parameters from their values.
  package init(type: ScanType = .passive, timing: ScanTiming = ScanTiming()) {
    self.type = type
    self.timing = timing
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(type:timing:)) { ($0.type, $0.timing) }
}

/// Sets the parameters of scanning for each PHY.
package struct LESetExtendedScanParameters: HCICommand {
  /// LE Set Extended Scan Parameters (Core 5.4, Vol 4, Part E, §7.8.64).
  package static let opcode = HCIOpcode.leSetExtendedScanParameters
  /// The own address type in scan requests.
  package var ownAddressType: OwnAddressType
  /// The filter policy of the scanner.
  package var filterPolicy: ScanFilterPolicy
  /// On LE 1M; nil where it isn't scanned.
  package var le1M: ExtendedScanParameters?
  /// On LE Coded; nil where it isn't scanned.
  package var leCoded: ExtendedScanParameters?

  /// The command with its parameters.
  package init(
    ownAddressType: OwnAddressType = .public, filterPolicy: ScanFilterPolicy = .basicUnfiltered,
    le1M: ExtendedScanParameters?, leCoded: ExtendedScanParameters? = nil
  ) {
    self.ownAddressType = ownAddressType
    self.filterPolicy = filterPolicy
    self.le1M = le1M
    self.leCoded = leCoded
  }

  /// Reads the address type, the policy, the PHYs, then the parameters of each PHY.
  package init(decoding reader: inout ByteReader) throws(WireError) {
    ownAddressType = try reader.value()
    filterPolicy = try reader.value()
    let phys: PHYSet = try reader.value()
    guard phys.isSubset(of: [.le1M, .leCoded]) else {
      throw .invalidValue(field: "scanning PHYs", value: Int(phys.rawValue))
    }
    le1M = phys.contains(.le1M) ? try reader.value() : nil
    leCoded = phys.contains(.leCoded) ? try reader.value() : nil
  }

  /// Writes the address type, the policy, the PHYs, then the parameters of each PHY.
  package func encode(into writer: inout ByteWriter) {
    ownAddressType.encode(into: &writer)
    filterPolicy.encode(into: &writer)
    var phys: PHYSet = []
    if le1M != nil { phys.insert(.le1M) }
    if leCoded != nil { phys.insert(.leCoded) }
    phys.encode(into: &writer)
    le1M?.encode(into: &writer)
    leCoded?.encode(into: &writer)
  }
}

/// Starts or stops extended scanning.
package struct LESetExtendedScanEnable: HCIRecord, HCICommand {
  /// LE Set Extended Scan Enable (Core 5.4, Vol 4, Part E, §7.8.65).
  package static let opcode = HCIOpcode.leSetExtendedScanEnable
  /// Whether to scan.
  package var isEnabled: Bool
  /// The filter for advertising that was already reported.
  package var duplicates: DuplicateFilter
  /// For how long, in units of 10 ms; 0 is until stopped.
  package var durationUnits10ms: UInt16
  /// From one such scan to the next, in units of 1.28 s; 0 is once.
  package var periodUnits1280ms: UInt16

  /// The command with its parameters.
  package init(
    isEnabled: Bool, duplicates: DuplicateFilter = .off, durationUnits10ms: UInt16 = 0,
    periodUnits1280ms: UInt16 = 0
  ) {
    self.isEnabled = isEnabled
    self.duplicates = duplicates
    self.durationUnits10ms = durationUnits10ms
    self.periodUnits1280ms = periodUnits1280ms
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(
    Self.init(isEnabled:duplicates:durationUnits10ms:periodUnits1280ms:)
  ) {
    ($0.isEnabled, $0.duplicates, $0.durationUnits10ms, $0.periodUnits1280ms)
  }
}

/// The parameters for initiating connections on one PHY.
package struct InitiatingParameters: HCIRecord {
  /// The scan interval and window while connecting; ignored for LE 2M.
  package var scan: ScanTiming
  /// The wanted timing of the connection.
  package var timing: ConnectionTimingRequest

  /// Parameters from their values.
  package init(scan: ScanTiming = ScanTiming(), timing: ConnectionTimingRequest) {
    self.scan = scan
    self.timing = timing
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(scan:timing:)) { ($0.scan, $0.timing) }
}

/// Starts connecting, with parameters for each PHY.
package struct LEExtendedCreateConnection: HCICommand {
  /// LE Extended Create Connection [v1] (Core 5.4, Vol 4, Part E, §7.8.66).
  package static let opcode = HCIOpcode.leExtendedCreateConnection
  /// Whether to connect to `peer` or to the devices of the filter accept list.
  package var filterPolicy: InitiatorFilterPolicy
  /// The type of the host's own address.
  package var ownAddressType: OwnAddressType
  /// The peer; ignored where the filter accept list is used.
  package var peer: PeerAddress
  /// For LE 1M; nil where it isn't used.
  package var le1M: InitiatingParameters?
  /// For LE 2M; nil where it isn't used.
  package var le2M: InitiatingParameters?
  /// For LE Coded; nil where it isn't used.
  package var leCoded: InitiatingParameters?

  /// The command with its parameters.
  package init(
    filterPolicy: InitiatorFilterPolicy = .peerAddress, ownAddressType: OwnAddressType = .public,
    peer: PeerAddress = PeerAddress(DeviceAddress(bits: 0, kind: .public)),
    le1M: InitiatingParameters?, le2M: InitiatingParameters? = nil,
    leCoded: InitiatingParameters? = nil
  ) {
    self.filterPolicy = filterPolicy
    self.ownAddressType = ownAddressType
    self.peer = peer
    self.le1M = le1M
    self.le2M = le2M
    self.leCoded = leCoded
  }

  /// Reads the common parameters, the PHYs, then the parameters of each PHY.
  package init(decoding reader: inout ByteReader) throws(WireError) {
    filterPolicy = try reader.value()
    ownAddressType = try reader.value()
    peer = try reader.value()
    let phys: PHYSet = try reader.value()
    guard phys.isSubset(of: [.le1M, .le2M, .leCoded]) else {
      throw .invalidValue(field: "initiating PHYs", value: Int(phys.rawValue))
    }
    le1M = phys.contains(.le1M) ? try reader.value() : nil
    le2M = phys.contains(.le2M) ? try reader.value() : nil
    leCoded = phys.contains(.leCoded) ? try reader.value() : nil
  }

  /// Writes the common parameters, the PHYs, then the parameters of each PHY.
  package func encode(into writer: inout ByteWriter) {
    filterPolicy.encode(into: &writer)
    ownAddressType.encode(into: &writer)
    peer.encode(into: &writer)
    var phys: PHYSet = []
    if le1M != nil { phys.insert(.le1M) }
    if le2M != nil { phys.insert(.le2M) }
    if leCoded != nil { phys.insert(.leCoded) }
    phys.encode(into: &writer)
    le1M?.encode(into: &writer)
    le2M?.encode(into: &writer)
    leCoded?.encode(into: &writer)
  }
}

package import Essentials

// Events about advertising and scanning, other than reports.

/// An advertising set ended.
package struct LEAdvertisingSetTerminated: HCIRecord, HCIEventParameters {
  /// LE Advertising Set Terminated (Core 5.4, Vol 4, Part E, §7.7.65.18).
  package static let code = HCIEventCode.le(0x12)
  /// Success where a connection ended it; else why it ended.
  package var status: HCIStatus
  /// The handle of the advertising set.
  package var set: UInt8
  /// The connection that ended it.
  package var handle: UInt16
  /// The number of completed advertising events, if it was limited.
  package var completedEventCount: UInt8

  /// The event with its parameters.
  package init(
    status: HCIStatus = .success, set: UInt8, handle: UInt16 = 0, completedEventCount: UInt8 = 0
  ) {
    self.status = status
    self.set = set
    self.handle = handle
    self.completedEventCount = completedEventCount
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(status:set:handle:completedEventCount:)) {
    ($0.status, $0.set, $0.handle, $0.completedEventCount)
  }
}

/// A scan request was received.
package struct LEScanRequestReceived: HCIRecord, HCIEventParameters {
  /// LE Scan Request Received (Core 5.4, Vol 4, Part E, §7.7.65.19).
  package static let code = HCIEventCode.le(0x13)
  /// The handle of the advertising set.
  package var set: UInt8
  /// The scanner's address.
  package var scanner: PeerAddress

  /// The event with its parameters.
  package init(set: UInt8, scanner: PeerAddress) {
    self.set = set
    self.scanner = scanner
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(set:scanner:)) { ($0.set, $0.scanner) }
}

/// Extended scanning ended because its time was over.
package struct LEScanTimeout: HCIEventParameters {
  /// LE Scan Timeout (Core 5.4, Vol 4, Part E, §7.7.65.17).
  package static let code = HCIEventCode.le(0x11)

  /// The event.
  package init() {}

  /// Reads nothing.
  package init(decoding reader: inout ByteReader) throws(WireError) {}

  /// Writes nothing.
  package func encode(into writer: inout ByteWriter) {}
}

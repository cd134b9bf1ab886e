public import Essentials

// Events about advertising and scanning, other than reports.

/// An advertising set ended.
public struct LEAdvertisingSetTerminated: HCIRecord, HCIEventParameters {
  /// LE Advertising Set Terminated (Core 5.4, Vol 4, Part E, §7.7.65.18).
  public static let code = HCIEventCode.le(0x12)
  /// Success where a connection ended it; else why it ended.
  public var status: HCIStatus
  /// The handle of the advertising set.
  public var set: UInt8
  /// The connection that ended it.
  public var handle: UInt16
  /// The number of completed advertising events, if it was limited.
  public var completedEventCount: UInt8

  /// The event with its parameters.
  public init(
    status: HCIStatus = .success, set: UInt8, handle: UInt16 = 0, completedEventCount: UInt8 = 0
  ) {
    self.status = status
    self.set = set
    self.handle = handle
    self.completedEventCount = completedEventCount
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(status:set:handle:completedEventCount:)) {
    ($0.status, $0.set, $0.handle, $0.completedEventCount)
  }
}

/// A scan request was received.
public struct LEScanRequestReceived: HCIRecord, HCIEventParameters {
  /// LE Scan Request Received (Core 5.4, Vol 4, Part E, §7.7.65.19).
  public static let code = HCIEventCode.le(0x13)
  /// The handle of the advertising set.
  public var set: UInt8
  /// The scanner's address.
  public var scanner: PeerAddress

  /// The event with its parameters.
  public init(set: UInt8, scanner: PeerAddress) {
    self.set = set
    self.scanner = scanner
  }

  /// The parameters in wire order.
  public static let layout = HCILayout(Self.init(set:scanner:)) { ($0.set, $0.scanner) }
}

/// Extended scanning ended because its time was over.
public struct LEScanTimeout: HCIEventParameters {
  /// LE Scan Timeout (Core 5.4, Vol 4, Part E, §7.7.65.17).
  public static let code = HCIEventCode.le(0x11)

  /// The event.
  public init() {}

  /// Reads nothing.
  public init(decoding reader: inout ByteReader) throws(WireError) {}

  /// Writes nothing.
  public func encode(into writer: inout ByteWriter) {}
}

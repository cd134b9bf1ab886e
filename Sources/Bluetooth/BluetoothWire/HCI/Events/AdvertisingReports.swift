package import Essentials

/// One report of received advertising.
package protocol LEReport: HCICodable {
  /// The LE event that carries such reports.
  static var subevent: UInt8 { get }
}

/// The reports of one event, as a view over the received bytes; going through it allocates nothing.
///
/// The specification lists the parameters as arrays, one after the other. Controllers send report
/// after report, and hosts (Linux, Zephyr, Bumble) read them so; there is nearly always just one.
package struct AdvertisingReports<Report: LEReport>: HCIEventParameters, Sequence {
  /// The event that carries such reports.
  package static var code: HCIEventCode { .le(Report.subevent) }
  /// The number of reports.
  package let count: Int
  private let bytes: ArraySlice<UInt8>

  /// An event with these reports; they must fit into its 255 bytes.
  package init(_ reports: some Collection<Report>) {
    var writer = ByteWriter(capacity: 64)
    for report in reports { report.encode(into: &writer) }
    precondition(writer.count <= 253, "an event has room for 253 bytes of reports")
    count = reports.count
    bytes = writer.bytes[...]
  }

  /// Reads a count and checks that this number of reports follows.
  package init(decoding reader: inout ByteReader) throws(WireError) {
    count = Int(try UInt8(decoding: &reader))
    let all = reader.remaining
    for _ in 0..<count { _ = try Report(decoding: &reader) }
    bytes = all[all.startIndex..<reader.remaining.startIndex]
  }

  /// Writes a count and the reports.
  package func encode(into writer: inout ByteWriter) {
    writer.uint8(UInt8(truncatingIfNeeded: count))
    writer.append(bytes)
  }

  /// The number of reports.
  package var underestimatedCount: Int { count }

  /// Goes through the reports.
  package func makeIterator() -> Iterator { Iterator(reader: ByteReader(bytes)) }

  /// Goes through the reports.
  package struct Iterator: IteratorProtocol {
    var reader: ByteReader

    /// The next report.
    package mutating func next() -> Report? {
      reader.isAtEnd ? nil : try? Report(decoding: &reader)
    }
  }
}

/// The reports of one LE Advertising Report event.
package typealias LEAdvertisingReports = AdvertisingReports<LEAdvertisingReport>
/// The reports of one LE Extended Advertising Report event.
package typealias LEExtendedAdvertisingReports = AdvertisingReports<LEExtendedAdvertisingReport>
/// The reports of one LE Directed Advertising Report event.
package typealias LEDirectedAdvertisingReports = AdvertisingReports<LEDirectedAdvertisingReport>

/// A report of legacy scanning (Core 5.4, Vol 4, Part E, §7.7.65.2).
package struct LEAdvertisingReport: LEReport {
  /// LE Advertising Report.
  package static let subevent: UInt8 = 0x02

  /// The kinds of packets that are reported.
  package enum Kind: UInt8, HCICodable {
    /// ADV_IND: connectable and scannable.
    case connectable = 0
    /// ADV_DIRECT_IND: this device may connect.
    case directed = 1
    /// ADV_SCAN_IND: scannable.
    case scannable = 2
    /// ADV_NONCONN_IND: neither connectable nor scannable.
    case nonConnectable = 3
    /// SCAN_RSP: the answer to a scan request.
    case scanResponse = 4
  }

  /// The kind of PDU.
  package var kind: Kind
  /// The advertiser's address.
  package var advertiser: PeerAddress
  /// The advertising data, at most 31 bytes.
  package var data: ArraySlice<UInt8>
  /// The RSSI in dBm; nil if it is not available.
  package var rssi: Int8?

  /// A report from its values.
  package init(kind: Kind, advertiser: PeerAddress, data: ArraySlice<UInt8>, rssi: Int8?) {
    self.kind = kind
    self.advertiser = advertiser
    self.data = data
    self.rssi = rssi
  }

  /// Reads one report.
  package init(decoding reader: inout ByteReader) throws(WireError) {
    kind = try reader.value()
    advertiser = try reader.value()
    data = try reader.counted()
    rssi = try reader.value()
  }

  /// Writes one report.
  package func encode(into writer: inout ByteWriter) {
    kind.encode(into: &writer)
    advertiser.encode(into: &writer)
    writer.uint8(UInt8(truncatingIfNeeded: data.count))
    writer.append(data)
    rssi.encode(into: &writer)
  }
}

/// Advertising directed to a private address that the controller could not resolve
/// (Core 5.4, Vol 4, Part E, §7.7.65.11).
package struct LEDirectedAdvertisingReport: HCIRecord, LEReport {
  /// LE Directed Advertising Report.
  package static let subevent: UInt8 = 0x0B
  /// Always `.directed`.
  package var kind: LEAdvertisingReport.Kind
  /// The advertiser's address.
  package var advertiser: PeerAddress
  /// The target's address.
  package var target: PeerAddress
  /// The RSSI in dBm; nil if it is not available.
  package var rssi: Int8?

  /// A report from its values.
  package init(
    kind: LEAdvertisingReport.Kind = .directed, advertiser: PeerAddress, target: PeerAddress,
    rssi: Int8?
  ) {
    self.kind = kind
    self.advertiser = advertiser
    self.target = target
    self.rssi = rssi
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(kind:advertiser:target:rssi:)) {
    ($0.kind, $0.advertiser, $0.target, $0.rssi)
  }
}

/// A report of extended scanning (Core 5.4, Vol 4, Part E, §7.7.65.13).
package struct LEExtendedAdvertisingReport: LEReport {
  /// LE Extended Advertising Report.
  package static let subevent: UInt8 = 0x0D
  /// The most data that one report carries.
  package static let dataLengthMax = 229

  /// The type of an extended advertising event.
  package struct EventType: OptionSet, HCICodable {
    /// One bit per property; bits 5 and 6 are the data status.
    package let rawValue: UInt16

    /// A type from its bits.
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Connectable advertising.
    package static let connectable = EventType(rawValue: 1 << 0)
    /// Scannable: the advertiser answers scan requests.
    package static let scannable = EventType(rawValue: 1 << 1)
    /// Directed advertising.
    package static let directed = EventType(rawValue: 1 << 2)
    /// A scan response.
    package static let scanResponse = EventType(rawValue: 1 << 3)
    /// Legacy advertising PDUs, which devices before Bluetooth 5 can receive.
    package static let legacy = EventType(rawValue: 1 << 4)
    /// More data follows in another report.
    package static let moreToCome = EventType(rawValue: 1 << 5)
    /// Data is missing, and will not come.
    package static let truncated = EventType(rawValue: 1 << 6)
  }

  /// The type of the event.
  package var type: EventType
  /// The advertiser's address; nil for anonymous advertising.
  package var advertiser: PeerAddress?
  /// The PHY of the advertising channel.
  package var primaryPHY: PHY
  /// The PHY of the data; nil where the data was in the advertising channel.
  package var secondaryPHY: PHY?
  /// The advertiser's number for its advertising set, 0 ... 15; nil for legacy advertising.
  package var setID: UInt8?
  /// The transmit power in dBm; nil if it is not available.
  package var txPowerDBm: Int8?
  /// The RSSI in dBm; nil if it is not available.
  package var rssi: Int8?
  /// The interval of periodic advertising, in units of 1.25 ms; 0 for none.
  package var periodicIntervalUnits1250us: UInt16
  /// The target's address; nil unless the type is directed.
  package var target: PeerAddress?
  /// The advertising data or a part of it.
  package var data: ArraySlice<UInt8>

  /// A report from its values.
  package init(
    type: EventType, advertiser: PeerAddress?, primaryPHY: PHY = .le1M, secondaryPHY: PHY? = nil,
    setID: UInt8? = nil, txPowerDBm: Int8? = nil, rssi: Int8?,
    periodicIntervalUnits1250us: UInt16 = 0, target: PeerAddress? = nil, data: ArraySlice<UInt8>
  ) {
    self.type = type
    self.advertiser = advertiser
    self.primaryPHY = primaryPHY
    self.secondaryPHY = secondaryPHY
    self.setID = setID
    self.txPowerDBm = txPowerDBm
    self.rssi = rssi
    self.periodicIntervalUnits1250us = periodicIntervalUnits1250us
    self.target = target
    self.data = data
  }

  /// Reads one report.
  package init(decoding reader: inout ByteReader) throws(WireError) {
    type = try reader.value()
    advertiser = try reader.value()
    primaryPHY = try reader.value()
    secondaryPHY = try reader.value()
    let setID: UInt8 = try reader.value()
    self.setID = setID == 0xFF ? nil : setID
    txPowerDBm = try reader.value()
    rssi = try reader.value()
    periodicIntervalUnits1250us = try reader.value()
    // Where there is no target, controllers leave anything here: rootcanal an address of type 0xFF.
    var targetReader = ByteReader(try decoding { () throws(Truncated) in try reader.slice(7) })
    target = type.contains(.directed) ? try targetReader.value() : nil
    data = try reader.counted()
  }

  /// Writes one report.
  package func encode(into writer: inout ByteWriter) {
    type.encode(into: &writer)
    advertiser.encode(into: &writer)
    primaryPHY.encode(into: &writer)
    secondaryPHY.encode(into: &writer)
    writer.uint8(setID ?? 0xFF)
    txPowerDBm.encode(into: &writer)
    rssi.encode(into: &writer)
    writer.uint16(periodicIntervalUnits1250us)
    let none = PeerAddress(DeviceAddress(bits: 0, kind: .public))
    (target ?? none).encode(into: &writer)
    writer.uint8(UInt8(truncatingIfNeeded: data.count))
    writer.append(data)
  }
}

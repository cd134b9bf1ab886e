package import Essentials

/// The role of a device on a link.
package enum LinkRole: UInt8, HCICodable {
  /// Made the connection.
  case central = 0
  /// Advertised and was connected to.
  case peripheral = 1
}

/// The type of address that a device uses for itself (Core 5.4, Vol 4, Part E, §7.8.5).
package enum OwnAddressType: UInt8, HCICodable {
  /// The public address.
  case `public` = 0
  /// The random address that LE Set Random Address gave it.
  case random = 1
  /// A resolvable private address from the resolving list; else the public address.
  case resolvableOrPublic = 2
  /// A resolvable private address from the resolving list; else the random address.
  case resolvableOrRandom = 3
}

/// The kinds of legacy advertising (Core 5.4, Vol 4, Part E, §7.8.5).
public enum AdvertisingType: UInt8, HCICodable {
  /// Connectable and scannable, undirected.
  case connectable = 0
  /// High duty cycle directed advertising: for one peer, as fast as possible, for 1.28 s.
  case directedHighDutyCycle = 1
  /// Scannable, undirected.
  case scannable = 2
  /// No requests are allowed.
  case nonConnectable = 3
  /// Low duty cycle directed advertising: for one peer, with the normal interval.
  case directedLowDutyCycle = 4
}

/// The filter policy for scan and connection requests (Core 5.4, Vol 4, Part E, §7.8.5).
package enum AdvertisingFilterPolicy: UInt8, HCICodable {
  /// Requests of all devices.
  case unfiltered = 0
  /// Scan requests only of devices in the filter accept list.
  case filteredScanRequests = 1
  /// Connection requests only of devices in the filter accept list.
  case filteredConnectionRequests = 2
  /// Both only of devices in the filter accept list.
  case filtered = 3
}

/// The advertising channels that are used.
package struct AdvertisingChannels: OptionSet, HCICodable {
  /// The bits, one for each channel.
  package let rawValue: UInt8

  /// A set of channels from its bits.
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Channel 37, 2402 MHz.
  package static let channel37 = AdvertisingChannels(rawValue: 1)
  /// Channel 38, 2426 MHz.
  package static let channel38 = AdvertisingChannels(rawValue: 2)
  /// Channel 39, 2480 MHz.
  package static let channel39 = AdvertisingChannels(rawValue: 4)
  /// All three.
  package static let all: AdvertisingChannels = [.channel37, .channel38, .channel39]
}

/// Whether a scanner sends scan requests.
package enum ScanType: UInt8, HCICodable {
  /// Listens only.
  case passive = 0
  /// Sends scan requests.
  case active = 1
}

/// The filter policy of a scanner (Core 5.4, Vol 4, Part E, §7.8.10).
package enum ScanFilterPolicy: UInt8, HCICodable {
  /// That of all devices, except directed advertising for another device.
  case basicUnfiltered = 0
  /// That of devices in the filter accept list, with the same exception.
  case basicFiltered = 1
  /// That of all devices; also directed advertising for a private address that cannot be resolved.
  case extendedUnfiltered = 2
  /// That of devices in the filter accept list, with the same addition.
  case extendedFiltered = 3
}

/// The filter for advertising that a scanner already reported.
package enum DuplicateFilter: UInt8, HCICodable {
  /// Reports it again.
  case off = 0
  /// Reports it once.
  case on = 1
  /// Reports it once in each scan period.
  case resetEachPeriod = 2
}

/// The devices that an initiator connects to.
package enum InitiatorFilterPolicy: UInt8, HCICodable {
  /// The device whose address is given.
  case peerAddress = 0
  /// The first device of the filter accept list that is received.
  case filterAcceptList = 1
}

/// A physical layer (PHY).
public enum PHY: UInt8, HCIOptionalField {
  /// LE 1M: one million symbols per second.
  case le1M = 1
  /// Two million symbols a second.
  case le2M = 2
  /// LE Coded: one million symbols per second, with several symbols for each bit, for a longer
  /// range.
  case leCoded = 3

  /// No packets on that channel.
  public static var absentMark: UInt8 { 0 }
  /// The size in bytes: 1.
  public static var byteCount: Int { 1 }
}

/// Several PHYs.
package struct PHYSet: OptionSet, HCICodable {
  /// The bits, one for each PHY.
  package let rawValue: UInt8

  /// A set of PHYs from its bits.
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// LE 1M: one million symbols per second.
  package static let le1M = PHYSet(rawValue: 1)
  /// Two million symbols a second.
  package static let le2M = PHYSet(rawValue: 2)
  /// LE Coded: one million symbols per second, with several symbols for each bit.
  package static let leCoded = PHYSet(rawValue: 4)
}

/// The PHYs that a host would like; nil where it has no preference.
public struct PHYPreference: HCIRecord {
  /// For sending.
  package var transmit: PHYSet?
  /// For receiving.
  package var receive: PHYSet?

  /// A preference for each direction.
  package init(transmit: PHYSet?, receive: PHYSet?) {
    self.transmit = transmit
    self.receive = receive
  }

  /// A byte with a flag for each direction that has no preference; then the sets.
  package static let layout = HCILayout(
    { (noPreference: UInt8, transmit: PHYSet, receive: PHYSet) in
      PHYPreference(
        transmit: noPreference & 1 == 0 ? transmit : nil,
        receive: noPreference & 2 == 0 ? receive : nil)
    },
    {
      let noPreference: UInt8 = ($0.transmit == nil ? 1 : 0) | ($0.receive == nil ? 2 : 0)
      return (noPreference, $0.transmit ?? [], $0.receive ?? [])
    })
}

/// The scan interval and window of a receiver (Core 5.4, Vol 4, Part E, §7.8.10).
package struct ScanTiming: HCIRecord {
  /// From the start of one listening to the next, in units of 0.625 ms.
  package var intervalUnits625us: UInt16
  /// The scan window, in units of 0.625 ms.
  package var windowUnits625us: UInt16

  /// A timing from its raw values; at first, 10 ms in every 10 ms.
  package init(intervalUnits625us: UInt16 = 16, windowUnits625us: UInt16 = 16) {
    self.intervalUnits625us = intervalUnits625us
    self.windowUnits625us = windowUnits625us
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(intervalUnits625us:windowUnits625us:)) {
    ($0.intervalUnits625us, $0.windowUnits625us)
  }
}

/// The timing of a connection as it is.
package struct ConnectionTiming: HCIRecord {
  /// From one connection event to the next, in units of 1.25 ms.
  package var intervalUnits1250us: UInt16
  /// The peripheral latency: the number of connection events that the peripheral may skip.
  package var latency: UInt16
  /// After how long a silence the link counts as lost, in units of 10 ms.
  package var timeoutUnits10ms: UInt16

  /// A timing from its raw values.
  package init(intervalUnits1250us: UInt16, latency: UInt16, timeoutUnits10ms: UInt16) {
    self.intervalUnits1250us = intervalUnits1250us
    self.latency = latency
    self.timeoutUnits10ms = timeoutUnits10ms
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(intervalUnits1250us:latency:timeoutUnits10ms:)) {
    ($0.intervalUnits1250us, $0.latency, $0.timeoutUnits10ms)
  }
}

/// The connection parameters that a host requests (Core 5.4, Vol 4, Part E, §7.8.12).
package struct ConnectionTimingRequest: HCIRecord {
  /// The shortest connection interval, in units of 1.25 ms.
  package var intervalMinUnits1250us: UInt16
  /// The longest connection interval, in units of 1.25 ms.
  package var intervalMaxUnits1250us: UInt16
  /// The peripheral latency: the number of connection events that the peripheral may skip.
  package var latency: UInt16
  /// After how long a silence the link counts as lost, in units of 10 ms.
  package var timeoutUnits10ms: UInt16
  /// The shortest connection event that is of use, in units of 0.625 ms.
  package var eventLengthMinUnits625us: UInt16
  /// The longest connection event that is of use, in units of 0.625 ms.
  package var eventLengthMaxUnits625us: UInt16

  /// A request from its raw values.
  package init(
    intervalMinUnits1250us: UInt16, intervalMaxUnits1250us: UInt16, latency: UInt16,
    timeoutUnits10ms: UInt16, eventLengthMinUnits625us: UInt16 = 0,
    eventLengthMaxUnits625us: UInt16 = 0
  ) {
    self.intervalMinUnits1250us = intervalMinUnits1250us
    self.intervalMaxUnits1250us = intervalMaxUnits1250us
    self.latency = latency
    self.timeoutUnits10ms = timeoutUnits10ms
    self.eventLengthMinUnits625us = eventLengthMinUnits625us
    self.eventLengthMaxUnits625us = eventLengthMaxUnits625us
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(
    Self.init(
      intervalMinUnits1250us:intervalMaxUnits1250us:latency:timeoutUnits10ms:
      eventLengthMinUnits625us:eventLengthMaxUnits625us:)
  ) {
    (
      $0.intervalMinUnits1250us, $0.intervalMaxUnits1250us, $0.latency, $0.timeoutUnits10ms,
      $0.eventLengthMinUnits625us, $0.eventLengthMaxUnits625us
    )
  }
}

/// The data channels in use, one bit each from channel 0 to 36.
package struct ChannelMap: HCICodable {
  /// The 37 bits.
  package var bits: UInt64

  /// A map from its bits; those above channel 36 are dropped.
  package init(bits: UInt64) { self.bits = bits & 0x1F_FFFF_FFFF }

  /// Reads five bytes.
  package init(decoding reader: inout ByteReader) throws(WireError) {
    do throws(Truncated) { self.init(bits: try reader.littleEndian(5)) } catch {
      throw WireError(error)
    }
  }

  /// Writes five bytes.
  package func encode(into writer: inout ByteWriter) { writer.littleEndian(bits, count: 5) }

  /// All 37 channels.
  package static let all = ChannelMap(bits: .max)
}

/// The data to which controller-to-host flow control applies.
package enum HostFlowControl: UInt8, HCICodable {
  /// No data.
  case off = 0
  /// ACL packets.
  case acl = 1
  /// Synchronous packets.
  case synchronous = 2
  /// Both.
  case both = 3
}

/// The properties of extended advertising events (Core 5.4, Vol 4, Part E, §7.8.53).
package struct AdvertisingEventProperties: OptionSet, HCICodable {
  /// The bits, one for each property.
  package let rawValue: UInt16

  /// Properties from their bits.
  package init(rawValue: UInt16) { self.rawValue = rawValue }

  /// Others may connect.
  package static let connectable = AdvertisingEventProperties(rawValue: 1 << 0)
  /// Scannable: the advertiser answers scan requests.
  package static let scannable = AdvertisingEventProperties(rawValue: 1 << 1)
  /// Directed advertising, for one peer.
  package static let directed = AdvertisingEventProperties(rawValue: 1 << 2)
  /// High duty cycle directed advertising, for 1.28 s.
  package static let highDutyCycle = AdvertisingEventProperties(rawValue: 1 << 3)
  /// Legacy advertising PDUs, which devices before Bluetooth 5 can receive.
  package static let legacy = AdvertisingEventProperties(rawValue: 1 << 4)
  /// Anonymous advertising, without the advertiser's address.
  package static let anonymous = AdvertisingEventProperties(rawValue: 1 << 5)
  /// The transmit power is included in the extended header.
  package static let includesPower = AdvertisingEventProperties(rawValue: 1 << 6)
}

import BluetoothWire
import Essentials

/// Everything that a host set in its controller, and that a reset forgets.
struct HostSettings {
  var eventMask: EventMask = .default
  var leEventMask: LEEventMask = .default
  var randomAddress: DeviceAddress?
  /// Whether the host uses the legacy or the extended commands; nil before the first of either.
  var usesExtendedCommands: Bool?

  var legacySet = AdvertisingSet(handle: AdvertisingSet.legacyHandle)
  var sets: [AdvertisingSet] = []

  var scan = ScanSettings()
  var initiator: Initiator?

  var filterAcceptList: [FilterAcceptEntry] = []
  var resolvingList: [ResolvingEntry] = []
  var resolvesAddresses = false
  var privateAddressTimeout: TimeSpan = .seconds(900)

  var suggestedLength = LESuggestedDataLength(txOctets: 27, txTimeMicroseconds: 328)
  var phyPreference = PHYPreference(transmit: nil, receive: nil)
  /// The host feature bits that the host has set.
  var hostFeatures: LEFeatures = []
  /// The acceptable parameters for subrate requests on future connections; initially no subrating.
  var subrate = SubrateRequest(
    factorMin: 1, factorMax: 1, latencyMax: 0, continuationNumber: 0, timeoutUnits10ms: 0x0C80)
  var channels: ChannelMap = .all
  var pathCompensation = LERFPathCompensation(transmitTenthDB: 0, receiveTenthDB: 0)
  var supportsLEHost = false

  /// Whether the host limits what it is sent, and how much it has room for.
  var limitsACL = false
  var hostBufferCount = 0
  var hostBuffersUsed = 0
}

/// A device in the filter accept list; `nil` matches anonymous advertisers.
struct FilterAcceptEntry: Equatable {
  var address: DeviceAddress?
}

/// One advertising set, or the legacy advertiser.
struct AdvertisingSet {
  /// Not a handle that extended advertising knows (they end at 0xEF).
  static let legacyHandle: UInt8 = 0xFF

  let handle: UInt8
  var parameters: LESetExtendedAdvertisingParameters?
  var randomAddress: DeviceAddress?
  var data: [UInt8] = []
  var scanResponse: [UInt8] = []
  /// Whether data or scan response still lacks its last fragment.
  var isDataPartial = false
  var isScanResponsePartial = false
  var advertiser: Advertiser?
  /// Tells the timer of this enabling from an older one's.
  var enableCount: UInt64 = 0
  var sentEventsStart: Int = 0

  var isEnabled: Bool { advertiser != nil }
}

/// How a controller scans.
struct ScanSettings {
  var ownAddressType: OwnAddressType = .public
  var filterPolicy: ScanFilterPolicy = .basicUnfiltered
  var le1M: ExtendedScanParameters? = ExtendedScanParameters()
  var leCoded: ExtendedScanParameters?
  var isExtended = false
  var isEnabled = false
  var duplicates: DuplicateFilter = .off
  var periodNanoseconds: Int64 = 0
  var durationNanoseconds: Int64 = 0
  var startNanoseconds: Int64 = 0
  var enableCount: UInt64 = 0
  var train1M: ScanTrain?
  var trainCoded: ScanTrain?

  func type(on phy: PHY) -> ScanType {
    (phy == .leCoded ? leCoded : le1M)?.type ?? .passive
  }

  /// Whether the scanner listens now: always, or for `duration` in each period.
  func isListening(at nanoseconds: Int64) -> Bool {
    guard isEnabled else { return false }
    let since = nanoseconds - startNanoseconds
    guard since >= 0 else { return false }
    if durationNanoseconds == 0 { return true }
    if periodNanoseconds == 0 { return since < durationNanoseconds }
    return since % periodNanoseconds < durationNanoseconds
  }
}

/// When a receiver listens on which primary channel: for a window at the start of each interval,
/// one channel after the other (Core 5.4, Vol 6, Part B, §4.4.3).
struct ScanTrain {
  var start: Int64
  var interval: Int64
  var window: Int64
  /// On which channel, 0 ... 2, the first window lies.
  var firstChannel: Int64

  init(_ timing: ScanTiming, start: Int64, firstChannel: UInt64) {
    self.start = start
    interval = max(1, Int64(timing.intervalUnits625us)) * 625_000
    window = Int64(timing.windowUnits625us) * 625_000
    self.firstChannel = Int64(firstChannel % 3)
  }

  /// Whether a packet that starts at `instant` and takes `duration` on `channel` is listened to.
  func listens(channel: Int, at instant: Int64, duration: Int64) -> Bool {
    let since = instant - start
    guard since >= 0 else { return false }
    let index = since / interval
    return since - index * interval + duration <= window
      && (index + firstChannel) % 3 == Int64(channel)
  }
}

/// A connection that is being initiated: its filter policy, peer and parameters.
struct Initiator {
  var filterPolicy: InitiatorFilterPolicy
  var ownAddressType: OwnAddressType
  var peer: PeerAddress
  var train1M: ScanTrain?
  var trainCoded: ScanTrain?
  var timing: ConnectionTimingRequest
  /// The timing for each PHY of the link, where the host gave one.
  var timing2M: ConnectionTimingRequest?
  var timingCoded: ConnectionTimingRequest?
}

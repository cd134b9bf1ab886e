import BluetoothInterface
import BluetoothWire
import Essentials

/// The scans of all clients on one radio: sets the controller up and delivers what it reports.
struct Scanner: Sendable {
  enum Limits {
    /// Advertisers remembered at once: about 200 bytes each, so a megabyte in the most crowded hall.
    static let advertisersMax = 4096
    /// Scans whose reports are coalesced: they get changes only. Each has one bit of a word; scans
    /// beyond those get every report.
    static let coalescedScansMax = 64
    /// The longest extended advertising data (Core 5.4, Vol 4, Part E, §7.7.65.13).
    static let extendedDataByteCountMax = 1650
    /// The pause before a command that the controller refused is tried again: long enough not to
    /// fill the air between host and controller, short enough not to be noticed.
    static let retryDelay = TimeSpan.seconds(1)
  }

  /// One report, of any of the report events.
  struct Report: Sendable {
    /// The advertiser's address.
    var address: DeviceAddress
    /// The advertising set; nil for legacy advertising.
    var set: UInt8?
    /// Connectable; not meaningful in a scan response.
    var isConnectable: Bool
    /// Scannable; not meaningful in a scan response.
    var isScannable: Bool
    /// A scan response.
    var isScanResponse: Bool
    /// Received as a legacy PDU.
    var isLegacy: Bool
    /// More parts of the data follow in the next reports.
    var continues = false
    /// dBm; 127 if unknown.
    var rssi: Int8
    /// dBm; 127 if unknown.
    var txPower: Int8 = 127
    /// The data, or a part of it.
    var data: ArraySlice<UInt8>
  }

  private struct Scan: Sendable {
    var client: ClientID
    var options: ScanOptions
    var filter: ServiceFilter
  }

  /// What the controller's scan is like.
  private struct Setting: Sendable, Equatable {
    var isActive: Bool
    var usesCoded: Bool
    /// Its windows are rarer.
    var isSlow: Bool
  }

  private enum Step: Sendable {
    case disable
    case parameters(Setting)
    case enable
  }

  private var table: AdvertiserTable
  /// The scans that have a bit; the index is the bit's number.
  private var scans: [Scan?] = []
  /// The scans beyond those, which get every report.
  private var uncoalescedScans: [Scan] = []
  /// The bits of all of `scans`, and of those that allow duplicates.
  private var everyScan: UInt64 = 0
  private var duplicateScans: UInt64 = 0

  private var usesExtendedCommands = false
  private var canUseCoded = false
  private var ownAddressType = OwnAddressType.public
  private var parameters: Setting?
  private var isEnabled = false
  /// Whether the controller must not scan for the moment.
  var isPaused = false
  /// Whether this host itself looks for a peer, besides the scans of clients.
  var isSearching = false
  private var step: Step?
  private var retryAt: Instant?

  init(advertisersMax: Int = Limits.advertisersMax) {
    table = AdvertiserTable(capacity: advertisersMax)
  }

  /// How many advertisers are remembered.
  var advertiserCount: Int { table.count }

  /// The clients that scan.
  var clients: [ClientID] { scans.compactMap { $0?.client } + uncoalescedScans.map(\.client) }

  /// Whether any client scans.
  var isWanted: Bool { everyScan != 0 || !uncoalescedScans.isEmpty }

  // MARK: Clients

  /// Starts a client's scan, or replaces it: everything is reported to it anew, unless its app has only changed
  /// between foreground and background.
  mutating func start(_ client: ClientID, _ options: ScanOptions) {
    if follow(client, options) { return }
    stop(client, keepsAdvertisers: true)
    let scan = Scan(client: client, options: options, filter: ServiceFilter(options))
    let slot: Int
    if let free = scans.firstIndex(where: { $0 == nil }) {
      slot = free
      scans[slot] = scan
    } else if scans.count < Limits.coalescedScansMax {
      slot = scans.count
      scans.append(scan)
    } else {
      uncoalescedScans.append(scan)
      return
    }
    let bit = UInt64(1) << UInt64(slot)
    everyScan |= bit
    if options.allowsDuplicates { duplicateScans |= bit }
    table.forget(scans: bit)
  }

  /// Takes the options of a scan whose app has changed between foreground and background, which looks for the
  /// same services as before; false for any other scan.
  private mutating func follow(_ client: ClientID, _ options: ScanOptions) -> Bool {
    func isSame(_ scan: Scan) -> Bool {
      scan.client == client && scan.options.isInBackground != options.isInBackground
        && scan.options.services == options.services
        && scan.options.solicitedServices == options.solicitedServices
    }
    if let slot = scans.firstIndex(where: { $0.map(isSame) ?? false }) {
      scans[slot]?.options = options
      let bit = UInt64(1) << UInt64(slot)
      duplicateScans = options.allowsDuplicates ? duplicateScans | bit : duplicateScans & ~bit
    } else if let index = uncoalescedScans.firstIndex(where: isSame) {
      uncoalescedScans[index].options = options
    } else {
      return false
    }
    return true
  }

  /// Ends a client's scan.
  mutating func stop(_ client: ClientID) { stop(client, keepsAdvertisers: false) }

  private mutating func stop(_ client: ClientID, keepsAdvertisers: Bool) {
    if let slot = scans.firstIndex(where: { $0?.client == client }) {
      scans[slot] = nil
      everyScan &= ~(1 << UInt64(slot))
      duplicateScans &= ~(1 << UInt64(slot))
    }
    uncoalescedScans.removeAll { $0.client == client }
    if !isWanted && !keepsAdvertisers { table.removeAll() }
  }

  // MARK: The controller

  /// Whether the controller doesn't scan and was not told to.
  var isSilent: Bool { !isEnabled && step == nil }

  /// Whether the command under way begins to scan.
  var isBeginning: Bool { if case .enable = step { true } else { false } }

  /// This host has another address on the air.
  mutating func ownAddressChanged(_ type: OwnAddressType) {
    ownAddressType = type
    parameters = nil
  }

  /// The controller is ready and scans not yet.
  mutating func controllerStarted(_ abilities: ControllerAbilities) {
    controllerStopped()
    usesExtendedCommands = abilities.usesExtendedCommands
    canUseCoded = abilities.canUseCoded
    ownAddressType = abilities.ownAddressType
  }

  /// The controller is gone; scans are taken up again when it comes back.
  mutating func controllerStopped() {
    parameters = nil
    isEnabled = false
    step = nil
    retryAt = nil
  }

  /// The next command towards the wanted state, if it is time for one. Its answer goes to
  /// `commandCompleted`.
  mutating func nextCommand(now: Instant) -> HCIPacket? {
    guard step == nil else { return nil }
    if let retryAt, now < retryAt { return nil }
    retryAt = nil
    guard let next = nextStep() else { return nil }
    step = next
    return packet(for: next)
  }

  /// The controller answered the last command.
  mutating func commandCompleted(_ status: HCIStatus, now: Instant) {
    guard let done = step else { return }
    step = nil
    guard status == .success else {
      retryAt = now + Limits.retryDelay
      // The controller's actual state is unknown, so it is disabled and gets its parameters again.
      parameters = nil
      if case .disable = done { isEnabled = false }
      return
    }
    switch done {
    case .disable: isEnabled = false
    case .parameters(let setting): parameters = setting
    case .enable: isEnabled = true
    }
  }

  /// When a refused command is due again.
  var nextWake: Instant? { retryAt }

  private func nextStep() -> Step? {
    let wanted = wantedSetting
    if isEnabled { return wanted != nil && wanted == parameters ? nil : .disable }
    guard let wanted else { return nil }
    return wanted == parameters ? .enable : .parameters(wanted)
  }

  private var wantedSetting: Setting? {
    guard isWanted || isSearching, !isPaused else { return nil }
    let isActive = hasScan { $0.isActive }
    let usesCoded = canUseCoded && hasScan { $0.usesCodedPHY }
    let isSlow = isWanted && !isSearching && !hasScan { !$0.isInBackground }
    return Setting(isActive: isActive, usesCoded: usesCoded, isSlow: isSlow)
  }

  private func hasScan(_ property: (ScanOptions) -> Bool) -> Bool {
    scans.contains { $0.map { property($0.options) } ?? false }
      || uncoalescedScans.contains { property($0.options) }
  }

  // MARK: Hearing

  /// Takes a report and delivers it to the clients for which it is new.
  mutating func heard(
    _ report: Report, now: Instant, into actions: inout [HostMachine.Action]
  ) {
    guard isWanted else { return }
    let index = table.hear(report.address, set: report.set)
    var data = report.data
    if !report.isLegacy, report.continues || !table[index].parts.isEmpty {
      let room = Limits.extendedDataByteCountMax - table[index].parts.count
      table[index].parts.append(contentsOf: report.data.prefix(room))
      if report.continues { return }
      data = table[index].parts[...]
      table[index].parts = []
    }
    if update(index, report, data) {
      table[index].considered = 0
      table[index].matches = 0
    }
    let isNews = everyScan & ~table[index].considered
    if isNews != 0 { consider(index, scans: isNews) }
    let receivers = table[index].matches & (isNews | duplicateScans)
    guard receivers != 0 || !uncoalescedScans.isEmpty else { return }
    deliver(index, to: receivers, report, now: now, into: &actions)
  }

  /// Stores a report in the entry; returns whether that changed it.
  private mutating func update(
    _ index: Int, _ report: Report, _ data: ArraySlice<UInt8>
  ) -> Bool {
    if report.isScanResponse {
      guard table[index].scanResponse != data else { return false }
      // A copy, so that the chunk that the report came in can go.
      table[index].scanResponse = ArraySlice(Array(data))
      return true
    }
    let isSame =
      table[index].isConnectable == report.isConnectable
      && table[index].isScannable == report.isScannable
      && table[index].isLegacy == report.isLegacy
    if !isSame {
      table[index].isConnectable = report.isConnectable
      table[index].isScannable = report.isScannable
      table[index].isLegacy = report.isLegacy
    }
    guard table[index].data != data else { return !isSame }
    table[index].data = ArraySlice(Array(data))
    return true
  }

  private mutating func consider(_ index: Int, scans candidates: UInt64) {
    var matches: UInt64 = 0
    for (slot, scan) in scans.enumerated() {
      let bit = UInt64(1) << UInt64(slot)
      guard candidates & bit != 0, let scan else { continue }
      if scan.filter.matches(table[index].data, table[index].scanResponse) { matches |= bit }
    }
    table[index].considered |= candidates
    table[index].matches |= matches
  }

  private func deliver(
    _ index: Int, to receivers: UInt64, _ heard: Report, now: Instant,
    into actions: inout [HostMachine.Action]
  ) {
    let report = AdvertisingReport(
      address: heard.address, isConnectable: table[index].isConnectable,
      isScannable: table[index].isScannable, isLegacy: table[index].isLegacy, rssi: heard.rssi,
      txPower: heard.txPower, data: table[index].data, scanResponse: table[index].scanResponse,
      heardAt: now)
    var rest = receivers
    while rest != 0 {
      let slot = rest.trailingZeroBitCount
      rest &= rest - 1
      if let scan = scans[slot] { actions.append(.deliver(scan.client, .discovered(report))) }
    }
    for scan in uncoalescedScans where scan.filter.matches(report.data, report.scanResponse) {
      actions.append(.deliver(scan.client, .discovered(report)))
    }
  }
}

// MARK: Commands

extension Scanner {
  /// Three quarters of the time on the air: what discovers quickly and leaves room for links.
  private static let timing = ScanTiming(intervalUnits625us: 64, windowUnits625us: 48)

  private static let sharedTiming = ScanTiming(intervalUnits625us: 64, windowUnits625us: 24)

  /// While all scans are of apps in the background: a window of 112.5 ms, long enough for a peer that advertises
  /// every 100 ms, in each 1.28 s. Apple documents no numbers.
  private static let slowTiming = ScanTiming(intervalUnits625us: 2048, windowUnits625us: 180)

  private static let slowSharedTiming = ScanTiming(intervalUnits625us: 2048, windowUnits625us: 90)

  private static func timing(_ setting: Setting) -> ScanTiming {
    switch (setting.isSlow, setting.usesCoded) {
    case (false, false): timing
    // On two PHYs each has half of the time.
    case (false, true): sharedTiming
    case (true, false): slowTiming
    case (true, true): slowSharedTiming
    }
  }

  private func packet(for step: Step) -> HCIPacket {
    switch step {
    case .disable: enabling(false)
    case .enable: enabling(true)
    case .parameters(let setting): parameters(setting)
    }
  }

  // The controller's own filter stays off: it would hide changed data and stronger signals.
  private func enabling(_ isEnabled: Bool) -> HCIPacket {
    usesExtendedCommands
      ? LESetExtendedScanEnable(isEnabled: isEnabled).packet
      : LESetScanEnable(isEnabled: isEnabled).packet
  }

  private func parameters(_ setting: Setting) -> HCIPacket {
    let type: ScanType = setting.isActive ? .active : .passive
    guard usesExtendedCommands else {
      return LESetScanParameters(
        type: type, timing: Self.timing(setting), ownAddressType: ownAddressType
      ).packet
    }
    let timing = Self.timing(setting)
    let parameters = ExtendedScanParameters(type: type, timing: timing)
    return LESetExtendedScanParameters(
      ownAddressType: ownAddressType, le1M: parameters,
      leCoded: setting.usesCoded ? parameters : nil
    ).packet
  }
}

extension Scanner {
  /// How the scanner contradicts itself; a sentence for each contradiction.
  ///
  /// - Parameter limit: The number of advertisers that are checked.
  func violations(perTable limit: Int) -> [String] {
    var found = table.violations(perTable: limit)
    if duplicateScans & ~everyScan != 0 { found.append("a scan that has ended allows duplicates") }
    for (bit, scan) in scans.enumerated() where (scan != nil) != (everyScan & 1 << bit != 0) {
      found.append("a scan has no bit, or its bit no scan")
    }
    return found
  }
}

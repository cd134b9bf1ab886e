import BluetoothInterface
import BluetoothWire
import Essentials

/// The scan and the advertising of a session, as the host has them while the app is in the background.
///
/// Rules of Apple's "Core Bluetooth Background Processing for iOS Apps": a scan needs a list of services, reports
/// no duplicates, and is slower while all scans are of apps in the background; advertising has no name, all services
/// are in the overflow area, and it is slower. Without the background mode there is neither. The overflow area is found by a scan in the foreground that names one of its services.
struct BackgroundRadio: Sendable {
  enum Policy: Sendable { case foreground, background, off }

  /// The token of requests that this makes.
  static let token = RequestToken(rawValue: .max)
  /// Advertising in the background is slower by this factor. Apple documents none.
  private static let slowness: Int64 = 10

  private(set) var policy = Policy.foreground
  private var scan: ScanOptions?
  private var advertising: AdvertisingOptions?
  /// Whether the advertising waits until the radio is on.
  private var awaitsRadio = false

  /// Whether the host scans.
  var isScanning: Bool { scan.flatMap { allowed($0) } != nil }
  /// Whether the host advertises.
  var isAdvertising: Bool { advertising.flatMap { allowed($0) } != nil }

  /// The app sends a request. Returns what the host gets instead; nil for the request itself.
  mutating func sent(_ request: HostRequest) -> [HostRequest]? {
    switch request {
    case .startScan(let options):
      scan = options
      guard let options = allowed(options) else { return [.stopScan] }
      return [.startScan(options)]
    case .stopScan: scan = nil
    case .startAdvertising(let options, let token):
      advertising = options
      awaitsRadio = false
      // Where it isn't allowed, the request is completed, and the advertising is withheld.
      guard let options = allowed(options) else { return [request, .stopAdvertising] }
      return [.startAdvertising(options, token)]
    case .stopAdvertising:
      advertising = nil
      awaitsRadio = false
    default: break
    }
    return nil
  }

  /// The state of the app may have changed. Returns what the host gets.
  mutating func follow(_ new: Policy) -> [HostRequest] {
    guard new != policy else { return [] }
    var requests: [HostRequest] = []
    let before = (scan.flatMap { allowed($0) }, advertising.flatMap { allowed($0) })
    policy = new
    let after = (scan.flatMap { allowed($0) }, advertising.flatMap { allowed($0) })
    if before.0 != after.0 { requests.append(after.0.map { .startScan($0) } ?? .stopScan) }
    if before.1 != after.1, !awaitsRadio {
      requests.append(after.1.map { .startAdvertising($0, Self.token) } ?? .stopAdvertising)
    }
    return requests
  }

  // MARK: Advertising that no process has requested

  /// The advertising goes on from before the system was started again, when the radio is on.
  mutating func preserve(_ options: AdvertisingOptions) {
    advertising = options
    awaitsRadio = true
  }

  /// The host has answered a request that this has made.
  mutating func answered(_ result: Result<HostReply, HostError>) {
    if case .failure(.radioNotReady) = result, advertising != nil { awaitsRadio = true }
  }

  /// The radio is on. Returns what the host gets.
  mutating func radioIsOn() -> [HostRequest] {
    guard awaitsRadio else { return [] }
    awaitsRadio = false
    return advertising.flatMap { allowed($0) }.map { [.startAdvertising($0, Self.token)] } ?? []
  }

  private func allowed(_ options: ScanOptions) -> ScanOptions? {
    switch policy {
    case .foreground: return options
    case .background:
      guard !options.services.isEmpty else { return nil }
      var options = options
      options.allowsDuplicates = false
      options.isInBackground = true
      return options
    case .off: return nil
    }
  }

  private func allowed(_ options: AdvertisingOptions) -> AdvertisingOptions? {
    switch policy {
    case .foreground: return options
    case .background:
      guard !Self.isBeacon(options.data) else { return nil }
      var options = options
      let area = Self.overflowArea(of: options)
      options.data = Self.kept(options.data)
      options.scanResponse = Self.kept(options.scanResponse)
      if options.data.count + area.count <= Self.legacyByteCountMax {
        options.data += area
      } else if options.scanResponse.count + area.count <= Self.legacyByteCountMax {
        options.scanResponse += area
      }
      options.interval = options.interval * Self.slowness
      return options
    case .off: return nil
    }
  }

  /// The size of legacy advertising data (Core 5.4, Vol 6, Part B, §2.3.1).
  private static let legacyByteCountMax = 31

  /// Whether the app gets a report of its scan.
  func hears(_ report: AdvertisingReport) -> Bool {
    guard case .background = policy, let scan else { return true }
    return [report.data, report.scanResponse].contains { bytes in
      AdvertisingData(bytes[...]).contains { structure in
        switch structure.element {
        case .services(let uuids, _): uuids.contains { scan.services.contains($0) }
        case .solicitedServices(let uuids):
          uuids.contains { scan.solicitedServices.contains($0) }
        default: false
        }
      }
    }
  }

  /// The overflow area with all services of an app, as a structure; empty without services.
  private static func overflowArea(of options: AdvertisingOptions) -> [UInt8] {
    var services: [BluetoothUUID] = []
    var area: OverflowArea?
    for bytes in [options.data, options.scanResponse] {
      for structure in AdvertisingData(bytes[...]) {
        switch structure.element {
        case .services(let uuids, _): services += uuids
        case .manufacturerData(let company, let content):
          area = area ?? OverflowArea(company: company, data: content)
        default: break
        }
      }
    }
    guard let own = area?.structure else {
      return services.isEmpty ? [] : OverflowArea(services).structure
    }
    // Their heads are equal, and their masks are joined bit by bit.
    return zip(own, OverflowArea(services).structure).map { $0 | $1 }
  }

  /// Types of lists of services and of names (Assigned Numbers, §2.3).
  private static let listsAndNames: ClosedRange<UInt8> = 0x02...0x09

  /// The structures that are advertised in the background as they are: not lists of services, names and an overflow
  /// area.
  private static func kept(_ data: [UInt8]) -> [UInt8] {
    AdvertisingData(data[...]).flatMap { structure -> [UInt8] in
      if listsAndNames.contains(structure.type.rawValue) { return [] }
      if case .manufacturerData(let company, let content) = structure.element,
        OverflowArea(company: company, data: content) != nil
      {
        return []
      }
      return [UInt8(structure.data.count + 1), structure.type.rawValue] + structure.data
    }
  }

  /// Whether the data has Apple's company identifier and the type of a beacon.
  private static func isBeacon(_ data: [UInt8]) -> Bool {
    AdvertisingData(data[...]).contains { structure in
      structure.type == .manufacturerData && structure.data.starts(with: [0x4C, 0x00, 0x02])
    }
  }
}

import BluetoothInterface
import BluetoothWire
import Essentials

/// The scan and the advertising of a session, as the host has them while the app is in the background.
///
/// Rules of Apple's "Core Bluetooth Background Processing for iOS Apps": a scan needs a list of services and reports
/// no duplicates; advertising has no name and no list of services, and is slower. Without the background mode there
/// is neither.
struct BackgroundRadio: Sendable {
  enum Policy: Sendable { case foreground, background, off }

  /// The token of requests that this makes.
  static let token = RequestToken(rawValue: .max)
  /// Advertising in the background is slower by this factor. Apple documents none.
  private static let slowness: Int64 = 10

  private var policy = Policy.foreground
  private var scan: ScanOptions?
  private var advertising: AdvertisingOptions?

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
      // Where it isn't allowed, the request is completed, and the advertising is withheld.
      guard let options = allowed(options) else { return [request, .stopAdvertising] }
      return [.startAdvertising(options, token)]
    case .stopAdvertising: advertising = nil
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
    if before.1 != after.1 {
      requests.append(after.1.map { .startAdvertising($0, Self.token) } ?? .stopAdvertising)
    }
    return requests
  }

  private func allowed(_ options: ScanOptions) -> ScanOptions? {
    switch policy {
    case .foreground: return options
    case .background:
      guard !options.services.isEmpty else { return nil }
      var options = options
      options.allowsDuplicates = false
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
      options.data = Self.withoutNameAndServices(options.data)
      options.scanResponse = Self.withoutNameAndServices(options.scanResponse)
      options.interval = options.interval * Self.slowness
      return options
    case .off: return nil
    }
  }

  /// The structures of advertising data, each with its length, its type and its contents.
  private static func structures(of data: [UInt8]) -> [ArraySlice<UInt8>] {
    var found: [ArraySlice<UInt8>] = []
    var rest = data[...]
    while let length = rest.first, length > 0, rest.count > Int(length) {
      found.append(rest.prefix(Int(length) + 1))
      rest = rest.dropFirst(Int(length) + 1)
    }
    return found
  }

  /// Lists of services are types 0x02 to 0x07, names are 0x08 and 0x09 (Assigned Numbers, §2.3).
  private static func withoutNameAndServices(_ data: [UInt8]) -> [UInt8] {
    structures(of: data).filter { structure in
      guard let type = structure.dropFirst().first else { return false }
      return !(0x02...0x09).contains(type)
    }.flatMap { $0 }
  }

  /// Whether the data has Apple's company identifier and the type of a beacon.
  private static func isBeacon(_ data: [UInt8]) -> Bool {
    structures(of: data).contains { $0.dropFirst().starts(with: [0xFF, 0x4C, 0x00, 0x02]) }
  }
}

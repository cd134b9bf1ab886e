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

  /// What comes of an answer that is no success.
  enum Refusal: Sendable, Hashable {
    /// The advertising is requested again after a pause, or when another app's ends.
    case delayed
    /// It is off until the app requests it, or enters another state.
    case givenUp
  }

  /// The token of the first request that this makes. Later ones have lower tokens.
  static let token = RequestToken(rawValue: .max)
  private static let tokenCount: UInt64 = 1 << 16
  /// Advertising in the background is slower by this factor. Apple documents none.
  private static let slowness: Int64 = 10
  /// The pause before advertising that was refused is requested again; it doubles up to the second one. An advertiser of
  /// another program may end at any time.
  private static let retryPause = TimeSpan.seconds(1)
  private static let retryPauseMax = TimeSpan.seconds(300)

  private enum Wait: Sendable, Hashable {
    case radio
    case retry(at: Instant)
    case givenUp
  }

  private struct Requested: Sendable {
    let token: RequestToken
    /// What the app advertised before. It goes on if the host refuses the new one.
    let earlier: AdvertisingOptions?
    /// Whether a request of this has replaced it in the host. The answer to that one is the answer to both.
    var isReplaced = false
  }

  /// What follows from an answer, from a request or from a state of the app.
  struct Due: Sendable {
    /// What the host gets.
    var requests: [HostRequest] = []
    /// The answers to requests of the app that the host has cancelled for requests of this.
    var answers: [(token: RequestToken, result: Result<HostReply, HostError>)] = []
  }

  private(set) var policy = Policy.foreground
  private var scan: ScanOptions?
  private var advertising: AdvertisingOptions?
  /// Why the advertising is not requested of the host, though it is allowed.
  private var wait: Wait?
  private var requestCount: UInt64 = 0
  /// The last request of this, if it isn't answered.
  private var awaited: RequestToken?
  /// The last request of the app, if it isn't answered.
  private var requested: Requested?
  private var due = Due()
  private var failureCount = 0
  private var hasReported = false

  /// Whether the host scans.
  var isScanning: Bool { scan.flatMap { allowed($0) } != nil }
  /// Whether the host advertises.
  var isAdvertising: Bool { wait == nil && advertising.flatMap { allowed($0) } != nil }
  /// When to call `tryAgain`; nil for never.
  var nextTry: Instant? { if case .retry(let at) = wait { at } else { nil } }

  /// Whether a token is of a request that this has made.
  static func isOwn(_ token: RequestToken) -> Bool {
    token.rawValue > Self.token.rawValue - tokenCount
  }

  /// The app sends a request. Returns what the host gets instead; nil for the request itself.
  mutating func sent(_ request: HostRequest) -> [HostRequest]? {
    switch request {
    case .startScan(let options):
      scan = options
      guard let options = allowed(options) else { return [.stopScan] }
      return [.startScan(options)]
    case .stopScan: scan = nil
    case .startAdvertising(let options, let token):
      // One that isn't answered has changed nothing yet.
      let earlier = requested.map(\.earlier) ?? advertising
      answerReplaced(.failure(.cancelled))
      requested = Requested(token: token, earlier: earlier)
      beginAnew(options)
      // Where it isn't allowed, the request is completed, and the advertising is withheld.
      guard let options = allowed(options) else { return [request, .stopAdvertising] }
      return [.startAdvertising(options, token)]
    case .stopAdvertising:
      answerReplaced(.failure(.cancelled))
      requested = nil
      beginAnew(nil)
    default: break
    }
    return nil
  }

  private mutating func beginAnew(_ options: AdvertisingOptions?) {
    advertising = options
    wait = nil
    awaited = nil
    failureCount = 0
    hasReported = false
  }

  /// The host has answered a request of the app. What it has refused to the app is not begun in another state of it.
  ///
  /// - Returns: The answer for the app; nil if it comes later, as one of the answers that are due.
  mutating func completed(
    _ token: RequestToken, _ result: Result<HostReply, HostError>
  ) -> Result<HostReply, HostError>? {
    guard let requested, requested.token == token, let advertising else { return result }
    switch result {
    // A host cancels a request that is replaced or stopped. The app has done neither.
    case .failure(.cancelled) where awaited != nil:
      self.requested?.isReplaced = true
      return nil
    case .failure(.cancelled) where allowed(advertising) == nil:
      self.requested = nil
      return .success(.done)
    case .failure: refused(requested)
    case .success: self.requested = nil
    }
    return result
  }

  /// The host has refused what the app requested. A host ends the earlier advertising before it begins the new one, so
  /// that the earlier one is requested again.
  private mutating func refused(_ request: Requested) {
    let isUnderWay = awaited != nil
    requested = nil
    beginAnew(request.earlier)
    if let options = request.earlier.flatMap({ allowed($0) }) {
      due.requests.append(start(options))
    } else if isUnderWay {
      due.requests.append(.stopAdvertising)
    }
  }

  /// Answers a request of the app that one of this has replaced.
  private mutating func answerReplaced(_ result: Result<HostReply, HostError>) {
    guard let requested, requested.isReplaced else { return }
    self.requested = nil
    due.answers.append((requested.token, result))
  }

  /// Takes what is due.
  mutating func takeDue() -> Due {
    defer { due = Due() }
    return due
  }

  /// The state of the app may have changed. Returns what the host gets.
  mutating func follow(_ new: Policy) -> [HostRequest] {
    guard new != policy else { return [] }
    var requests: [HostRequest] = []
    let before = (scan.flatMap { allowed($0) }, advertising.flatMap { allowed($0) })
    policy = new
    let after = (scan.flatMap { allowed($0) }, advertising.flatMap { allowed($0) })
    if before.0 != after.0 { requests.append(after.0.map { .startScan($0) } ?? .stopScan) }
    if before.1 != after.1, wait != .radio {
      if let options = after.1 {
        requests.append(start(options))
      } else {
        wait = nil
        awaited = nil
        // It is withheld.
        answerReplaced(.success(.done))
        requests.append(.stopAdvertising)
      }
    }
    return requests
  }

  // MARK: Advertising that no process has requested

  /// The advertising goes on from before the system was started again, when the radio is on.
  mutating func preserve(_ options: AdvertisingOptions) {
    beginAnew(options)
    wait = .radio
  }

  private mutating func start(_ options: AdvertisingOptions) -> HostRequest {
    let token = RequestToken(rawValue: Self.token.rawValue - requestCount % Self.tokenCount)
    requestCount += 1
    wait = nil
    awaited = token
    return .startAdvertising(options, token)
  }

  /// The host has answered a request that this has made.
  ///
  /// - Parameter radioIsOn: Whether the radio is on, as far as the session has heard.
  /// - Returns: What to report; nil for a success, and for a refusal after one that was reported.
  mutating func answered(
    _ token: RequestToken, _ result: Result<HostReply, HostError>, radioIsOn: Bool, now: Instant
  ) -> Refusal? {
    // A later request has replaced the one of an earlier answer.
    guard token == awaited else { return nil }
    awaited = nil
    guard case .failure(let error) = result else {
      failureCount = 0
      hasReported = false
      answerReplaced(.success(.done))
      return nil
    }
    if let requested, requested.isReplaced {
      answerReplaced(.failure(error))
      refused(requested)
      return nil
    }
    var isReported = true
    switch error {
    case .invalidArgument, .unsupported:
      wait = .givenUp
      return .givenUp
    case .radioNotReady, .transport:
      guard radioIsOn else {
        wait = .radio
        return nil
      }
      // The answer may be from before the radio was on.
      isReported = failureCount > 0
    default: break
    }
    let pause = Self.retryPause * (1 << Int64(min(failureCount, 20)))
    wait = .retry(at: now + min(pause, Self.retryPauseMax))
    failureCount += 1
    guard isReported, !hasReported else { return nil }
    hasReported = true
    return .delayed
  }

  /// The radio is on. Returns what the host gets.
  mutating func radioIsOn() -> [HostRequest] {
    switch wait {
    case .radio, .retry: restart()
    case .givenUp, nil: []
    }
  }

  /// An advertiser has ended: its place is free.
  mutating func placeIsFree(now: Instant) {
    if case .retry = wait { wait = .retry(at: now) }
  }

  /// The time of `nextTry` may have come. Returns what the host gets.
  mutating func tryAgain(now: Instant) -> [HostRequest] {
    guard let nextTry, nextTry <= now else { return [] }
    return restart()
  }

  private mutating func restart() -> [HostRequest] {
    wait = nil
    return advertising.flatMap { allowed($0) }.map { [start($0)] } ?? []
  }

  func violations() -> [String] {
    var found: [String] = []
    if wait != nil || awaited != nil, advertising == nil {
      found.append("advertising that no one wants is waited for")
    }
    if requested?.isReplaced == true, awaited == nil {
      found.append("a replaced request waits for no answer")
    }
    if !due.requests.isEmpty || !due.answers.isEmpty { found.append("what is due is not done") }
    return found
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

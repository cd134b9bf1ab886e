internal import BluetoothInterface
internal import BluetoothWire

/// The windows of a peripheral manager's updates: one for each central, so that a central that takes
/// nothing does not stop updates to others.
///
/// An update to several centrals waits until all of them have room. If some have, the others hold
/// them up, which `UpdateHoldTimer` limits: after that, updates to several centrals leave out those
/// that are full, until they have room again. An update is not held up for others if all its centrals
/// are full, and never leaves out the only central that it is for.
struct UpdateWindows {
  /// What to do with an update.
  enum Decision: Equatable {
    /// Send it to these centrals, each with its token.
    case send([Target])
    /// It can't be sent now. With a number, a hold begins.
    case refuse(hold: Hold?)
  }

  struct Target: Equatable {
    /// Nil for an update that has no subscribers: the host completes it, or refuses it.
    let central: DeviceAddress?
    let token: RequestToken
  }

  /// A time in which updates to several centrals are held up by some of them.
  struct Hold: Equatable {
    let number: UInt64
    /// How many updates to several centrals have passed since the last one, at most a window.
    let passedCount: Int
  }

  /// What follows after a central got room, or left.
  struct Release: Equatable {
    /// Whether an update was refused because of it, so that the app has to be called.
    var isAwaited = false
    /// How many updates it has missed.
    var missedCount = 0
    /// The hold that has ended with it.
    var endedHold: UInt64?
  }

  private struct Window {
    let token: RequestToken
    var outstandingCount = 0
    /// From the moment that it is full until it is down to half.
    var isFull = false
    /// Whether updates to several centrals go on without it.
    var isLeftOut = false
    /// Whether an update was refused because of it.
    var isAwaited = false
    var missedCount = 0
  }

  /// By centrals; that of nil is for updates without subscribers.
  private var windows: [DeviceAddress?: Window] = [:]
  /// In the order of subscribing, by the handle of the value.
  private var subscribers: [UInt16: [DeviceAddress]] = [:]
  private var lastHold: UInt64 = 0
  private var isHolding = false
  private var passedCount = Limits.updatesMax

  /// The number of centrals that have a window.
  var count: Int { windows.count }

  /// Updates that have no subscribers may be sent, with this token.
  mutating func start(_ token: RequestToken) { windows[nil] = Window(token: token) }

  // MARK: Subscriptions

  /// A central subscribed; `makeToken` makes what the completions of its updates share.
  mutating func subscribed(
    _ central: DeviceAddress, to handle: UInt16, makeToken: () -> RequestToken
  ) {
    if subscribers[handle, default: []].contains(central) { return }
    subscribers[handle, default: []].append(central)
    if windows[central] == nil { windows[central] = Window(token: makeToken()) }
  }

  mutating func unsubscribed(_ central: DeviceAddress, from handle: UInt16) {
    subscribers[handle]?.removeAll { $0 == central }
    if subscribers[handle]?.isEmpty == true { subscribers[handle] = nil }
  }

  /// A central's link is down, so that it has no subscriptions.
  mutating func unsubscribed(_ central: DeviceAddress) {
    for handle in subscribers.keys { unsubscribed(central, from: handle) }
  }

  /// Values were removed, by their handles.
  mutating func removed(_ isRemoved: (UInt16) -> Bool) {
    subscribers = subscribers.filter { !isRemoved($0.key) }
  }

  /// The app's queue has come to the end of a central's link; nil if it has never subscribed. A central that has subscribed again
  /// meanwhile, over another link, keeps its window.
  mutating func closed(_ central: DeviceAddress) -> (token: RequestToken, Release)? {
    guard !subscribers.values.contains(where: { $0.contains(central) }),
      let window = windows.removeValue(forKey: central)
    else { return nil }
    return (window.token, release(window))
  }

  // MARK: Updates

  /// Decides about an update to all subscribers, or to those among them that are listed.
  mutating func update(_ handle: UInt16, for listed: [DeviceAddress]?) -> Decision {
    let all = subscribers[handle] ?? []
    let subscribed = listed.map { listed in all.filter(listed.contains) } ?? all
    let centrals: [DeviceAddress?] = subscribed.isEmpty ? [nil] : subscribed
    let full = centrals.filter { windows[$0]?.isFull == true }
    let open = centrals.filter { windows[$0]?.isFull == false }
    if !full.isEmpty {
      let waited = full.filter { windows[$0]?.isLeftOut == false }
      guard !open.isEmpty, waited.isEmpty else { return refuse(full, holdsUp: !open.isEmpty) }
      for central in full { windows[central]?.missedCount += 1 }
    }
    if centrals.count > 1 { passedCount = min(passedCount + 1, Limits.updatesMax) }
    return .send(open.compactMap { send(to: $0) })
  }

  private mutating func send(to central: DeviceAddress?) -> Target? {
    guard var window = windows[central] else { return nil }
    window.outstandingCount += 1
    window.isFull = window.outstandingCount >= Limits.updatesMax
    windows[central] = window
    return Target(central: central, token: window.token)
  }

  private mutating func refuse(_ full: [DeviceAddress?], holdsUp: Bool) -> Decision {
    for central in full { windows[central]?.isAwaited = true }
    guard holdsUp, !isHolding else { return .refuse(hold: nil) }
    isHolding = true
    lastHold += 1
    defer { passedCount = 0 }
    return .refuse(hold: Hold(number: lastHold, passedCount: passedCount))
  }

  /// Updates to a central have been completed; returns what follows if it has room again.
  mutating func completed(
    _ count: Int, for central: DeviceAddress?, _ token: RequestToken
  ) -> Release? {
    guard var window = windows[central], window.token == token else { return nil }
    window.outstandingCount -= count
    guard window.isFull, window.outstandingCount <= Limits.updatesMax / 2 else {
      windows[central] = window
      return nil
    }
    let old = window
    (window.isFull, window.isLeftOut, window.isAwaited) = (false, false, false)
    window.missedCount = 0
    windows[central] = window
    return release(old)
  }

  private mutating func release(_ window: Window) -> Release {
    var release = Release(isAwaited: window.isAwaited, missedCount: window.missedCount)
    let isHeld = windows.values.contains { $0.isFull && $0.isAwaited && !$0.isLeftOut }
    if isHolding, !isHeld {
      isHolding = false
      release.endedHold = lastHold
    }
    return release
  }

  // MARK: Holds

  /// A hold has lasted long enough. Returns the centrals that are left out from now on; the app may
  /// try again.
  mutating func holdExpired(_ number: UInt64) -> [DeviceAddress] {
    guard isHolding, number == lastHold else { return [] }
    isHolding = false
    var leftOut: [DeviceAddress] = []
    for (central, window) in windows where window.isFull && window.isAwaited {
      if let central, !window.isLeftOut { leftOut.append(central) }
      windows[central]?.isLeftOut = true
      windows[central]?.isAwaited = false
    }
    return leftOut
  }
}

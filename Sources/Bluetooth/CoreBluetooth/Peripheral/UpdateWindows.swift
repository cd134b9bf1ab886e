internal import BluetoothInterface
internal import BluetoothWire

/// The windows of a peripheral manager's updates: one for each central, so that a central that takes
/// nothing does not stop updates to others.
///
/// An update to several centrals waits until all of them have room, however slow they are. Only a
/// central that takes nothing at all for a stated time while others wait for it is stalled: updates to
/// several centrals leave it out until it takes something again. An update is not held up for others if
/// all its centrals are full, and never leaves out the only central that it is for.
struct UpdateWindows {
  /// What to do with an update.
  enum Decision: Equatable {
    /// Send it to these centrals, each with its token.
    case send([Target])
    /// It can't be sent now. These waits begin.
    case refuse([Wait])
  }

  struct Target: Equatable {
    /// Nil for an update that has no subscribers: the host completes it, or refuses it.
    let central: DeviceAddress?
    let token: RequestToken
  }

  /// A time after which a full central is looked at again, with ``expired(_:)``.
  struct Wait: Equatable {
    enum Reason: Equatable {
      /// It has taken something, and gets a moment to take more before the app is called.
      case room
      /// It has taken nothing since others wait for it.
      case stall
    }

    let central: DeviceAddress?
    let number: UInt64
    let reason: Reason
  }

  /// What follows after a central got room, or left.
  struct Release: Equatable {
    /// Whether an update was refused because of it, so that the app has to be called.
    var isAwaited = false
    /// How many updates it has missed.
    var missedCount = 0
    /// The wait that has ended with it.
    var endedWait: Wait?
  }

  /// What follows after updates to a central were completed.
  enum Progress: Equatable {
    case nothing
    case begins(Wait)
    case released(Release)
  }

  /// What a wait has ended with.
  enum Expiry: Equatable {
    case released(Release)
    /// The central is stalled, and left out from now on; the app may try again.
    case leftOut
  }

  private struct Window {
    let token: RequestToken
    var outstandingCount = 0
    /// From the moment that it is full until it is down to half, or has had room for a moment.
    var isFull = false
    /// Whether updates to several centrals go on without it.
    var isLeftOut = false
    /// How often it was stalled since half of it was free.
    var stallCount = 0
    /// Whether an update was refused because of it.
    var isAwaited = false
    var missedCount = 0
    var wait: Wait?

    /// Updates may be sent again; returns what follows.
    mutating func open() -> Release {
      defer {
        (isFull, isLeftOut, isAwaited) = (false, false, false)
        missedCount = 0
        wait = nil
      }
      return Release(isAwaited: isAwaited, missedCount: missedCount, endedWait: wait)
    }
  }

  /// By centrals; that of nil is for updates without subscribers.
  private var windows: [DeviceAddress?: Window] = [:]
  /// In the order of subscribing, by the handle of the value.
  private var subscribers: [UInt16: [DeviceAddress]] = [:]
  private var lastWait: UInt64 = 0

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
      var window = windows.removeValue(forKey: central)
    else { return nil }
    return (window.token, window.open())
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
    var waits: [Wait] = []
    for central in full {
      guard var window = windows[central] else { continue }
      window.isAwaited = true
      if holdsUp, !window.isLeftOut, window.wait == nil {
        let wait = makeWait(for: central, .stall)
        window.wait = wait
        waits.append(wait)
      }
      windows[central] = window
    }
    return .refuse(waits)
  }

  private mutating func makeWait(for central: DeviceAddress?, _ reason: Wait.Reason) -> Wait {
    lastWait += 1
    return Wait(central: central, number: lastWait, reason: reason)
  }

  /// Updates to a central have been completed. It has room again when half its window is free, so that
  /// the app is called for many updates at once; for a slow link, after a moment.
  mutating func completed(
    _ count: Int, for central: DeviceAddress?, _ token: RequestToken
  ) -> Progress {
    guard var window = windows[central], window.token == token else { return .nothing }
    defer { windows[central] = window }
    window.outstandingCount -= count
    guard window.isFull else { return .nothing }
    let isExpected = window.isAwaited || window.isLeftOut
    guard isExpected, window.outstandingCount > Limits.updatesMax / 2 else {
      window.stallCount = 0
      return .released(window.open())
    }
    // One that takes something now and then, and stalls again each time, would hold up the others for ever.
    if window.isLeftOut, window.stallCount > 1 { return .nothing }
    guard window.wait?.reason != .room else { return .nothing }
    let wait = makeWait(for: central, .room)
    window.wait = wait
    return .begins(wait)
  }

  /// A wait is over; nil if it had already ended.
  mutating func expired(_ wait: Wait) -> Expiry? {
    guard var window = windows[wait.central], window.wait == wait else { return nil }
    defer { windows[wait.central] = window }
    if window.outstandingCount < Limits.updatesMax { return .released(window.open()) }
    window.wait = nil
    window.isLeftOut = true
    window.stallCount += 1
    window.isAwaited = false
    return .leftOut
  }
}

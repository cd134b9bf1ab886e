import BluetoothWire
import Essentials

/// The private address that this host has on the air, and when it gets another one.
///
/// A controller takes a random address only while it neither advertises nor scans nor connects (Core
/// 5.4, Vol 4, Part E, §7.8.4). So these pause for the few milliseconds that it takes, all at once,
/// because they have one address: two of them would show that they belong together.
struct PrivateAddress: Sendable {
  enum Limits {
    /// The pause before another address is set where the controller refused one; twice as long each time.
    static let retryDelay = TimeSpan.seconds(1)
    static let retryDelayMax = TimeSpan.seconds(64)
    /// How often a controller may refuse the first one.
    static let refusalsMax = 3
    /// No address is used for less.
    static let intervalMin = TimeSpan.seconds(1)
  }

  private enum Stage: Sendable {
    /// This host has none, or there is no controller.
    case unused
    /// The first one, or another one, is due.
    case due
    case setting(DeviceAddress)
    case set(until: Instant)
  }

  private var stage = Stage.unused
  private let interval: TimeSpan
  /// The one that the controller has; nil: none.
  private(set) var address: DeviceAddress?
  private var retryAt: Instant?
  private var refusalCount = 0

  init(interval: TimeSpan) { self.interval = max(interval, Limits.intervalMin) }

  /// Whether the controller accepts no private address: using it would reveal this host's identity.
  var isRefused: Bool { address == nil && refusalCount >= Limits.refusalsMax }

  /// Whether the host must not transmit: until the controller has its first private address,
  /// because another address would reveal this host's identity, and while it gets the next one.
  var needsSilence: Bool {
    switch stage {
    case .due: retryAt == nil || address == nil
    case .setting: true
    case .unused, .set: false
    }
  }

  mutating func controllerStarted(isUsed: Bool) {
    controllerStopped()
    if isUsed { stage = .due }
  }

  mutating func controllerStopped() {
    stage = .unused
    address = nil
    retryAt = nil
    refusalCount = 0
  }

  /// Notices that the address has been used for long enough.
  mutating func expire(now: Instant) {
    if case .set(let until) = stage, until <= now { stage = .due }
    if let due = retryAt, due <= now { retryAt = nil }
  }

  /// Whether the next address should be set now, if nothing is on the air.
  var isDue: Bool { if case .due = stage { retryAt == nil } else { false } }

  /// The command that sets an address.
  mutating func set(_ address: DeviceAddress) -> HCIPacket {
    stage = .setting(address)
    return LESetRandomAddress(address: address).packet
  }

  /// The controller answered. Whether it has another address than before.
  mutating func commandCompleted(_ status: HCIStatus, now: Instant) -> Bool {
    guard case .setting(let new) = stage else { return false }
    guard status == .success else {
      stage = .due
      retryAt =
        now + min(Limits.retryDelay * Int64(1 << min(refusalCount, 6)), Limits.retryDelayMax)
      refusalCount += 1
      return false
    }
    refusalCount = 0
    address = new
    stage = .set(until: now + interval)
    return true
  }

  /// When it is to be asked again.
  var nextWake: Instant? {
    if let retryAt { return retryAt }
    return if case .set(let until) = stage { until } else { nil }
  }
}

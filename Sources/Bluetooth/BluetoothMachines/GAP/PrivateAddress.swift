import BluetoothWire
import Essentials

/// The private address that this host has on the air, and when it gets another one.
///
/// A controller takes a random address only while it neither advertises nor scans nor connects (Core
/// 5.4, Vol 4, Part E, §7.8.4). So these pause for the few milliseconds that it takes, all at once,
/// because they have one address: two of them would show that they belong together.
struct PrivateAddress: Sendable {
  enum Limits {
    /// The pause before an address that the controller refused is replaced.
    static let retryDelay = TimeSpan.seconds(1)
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

  init(interval: TimeSpan) { self.interval = interval }

  /// Whether nothing may be on the air: until the controller has its first private address, because
  /// that would show who this host is, and while it gets another one.
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
      retryAt = now + Limits.retryDelay
      return false
    }
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

import BluetoothInterface
import BluetoothWire
import Essentials

// Services and advertisements that bluetoothd does not take again when it is back, or has released.

/// The refusals of a registration since the last one that succeeded.
struct Refusal: Sendable, Equatable {
  var count: Int
  /// The last error, without a full stop.
  var error: String
  /// When it is tried again; nil during the attempt.
  var retryAt: Instant?

  init(count: Int, error: String, now: Instant) {
    self.count = count
    self.error = error
    retryAt = now + BlueZLimits.pause(after: count)
  }

  /// Whether another one is reported instead: that of the most attempts.
  func precedes(_ other: Refusal) -> Bool { (count, error) < (other.count, other.error) }
}

extension BlueZMachine {
  /// When a registration that bluetoothd has refused or released is tried again.
  var nextRegistration: Instant? {
    guard state == .poweredOn else { return nil }
    let times =
      advertisements.values.compactMap(\.refusal?.retryAt)
      + services.values.compactMap(\.refusal?.retryAt)
    return times.min()
  }

  mutating func retryRegistrations(now: Instant, into actions: inout [Action]) {
    guard let next = nextRegistration, next <= now else { return }
    for root in services.keys.sorted() {
      guard let time = services[root]?.refusal?.retryAt, time <= now else { continue }
      registerService(root, nil, now: now, into: &actions)
    }
    for id in advertisements.keys.sorted() {
      guard let time = advertisements[id]?.refusal?.retryAt, time <= now else { continue }
      registerAdvertisement(of: id, nil, now: now, into: &actions)
    }
  }

  /// bluetoothd has refused what a client had registered before. After the last attempt, the client is reset.
  mutating func registrationRefused(
    _ refusal: Refusal, of object: String, _ id: BlueZSessionID, now: Instant,
    into actions: inout [Action]
  ) {
    if refusal.count == 1 {
      actions.append(
        .warning("\(object) could not be resumed, which is tried again: \(refusal.error)."))
    }
    guard refusal.count >= BlueZLimits.registrationCountMax else { return }
    actions.append(
      .warning(
        "\(object) could not be resumed in \(refusal.count) attempts, and its program is reset: \(refusal.error)."
      ))
    reset(id, now: now, into: &actions)
  }

  /// Ends the advertising and the services of a client. Core Bluetooth's apps publish and advertise anew after a reset,
  /// and get the errors of that.
  private mutating func reset(
    _ id: BlueZSessionID, now: Instant, into actions: inout [Action]
  ) {
    stopAdvertising(of: id, now: now, into: &actions)
    removeServices(of: id, now: now, into: &actions)
    deliver(.stateChanged(.resetting), to: id, into: &actions)
    deliver(.stateChanged(state), to: id, into: &actions)
  }

  /// The sentences about what bluetoothd refuses, and this host tries again.
  var refusals: [String] {
    var sentences: [String] = []
    if let error = discoveryError, discoveryFailureCount >= BlueZLimits.pauses.count {
      sentences.append("bluetoothd does not start a discovery: \(error).")
    }
    let refused = services.values.compactMap(\.refusal).max { $0.precedes($1) }
    if let refused {
      sentences.append("bluetoothd does not take a service again: \(refused.error).")
    }
    let released = advertisements.values.compactMap(\.refusal).max { $0.precedes($1) }
    if let released {
      sentences.append("bluetoothd does not take an advertisement again: \(released.error).")
    }
    if let refusal = valueRuleRefusal, needsValues {
      sentences.append("The bus delivers no changes of characteristics: \(refusal.error).")
    }
    return sentences
  }
}

extension BusError {
  /// For a log, without a full stop.
  var loggedText: String {
    var text = message
    while text.hasSuffix(".") { text.removeLast() }
    return text.isEmpty ? name : "\(text) (\(name))"
  }
}

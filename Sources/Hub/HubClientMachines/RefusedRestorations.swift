import BluetoothInterface
import BluetoothWire
import Essentials

/// What a session had with an earlier hub and the next one has refused, which is requested again.
///
/// A hub may refuse it for a moment only: it still counts what an earlier connection has taken, or its radio is not on.
struct RefusedRestorations: Sendable {
  enum Item: Hashable, Sendable {
    case advertising
    /// A service, by the first handle that the client knows.
    case service(UInt16)
    case channel(psm: UInt16)
    case link(DeviceAddress)
    case outOfBandData(DeviceAddress)
    case attendance
  }

  /// What follows from a refusal.
  enum Outcome: Hashable, Sendable {
    /// It is requested again. `isNews` for the first refusal of this, unless the radio is not on: its state tells that.
    case delayed(isNews: Bool)
    /// It is not requested again.
    case givenUp
  }

  /// How often a hub whose radio is on may refuse something: two minutes of attempts, which a hub needs to notice that an
  /// earlier connection has ended. A host that resumes for bluetoothd has as many.
  static let attemptsMax = 8
  private static let pauseMin = TimeSpan.seconds(1)

  /// How often each was refused by this hub.
  private var counts: [Item: Int] = [:]
  /// The things to request again.
  private var waiting: Set<Item> = []
  /// The pause to begin, until it is taken.
  private var pause: TimeSpan?
  /// Whether nothing but the radio is waited for.
  private var awaitsRadio = false

  /// Whether the time of a pause is waited for.
  var needsTime: Bool { !waiting.isEmpty && !awaitsRadio }
  var isEmpty: Bool { waiting.isEmpty }

  func isWaiting(_ item: Item) -> Bool { waiting.contains(item) }

  /// The hub has refused something.
  ///
  /// - Parameter radioIsOn: Whether the hub's radio is on. Otherwise its return is waited for, and no refusal counts.
  mutating func refused(_ item: Item, _ error: HostError, radioIsOn: Bool) -> Outcome {
    guard error.mayBeOfTheMoment else {
      ended(item)
      return .givenUp
    }
    let isFirst = counts[item] == nil
    let count = (counts[item] ?? 0) + (radioIsOn ? 1 : 0)
    guard count < Self.attemptsMax else {
      ended(item)
      return .givenUp
    }
    counts[item] = count
    waiting.insert(item)
    if radioIsOn {
      wait(Self.pauseMin * (1 << Int64(max(0, count - 1))))
    } else if waiting.count == 1 {
      awaitsRadio = true
    }
    return .delayed(isNews: isFirst && error != .radioNotReady)
  }

  private mutating func wait(_ span: TimeSpan) {
    awaitsRadio = false
    pause = max(pause ?? span, span)
  }

  /// It can't be requested now, as a request of the client is under way.
  mutating func postponed(_ item: Item) {
    counts[item] = counts[item] ?? 0
    waiting.insert(item)
    wait(Self.pauseMin)
  }

  /// It is on, or not wanted any more.
  mutating func ended(_ item: Item) {
    counts[item] = nil
    waiting.remove(item)
  }

  mutating func endAll(where isEnded: (Item) -> Bool) {
    for item in Array(counts.keys) where isEnded(item) { ended(item) }
  }

  /// Takes all things to request again, in an order that depends on nothing else.
  mutating func takeWaiting() -> [Item] {
    defer {
      waiting = []
      pause = nil
      awaitsRadio = false
    }
    return waiting.sorted { $0.order < $1.order }
  }

  /// Takes the pause that begins now; nil if none begins.
  mutating func takePause() -> TimeSpan? {
    defer { pause = nil }
    return waiting.isEmpty ? nil : pause
  }

  var isConsistent: Bool {
    waiting.allSatisfy { counts[$0] != nil } && counts.values.allSatisfy { $0 < Self.attemptsMax }
      && pause == nil
  }
}

extension RefusedRestorations.Item {
  /// The order in which things are requested.
  fileprivate var order: (Int, UInt64) {
    switch self {
    case .attendance: (0, 0)
    case .outOfBandData(let peer): (1, peer.bits)
    case .service(let start): (2, UInt64(start))
    case .channel(let psm): (3, UInt64(psm))
    case .link(let peer): (4, peer.bits)
    case .advertising: (5, 0)
    }
  }
}

extension HostError {
  /// Whether the same request may succeed later.
  var mayBeOfTheMoment: Bool {
    switch self {
    case .radioNotReady, .limitReached, .transport, .controller, .cancelled: true
    case .unsupported, .invalidArgument, .notConnected, .connectionFailed, .disconnected, .att,
      .attTimeout, .invalidResponse, .channelRefused, .security, .unauthorized,
      .tooManyNotifications:
      false
    }
  }
}

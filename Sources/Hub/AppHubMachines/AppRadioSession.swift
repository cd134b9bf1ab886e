import AppMachines
import BluetoothInterface
import BluetoothWire
import HubMachines
import HubWire

/// A session of a manager of an app with the host, which may outlive its process.
struct AppRadioSession: Sendable {
  /// An event that doesn't wake an app: it waits for one that does, or until the app runs.
  struct HeldBack: Sendable {
    var sequence: UInt64
    var event: HostEvent
  }

  static let heldBackCountMax = 512

  let number: UInt64
  /// The host's session.
  let hostKey: HubSessionKey
  let app: AppID
  var receiver: AppReceiver
  /// It is Core Location's, which ranges while the app's code runs.
  let isOfLocation: Bool
  /// Nil while it is kept.
  var process: AppProcessID?
  /// It isn't kept when its process ends.
  var isReleased = false
  /// In the order of their arrival.
  private(set) var heldBack: [HeldBack] = []
  private(set) var lastSequence: UInt64 = 0
  /// For each event that the process got and has not acknowledged, the delivery that is handled with it.
  private var told: [AppDeliveryNumber?] = []
  /// The wishes that the machine of apps knows.
  var wants: AppWants = []
  var radio = BackgroundRadio()
  /// Whether the radio is on, as far as the host has reported it.
  private(set) var radioIsOn = false
  /// The links that it wants, with their options, and whether they are established.
  private(set) var links: [DeviceAddress: Link] = [:]

  struct Link: Sendable {
    var options: ConnectOptions
    var isConnected = false
  }

  init(
    number: UInt64, hostKey: HubSessionKey, app: AppID, receiver: AppReceiver,
    isOfLocation: Bool, process: AppProcessID
  ) {
    self.number = number
    self.hostKey = hostKey
    self.app = app
    self.receiver = receiver
    self.isOfLocation = isOfLocation
    self.process = process
  }

  /// Its process has ended.
  mutating func processEnded() {
    process = nil
    told = []
  }

  mutating func nextSequence() -> UInt64 {
    lastSequence += 1
    return lastSequence
  }

  // MARK: Links

  mutating func sent(_ request: HostRequest) {
    switch request {
    case .connect(let peer, let options):
      links[peer] = Link(options: options, isConnected: links[peer]?.isConnected ?? false)
    case .disconnect(let peer): links[peer] = nil
    default: break
    }
  }

  mutating func arrived(_ event: HostEvent) {
    switch event {
    case .stateChanged(let state): radioIsOn = state == .poweredOn
    case .connected(let peer): links[peer]?.isConnected = true
    case .connectionFailed(let peer, _): links[peer] = nil
    case .disconnected(let peer, let error, let reconnecting):
      if reconnecting {
        links[peer]?.isConnected = false
      } else if error != nil {
        links[peer] = nil
      }
    default: break
    }
  }

  // MARK: Events that wake nothing

  /// Holds an event back. Returns how many were dropped for it.
  mutating func holdBack(_ event: HostEvent) -> Int {
    let sequence = nextSequence()
    switch event {
    case .stateChanged:
      heldBack.removeAll { if case .stateChanged = $0.event { true } else { false } }
    case .linkUpdated(let info):
      if let index = heldBack.lastIndex(where: { $0.event.openLink == info.peer }) {
        // A link that the process doesn't know is opened as it is now.
        if case .linkOpened = heldBack[index].event {
          heldBack[index].event = .linkOpened(info)
        } else {
          heldBack[index].event = .linkUpdated(info)
        }
        return 0
      }
    case .linkClosed(let peer, _):
      // The process never hears of a link that it doesn't know.
      if let index = heldBack.lastIndex(where: { $0.event.openLink == peer }),
        case .linkOpened = heldBack[index].event
      {
        heldBack.remove(at: index)
        return 0
      }
      heldBack.removeAll { $0.event.openLink == peer }
    default: break
    }
    heldBack.append(HeldBack(sequence: sequence, event: event))
    guard heldBack.count > Self.heldBackCountMax else { return 0 }
    // The end of a link must not be lost: the next process would take its subscriptions for present ones.
    heldBack.remove(at: heldBack.firstIndex { !$0.event.isOfLink } ?? 0)
    return 1
  }

  /// Takes the events that were held back before this one.
  mutating func takeHeldBack(before sequence: UInt64 = .max) -> [HostEvent] {
    guard let first = heldBack.first, first.sequence < sequence else { return [] }
    let count = heldBack.prefix { $0.sequence < sequence }.count
    defer { heldBack.removeFirst(count) }
    return heldBack.prefix(count).map(\.event)
  }

  // MARK: Events that the process gets

  /// The process gets events; with the last of them, a delivery is handled.
  mutating func tells(_ events: [HostEvent], _ number: AppDeliveryNumber?) {
    let count = events.count(where: \.isAcknowledged)
    guard count > 0 else { return }
    told.append(contentsOf: repeatElement(nil, count: count - 1))
    told.append(number)
  }

  /// The process has acknowledged events. Returns the deliveries that are handled with them.
  mutating func acknowledged(_ count: Int) -> [AppDeliveryNumber] {
    let count = min(max(count, 0), told.count)
    defer { told.removeFirst(count) }
    return told.prefix(count).compactMap(\.self)
  }
}

/// A process of an app, as the hub sees it.
struct AppHubProcess: Sendable {
  /// Requests of a process that is suspended wait, as the code that sends them would: up to as many bytes.
  static let heldByteCountMax = 1 << 20

  let app: AppID
  var sessions: [HubSessionID: UInt64] = [:]
  var isFrozen = false
  var held: [[UInt8]] = []
  /// Whether it has handled what it was given, from `first` on.
  private var isHandled: [Bool] = []
  private var first: UInt64 = 1

  init(app: AppID) { self.app = app }

  mutating func nextDelivery() -> AppDeliveryNumber {
    isHandled.append(false)
    return AppDeliveryNumber(rawValue: first + UInt64(isHandled.count) - 1)
  }

  /// It has handled a delivery. Returns how many are handled now, in their order, that weren't before.
  mutating func handled(_ number: AppDeliveryNumber) -> Int {
    guard number.rawValue >= first, number.rawValue - first < UInt64(isHandled.count) else {
      return 0
    }
    isHandled[Int(number.rawValue - first)] = true
    let count = isHandled.prefix { $0 }.count
    isHandled.removeFirst(count)
    first += UInt64(count)
    return count
  }
}

/// A request of a central that an app has to answer.
struct AppHubRequest: Sendable {
  var session: UInt64
  var id: ServerRequestID
  /// The process that got it.
  var process: AppProcessID?
}

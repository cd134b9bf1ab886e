import BluetoothInterface
import BluetoothWire
import Essentials

/// A link that clients have requested, or that another program has, and the procedures on it.
struct BlueZLink: Sendable {
  enum Use: Sendable, Equatable {
    /// The client waits for the link.
    case pending(ConnectOptions)
    case connected(ConnectOptions)
    /// The client waits for the end of the link; with options if it has requested it again.
    case leaving(again: ConnectOptions?)
  }

  enum Phase: Sendable, Equatable {
    /// Not connected. `Connect` is called at this time, or earlier if the device is heard.
    case waiting(until: Instant)
    /// Waits for an advertisement: bluetoothd has no object of the device.
    case unheard
    case connecting
    case open
    case closing(deadline: Instant)
  }

  enum Work: Sendable, Hashable {
    case gatt(GATTOperation)
    case subscribe(SubscriptionTarget)
    case unsubscribe(SubscriptionTarget)
  }

  struct Operation: Sendable {
    var client: BlueZSessionID
    var token: RequestToken
    var work: Work
    /// The remaining handles of a procedure that reads several.
    var remaining: [UInt16] = []
    var values: [AttributeValue] = []
    var inProgressCount = 0
    /// The handle of a read that follows a write without response, whose reply ends it.
    var probeHandle: UInt16?
    /// Whether the peer has refused it without encryption, and a pairing has followed.
    var hasPaired = false
  }

  struct RSSIRequest: Sendable {
    var client: BlueZSessionID
    var token: RequestToken
  }

  /// The progress of the first operation.
  enum Running: Sendable, Equatable {
    case nothing
    /// Until bluetoothd has discovered the services.
    case awaitingServices(deadline: Instant)
    case called(serial: UInt64)
    /// bluetoothd was busy.
    case pausing(until: Instant)
    /// Until the pairing that the operation needs has ended.
    case pairing
  }

  var info: LinkInfo
  var path: String?
  var phase: Phase
  var users: [BlueZSessionID: Use] = [:]
  /// Whether this program has made the link, and so ends it.
  var isOurs = false
  /// When a link of this program that no client wants is ended.
  var unusedUntil: Instant?
  var failureCount = 0
  /// The number of the last `Connect`.
  var attempt: UInt64 = 0
  /// Whether the device must be heard first.
  var needsDiscovery = false
  var operations: [Operation] = []
  var running = Running.nothing
  /// The controller's handle of the link, where the kernel gives it.
  var connectionHandle: UInt16?
  /// The controller's reason for the end of the link, which bluetoothd is about to report.
  var disconnectionReason: HCIStatus?
  var rssiRequests: [RSSIRequest] = []
  /// When the requests fail if the controller reports no RSSI.
  var rssiDeadline: Instant?
  /// Writes without response since the last read that has proved their departure.
  var commandCount = 0
  /// The subscribed clients, by the handles of values.
  var subscribers: [UInt16: Set<BlueZSessionID>] = [:]
  /// A value that came while the same characteristic was read: of a notification, or an echo of the read.
  var heldValue: [UInt8]?
  /// Values that came before the reply to the first subscription to their characteristic, and the number of those
  /// that were too many.
  var earlyValues: [[UInt8]] = []
  var droppedEarlyValueCount = 0

  init(peer: DeviceAddress, phase: Phase) {
    info = LinkInfo(peer: peer, role: .central)
    self.phase = phase
  }

  var isWanted: Bool {
    users.values.contains { use in
      switch use {
      case .pending, .connected, .leaving(again: .some): true
      case .leaving(again: nil): false
      }
    }
  }

  /// Whether it is connected, as clients know.
  var isUp: Bool {
    switch phase {
    case .open, .closing: true
    case .waiting, .unheard, .connecting: false
    }
  }

  func isConnected(for client: BlueZSessionID) -> Bool {
    if phase == .open, case .connected = users[client] { true } else { false }
  }

  /// Whether the value with a handle is being read.
  func isReading(_ handle: UInt16) -> Bool {
    guard case .called = running, let operation = operations.first else { return false }
    return operation.isRead && operation.currentHandle == handle
  }

  var isPending: Bool {
    users.values.contains { if case .pending = $0 { true } else { false } }
  }

  var nextWake: Instant? {
    var next = unusedUntil
    if let rssiDeadline { next = min(next ?? rssiDeadline, rssiDeadline) }
    switch phase {
    case .waiting(let time), .closing(let time): next = min(next ?? time, time)
    case .unheard, .connecting, .open: break
    }
    switch running {
    case .awaitingServices(let time), .pausing(let time): next = min(next ?? time, time)
    case .nothing, .called, .pairing: break
    }
    return next
  }
}

extension BlueZLink.Operation {
  /// Whether a value is being read.
  var isRead: Bool {
    if probeHandle != nil { return true }
    return switch work {
    case .gatt(.read), .gatt(.readByUUID), .gatt(.readMultiple): true
    case .gatt, .subscribe, .unsubscribe: false
    }
  }

  /// The handle of the current call.
  var currentHandle: UInt16 {
    if let probeHandle { return probeHandle }
    return switch work {
    case .gatt(.read(let handle)), .gatt(.write(let handle, _)),
      .gatt(.writeWithoutResponse(let handle, _)), .gatt(.signedWrite(let handle, _)):
      handle
    case .gatt(.reliableWrite(let values)): values.first?.handle ?? 0
    case .gatt(.readByUUID), .gatt(.readMultiple): remaining.first ?? 0
    case .gatt(.discoverServices), .gatt(.discoverIncludedServices),
      .gatt(.discoverCharacteristics), .gatt(.discoverDescriptors):
      0
    case .subscribe(let target), .unsubscribe(let target): target.valueHandle
    }
  }
}

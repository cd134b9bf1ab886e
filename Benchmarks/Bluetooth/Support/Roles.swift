import BluetoothInterface
import BluetoothWire
import Essentials

/// One client of a host: handles its events and sends the next requests.
protocol HostRole {
  mutating func handle(_ event: HostEvent, ask: (HostRequest) -> Void)
}

/// What both sides agree on; `Peers/bumble_host.py` has the same.
enum Agreed {
  static let name = "bench"
  static let service = uuid("0000BE00-5D4E-4F3A-9B1C-0E2D3C4B5A69")
  static let notifying = uuid("0000BE01-5D4E-4F3A-9B1C-0E2D3C4B5A69")
  static let value = uuid("0000BE02-5D4E-4F3A-9B1C-0E2D3C4B5A69")
  static let sink = uuid("0000BE03-5D4E-4F3A-9B1C-0E2D3C4B5A69")
  static let received = uuid("0000BE04-5D4E-4F3A-9B1C-0E2D3C4B5A69")
  static let psm: UInt16 = 0x0080
  static let payload = [UInt8](repeating: 0x5A, count: 20)
  /// How many values or writes are under way at a time.
  static let window = 64
  static let channelChunk = [UInt8](repeating: 0x5A, count: 16_384)
  static let channelWindow = 4

  private static func uuid(_ text: String) -> BluetoothUUID {
    guard let uuid = BluetoothUUID(text) else { preconditionFailure("\(text) is no UUID") }
    return uuid
  }
}

/// The operations that are measured between two hosts.
enum Job: String, CaseIterable {
  case notifications, reads, writes, channel, connections
}

/// The peripheral: notifies as fast as its host takes it while anybody is subscribed, swallows
/// writes and channel data, and tells how much of it came.
struct ServingRole: HostRole {
  /// How many notifications it may still send.
  var quota: Int
  /// Writes, or bytes on channels.
  private(set) var received = 0
  private(set) var isAdvertising = false

  private let interval: TimeSpan
  private var notifyingHandle: UInt16 = 0
  private var isSubscribed = false
  private var inFlight = 0
  private static let serviceToken = RequestToken(rawValue: 1)
  private static let channelToken = RequestToken(rawValue: 2)
  private static let advertisingToken = RequestToken(rawValue: 3)
  private static let updateToken = RequestToken(rawValue: 4)

  init(quota: Int = .max, interval: TimeSpan = .milliseconds(20)) {
    self.quota = quota
    self.interval = interval
  }

  mutating func handle(_ event: HostEvent, ask: (HostRequest) -> Void) {
    switch event {
    case .completed(Self.updateToken, _):
      inFlight -= 1
      pump(ask)
    case .serverRequest(let request): answer(request, ask)
    case .channelReceived(let id, let bytes):
      received += bytes.count
      ask(.consumedFromChannel(id, byteCount: bytes.count))
    case .subscribed(_, notifyingHandle):
      isSubscribed = true
      pump(ask)
    case .unsubscribed(_, notifyingHandle): isSubscribed = false
    case .stateChanged(.poweredOn):
      ask(.addService(Self.definition, Self.serviceToken))
      ask(.publishChannel(psm: Agreed.psm, requiresEncryption: false, Self.channelToken))
      ask(.startAdvertising(advertising, Self.advertisingToken))
    case .completed(Self.serviceToken, .success(.published(let service))):
      notifyingHandle = service.characteristics[0].valueHandle
    case .completed(Self.advertisingToken, .success): isAdvertising = true
    default: break
    }
  }

  /// Sends values until as many as allowed are under way.
  mutating func pump(_ ask: (HostRequest) -> Void) {
    while isSubscribed, inFlight < Agreed.window, quota > 0 {
      quota -= 1
      inFlight += 1
      ask(
        .updateValue(handle: notifyingHandle, Agreed.payload, peers: nil, Self.updateToken))
    }
  }

  private mutating func answer(_ request: ServerRequest, _ ask: (HostRequest) -> Void) {
    switch request.kind {
    case .write(let writes): received += writes.count
    case .read:
      let bytes = (0..<8).map { UInt8(truncatingIfNeeded: received >> (8 * $0)) }
      ask(.respond(request.id, .success(bytes)))
    }
    if request.needsResponse, case .write = request.kind {
      ask(.respond(request.id, .success([])))
    }
  }

  private static let definition = ServiceDefinition(
    uuid: Agreed.service,
    characteristics: [
      CharacteristicDefinition(
        uuid: Agreed.notifying, properties: [.notify], permissions: [.readable]),
      CharacteristicDefinition(
        uuid: Agreed.value, properties: [.read], permissions: [.readable],
        value: Agreed.payload),
      CharacteristicDefinition(
        uuid: Agreed.sink, properties: [.writeWithoutResponse], permissions: [.writeable]),
      CharacteristicDefinition(
        uuid: Agreed.received, properties: [.read], permissions: [.readable]),
    ])

  private var advertising: AdvertisingOptions {
    var builder = AdvertisingDataBuilder()
    builder.append([.generalDiscoverable, .classicNotSupported] as AdvertisingFlags)
    builder.append(localName: Agreed.name)
    var options = AdvertisingOptions()
    options.data = builder.bytes
    options.interval = interval
    return options
  }
}

/// The central: finds the peripheral, connects, discovers, and then does one job.
struct MeasuringRole: HostRole {
  /// How many operations it may still begin.
  var quota: Int
  /// Operations that ended; bytes for a channel.
  private(set) var count = 0
  /// Whether everything that comes before the job is done.
  private(set) var isReady = false
  /// The peripheral's count of received values, once it has been read.
  private(set) var received: Int?
  private(set) var failure: HostError?
  private(set) var isConnected = false

  private let job: Job
  private var peer: DeviceAddress?
  private var handles: [BluetoothUUID: RemoteCharacteristic] = [:]
  private var channel: ChannelID?
  private var inFlight = 0
  private static let setUpToken = RequestToken(rawValue: 1)
  private static let workToken = RequestToken(rawValue: 2)
  private static let receivedToken = RequestToken(rawValue: 3)

  init(_ job: Job, quota: Int) {
    self.job = job
    self.quota = quota
  }

  mutating func handle(_ event: HostEvent, ask: (HostRequest) -> Void) {
    switch event {
    case .valueUpdated: count += 1
    case .completed(Self.workToken, .success):
      inFlight -= 1
      count += 1
      pump(ask)
    case .completed(Self.receivedToken, .success(.value(let bytes))):
      received = bytes.reversed().reduce(0) { $0 << 8 | Int($1) }
    case .completed(_, .failure(let error)): failure = error
    case .completed(Self.setUpToken, .success(let reply)): goOn(reply, ask)
    case .stateChanged(.poweredOn):
      ask(.startScan(ScanOptions()))
    case .discovered(let report): found(report, ask)
    case .connected(let peer):
      isConnected = true
      connected(peer, ask)
    case .disconnected:
      isConnected = false
      count += 1
      inFlight -= 1
      pump(ask)
    case .connectionFailed(_, let error): failure = error
    default: break
    }
  }

  /// Begins operations until as many as allowed are under way.
  mutating func pump(_ ask: (HostRequest) -> Void) {
    guard isReady, let peer else { return }
    let window =
      switch job {
      case .notifications: 0
      case .reads, .connections: 1
      case .writes: Agreed.window
      case .channel: Agreed.channelWindow
      }
    while quota > 0, inFlight < window {
      quota -= 1
      inFlight += 1
      switch job {
      case .reads: ask(.gatt(peer, .read(handle(Agreed.value)), Self.workToken))
      case .writes:
        ask(
          .gatt(
            peer, .writeWithoutResponse(handle(Agreed.sink), Agreed.payload), Self.workToken))
      case .channel:
        if let channel { ask(.sendOnChannel(channel, Agreed.channelChunk, Self.workToken)) }
      case .connections: ask(.connect(peer, ConnectOptions()))
      case .notifications: break
      }
    }
  }

  /// Reads the peripheral's count of received values.
  mutating func askReceived(_ ask: (HostRequest) -> Void) {
    guard let peer else { return }
    received = nil
    ask(.gatt(peer, .read(handle(Agreed.received)), Self.receivedToken))
  }

  /// Begins nothing more and ends the link.
  mutating func disconnect(_ ask: (HostRequest) -> Void) {
    quota = 0
    if let peer { ask(.disconnect(peer)) }
  }

  private func handle(_ uuid: BluetoothUUID) -> UInt16 { handles[uuid]?.valueHandle ?? 0 }

  private mutating func found(_ report: AdvertisingReport, _ ask: (HostRequest) -> Void) {
    let fields = AdvertisingFields(report.data, scanResponse: report.scanResponse)
    guard peer == nil, fields.localName == Agreed.name else { return }
    peer = report.address
    ask(.stopScan)
    if job == .connections {
      isReady = true
      pump(ask)
    } else {
      ask(.connect(report.address, ConnectOptions()))
    }
  }

  private mutating func connected(_ peer: DeviceAddress, _ ask: (HostRequest) -> Void) {
    if job == .connections {
      ask(.disconnect(peer))
    } else {
      ask(.gatt(peer, .discoverServices([Agreed.service]), Self.setUpToken))
    }
  }

  private mutating func goOn(_ reply: HostReply, _ ask: (HostRequest) -> Void) {
    guard let peer else { return }
    switch reply {
    case .services(let services):
      guard let service = services.first else { return }
      ask(.gatt(peer, .discoverCharacteristics(in: service.range, nil), Self.setUpToken))
    case .characteristics(let characteristics):
      for characteristic in characteristics { handles[characteristic.uuid] = characteristic }
      switch job {
      case .notifications:
        guard let notifying = handles[Agreed.notifying] else { return }
        let range = HandleRange(notifying.valueHandle + 1, notifying.endHandle)
        ask(.gatt(peer, .discoverDescriptors(in: range), Self.setUpToken))
      case .channel: ask(.openChannel(peer, psm: Agreed.psm, Self.setUpToken))
      case .reads, .writes, .connections: begin(ask)
      }
    case .descriptors(let descriptors):
      guard let descriptor = descriptors.first(where: { $0.uuid == 0x2902 }) else { return }
      let target = SubscriptionTarget(
        valueHandle: handle(Agreed.notifying), configurationHandle: descriptor.handle,
        usesIndications: false)
      ask(.subscribe(peer, target, Self.setUpToken))
    case .channel(let info):
      channel = info.id
      begin(ask)
    default: begin(ask)
    }
  }

  private mutating func begin(_ ask: (HostRequest) -> Void) {
    isReady = true
    pump(ask)
  }
}

import BluetoothHost
import BluetoothInterface
import BluetoothWire
import Essentials
import SimulatedRadio
import Synchronization
import Testing

/// A client that writes down its events, on a host in virtual or in real time.
final class TestClient: Sendable {
  let client: HostClient
  private let log: Log
  private let radio: VirtualRadio?
  private let lastToken = Mutex<UInt64>(0)

  /// Opens a client; `radio` is what to advance while waiting, nil in real time.
  init(_ host: BluetoothHost, on radio: VirtualRadio? = nil) {
    let log = Log()
    self.log = log
    self.radio = radio
    client = host.makeClient { log.append($0) }
  }

  /// Everything heard so far.
  var events: [HostEvent] { log.events.withLock { $0 } }

  /// Sends a request that needs no answer.
  func send(_ request: HostRequest) { client.send(request) }

  /// Sends a request and waits for its answer.
  func ask(
    _ make: (RequestToken) -> HostRequest, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> HostReply {
    let number = lastToken.withLock { last in
      last += 1
      return last
    }
    let token = RequestToken(rawValue: number)
    send(make(token))
    let result = try await first(sourceLocation) { event -> Result<HostReply, HostError>? in
      if case .completed(token, let result) = event { result } else { nil }
    }
    return try result.get()
  }

  /// Waits for the first event that `pick` takes, among those not yet taken.
  func first<Value>(
    _ sourceLocation: SourceLocation = #_sourceLocation, _ pick: (HostEvent) -> Value?
  ) async throws -> Value {
    // In virtual time an hour is nothing; in real time the suite's time limit ends the wait.
    for _ in 0..<36_000 {
      if let value = log.take(pick) { return value }
      if let radio {
        radio.advance(by: .milliseconds(100))
      } else {
        var changes = log.changes.makeAsyncIterator()
        if await changes.next() == nil { break }
      }
    }
    return try #require(nil as Value?, "heard only \(events)", sourceLocation: sourceLocation)
  }

  /// Waits until the radio is in a state.
  func state(
    _ state: RadioState, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    try await first(sourceLocation) { event -> Void? in
      if case .stateChanged(state) = event { () } else { nil }
    }
  }

  private final class Log: Sendable {
    let events = Mutex<[HostEvent]>([])
    let changes: AsyncStream<Void>
    private let position = Mutex(0)
    private let changed: AsyncStream<Void>.Continuation

    init() {
      (changes, changed) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func append(_ event: HostEvent) {
      events.withLock { $0.append(event) }
      changed.yield()
    }

    func take<Value>(_ pick: (HostEvent) -> Value?) -> Value? {
      let events = events.withLock { $0 }
      return position.withLock { position in
        while position < events.count {
          position += 1
          if let value = pick(events[position - 1]) { return value }
        }
        return nil
      }
    }
  }
}

/// A strap and a phone that find, connect and talk to each other.
struct Encounter {
  static let service = BluetoothUUID(0x180D as UInt16)
  static let measurement = BluetoothUUID(0x2A37 as UInt16)

  let phone: TestClient
  let strap: TestClient
  var peer = DeviceAddress(bits: 0, kind: .public)
  var subscription = SubscriptionTarget(
    valueHandle: 0, configurationHandle: 0, usesIndications: false)

  init(phone: TestClient, strap: TestClient) {
    self.phone = phone
    self.strap = strap
  }

  /// Both switch on, the strap advertises, the phone scans and connects.
  mutating func meet() async throws {
    try await phone.state(.poweredOn)
    try await strap.state(.poweredOn)
    var options = AdvertisingOptions()
    options.data = [0x02, 0x01, 0x06, 0x03, 0x03, 0x0D, 0x18]
    let advertising = options
    _ = try await strap.ask { .startAdvertising(advertising, $0) }

    var scan = ScanOptions()
    scan.services = [Self.service]
    phone.send(.startScan(scan))
    let peer = try await phone.first { event -> DeviceAddress? in
      if case .discovered(let report) = event { report.address } else { nil }
    }
    self.peer = peer
    phone.send(.stopScan)
    phone.send(.connect(peer, ConnectOptions()))
    try await phone.first { event -> Void? in
      if case .connected(peer) = event { () } else { nil }
    }
  }

  /// The strap publishes a measurement and the phone subscribes to it.
  mutating func subscribe() async throws {
    let peer = peer
    let definition = ServiceDefinition(
      uuid: Self.service,
      characteristics: [
        CharacteristicDefinition(
          uuid: Self.measurement, properties: [.notify, .read], permissions: [.readable],
          value: [1, 2, 3])
      ])
    guard case .published(let published) = try await strap.ask({ .addService(definition, $0) })
    else {
      Issue.record("not published")
      return
    }
    let characteristic = try #require(published.characteristics.first)
    let target = SubscriptionTarget(
      valueHandle: characteristic.valueHandle,
      configurationHandle: try #require(characteristic.configurationHandle),
      usesIndications: false)
    subscription = target
    _ = try await phone.ask { .subscribe(peer, target, $0) }
    try await strap.first { event -> Void? in
      if case .subscribed(_, handle: target.valueHandle) = event { () } else { nil }
    }
  }

  /// The strap notifies; returns what the phone hears.
  func notify(_ value: [UInt8]) async throws -> [UInt8] {
    let handle = subscription.valueHandle
    _ = try await strap.ask { .updateValue(handle: handle, value, peers: nil, $0) }
    return try await phone.first { event -> [UInt8]? in
      if case .valueUpdated(_, handle, let bytes) = event { Array(bytes) } else { nil }
    }
  }
}

import BluetoothInterface
import BluetoothWire
import Essentials
import EventLoop
import Glibc
import HubWire
import Synchronization
import Testing

/// A program that uses a hub, with the messages that it gets.
final class TestProgram: Sendable {
  static let session = HubSessionID(rawValue: 1)

  private let loop = EpollLoop.shared
  private let channel: LoopConfined<ByteChannel>
  /// What arrives, and when; ends with the connection.
  private let messages: AsyncStream<(message: HubMessage, time: Instant)>
  private let lastToken = Mutex<UInt64>(0)

  /// Connects to a hub.
  init(at path: String) async throws {
    let loop = loop
    let (messages, message) = AsyncStream.makeStream(
      of: (message: HubMessage, time: Instant).self)
    self.messages = messages
    let address = try #require(SocketAddress(path: path))
    let result: Result<LoopConfined<ByteChannel>, ConnectError> = await withCheckedContinuation {
      continuation in
      loop.execute {
        let box = LoopConfined(Box(), to: loop)
        let connector = StreamConnector(on: loop, timeout: .seconds(50)) { result in
          box.value.connector = nil
          continuation.resume(
            returning: result.flatMap { descriptor in
              Result { () throws(SystemError) in
                LoopConfined(
                  try ByteChannel(
                    owning: descriptor, on: loop,
                    onRead: { bytes in
                      box.value.reader.append(bytes)
                      while let next = try? box.value.reader.next(HubMessage.self) {
                        message.yield((next, .now))
                      }
                    }, onEnd: { _ in message.finish() }), to: loop)
              }.mapError(ConnectError.system)
            })
        }
        box.value.connector = connector
        connector.connect(to: [address])
      }
    }
    channel = try result.get()
  }

  private final class Box {
    var connector: StreamConnector?
    var reader = HubFrameReader()
  }

  deinit { loop.execute { [channel] in channel.value.close() } }

  /// Connects, and opens a session.
  static func served(_ app: String, at path: String) async throws -> TestProgram {
    let program = try await TestProgram(at: path)
    let opening = SessionOpening(id: session, acknowledgesEvents: true)
    try await program.send(
      .greeting(HubGreeting(app: app, abilities: .bluetooth, openings: [opening])))
    guard case .welcome = await program.next() else {
      Issue.record("not welcome")
      return program
    }
    return program
  }

  func write(_ bytes: [UInt8]) async {
    await run { [channel] in channel.value.write(bytes) }
  }

  /// Sends pings of two programs in one turn of the loop.
  static func ping(_ counts: (program: TestProgram, count: Int)...) async throws {
    var pings: [(channel: LoopConfined<ByteChannel>, bytes: [UInt8])] = []
    for (program, count) in counts {
      var writer = HubFrameWriter()
      for _ in 0..<count { try writer.append(AppMessage.ping(1)) }
      pings.append((program.channel, writer.takeBytes()))
    }
    await counts[0].program.run { [pings] in
      for (channel, bytes) in pings { channel.value.write(bytes) }
    }
  }

  func send(_ message: AppMessage) async throws {
    var writer = HubFrameWriter()
    try writer.append(message)
    await write(writer.takeBytes())
  }

  func send(_ request: HostRequest) async throws {
    try await send(.request(Self.session, .known(request)))
  }

  /// Reads, or doesn't read, what arrives.
  func setReading(_ isReading: Bool) async {
    await run { [channel] in channel.value.isReading = isReading }
  }

  func close() async { await run { [channel] in channel.value.close() } }

  private func run(_ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
      loop.execute {
        body()
        continuation.resume()
      }
    }
  }

  /// The next message; nil at the end of the connection.
  func next() async -> HubMessage? {
    for await (message, _) in messages { return message }
    return nil
  }

  /// Requests the state of the hub, and waits for this answer.
  func status(_ number: UInt64 = 1) async throws -> HubStatus {
    try await send(.status(number))
    while let message = await next() {
      if case .status(number, let status) = message { return status }
    }
    return try #require(nil as HubStatus?, "the connection has ended")
  }

  /// When the next answer to a ping arrived.
  func pong() async throws -> Instant {
    for await case (.pong, let time) in messages { return time }
    return try #require(nil as Instant?, "the connection has ended")
  }

  /// The refusal that ends the connection; nil if it ends without one.
  func refusal() async -> HubRefusal? {
    var last: HubRefusal?
    for await case (.refusal(let refusal), _) in messages { last = refusal }
    return last
  }

  /// Waits for the first event that `pick` takes, and acknowledges the events up to it.
  func first<Value: Sendable>(_ pick: (HostEvent) -> Value?) async throws -> Value {
    while case .events(let session, let events)? = await next() {
      try await send(.eventsHandled(session, count: events.count))
      if let value = events.events.lazy.compactMap(pick).first { return value }
    }
    return try #require(nil as Value?, "the connection has ended")
  }

  /// Sends a request and waits for its reply.
  func ask(_ make: (RequestToken) -> HostRequest) async throws -> HostReply {
    let token = lastToken.withLock { last in
      last += 1
      return RequestToken(rawValue: last)
    }
    try await send(make(token))
    return try await first { event in
      if case .completed(token, let result) = event { result } else { nil }
    }.get()
  }

  /// Publishes a Battery service; returns its handles.
  func publishBattery() async throws -> HandleRange {
    let service = ServiceDefinition(uuid: BluetoothUUID(0x180F as UInt16), characteristics: [])
    guard case .published(let published) = try await ask({ .addService(service, $0) }) else {
      return try #require(nil as HandleRange?, "the service is not published")
    }
    return published.range
  }

  /// Finds the simulated heart-rate strap, connects it and subscribes to its measurement.
  func subscribe() async throws -> DeviceAddress {
    let service = BluetoothUUID(0x180D as UInt16)
    try await first { $0 == .stateChanged(.poweredOn) ? () : nil }
    var scan = ScanOptions()
    scan.services = [service]
    try await send(.startScan(scan))
    let peer = try await first { event in
      if case .discovered(let report) = event { report.address } else { nil }
    }
    try await send(.stopScan)
    try await send(.connect(peer, ConnectOptions()))
    try await first { $0 == .connected(peer) ? () : nil }
    guard
      case .services(let services) = try await ask({ .gatt(peer, .discoverServices([service]), $0) }
      ),
      let range = services.first?.range,
      case .characteristics(let characteristics) = try await ask({
        .gatt(peer, .discoverCharacteristics(in: range, nil), $0)
      })
    else {
      Issue.record("no characteristics")
      return peer
    }
    let measurement = try #require(
      characteristics.first { $0.uuid == BluetoothUUID(0x2A37 as UInt16) })
    let target = SubscriptionTarget(
      valueHandle: measurement.valueHandle, configurationHandle: measurement.valueHandle + 1,
      usesIndications: false)
    #expect(try await ask { .subscribe(peer, target, $0) } == .done)
    return peer
  }

  /// Waits for a notification.
  func notification() async throws -> [UInt8] {
    try await first { event in
      if case .valueUpdated(_, _, let value) = event { Array(value) } else { nil }
    }
  }
}

#if BlueZ
  import BlueZMachines
  import BluetoothInterface
  import BluetoothWire
  import Essentials
  import Logging
  import Testing

  @testable import BlueZHost

  /// A session's events, each of which a test awaits.
  final class Events: Sendable {
    private let events: AsyncStream<HostEvent>
    private let event: AsyncStream<HostEvent>.Continuation

    init() { (events, event) = AsyncStream.makeStream() }

    func open(_ provider: any HostSessionProvider) -> any HostSession {
      provider.openSession { [event] in event.yield($0) }
    }

    /// The next event that a closure takes a value from; those before are skipped.
    func next<Value: Sendable>(_ take: @Sendable (HostEvent) -> Value?) async throws -> Value {
      for await event in events {
        if let value = take(event) { return value }
      }
      throw CancellationError()
    }

    func state(_ state: RadioState) async throws {
      _ = try await next { $0 == .stateChanged(state) ? true : nil }
    }

    func result(_ token: UInt64) async throws -> Result<HostReply, HostError> {
      try await next { event in
        if case .completed(RequestToken(rawValue: token), let result) = event {
          result
        } else {
          nil
        }
      }
    }
  }

  /// A bluetoothd on a bus of a test's own, and the host over it. Its owner must call ``close()``.
  final class FakeRadio {
    /// The device of the fake.
    static let peer = DeviceAddress(bits: 0xC011_2233_4455, kind: .random)
    static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    let bus: PrivateBus
    let bluez: FakeBlueZ
    let provider: BlueZSessionProvider
    /// The events of the sessions that this opens.
    let events = Events()

    /// Starts a bus, and nothing on it.
    ///
    /// - Parameter rules: Rules of the bus's policy after those that allow everything.
    init(
      _ bluez: FakeBlueZ = FakeBlueZ(), _ radio: BlueZRadio = BlueZRadio(), rules: String = ""
    ) throws {
      bus = try PrivateBus(rules: rules)
      self.bluez = bluez
      provider = BlueZSessionProvider(radio, busAddress: bus.address, logger: Self.logger)
    }

    /// Starts a bus, and bluetoothd on it.
    static func start(
      _ bluez: FakeBlueZ = FakeBlueZ(), _ radio: BlueZRadio = BlueZRadio(), rules: String = ""
    ) async throws -> FakeRadio {
      let started = try FakeRadio(bluez, radio, rules: rules)
      await bluez.start(on: started.bus.address)
      return started
    }

    func open() -> any HostSession { events.open(provider) }

    /// A session that is connected to the device.
    ///
    /// - Parameter agent: The abilities of its user in pairings; nil for none.
    func connected(agent: SMPIOCapability? = nil) async throws -> any HostSession {
      let session = open()
      if let agent { session.send(.setPairingAgent(agent)) }
      session.send(.connect(Self.peer, ConnectOptions()))
      _ = try await events.next { $0 == .connected(Self.peer) ? true : nil }
      return session
    }

    /// A session that is connected, and has requested a pairing with the token 1.
    func pairing(agent: SMPIOCapability) async throws -> any HostSession {
      let session = try await connected(agent: agent)
      session.send(.pair(Self.peer, RequestToken(rawValue: 1)))
      return session
    }

    func close() async {
      await provider.close()
      bus.end()
    }
  }
#endif

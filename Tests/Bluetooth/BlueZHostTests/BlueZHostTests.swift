#if BlueZ
  import BlueZMachines
  import BluetoothInterface
  import BluetoothWire
  import Essentials
  import Logging
  import Synchronization
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

  @Suite(
    .enabled(if: PrivateBus.isAvailable, "dbus-daemon is not installed"), .timeLimit(.minutes(5)))
  struct BlueZHostTests {
    private static let peer = DeviceAddress(bits: 0xC011_2233_4455, kind: .random)
    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func provider(_ bus: PrivateBus, _ radio: BlueZRadio = BlueZRadio())
      -> BlueZSessionProvider
    {
      BlueZSessionProvider(radio, busAddress: bus.address, logger: Self.logger)
    }

    @Test func `A central scans, connects, reads, writes and subscribes over the bus`() async throws
    {
      let bus = try PrivateBus()
      let bluez = FakeBlueZ()
      defer { withExtendedLifetime(bluez) { bus.end() } }
      await bluez.start(on: bus.address)
      let provider = provider(bus)
      let events = Events()
      let session = events.open(provider)
      try await events.state(.poweredOn)
      session.send(.startScan(ScanOptions()))
      let report = try await events.next { event in
        if case .discovered(let report) = event { report } else { nil }
      }
      #expect(report.address == Self.peer)
      #expect(report.rssi == -50)
      #expect(Array(report.data.suffix(6)) == [5, 0xFF, 0x4C, 0, 1, 2])
      session.send(.stopScan)
      session.send(.connect(Self.peer, ConnectOptions()))
      _ = try await events.next { $0 == .connected(Self.peer) ? true : nil }
      session.send(.gatt(Self.peer, .discoverServices(nil), RequestToken(rawValue: 1)))
      let service = RemoteService(
        uuid: BluetoothUUID(0x180D), range: HandleRange(0x0A, 0xFFFF), isPrimary: true)
      #expect(try await events.result(1) == .success(.services([service])))
      session.send(.gatt(Self.peer, .read(0x0C), RequestToken(rawValue: 2)))
      #expect(try await events.result(2) == .success(.value([7])))
      session.send(.gatt(Self.peer, .write(0x0C, [0xFF]), RequestToken(rawValue: 3)))
      let refusal = HostError.att(ATTErrorCode(rawValue: 0x80), handle: 0x0C)
      #expect(try await events.result(3) == .failure(refusal))
      #expect(bluez.members.last == "WriteValue [255]")
      session.send(.disconnect(Self.peer))
      let end = HostEvent.disconnected(Self.peer, nil, reconnecting: false)
      _ = try await events.next { $0 == end ? true : nil }
      await provider.close()
    }

    @Test func `A scan for beacons is a monitor where bluetoothd takes one`() async throws {
      let bus = try PrivateBus()
      let bluez = FakeBlueZ(takesMonitors: true)
      defer { withExtendedLifetime(bluez) { bus.end() } }
      await bluez.start(on: bus.address)
      let provider = provider(bus)
      let events = Events()
      let session = events.open(provider)
      try await events.state(.poweredOn)
      var options = ScanOptions()
      options.allowsDuplicates = true
      options.seeksBeacons = true
      session.send(.startScan(options))
      // Of the discovery, until the monitor is active, and of the monitor.
      for _ in 0..<2 {
        let report = try await events.next { event in
          if case .discovered(let report) = event { report } else { nil }
        }
        #expect(report.address == Self.peer)
      }
      #expect(bluez.members.contains("RegisterMonitor"))
      #expect(bluez.members.last == "StopDiscovery")
      session.close()
      await provider.close()
    }

    @Test func `Five thousand notifications arrive once each, in order`() async throws {
      let bus = try PrivateBus()
      let bluez = FakeBlueZ()
      defer { withExtendedLifetime(bluez) { bus.end() } }
      await bluez.start(on: bus.address)
      let provider = provider(bus)
      let events = Events()
      let session = events.open(provider)
      session.send(.connect(Self.peer, ConnectOptions()))
      _ = try await events.next { $0 == .connected(Self.peer) ? true : nil }
      let target = SubscriptionTarget(
        valueHandle: 0x0C, endHandle: 0x0C, usesIndications: false)
      session.send(.subscribe(Self.peer, target, RequestToken(rawValue: 1)))
      #expect(try await events.result(1) == .success(.done))
      let values = (0..<5_000).map { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
      bluez.notify(values)
      for value in values {
        let next = try await events.next { event in
          if case .valueUpdated(_, _, let bytes) = event { Array(bytes) } else { nil }
        }
        #expect(next == value)
      }
      await provider.close()
    }

    @Test func `Ten thousand devices that another client finds leave a link its reads`()
      async throws
    {
      let bus = try PrivateBus()
      let bluez = FakeBlueZ()
      defer { withExtendedLifetime(bluez) { bus.end() } }
      await bluez.start(on: bus.address)
      let provider = provider(bus)
      let events = Events()
      let session = events.open(provider)
      session.send(.connect(Self.peer, ConnectOptions()))
      _ = try await events.next { $0 == .connected(Self.peer) ? true : nil }
      bluez.addDevices(10_000)
      session.send(.gatt(Self.peer, .read(0x0C), RequestToken(rawValue: 1)))
      #expect(try await events.result(1) == .success(.value([7])))
      // All signals have come before the reply: there was no room for the others, and for the changes of these.
      let snapshot = await provider.snapshot()
      #expect(snapshot.droppedReportCount == 2 * (10_001 - BlueZLimits.deviceCountMax))
      await provider.close()
    }

    @Test func `A peripheral advertises and answers a read over the bus`() async throws {
      let bus = try PrivateBus()
      let bluez = FakeBlueZ()
      defer { withExtendedLifetime(bluez) { bus.end() } }
      await bluez.start(on: bus.address)
      let provider = provider(bus)
      let events = Events()
      let session = events.open(provider)
      session.send(.connect(Self.peer, ConnectOptions()))
      _ = try await events.next { $0 == .connected(Self.peer) ? true : nil }
      let value = CharacteristicDefinition(
        uuid: BluetoothUUID(0x2A37), properties: [.read], permissions: .readable)
      let definition = ServiceDefinition(uuid: BluetoothUUID(0x180D), characteristics: [value])
      session.send(.addService(definition, RequestToken(rawValue: 1)))
      guard case .success(.published(let service)) = try await events.result(1) else {
        Issue.record("the service is not published")
        return
      }
      #expect(service.range == HandleRange(0x20, 0x22))
      #expect(service.characteristics.first?.valueHandle == 0x22)
      async let reply = bluez.readServed(offset: 3)
      let request = try await events.next { event in
        if case .serverRequest(let request) = event { request } else { nil }
      }
      #expect(request.kind == .read(handle: 0x22, offset: 3))
      #expect(request.peer == Self.peer)
      session.send(.respond(request.id, .success([8, 9])))
      #expect(await reply == .success([.bytes([8, 9])]))
      var options = AdvertisingOptions()
      options.data = [5, 0xFF, 0x4C, 0, 2, 0x15]
      session.send(.startAdvertising(options, RequestToken(rawValue: 2)))
      #expect(try await events.result(2) == .success(.done))
      #expect(bluez.advertisement["ManufacturerData"] == .numbered([0x4C: .bytes([2, 0x15])]))
      await provider.close()
    }

    @Test(arguments: [true, false])
    func `A pairing asks this program's agent, whose answer decides`(isAccepted: Bool) async throws
    {
      let bus = try PrivateBus()
      let bluez = FakeBlueZ()
      defer { withExtendedLifetime(bluez) { bus.end() } }
      await bluez.start(on: bus.address)
      let provider = provider(bus)
      let events = Events()
      let session = events.open(provider)
      session.send(.setPairingAgent(.displayYesNo))
      session.send(.connect(Self.peer, ConnectOptions()))
      _ = try await events.next { $0 == .connected(Self.peer) ? true : nil }
      session.send(.pair(Self.peer, RequestToken(rawValue: 1)))
      let prompt = try await events.next { event in
        if case .pairingPrompt(Self.peer, .compareNumber(123_456), let id) = event {
          id
        } else {
          nil
        }
      }
      session.send(.answerPairing(prompt, isAccepted ? .accept : .reject))
      let failure = HostError.security(.pairingFailed(.numericComparisonFailed))
      #expect(try await events.result(1) == (isAccepted ? .success(.done) : .failure(failure)))
      await provider.close()
    }

    @Test(arguments: [123_456, 1, nil] as [UInt32?])
    func `A passkey that the device displays is typed by this program's user`(typed: UInt32?)
      async throws
    {
      let bus = try PrivateBus()
      let bluez = FakeBlueZ(question: .enter(123_456))
      defer { withExtendedLifetime(bluez) { bus.end() } }
      await bluez.start(on: bus.address)
      let provider = provider(bus)
      let events = Events()
      let session = try await pairing(provider, events, .keyboardOnly)
      let prompt = try await events.next { event in
        if case .pairingPrompt(Self.peer, .enterPasskey, let id) = event { id } else { nil }
      }
      session.send(.answerPairing(prompt, typed.map { .passkey($0) } ?? .reject))
      let result = try await events.result(1)
      switch typed {
      case 123_456: #expect(result == .success(.done))
      case nil:
        #expect(result == .failure(.security(.pairingFailed(.passkeyEntryFailed))))
      default: #expect(result == .failure(.security(.pairingFailed(.unspecifiedReason))))
      }
      await provider.close()
    }

    @Test func `A passkey that the user of the device types is displayed once`() async throws {
      let bus = try PrivateBus()
      let bluez = FakeBlueZ(question: .display(7))
      defer { withExtendedLifetime(bluez) { bus.end() } }
      await bluez.start(on: bus.address)
      let provider = provider(bus)
      let events = Events()
      let session = try await pairing(provider, events, .displayOnly)
      let prompts = Mutex(0)
      let result = try await events.next { event in
        if case .pairingPrompt(Self.peer, .displayPasskey(7), _) = event {
          prompts.withLock { $0 += 1 }
        }
        if case .completed(_, let result) = event { return result } else { return nil }
      }
      #expect(result == .success(.done))
      #expect(prompts.withLock(\.self) == 1)
      session.close()
      await provider.close()
    }

    @Test
    func `A question that bluetoothd takes back ends with the pairing, and a late answer is none`()
      async throws
    {
      let bus = try PrivateBus()
      let bluez = FakeBlueZ(question: .enterAndCancel)
      defer { withExtendedLifetime(bluez) { bus.end() } }
      await bluez.start(on: bus.address)
      let provider = provider(bus)
      let events = Events()
      let session = try await pairing(provider, events, .keyboardDisplay)
      let prompt = try await events.next { event in
        if case .pairingPrompt(Self.peer, .enterPasskey, let id) = event { id } else { nil }
      }
      let failure = SecurityFailure.peerFailed(.unspecifiedReason)
      #expect(try await events.result(1) == .failure(.security(failure)))
      _ = try await events.next { $0 == .pairingEnded(Self.peer, failure) ? true : nil }
      session.send(.answerPairing(prompt, .passkey(1)))
      session.send(.gatt(Self.peer, .read(0x0C), RequestToken(rawValue: 2)))
      #expect(try await events.result(2) == .success(.value([7])))
      await provider.close()
    }

    /// A session that is connected, and has requested a pairing with the token 1.
    private func pairing(
      _ provider: BlueZSessionProvider, _ events: Events, _ capability: SMPIOCapability
    ) async throws -> any HostSession {
      let session = events.open(provider)
      session.send(.setPairingAgent(capability))
      session.send(.connect(Self.peer, ConnectOptions()))
      _ = try await events.next { $0 == .connected(Self.peer) ? true : nil }
      session.send(.pair(Self.peer, RequestToken(rawValue: 1)))
      return session
    }

    @Test func `bluetoothd that ends is a radio that is gone, and the next one is found`()
      async throws
    {
      let bus = try PrivateBus()
      let bluez = FakeBlueZ()
      defer { withExtendedLifetime(bluez) { bus.end() } }
      await bluez.start(on: bus.address)
      let provider = provider(bus)
      let events = Events()
      let session = events.open(provider)
      session.send(.connect(Self.peer, ConnectOptions()))
      _ = try await events.next { $0 == .connected(Self.peer) ? true : nil }
      await bluez.end()
      let end = HostEvent.disconnected(Self.peer, .radioNotReady, reconnecting: false)
      _ = try await events.next { $0 == end ? true : nil }
      try await events.state(.poweredOff)
      #expect(provider.problem?.contains("It has ended.") == true)
      let next = FakeBlueZ()
      defer { withExtendedLifetime(next) {} }
      await next.start(on: bus.address)
      try await events.state(.poweredOn)
      #expect(provider.problem == nil)
      session.close()
      await provider.close()
    }

    @Test func `A bus without bluetoothd is a sentence, and so is no bus`() async throws {
      let bus = try PrivateBus()
      defer { bus.end() }
      let provider = provider(bus)
      let events = Events()
      let session = events.open(provider)
      try await events.state(.poweredOff)
      #expect(provider.problem?.hasPrefix("bluetoothd does not run") == true)
      let bluez = FakeBlueZ()
      defer { withExtendedLifetime(bluez) { bus.end() } }
      await bluez.start(on: bus.address)
      try await events.state(.poweredOn)
      bus.end()
      try await events.state(.poweredOff)
      #expect(provider.problem?.hasPrefix("The system's D-Bus") == true)
      session.close()
      await provider.close()
    }

    @Test func `A user whom the bus's policy keeps from bluetoothd gets a sentence`() async throws {
      let bus = try PrivateBus(
        rules:
          "<deny send_destination='org.bluez' send_interface='org.freedesktop.DBus.ObjectManager'/>"
      )
      let bluez = FakeBlueZ()
      defer { withExtendedLifetime(bluez) { bus.end() } }
      await bluez.start(on: bus.address)
      let provider = provider(bus)
      let events = Events()
      let session = events.open(provider)
      try await events.state(.unauthorized)
      #expect(provider.problem?.hasPrefix("This user may not use bluetoothd") == true)
      session.close()
      await provider.close()
    }

    @Test func `An adapter that bluetoothd does not have is named`() async throws {
      let bus = try PrivateBus()
      let bluez = FakeBlueZ()
      defer { withExtendedLifetime(bluez) { bus.end() } }
      await bluez.start(on: bus.address)
      let provider = provider(bus, BlueZRadio(adapter: "hci7"))
      let events = Events()
      let session = events.open(provider)
      try await events.state(.poweredOff)
      #expect(provider.problem?.contains("no Bluetooth adapter hci7") == true)
      session.close()
      await provider.close()
    }

    @Test func `Closing the provider ends its link before it leaves the bus`() async throws {
      let bus = try PrivateBus()
      let bluez = FakeBlueZ()
      defer { withExtendedLifetime(bluez) { bus.end() } }
      await bluez.start(on: bus.address)
      let provider = provider(bus)
      let events = Events()
      let session = events.open(provider)
      session.send(.connect(Self.peer, ConnectOptions()))
      _ = try await events.next { $0 == .connected(Self.peer) ? true : nil }
      await provider.close()
      // A second client's call is answered after those of the first one.
      let other = self.provider(bus)
      let others = Events()
      let second = others.open(other)
      try await others.state(.poweredOn)
      #expect(bluez.members.contains("Disconnect"))
      second.close()
      await other.close()
      withExtendedLifetime(session) {}
    }
  }

  struct BlueZRadioTests {
    @Test func `The names of bluetoothd's radios are parsed, and others left alone`() throws {
      #expect(try BlueZRadio(parsing: "bluez") == BlueZRadio())
      #expect(try BlueZRadio(parsing: "bluez:hci12")?.adapter == "hci12")
      #expect(try BlueZRadio(parsing: "bluez:hci12")?.description == "bluez:hci12")
      for other in ["hci0", "sim", "bluezz", ""] {
        #expect(try BlueZRadio(parsing: other) == nil)
      }
      for wrong in ["bluez:", "bluez:hci", "bluez:hci-1", "bluez:../x", "bluez:hci99999"] {
        #expect(throws: BlueZRadioError(text: wrong)) { try BlueZRadio(parsing: wrong) }
      }
    }
  }
#endif

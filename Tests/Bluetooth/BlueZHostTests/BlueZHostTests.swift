#if BlueZ
  import BlueZMachines
  import BluetoothInterface
  import BluetoothWire
  import Synchronization
  import Testing

  @testable import BlueZHost

  @Suite(
    .enabled(if: PrivateBus.isAvailable, "dbus-daemon is not installed"), .timeLimit(.minutes(5)))
  struct BlueZHostTests {
    private static let peer = FakeRadio.peer

    @Test func `A central scans, connects, reads, writes and subscribes over the bus`() async throws
    {
      let radio = try await FakeRadio.start()
      let events = radio.events
      let session = radio.open()
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
      #expect(radio.bluez.members.last == "WriteValue [255]")
      session.send(.disconnect(Self.peer))
      let end = HostEvent.disconnected(Self.peer, nil, reconnecting: false)
      _ = try await events.next { $0 == end ? true : nil }
      await radio.close()
    }

    @Test func `A scan for beacons is a monitor where bluetoothd takes one`() async throws {
      let radio = try await FakeRadio.start(FakeBlueZ(takesMonitors: true))
      let events = radio.events
      let session = radio.open()
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
      #expect(radio.bluez.members.contains("RegisterMonitor"))
      #expect(radio.bluez.members.last == "StopDiscovery")
      session.close()
      await radio.close()
    }

    @Test func `Five thousand notifications arrive once each, in order`() async throws {
      let radio = try await FakeRadio.start()
      let events = radio.events
      let session = try await radio.connected()
      let target = SubscriptionTarget(
        valueHandle: 0x0C, endHandle: 0x0C, usesIndications: false)
      session.send(.subscribe(Self.peer, target, RequestToken(rawValue: 1)))
      #expect(try await events.result(1) == .success(.done))
      let values = (0..<5_000).map { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
      radio.bluez.notify(values)
      for value in values {
        let next = try await events.next { event in
          if case .valueUpdated(_, _, let bytes) = event { Array(bytes) } else { nil }
        }
        #expect(next == value)
      }
      await radio.close()
    }

    @Test func `Ten thousand devices that another client finds leave a link its reads`()
      async throws
    {
      let radio = try await FakeRadio.start()
      let events = radio.events
      let session = try await radio.connected()
      radio.bluez.addDevices(10_000)
      session.send(.gatt(Self.peer, .read(0x0C), RequestToken(rawValue: 1)))
      #expect(try await events.result(1) == .success(.value([7])))
      // All signals have come before the reply: there was no room for the others, and for the changes of these.
      let snapshot = await radio.provider.snapshot()
      #expect(snapshot.droppedReportCount == 2 * (10_001 - BlueZLimits.deviceCountMax))
      await radio.close()
    }

    @Test func `A peripheral advertises and answers a read over the bus`() async throws {
      let radio = try await FakeRadio.start()
      let events = radio.events
      let session = try await radio.connected()
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
      async let reply = radio.bluez.readServed(offset: 3)
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
      #expect(
        radio.bluez.advertisement["ManufacturerData"] == .numbered([0x4C: .bytes([2, 0x15])]))
      await radio.close()
    }

    @Test(arguments: [true, false])
    func `A pairing asks this program's agent, whose answer decides`(isAccepted: Bool) async throws
    {
      let radio = try await FakeRadio.start()
      let events = radio.events
      let session = try await radio.pairing(agent: .displayYesNo)
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
      await radio.close()
    }

    @Test(arguments: [123_456, 1, nil] as [UInt32?])
    func `A passkey that the device displays is typed by this program's user`(typed: UInt32?)
      async throws
    {
      let radio = try await FakeRadio.start(FakeBlueZ(question: .enter(123_456)))
      let events = radio.events
      let session = try await radio.pairing(agent: .keyboardOnly)
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
      await radio.close()
    }

    @Test func `A passkey that the user of the device types is displayed once`() async throws {
      let radio = try await FakeRadio.start(FakeBlueZ(question: .display(7)))
      let events = radio.events
      let session = try await radio.pairing(agent: .displayOnly)
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
      await radio.close()
    }

    @Test
    func `A question that bluetoothd takes back ends with the pairing, and a late answer is none`()
      async throws
    {
      let radio = try await FakeRadio.start(FakeBlueZ(question: .enterAndCancel))
      let events = radio.events
      let session = try await radio.pairing(agent: .keyboardDisplay)
      let prompt = try await events.next { event in
        if case .pairingPrompt(Self.peer, .enterPasskey, let id) = event { id } else { nil }
      }
      let failure = SecurityFailure.peerFailed(.unspecifiedReason)
      #expect(try await events.result(1) == .failure(.security(failure)))
      _ = try await events.next { $0 == .pairingEnded(Self.peer, failure) ? true : nil }
      session.send(.answerPairing(prompt, .passkey(1)))
      session.send(.gatt(Self.peer, .read(0x0C), RequestToken(rawValue: 2)))
      #expect(try await events.result(2) == .success(.value([7])))
      await radio.close()
    }

    @Test func `bluetoothd that ends is a radio that is gone, and the next one is found`()
      async throws
    {
      let radio = try await FakeRadio.start()
      let events = radio.events
      let session = try await radio.connected()
      await radio.bluez.end()
      let end = HostEvent.disconnected(Self.peer, .radioNotReady, reconnecting: false)
      _ = try await events.next { $0 == end ? true : nil }
      try await events.state(.poweredOff)
      #expect(radio.provider.problem?.contains("It has ended.") == true)
      let next = FakeBlueZ()
      defer { withExtendedLifetime(next) {} }
      await next.start(on: radio.bus.address)
      try await events.state(.poweredOn)
      #expect(radio.provider.problem == nil)
      session.close()
      await radio.close()
    }

    @Test func `A bus without bluetoothd is a sentence, and so is no bus`() async throws {
      let radio = try FakeRadio()
      let events = radio.events
      let session = radio.open()
      try await events.state(.poweredOff)
      #expect(radio.provider.problem?.hasPrefix("bluetoothd does not run") == true)
      await radio.bluez.start(on: radio.bus.address)
      try await events.state(.poweredOn)
      radio.bus.end()
      try await events.state(.poweredOff)
      #expect(radio.provider.problem?.hasPrefix("The system's D-Bus") == true)
      session.close()
      await radio.close()
    }

    @Test func `A user whom the bus's policy keeps from bluetoothd gets a sentence`() async throws {
      let radio = try await FakeRadio.start(
        rules:
          "<deny send_destination='org.bluez' send_interface='org.freedesktop.DBus.ObjectManager'/>"
      )
      let session = radio.open()
      try await radio.events.state(.unauthorized)
      #expect(radio.provider.problem?.hasPrefix("This user may not use bluetoothd") == true)
      session.close()
      await radio.close()
    }

    @Test func `An adapter that bluetoothd does not have is named`() async throws {
      let radio = try await FakeRadio.start(FakeBlueZ(), BlueZRadio(adapter: "hci7"))
      let events = radio.events
      let session = radio.open()
      try await events.state(.poweredOff)
      #expect(radio.provider.problem?.contains("no Bluetooth adapter hci7") == true)
      session.close()
      await radio.close()
    }

    @Test func `Closing the provider ends its link before it leaves the bus`() async throws {
      let radio = try await FakeRadio.start()
      let session = try await radio.connected()
      await radio.provider.close()
      // A second client's call is answered after those of the first one.
      let other = BlueZSessionProvider(
        BlueZRadio(), busAddress: radio.bus.address, logger: FakeRadio.logger)
      let others = Events()
      let second = others.open(other)
      try await others.state(.poweredOn)
      #expect(radio.bluez.members.contains("Disconnect"))
      second.close()
      await other.close()
      await radio.close()
      withExtendedLifetime(session) {}
    }

    @Test func `More calls of other programs than the bound are refused, and later ones answered`()
      async throws
    {
      let radio = try await FakeRadio.start()
      let events = radio.events
      let session = try await radio.connected()
      let value = CharacteristicDefinition(
        uuid: BluetoothUUID(0x2A37), properties: [.read], permissions: .readable)
      let definition = ServiceDefinition(uuid: BluetoothUUID(0x180D), characteristics: [value])
      session.send(.addService(definition, RequestToken(rawValue: 1)))
      _ = try await events.result(1).get()
      let count = BlueZLimits.incomingCallCountMax
      var replies = radio.bluez.readServed(count: count + 1).makeAsyncIterator()
      // The others wait for this program.
      let refusal = BusError(
        "org.freedesktop.DBus.Error.LimitsExceeded", "Too many calls have no answer yet.")
      #expect(await replies.next() == .failure(refusal))
      func answer() async throws {
        let request = try await events.next { event in
          if case .serverRequest(let request) = event { request } else { nil }
        }
        session.send(.respond(request.id, .success([8])))
      }
      for _ in 0..<count { try await answer() }
      for _ in 0..<count { #expect(await replies.next() != .failure(refusal)) }
      #expect(await replies.next() == nil)
      // There is room again.
      async let reply = radio.bluez.readServed(offset: 0)
      try await answer()
      #expect(await reply == .success([.bytes([8])]))
      await radio.close()
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

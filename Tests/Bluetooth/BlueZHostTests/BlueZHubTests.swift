#if BlueZ
  import BlueZMachines
  import BluetoothInterface
  import BluetoothWire
  import Essentials
  import Foundation
  import HubClient
  import HubHost
  import HubWire
  import Testing

  @testable import BlueZHost

  /// A hub whose radio is bluetoothd's, and programs that use it.
  @Suite(
    .enabled(if: PrivateBus.isAvailable, "dbus-daemon is not installed"), .timeLimit(.minutes(5)))
  struct BlueZHubTests {
    private static let peer = FakeRadio.peer
    private static let logger = FakeRadio.logger

    private let folder = FileManager.default.temporaryDirectory.path
    private var path: String { "\(folder)/hub-\(UUID().uuidString.prefix(8))" }

    @Test func `Programs of a hub use bluetoothd's radio, and its state has their names`()
      async throws
    {
      let fake = try await FakeRadio.start(FakeBlueZ(), BlueZRadio(adapter: "hci0"))
      let radio = fake.provider
      let path = path
      defer { try? FileManager.default.removeItem(atPath: path + ".lock") }
      let hub = try await HubServer.start(at: .path(path), radio)
      let program = HubSessionProvider(path: path, app: "reader", logger: Self.logger)
      let events = Events()
      let session = events.open(program)
      try await events.state(.poweredOn)
      #expect(!program.isSimulated)
      session.send(.connect(Self.peer, ConnectOptions()))
      _ = try await events.next { $0 == .connected(Self.peer) ? true : nil }
      session.send(.gatt(Self.peer, .read(0x0C), RequestToken(rawValue: 1)))
      #expect(try await events.result(1) == .success(.value([7])))
      let target = SubscriptionTarget(
        valueHandle: 0x0C, endHandle: 0x0C, usesIndications: false)
      session.send(.subscribe(Self.peer, target, RequestToken(rawValue: 2)))
      #expect(try await events.result(2) == .success(.done))
      fake.bluez.notify([[1], [2]])
      for value in [[1], [2]] as [[UInt8]] {
        let next = try await events.next { event in
          if case .valueUpdated(_, _, let bytes) = event { Array(bytes) } else { nil }
        }
        #expect(next == value)
      }
      let status = try await HubStatusReader.read(at: path, within: .seconds(50))
      #expect(status.radio.name == "bluez:hci0" && status.radio.state == .poweredOn)
      #expect(status.radio.address == "00:1A:7D:DA:71:13" && !status.radio.isSimulated)
      #expect(status.programs.map(\.app) == ["reader"])
      #expect(status.links.map(\.stage) == ["open"])
      #expect(status.links.first?.users.count == 1)
      session.close()
      await program.close()
      await hub.close()
      await fake.close()
    }

    @Test func `bluetoothd that ends is a radio that is gone for the hub's programs`() async throws
    {
      let fake = try await FakeRadio.start()
      let radio = fake.provider
      var problems = radio.problems().makeAsyncIterator()
      #expect(await problems.next() == .some(nil))
      let path = path
      defer { try? FileManager.default.removeItem(atPath: path + ".lock") }
      let hub = try await HubServer.start(at: .path(path), radio)
      let program = HubSessionProvider(path: path, logger: Self.logger)
      let events = Events()
      let session = events.open(program)
      try await events.state(.poweredOn)
      await fake.bluez.end()
      try await events.state(.poweredOff)
      #expect(await problems.next()??.contains("It has ended.") == true)
      let status = try await HubStatusReader.read(at: path, within: .seconds(50))
      #expect(status.radio.problem?.contains("It has ended.") == true)
      let next = FakeBlueZ()
      defer { withExtendedLifetime(next) {} }
      await next.start(on: fake.bus.address)
      try await events.state(.poweredOn)
      #expect(await problems.next() == .some(nil))
      session.close()
      await program.close()
      await hub.close()
      await fake.close()
      #expect(await problems.next() == nil)
    }

    @Test func `A passkey is typed by the user of the program that pairs, and no other is asked`()
      async throws
    {
      let fake = try await FakeRadio.start(FakeBlueZ(question: .enter(123_456)))
      let path = path
      defer { try? FileManager.default.removeItem(atPath: path + ".lock") }
      let hub = try await HubServer.start(at: .path(path), fake.provider)
      let other = HubSessionProvider(path: path, app: "other", logger: Self.logger)
      let others = Events()
      let waiting = others.open(other)
      waiting.send(.setPairingAgent(.keyboardDisplay))
      try await others.state(.poweredOn)
      let program = HubSessionProvider(path: path, app: "pairing", logger: Self.logger)
      let events = Events()
      let session = events.open(program)
      session.send(.setPairingAgent(.keyboardOnly))
      session.send(.connect(Self.peer, ConnectOptions()))
      _ = try await events.next { $0 == .connected(Self.peer) ? true : nil }
      session.send(.pair(Self.peer, RequestToken(rawValue: 1)))
      let prompt = try await events.next { event in
        if case .pairingPrompt(Self.peer, .enterPasskey, let id) = event { id } else { nil }
      }
      session.send(.answerPairing(prompt, .passkey(123_456)))
      #expect(try await events.result(1) == .success(.done))
      // The next thing that the other program gets is the reply to a request of its own.
      waiting.send(.readRSSI(Self.peer, RequestToken(rawValue: 2)))
      let isAsked = try await others.next { event in
        switch event {
        case .pairingPrompt: true
        case .completed: false
        default: nil
        }
      }
      #expect(!isAsked)
      for session in [session, waiting] { session.close() }
      await program.close()
      await other.close()
      await hub.close()
      await fake.close()
    }

    @Test func `A service that a new bluetoothd refuses is in the state of the hub`() async throws {
      let fake = try await FakeRadio.start()
      let radio = fake.provider
      let path = path
      defer { try? FileManager.default.removeItem(atPath: path + ".lock") }
      let hub = try await HubServer.start(at: .path(path), radio)
      let program = HubSessionProvider(path: path, logger: Self.logger)
      let events = Events()
      let session = events.open(program)
      try await events.state(.poweredOn)
      let value = CharacteristicDefinition(
        uuid: BluetoothUUID(0x2A37), properties: [.read], permissions: .readable)
      let definition = ServiceDefinition(uuid: BluetoothUUID(0x180D), characteristics: [value])
      session.send(.addService(definition, RequestToken(rawValue: 1)))
      _ = try await events.result(1).get()
      await fake.bluez.end()
      try await events.state(.poweredOff)
      let next = FakeBlueZ(refusesServices: true)
      defer { withExtendedLifetime(next) {} }
      await next.start(on: fake.bus.address)
      // The radio is on, and the refusal follows.
      var problem: String?
      while problem?.contains("No room") != true {
        problem = try await HubStatusReader.read(at: path, within: .seconds(50)).radio.problem
      }
      #expect(
        problem
          == "bluetoothd does not take a service again: No room (org.bluez.Error.Failed).")
      session.close()
      await program.close()
      await hub.close()
      await fake.close()
    }
  }
#endif

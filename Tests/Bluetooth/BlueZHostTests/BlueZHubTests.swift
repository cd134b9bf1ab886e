#if BlueZ
  import BlueZMachines
  import BluetoothInterface
  import BluetoothWire
  import Essentials
  import Foundation
  import HubClient
  import HubHost
  import HubWire
  import Logging
  import Testing

  @testable import BlueZHost

  /// A hub whose radio is bluetoothd's, and programs that use it.
  @Suite(
    .enabled(if: PrivateBus.isAvailable, "dbus-daemon is not installed"), .timeLimit(.minutes(5)))
  struct BlueZHubTests {
    private static let peer = DeviceAddress(bits: 0xC011_2233_4455, kind: .random)
    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private let folder = FileManager.default.temporaryDirectory.path
    private var path: String { "\(folder)/hub-\(UUID().uuidString.prefix(8))" }

    @Test func `Programs of a hub use bluetoothd's radio, and its state has their names`()
      async throws
    {
      let bus = try PrivateBus()
      let bluez = FakeBlueZ()
      defer { withExtendedLifetime(bluez) { bus.end() } }
      await bluez.start(on: bus.address)
      let radio = BlueZSessionProvider(
        BlueZRadio(adapter: "hci0"), busAddress: bus.address, logger: Self.logger)
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
      bluez.notify([[1], [2]])
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
      await radio.close()
    }

    @Test func `bluetoothd that ends is a radio that is gone for the hub's programs`() async throws
    {
      let bus = try PrivateBus()
      let bluez = FakeBlueZ()
      defer { withExtendedLifetime(bluez) { bus.end() } }
      await bluez.start(on: bus.address)
      let radio = BlueZSessionProvider(BlueZRadio(), busAddress: bus.address, logger: Self.logger)
      var problems = radio.problems().makeAsyncIterator()
      #expect(await problems.next() == .some(nil))
      let path = path
      defer { try? FileManager.default.removeItem(atPath: path + ".lock") }
      let hub = try await HubServer.start(at: .path(path), radio)
      let program = HubSessionProvider(path: path, logger: Self.logger)
      let events = Events()
      let session = events.open(program)
      try await events.state(.poweredOn)
      await bluez.end()
      try await events.state(.poweredOff)
      #expect(await problems.next()??.contains("It has ended.") == true)
      let status = try await HubStatusReader.read(at: path, within: .seconds(50))
      #expect(status.radio.problem?.contains("It has ended.") == true)
      let next = FakeBlueZ()
      defer { withExtendedLifetime(next) {} }
      await next.start(on: bus.address)
      try await events.state(.poweredOn)
      #expect(await problems.next() == .some(nil))
      session.close()
      await program.close()
      await hub.close()
      await radio.close()
      #expect(await problems.next() == nil)
    }

    @Test func `A service that a new bluetoothd refuses is in the state of the hub`() async throws {
      let bus = try PrivateBus()
      let bluez = FakeBlueZ()
      defer { withExtendedLifetime(bluez) { bus.end() } }
      await bluez.start(on: bus.address)
      let radio = BlueZSessionProvider(BlueZRadio(), busAddress: bus.address, logger: Self.logger)
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
      await bluez.end()
      try await events.state(.poweredOff)
      let next = FakeBlueZ(refusesServices: true)
      defer { withExtendedLifetime(next) {} }
      await next.start(on: bus.address)
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
      await radio.close()
    }
  }
#endif

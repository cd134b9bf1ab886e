import BluetoothHost
import BluetoothInterface
import CoreBluetooth
import Essentials
import Foundation
import HubClient
import HubHost
import HubMachines
import SimulatedRadio
import Simulation
import Synchronization
import Testing

/// An app that looks which peripherals are connected once the radio is on.
private final class Onlooker: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate,
  @unchecked Sendable
{
  // Unchecked: changed on the delegate's queue only.
  private let continuation: AsyncStream<String>.Continuation
  private var peripherals: [CBPeripheral] = []

  init(_ continuation: AsyncStream<String>.Continuation) { self.continuation = continuation }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn else { return }
    peripherals = central.retrieveConnectedPeripherals(withServices: [CBUUID(string: "180D")])
    for peripheral in peripherals {
      peripheral.delegate = self
      let services = peripheral.services.map { "\($0.count)" } ?? "no"
      continuation.yield(
        "\(peripheral.name ?? "?") \(peripheral.state) with \(services) services")
    }
    // The strap has it, and its app has not looked for it.
    let others = central.retrieveConnectedPeripherals(withServices: [CBUUID(string: "180F")])
    continuation.yield("\(peripherals.count) of one service, \(others.count) of another")
  }

  func centralManager(
    _ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent,
    for peripheral: CBPeripheral
  ) { continuation.yield("connection event") }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    let length = peripheral.maximumWriteValueLength(for: .withoutResponse)
    continuation.yield(length > 20 ? "connected with the link's MTU" : "connected")
  }

  /// Uses the link of the others, too, or gives it up. To be called on the delegate's queue.
  func connect(_ central: CBCentralManager) {
    for peripheral in peripherals { central.connect(peripheral) }
  }

  func disconnect(_ central: CBCentralManager) {
    for peripheral in peripherals { central.cancelPeripheralConnection(peripheral) }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) { continuation.yield("value") }
}

@Suite("Peripherals that other programs of a hub are connected to", .timeLimit(.minutes(5)))
struct ConnectedPeripheralTests {
  private static let guest: UInt32 = 23_456

  /// The first program is of this user, and others of another one if there is one.
  private func peers(_ other: UInt32?) -> PeerReader {
    let count = Mutex(0)
    return PeerReader { descriptor, rules in
      guard var peer = PeerReader.system.peer(descriptor, rules) else { return nil }
      let isFirst = count.withLock { count in
        count += 1
        return count == 1
      }
      if !isFirst, let other { peer.userID = other }
      return peer
    }
  }

  /// Whether an event is about the radio or a link, and nothing that passes over the link.
  private static func isPublic(_ event: HostEvent) -> Bool {
    switch event {
    case .stateChanged, .linkOpened, .linkUpdated, .linkClosed: true
    default: false
    }
  }

  /// Whether an event has the parameters of a link.
  private static func hasParameters(_ event: HostEvent) -> Bool {
    switch event {
    case .linkOpened(let link), .linkUpdated(let link): link.intervalUnits > 0 || link.mtu != 23
    default: false
    }
  }

  /// Waits until the host has read the peer's name, which it does behind what the app requests.
  private static func awaitName(_ provider: HubSessionProvider) async {
    let (events, event) = AsyncStream.makeStream(of: HostEvent.self)
    let session = provider.openSession(acknowledgesEvents: false, settle: nil) { batch in
      for each in batch { event.yield(each) }
    }
    defer { session.close() }
    for await each in events {
      switch each {
      case .linkOpened(let link), .linkUpdated(let link): if link.name != nil { return }
      default: break
      }
    }
  }

  @Test(
    "peripherals that others are connected to are retrieved by service, without their values",
    arguments: [nil, guest])
  func connectedByOthers(otherUser: UInt32?) async throws {
    let path = TestHub.makePath()
    let radio = try await RadioServer.start(at: [.unix(path: TestHub.makePath())]) {
      let world = World(seed: 1, radio: .ideal)
      _ = world.addHeartRateStrap(at: Position(x: 1, y: 0))
      return world
    }
    let host = try BluetoothHost(radio: try #require(radio.addresses.first))
    let rules = HubRules([HubRules.Rule(.allow, userID: Self.guest)])
    let hub = try await HubServer.start(
      at: .path(path), host, rules: rules, peers: peers(otherUser))
    let provider = HubSessionProvider(path: path, app: "strap", logger: .silent)
    let (lines, continuation) = AsyncStream.makeStream(of: String.self)
    let app = StrapApp(continuation)
    let manager = CBCentralManager(
      delegate: app, queue: DispatchQueue(label: "app"), host: provider)
    var iterator = lines.makeAsyncIterator()
    var line = await iterator.next()
    while line != "notified" { line = await iterator.next() }
    await Self.awaitName(provider)

    let otherProvider = HubSessionProvider(path: path, app: "onlooker", logger: .silent)
    let (seen, seenContinuation) = AsyncStream.makeStream(of: String.self)
    let onlooker = Onlooker(seenContinuation)
    let queue = DispatchQueue(label: "onlooker")
    let other = CBCentralManager(delegate: onlooker, queue: queue, host: otherProvider)
    var seenIterator = seen.makeAsyncIterator()
    #expect(await seenIterator.next() == "Pulse strap disconnected with no services")
    #expect(await seenIterator.next() == "1 of one service, 0 of another")
    queue.sync { onlooker.connect(other) }
    #expect(await seenIterator.next() == "connected with the link's MTU")
    queue.sync { onlooker.disconnect(other) }
    let (events, event) = AsyncStream.makeStream(of: HostEvent.self)
    let session = otherProvider.openSession(acknowledgesEvents: false, settle: nil) { batch in
      for each in batch { event.yield(each) }
    }
    for _ in 0..<2 {
      line = await iterator.next()
      while line != "notified" { line = await iterator.next() }
    }
    await hub.close()
    var all: [HostEvent] = []
    for await each in events {
      all.append(each)
      if each == .stateChanged(.poweredOff) { break }
    }
    #expect(all.allSatisfy { Self.isPublic($0) && !Self.hasParameters($0) }, "\(all)")
    seenContinuation.finish()
    #expect(await seenIterator.next() == nil)
    session.close()
    withExtendedLifetime((manager, other)) {}
    await host.close()
    await radio.close()
  }
}

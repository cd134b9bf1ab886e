import AppMachines
import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import AppHubMachines

/// Subscriptions of apps that the system has terminated: those to a peer's characteristics, and those of centrals.
@Suite struct SubscriptionTests {
  private static let service = RemoteService(
    uuid: 0x180D, range: HandleRange(1, 9), isPrimary: true)
  private static let rate = RemoteCharacteristic(
    uuid: 0x2A37, declarationHandle: 2, valueHandle: 3, endHandle: 4, properties: .notify)
  private static let target = SubscriptionTarget(
    valueHandle: 3, configurationHandle: 4, usesIndications: false)
  private static let subscription = SessionHoldings.Subscription(
    peer: TestSystem.peer, target: target)

  private static func token(_ number: UInt64) -> RequestToken { RequestToken(rawValue: number) }

  private static var opened: [HostEvent] {
    [
      .linkOpened(LinkInfo(peer: TestSystem.peer, role: .central)), .connected(TestSystem.peer),
    ]
  }

  private static var closed: [HostEvent] {
    [
      .disconnected(TestSystem.peer, .attTimeout, reconnecting: true),
      .linkClosed(TestSystem.peer, .attTimeout),
    ]
  }

  /// An app that has discovered a service and has requested a subscription.
  private static func subscribing() -> TestSystem {
    var system = TestSystem()
    system.person(.opened)
    var options = ConnectOptions()
    options.reconnectsAutomatically = true
    system.request(.connect(TestSystem.peer, options))
    system.host(opened)
    system.answers = false
    let discoveries: [(GATTOperation, HostReply)] = [
      (.discoverServices(nil), .services([service])),
      (.discoverCharacteristics(in: service.range, nil), .characteristics([rate])),
    ]
    for (index, (operation, reply)) in discoveries.enumerated() {
      let token = token(UInt64(index) + 1)
      system.request(.gatt(TestSystem.peer, operation, token))
      system.host([.completed(token, .success(reply))])
    }
    system.request(.subscribe(TestSystem.peer, target, token(3)))
    return system
  }

  /// An app that was subscribed when the system terminated it.
  private static func terminated() -> TestSystem {
    var system = subscribing()
    system.host([.completed(token(3), .success(.done))])
    system.answers = true
    system.person(.sentToBackground)
    system.handle(.life(.memoryPressure(.critical)))
    #expect(system.state == .notRunning)
    _ = system.takeRequests()
    return system
  }

  private static func values(_ system: TestSystem) -> [HostEvent] {
    system.process?.events.filter { if case .valueUpdated = $0 { true } else { false } } ?? []
  }

  @Test func `A value launches the app, which has its subscription and what it has discovered`()
    throws
  {
    var system = Self.terminated()
    // The host goes on with the link and the subscription.
    #expect(system.machine.radioUse(of: TestSystem.app).connections.count == 1)
    for launch in 2..<5 {
      system.host([system.value(1), system.value(2)])
      #expect(system.startCount == launch)
      let holdings = try #require(system.process?.attachments.first?.holdings)
      #expect(holdings.links.map(\.isConnected) == [true])
      #expect(holdings.subscriptions == [Self.subscription])
      let attributes = try #require(holdings.attributes.first)
      #expect(
        attributes.peer == TestSystem.peer && attributes.services.map(\.service) == [Self.service])
      #expect(
        attributes.services.first?.characteristics?.map(\.characteristic) == [Self.rate])
      #expect(Self.values(system) == [system.value(1), system.value(2)])
      system.handle(.life(.memoryPressure(.critical)))
      #expect(system.state == .notRunning)
    }
    #expect(
      system.takeRequests().allSatisfy { if case .unsubscribe = $0 { false } else { true } })
  }

  @Test(arguments: [nil, HostError.att(.insufficientEncryption, handle: 4)])
  func `A subscription that is answered after the end of its app is what the answer says`(
    error: HostError?
  ) throws {
    var system = Self.subscribing()
    system.person(.sentToBackground)
    system.handle(.life(.memoryPressure(.critical)))
    #expect(system.state == .notRunning)
    system.host([.completed(Self.token(3), error.map { .failure($0) } ?? .success(.done))])
    #expect(system.startCount == 1)
    system.host([system.value(1)])
    let holdings = try #require(system.process?.attachments.first?.holdings)
    #expect(holdings.subscriptions == (error == nil ? [Self.subscription] : []))
  }

  @Test func `A link that ends while its app can't be launched takes the subscription with it`()
    throws
  {
    var system = Self.terminated()
    system.handle(.life(.rebooted))
    system.host(Self.closed)
    // Events that wake nothing, more than have room: the end of the link is not among those that are given up.
    for number in 0..<2_000 {
      system.host([.pairingEnded(DeviceAddress(bits: UInt64(number), kind: .random), nil)])
    }
    system.host(Self.opened)
    #expect(system.startCount == 1 && system.machine.droppedCount > 0)
    system.handle(.life(.unlocked))
    #expect(system.startCount == 2 && system.state == .suspended)
    let first = try #require(system.process?.attachments.first?.holdings)
    #expect(first.subscriptions == [Self.subscription])
    let ends = system.process?.events.filter { if case .linkClosed = $0 { true } else { false } }
    #expect(ends?.count == 1)
    system.handle(.life(.memoryPressure(.critical)))
    #expect(system.state == .notRunning)
    system.host([system.value(9)])
    let next = try #require(system.process?.attachments.first?.holdings)
    #expect(next.subscriptions.isEmpty && next.links.map(\.isConnected) == [true])
  }

  // MARK: Centrals

  private static let notified = CharacteristicDefinition(
    uuid: 0xFF01, properties: .notify, permissions: .init())

  /// An app that was ended with a service to which two centrals have subscribed.
  private static func server(advertises: Bool) -> (system: TestSystem, handle: UInt16) {
    var system = TestSystem(.bluetoothPeripheral, manager: "peripheral:bell")
    system.person(.opened)
    let definition = ServiceDefinition(uuid: 0xFF00, characteristics: [notified])
    system.request(.addService(definition, token(1)))
    let handle = system.nextHandle - 10 + 2
    if advertises { system.request(.startAdvertising(AdvertisingOptions(), token(2))) }
    system.host(centrals.map { .subscribed($0, handle: handle) })
    system.person(.sentToBackground)
    system.handle(.life(.memoryPressure(.critical)))
    #expect(system.state == .notRunning)
    return (system, handle)
  }

  private static let centrals = [1, 2].map { DeviceAddress(bits: $0, kind: .random) }

  @Test func `A central's request launches the app, which knows the centrals that are subscribed`()
    throws
  {
    var (system, handle) = Self.server(advertises: true)
    system.host([.unsubscribed(Self.centrals[0], handle: handle)])
    #expect(system.startCount == 2)
    let holdings = try #require(system.process?.attachments.first?.holdings)
    #expect(
      holdings.subscribers
        == Self.centrals.map { SessionHoldings.Subscriber(peer: $0, handle: handle) })
    #expect(system.process?.events.last == .unsubscribed(Self.centrals[0], handle: handle))
    system.handle(.life(.memoryPressure(.critical)))
    #expect(system.state == .notRunning)
    system.host([.subscribed(Self.centrals[0], handle: handle)])
    let next = try #require(system.process?.attachments.first?.holdings)
    #expect(next.subscribers.map(\.peer) == [Self.centrals[1]])
    #expect(system.process?.events.last == .subscribed(Self.centrals[0], handle: handle))
  }

  @Test
  func `An app that nothing may launch knows the centrals that are subscribed when it is opened`()
    throws
  {
    var (system, handle) = Self.server(advertises: false)
    let third = DeviceAddress(bits: 3, kind: .random)
    system.host([
      .unsubscribed(Self.centrals[0], handle: handle), .subscribed(third, handle: handle),
    ])
    #expect(system.startCount == 1)
    system.person(.opened)
    #expect(Self.subscribed(system.process) == [Self.centrals[1], third])
    system.person(.sentToBackground)
    system.handle(.life(.memoryPressure(.critical)))
    // More than the system keeps: the rest is in what the next process is given.
    for number in 10..<2_000 {
      let peer = DeviceAddress(bits: UInt64(number), kind: .random)
      system.host([.subscribed(peer, handle: handle), .unsubscribed(peer, handle: handle)])
    }
    system.host([.unsubscribed(third, handle: handle)])
    system.person(.opened)
    #expect(Self.subscribed(system.process) == [Self.centrals[1]])
  }

  @Test func `Centrals are known whose events made room for others while the app could not start`()
  {
    var (system, handle) = Self.server(advertises: true)
    let others = (10..<2_000).map { DeviceAddress(bits: $0, kind: .random) }
    system.host([.subscribed(others[0], handle: handle)])
    #expect(system.startCount == 2)
    system.crash()
    // More than may wait until the app is launched again.
    system.host([.unsubscribed(Self.centrals[0], handle: handle)])
    for peer in others.dropFirst() { system.host([.subscribed(peer, handle: handle)]) }
    #expect(system.startCount == 2)
    system.person(.opened)
    #expect(system.startCount == 3)
    #expect(Self.subscribed(system.process) == Set(others + [Self.centrals[1]]))
  }

  @Test(arguments: [true, false])
  func `The centrals of a service that was removed are not subscribed to the next one`(
    _ isOne: Bool
  ) {
    var (system, handle) = Self.server(advertises: false)
    system.person(.opened)
    system.request(isOne ? .removeService(handle - 2) : .removeAllServices)
    system.person(.sentToBackground)
    system.handle(.life(.memoryPressure(.critical)))
    #expect(system.state == .notRunning)
    system.person(.opened)
    #expect(Self.subscribed(system.process).isEmpty)
  }

  @Test
  func
    `Centrals that were subscribed before a restart of the system are not, until they subscribe`()
    throws
  {
    let (first, _) = Self.server(advertises: true)
    let kept = try #require(first.machine.preservedManagers.first)
    #expect(kept.holdings.subscribers.isEmpty)
    var second = TestSystem(.bluetoothPeripheral, manager: "peripheral:bell", firstHandle: 100)
    second.handle(.preserved(kept))
    // One of them comes back: the host of the next system has it no earlier than with its link.
    second.host([.subscribed(Self.centrals[1], handle: 102)])
    #expect(second.startCount == 1)
    let holdings = try #require(second.process?.attachments.first?.holdings)
    #expect(holdings.services.map(\.published.range.start) == [100])
    #expect(holdings.subscribers.isEmpty)
    #expect(second.process?.events.last == .subscribed(Self.centrals[1], handle: 102))
    #expect(Self.subscribed(second.process) == [Self.centrals[1]])
  }

  /// The centrals that a process takes for subscribed.
  private static func subscribed(_ process: TestSystem.Process?) -> Set<DeviceAddress> {
    var peers = Set(process?.attachments.first?.holdings?.subscribers.map(\.peer) ?? [])
    for event in process?.events ?? [] {
      switch event {
      case .subscribed(let peer, handle: _): peers.insert(peer)
      case .unsubscribed(let peer, handle: _): peers.remove(peer)
      default: break
      }
    }
    return peers
  }
}

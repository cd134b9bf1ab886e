import AppMachines
import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import AppHubMachines

/// Services and advertising of apps that don't run, over a restart of the system.
@Suite struct PreservedServicesTests {
  private static let manager = "peripheral:bell"

  private static func service(_ uuid: UInt16, including: [UInt16] = []) -> ServiceDefinition {
    ServiceDefinition(
      uuid: BluetoothUUID(uuid), includedServices: including,
      characteristics: [
        CharacteristicDefinition(
          uuid: BluetoothUUID(uuid + 1), properties: [.read, .write], permissions: .init())
      ])
  }

  /// A name and a service.
  private static var advertising: AdvertisingOptions {
    var options = AdvertisingOptions()
    options.data = [5, 0x09, 0x42, 0x65, 0x6C, 0x6C, 3, 0x03, 0x10, 0xFF]
    return options
  }

  /// An app that was ended for its memory, with services, of which one includes another, a PSM and an advertisement.
  private static func ended(_ modes: BackgroundModes = .bluetoothPeripheral) -> TestSystem {
    var system = TestSystem(modes, manager: manager)
    system.person(.opened)
    system.request(.addService(service(0xFF00), RequestToken(rawValue: 1)))
    let handle = system.process?.events.compactMap { event -> UInt16? in
      guard case .completed(_, .success(.published(let published))) = event else { return nil }
      return published.range.start
    }.last
    system.request(
      .addService(service(0xFF10, including: [handle ?? 0]), RequestToken(rawValue: 2)))
    system.request(
      .publishChannel(psm: 0x85, requiresEncryption: true, RequestToken(rawValue: 3)))
    system.request(.startAdvertising(advertising, RequestToken(rawValue: 4)))
    system.person(.sentToBackground)
    system.handle(.life(.memoryPressure(.critical)))
    return system
  }

  /// The next system, with handles that others have taken meanwhile.
  private static func next(
    after first: TestSystem, radio: RadioState = .poweredOn, answers: Bool = true
  ) -> TestSystem {
    var second = TestSystem(
      first.machine.modes[TestSystem.app] ?? [], manager: manager, firstHandle: 100)
    second.radio = radio
    second.answers = answers
    for kept in first.machine.preservedManagers { second.handle(.preserved(kept)) }
    return second
  }

  private static let read = HostEvent.serverRequest(
    ServerRequest(
      id: ServerRequestID(rawValue: 9), peer: TestSystem.peer, kind: .read(handle: 102, offset: 0),
      needsResponse: true))

  @Test func `Services and advertising go on with the next system, and a read launches the app`()
    throws
  {
    let first = Self.ended()
    #expect(first.state == .notRunning)
    let kept = try #require(first.machine.preservedManagers.first)
    #expect(kept.manager == Self.manager && kept.holdings.services.count == 2)
    #expect(kept.holdings.listeners.map(\.psm) == [0x85])
    #expect(kept.holdings.advertising == Self.advertising)
    let bytes = try #require(kept.bytes)
    #expect(PreservedManager(app: kept.app, manager: kept.manager, bytes: bytes) == kept)

    var second = Self.next(after: first)
    #expect(second.startCount == 0)
    #expect(second.machine.radioUse(of: TestSystem.app).advertisementCount == 1)
    let requests = second.takeRequests()
    // In the background, without its name and its list of services.
    let advertised = requests.compactMap { request in
      if case .startAdvertising(let options, _) = request { options } else { nil }
    }
    #expect(advertised.count == 1)
    #expect(advertised.first?.data.contains(0x42) == false)
    // The included service has another handle than before.
    let definitions = requests.compactMap { request in
      if case .addService(let definition, _) = request { definition } else { nil }
    }
    #expect(definitions == [Self.service(0xFF00), Self.service(0xFF10, including: [100])])

    second.host([Self.read])
    #expect(second.startCount == 1)
    let attachment = try #require(second.process?.attachments.first?.holdings)
    #expect(attachment.services.map(\.published.range.start) == [100, 110])
    #expect(attachment.advertising == Self.advertising)
    #expect(attachment.unhandledCount == 0)
    let reads = second.process?.events.compactMap { event in
      if case .serverRequest(let request) = event { request.id } else { nil }
    }
    #expect(reads?.count == 1)
    second.request(.respond(try #require(reads?.first), .success([1])))
    #expect(second.takeRequests().contains(.respond(ServerRequestID(rawValue: 9), .success([1]))))
    #expect(second.state == .suspended)
    #expect(second.machine.preservedManagers.first?.holdings.services == attachment.services)
  }

  @Test func `Advertising waits until the radio of the next system is on`() {
    var second = Self.next(after: Self.ended(), radio: .poweredOff)
    #expect(!second.takeRequests().contains(where: Self.startsAdvertising))
    second.radio = .poweredOn
    second.host([.stateChanged(.poweredOn)])
    #expect(second.takeRequests().count(where: Self.startsAdvertising) == 1)
    // It was on once: the host goes on with it by itself.
    second.host([.stateChanged(.poweredOff), .stateChanged(.poweredOn)])
    #expect(!second.takeRequests().contains(where: Self.startsAdvertising))
    #expect(second.startCount == 0)
  }

  private static func startsAdvertising(_ request: HostRequest) -> Bool {
    if case .startAdvertising = request { true } else { false }
  }

  @Test func `Services that a host without a radio refuses are published when the radio is on`() {
    let first = Self.ended()
    var second = Self.next(after: first, radio: .unknown)
    #expect(second.machine.preservedManagers == first.machine.preservedManagers)
    #expect(second.takeRequests().contains { if case .addService = $0 { true } else { false } })
    second.radio = .poweredOn
    second.host([.stateChanged(.poweredOn)])
    let kept = second.machine.preservedManagers.first?.holdings
    #expect(kept?.services.map(\.published.range.start) == [100, 110])
    second.host([Self.read])
    #expect(second.process?.attachments.first?.holdings?.services.count == 2)
  }

  @Test func `A process that starts while its services are published gets all of them`() {
    var second = Self.next(after: Self.ended(), answers: false)
    second.person(.opened)
    #expect(second.state == .active && second.process?.attachments.isEmpty == true)
    second.answers = true
    second.answerRequests()
    let holdings = second.process?.attachments.first?.holdings
    #expect(holdings?.services.map(\.published.range.start) == [100, 110])
    #expect(holdings?.advertising == Self.advertising)
  }

  @Test
  func `A process waits five seconds for a host that doesn't answer, and publishes by itself`() {
    var second = Self.next(after: Self.ended(), answers: false)
    second.person(.opened)
    second.advance(by: .milliseconds(4_900))
    #expect(second.process?.attachments.isEmpty == true)
    second.advance(by: .milliseconds(100))
    #expect(second.reportCount { if case .publishingDelayed = $0 { true } else { false } } == 1)
    #expect(second.process?.attachments.count == 1 && second.machine.republications.isEmpty)
    second.answers = true
    second.request(.addService(Self.service(0xFF00), RequestToken(rawValue: 1 << 20)))
    // What the host has published meanwhile is taken back: the process has not heard of it.
    second.answerRequests()
    let removed = second.takeRequests().count {
      if case .removeService = $0 { true } else { false }
    }
    #expect(removed == 1)
    #expect(second.machine.preservedManagers.first?.holdings.services.count == 1)
    #expect(second.machine.retries.isEmpty)
  }

  @Test(arguments: [HostError.limitReached("attribute handles"), .unsupported("included services")])
  func `Services that the host can't have are reported, and no longer preserved`(error: HostError) {
    var second = Self.next(after: Self.ended(), answers: false)
    let requests = second.takeRequests()
    for case .addService(_, let token) in requests {
      second.host([.completed(token, .failure(error))])
    }
    let reports = second.lifeActions.count {
      if case .report(.notPublished) = $0 { true } else { false }
    }
    // The one that includes it can't be published either.
    #expect(reports == 2)
    second.answers = true
    second.answerRequests()
    #expect(second.machine.preservedManagers.first?.holdings.services.isEmpty == true)
    #expect(second.machine.preservedManagers.first?.holdings.listeners.count == 1)
  }

  private static func reportCount(_ system: TestSystem) -> Int {
    system.lifeActions.count { if case .report(.notPublished) = $0 { true } else { false } }
  }

  @Test
  func `An app that was reset while it did not run has nothing to restore, and publishes anew`()
    throws
  {
    var system = Self.ended()
    _ = system.takeRequests()
    system.host([.stateChanged(.resetting), .stateChanged(.poweredOn)])
    #expect(system.takeRequests() == [.stopAdvertising, .removeAllServices])
    #expect(Self.reportCount(system) == 1)
    #expect(system.machine.radioUse(of: TestSystem.app).advertisementCount == 0)
    #expect(system.machine.preservedManagers.first?.holdings.services.isEmpty == true)
    system.person(.opened)
    let holdings = try #require(system.process?.attachments.first?.holdings)
    #expect(holdings.services.isEmpty && holdings.advertising == nil)
    #expect(holdings.listeners.map(\.psm) == [0x85])
    #expect(system.process?.events.last == .stateChanged(.poweredOn))
    #expect(!system.takeRequests().contains(where: Self.startsAdvertising))
    // Nothing is withdrawn of an app that has nothing.
    system.handle(.life(.memoryPressure(.critical)))
    system.host([.stateChanged(.resetting), .stateChanged(.poweredOn)])
    #expect(Self.reportCount(system) == 1)
  }

  @Test func `An app that was reset while it was suspended hears of it, or has nothing to restore`()
  {
    for isEnded in [false, true] {
      var system = TestSystem(.bluetoothPeripheral, manager: Self.manager)
      system.person(.opened)
      system.request(.addService(Self.service(0xFF00), RequestToken(rawValue: 1)))
      system.person(.sentToBackground)
      system.advance(by: .seconds(60))
      #expect(system.state == .suspended)
      system.host([.stateChanged(.resetting), .stateChanged(.poweredOn)])
      if isEnded { system.handle(.life(.memoryPressure(.critical))) }
      system.person(.opened)
      if isEnded {
        #expect(system.process?.attachments.first?.holdings?.services.isEmpty ?? true)
      } else {
        #expect(system.process?.events.contains(.stateChanged(.resetting)) == true)
      }
      #expect(system.process?.events.last == .stateChanged(.poweredOn))
      system.request(.addService(Self.service(0xFF00), RequestToken(rawValue: 1)))
      #expect(system.machine.preservedManagers.first?.holdings.services.count == 1)
    }
  }

  @Test func `A reset while services are to be published again gives them up, and keeps PSMs`() {
    var second = Self.next(after: Self.ended(), radio: .unknown)
    #expect(second.machine.republications.isEmpty == false)
    second.radio = .poweredOn
    second.host([.stateChanged(.resetting)])
    second.host([.stateChanged(.poweredOn)])
    let holdings = second.machine.preservedManagers.first?.holdings
    #expect(holdings?.services.isEmpty == true && holdings?.advertising == nil)
    #expect(holdings?.listeners.count == 1)
    #expect(second.machine.republications.isEmpty)
  }

  @Test
  func `A reset withdraws requested services from the record, and publishes PSMs behind them`() {
    var second = Self.next(after: Self.ended(), answers: false)
    #expect(!second.takeRequests().contains(where: Self.publishesChannel))
    // The machine's invariants hold while the PSM is requested.
    second.host([.stateChanged(.resetting)])
    #expect(second.takeRequests().contains(where: Self.publishesChannel))
    let kept = second.machine.preservedManagers.first?.holdings
    #expect(kept?.services.isEmpty == true && kept?.advertising == nil)
    #expect(kept?.listeners.map(\.psm) == [0x85])
    second.answers = true
    second.answerRequests()
    second.host([.stateChanged(.poweredOn)])
    #expect(second.machine.republications.isEmpty && second.machine.retries.isEmpty)
    let holdings = second.machine.preservedManagers.first?.holdings
    #expect(holdings?.services.isEmpty == true && holdings?.advertising == nil)
    #expect(holdings?.listeners.map(\.psm) == [0x85])
  }

  private static func publishesChannel(_ request: HostRequest) -> Bool {
    if case .publishChannel = request { true } else { false }
  }

  @Test(arguments: [true, false])
  func `A process that waits for services begins without them after a reset`(hasListener: Bool) {
    var first = Self.ended()
    if !hasListener {
      first.person(.opened)
      first.request(.unpublishChannel(psm: 0x85))
      first.person(.sentToBackground)
      first.handle(.life(.memoryPressure(.critical)))
    }
    var second = Self.next(after: first, answers: false)
    second.person(.opened)
    #expect(second.process?.attachments.isEmpty == true)
    second.host([.stateChanged(.resetting), .stateChanged(.poweredOn)])
    // It waits for the answer to its PSM, five seconds at most.
    #expect(second.process?.attachments.isEmpty == hasListener)
    if hasListener { second.advance(by: .seconds(5)) }
    let holdings = second.process?.attachments.first?.holdings
    #expect(holdings?.services.isEmpty == true && holdings?.advertising == nil)
    #expect(second.process?.events.last == .stateChanged(.poweredOn))
    second.answers = true
    second.answerRequests()
    second.request(.addService(Self.service(0xFF00), RequestToken(rawValue: 1 << 20)))
    #expect(second.machine.preservedManagers.first?.holdings.services.count == 1)
  }

  @Test
  func `A process waits for a PSM that is requested after a reset, though services were overdue`() {
    var second = Self.next(after: Self.ended(), answers: false)
    second.advance(by: .seconds(6))
    second.host([.stateChanged(.resetting), .stateChanged(.poweredOn)])
    second.person(.opened)
    #expect(second.process?.attachments.isEmpty == true)
    second.answers = true
    second.answerRequests()
    #expect(second.process?.attachments.first?.holdings?.listeners.map(\.psm) == [0x85])
    #expect(second.machine.retries.isEmpty)
  }

  @Test func `Nothing is published for an app without the mode, or after a force-quit`() {
    #expect(Self.ended([]).machine.preservedManagers.isEmpty)
    var system = Self.ended()
    system.person(.forceQuit)
    #expect(system.machine.preservedManagers.isEmpty)
  }

  @Test
  func `Advertising that is refused after a restart is reported, and begins when a place is free`()
    throws
  {
    var second = Self.next(after: Self.ended(), answers: false)
    second.refusal = { request in
      if case .startAdvertising = request { .limitReached("advertising sets") } else { nil }
    }
    second.answers = true
    second.answerRequests()
    #expect(second.reportCount(Self.isOfAdvertising) == 1)
    #expect(second.machine.radioUse(of: TestSystem.app).advertisementCount == 0)
    second.advance(by: .seconds(60))
    #expect(second.reportCount(Self.isOfAdvertising) == 1)
    #expect(second.machine.preservedManagers.first?.holdings.advertising == Self.advertising)
    second.refusal = { _ in nil }
    second.advance(by: .seconds(300))
    #expect(second.machine.radioUse(of: TestSystem.app).advertisementCount == 1)
    #expect(second.machine.retries.isEmpty && second.startCount == 0)
  }

  @Test(arguments: [true, false])
  func `An advertiser of another app that ends makes room for one that was refused`(isStopped: Bool)
  {
    var second = Self.next(after: Self.ended(), answers: false)
    second.refusal = { request in
      if case .startAdvertising = request { .limitReached("advertising sets") } else { nil }
    }
    second.answers = true
    second.answerRequests()
    second.advance(by: .seconds(100))
    second.refusal = { _ in nil }
    let other = AppID("com.example.other")
    second.handle(.life(.installed(other, AppDescription(modes: .bluetoothPeripheral))))
    second.handle(.life(.person(other, .opened)))
    second.request(.startAdvertising(Self.advertising, RequestToken(rawValue: 1)))
    #expect(second.machine.radioUse(of: other).advertisementCount == 1)
    #expect(second.machine.radioUse(of: TestSystem.app).advertisementCount == 0)
    if isStopped {
      second.request(.stopAdvertising)
    } else {
      second.handle(.life(.removed(other)))
    }
    second.advance(by: .zero)
    #expect(second.machine.radioUse(of: other).advertisementCount == 0)
    #expect(second.machine.radioUse(of: TestSystem.app).advertisementCount == 1)
  }

  private static func isOfAdvertising(_ report: AppReport) -> Bool {
    if case .notAdvertised(_, _, triesAgain: true) = report { true } else { false }
  }

  @Test(arguments: [HostError.controller(.commandDisallowed), .transport("broken"), .cancelled])
  func `A service that can't be published for a while is reported, and published later`(
    error: HostError
  ) {
    var second = Self.next(after: Self.ended(), answers: false)
    second.refusal = { request in if case .addService = request { error } else { nil } }
    second.answers = true
    second.answerRequests()
    func delayedCount(_ system: TestSystem) -> Int {
      system.reportCount { if case .publishingDelayed = $0 { true } else { false } }
    }
    #expect(delayedCount(second) == 1)
    second.advance(by: .seconds(10))
    second.refusal = { _ in nil }
    second.advance(by: .seconds(60))
    #expect(delayedCount(second) == 1)
    #expect(second.machine.republications.isEmpty && second.machine.retries.isEmpty)
    #expect(second.machine.preservedManagers.first?.holdings.services.count == 2)
  }

  @Test
  func `A service that is refused for minutes is given up, and so is the one that includes it`() {
    var second = Self.next(after: Self.ended(), answers: false)
    second.refusal = { request in
      if case .addService = request { .controller(.commandDisallowed) } else { nil }
    }
    second.answers = true
    second.answerRequests()
    second.advance(by: .seconds(600))
    let givenUpCount = second.reportCount {
      if case .notPublished = $0 { true } else { false }
    }
    #expect(givenUpCount == 2)
    #expect(second.machine.republications.isEmpty && second.machine.retries.isEmpty)
    #expect(second.machine.preservedManagers.first?.holdings.listeners.count == 1)
  }

  @Test(arguments: 0..<20)
  func `What a peripheral manager has outlives any restarts of the system`(_ seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    var system = Self.ended()
    for step in 0..<60 {
      switch random.next(upperBound: UInt64(10)) {
      case 0:
        let states: [RadioState] = [.unknown, .poweredOff, .poweredOn]
        let radio = states[Int(random.next(upperBound: UInt64(3)))]
        system = Self.next(
          after: system, radio: radio, answers: random.next(upperBound: UInt64(2)) == 0)
      case 1:
        system.radio = .poweredOn
        system.host([.stateChanged(.poweredOn)])
      case 2: system.answerRequests()
      case 3: system.answers.toggle()
      case 4: if system.machine.republications.isEmpty { system.host([Self.read]) }
      case 5: system.handle(.life(.memoryPressure(.critical)))
      case 8:
        let isRefused = random.next(upperBound: UInt64(3)) > 0
        system.refusal = { request in
          if isRefused, case .startAdvertising = request { .limitReached("sets") } else { nil }
        }
      case 6: system.advance(by: .seconds(Int64(random.next(upperBound: UInt64(40)))))
      default: system.host([.stateChanged(.poweredOff)])
      }
      let kept = system.machine.preservedManagers.first?.holdings
      // A process that was started without a radio has nothing to restore, and would publish it.
      guard system.startCount == 0 else { continue }
      #expect(kept?.services.count == 2, "seed \(seed), step \(step)")
      #expect(kept?.listeners.count == 1, "seed \(seed), step \(step)")
      #expect(kept?.advertising == Self.advertising, "seed \(seed), step \(step)")
    }
    system.answers = true
    system.refusal = { _ in nil }
    system.answerRequests()
    system.radio = .poweredOn
    system.host([.stateChanged(.poweredOn)])
    system.advance(by: .seconds(600))
    guard system.startCount == 0 else { return }
    #expect(system.machine.radioUse(of: TestSystem.app).advertisementCount == 1, "seed \(seed)")
    let starts = system.machine.preservedManagers.first?.holdings.services.map(
      \.published.range.start)
    #expect(starts?.allSatisfy { $0 < system.nextHandle } == true, "seed \(seed)")
    #expect(system.machine.republications.isEmpty, "seed \(seed)")
  }
}

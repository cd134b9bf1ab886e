import AppMachines
import BluetoothInterface
import BluetoothWire
import Essentials
import HubClientMachines
import Testing

@testable import AppHubMachines

/// Answers to advertising that an app has requested, while the system changes the advertising for the app's state.
@Suite struct AdvertisingAnswerTests {
  private static let first = RequestToken(rawValue: 5)
  private static let second = RequestToken(rawValue: 6)
  private static let refusal = Result<HostReply, HostError>.failure(.limitReached("sets"))

  private static func advertising(_ service: UInt8) -> AdvertisingOptions {
    var options = AdvertisingOptions()
    options.data = [2, 0x01, 6, 3, 0x03, service, 0x18]
    return options
  }

  private static func token(_ requests: [HostRequest]) -> RequestToken? {
    guard case .startAdvertising(_, let token)? = requests.last else { return nil }
    return token
  }

  /// An app that went to the background before the host's answer to its first request, which the host has cancelled
  /// for the one with the token.
  private static func replaced(
    earlier: AdvertisingOptions? = nil
  ) throws -> (radio: BackgroundRadio, token: RequestToken) {
    var radio = BackgroundRadio()
    if let earlier {
      _ = radio.sent(.startAdvertising(earlier, RequestToken(rawValue: 1)))
      #expect(radio.completed(RequestToken(rawValue: 1), .success(.done)) == .success(.done))
    }
    _ = radio.sent(.startAdvertising(advertising(1), first))
    let token = try #require(Self.token(radio.follow(.background)))
    #expect(radio.completed(first, .failure(.cancelled)) == nil)
    return (radio, token)
  }

  private static func answers(_ due: BackgroundRadio.Due) -> [RequestToken: Result<
    HostReply, HostError
  >] {
    Dictionary(due.answers.map { ($0.token, $0.result) }) { first, _ in first }
  }

  // MARK: The rules

  @Test func `The answer to the advertising of the app's new state is that to the app`() throws {
    var (radio, token) = try Self.replaced()
    #expect(radio.takeDue().answers.isEmpty)
    #expect(radio.answered(token, .success(.done), radioIsOn: true, now: .zero) == nil)
    let due = radio.takeDue()
    #expect(Self.answers(due) == [Self.first: .success(.done)] && due.requests.isEmpty)
    #expect(radio.isAdvertising && Self.token(radio.follow(.foreground)) != nil)
    #expect(radio.violations().isEmpty)
  }

  @Test(arguments: [false, true])
  func `Advertising that is refused in the new state is refused to the app`(hasEarlier: Bool) throws
  {
    let earlier = hasEarlier ? Self.advertising(2) : nil
    var (radio, token) = try Self.replaced(earlier: earlier)
    // The app gets the refusal: it isn't tried again, and nothing is reported.
    #expect(radio.answered(token, Self.refusal, radioIsOn: true, now: .zero) == nil)
    let due = radio.takeDue()
    #expect(Self.answers(due) == [Self.first: Self.refusal])
    #expect(due.requests.count == (hasEarlier ? 1 : 0) && radio.nextTry == nil)
    #expect(radio.isAdvertising == hasEarlier)
    #expect(radio.follow(.foreground).isEmpty != hasEarlier)
  }

  @Test func `Withheld advertising is a success for the app, and begins when it is allowed`() {
    var radio = BackgroundRadio()
    _ = radio.follow(.off)
    let request = HostRequest.startAdvertising(Self.advertising(1), Self.first)
    #expect(radio.sent(request) == [request, .stopAdvertising])
    #expect(radio.completed(Self.first, .failure(.cancelled)) == .success(.done))
    #expect(!radio.isAdvertising && Self.token(radio.follow(.foreground)) != nil)
  }

  @Test func `A refusal of withheld advertising is one`() {
    var radio = BackgroundRadio()
    _ = radio.follow(.off)
    _ = radio.sent(.startAdvertising(Self.advertising(1), Self.first))
    #expect(radio.completed(Self.first, Self.refusal) == Self.refusal)
    #expect(radio.follow(.foreground).isEmpty)
  }

  @Test func `Advertising that isn't allowed any more before an answer is withheld`() throws {
    var (radio, token) = try Self.replaced()
    #expect(radio.follow(.off) == [.stopAdvertising])
    #expect(Self.answers(radio.takeDue()) == [Self.first: .success(.done)])
    #expect(
      radio.answered(token, .failure(.cancelled), radioIsOn: true, now: .zero) == nil)
    #expect(Self.token(radio.follow(.foreground)) != nil && radio.nextTry == nil)
  }

  @Test func `Each request of an app is answered once, also if the app replaces or stops it`()
    throws
  {
    var (radio, token) = try Self.replaced()
    _ = radio.sent(.startAdvertising(Self.advertising(2), Self.second))
    #expect(Self.answers(radio.takeDue()) == [Self.first: .failure(.cancelled)])
    #expect(radio.answered(token, .failure(.cancelled), radioIsOn: true, now: .zero) == nil)
    #expect(radio.takeDue().answers.isEmpty)
    #expect(radio.completed(Self.second, .success(.done)) == .success(.done))
    (radio, token) = try Self.replaced()
    #expect(radio.sent(.stopAdvertising) == nil)
    #expect(Self.answers(radio.takeDue()) == [Self.first: .failure(.cancelled)])
    #expect(radio.answered(token, .failure(.cancelled), radioIsOn: true, now: .zero) == nil)
    #expect(radio.takeDue().answers.isEmpty && !radio.isAdvertising)
  }

  @Test func `What was advertised before a refused request is requested again`() throws {
    var radio = BackgroundRadio()
    _ = radio.sent(.startAdvertising(Self.advertising(1), Self.first))
    _ = radio.completed(Self.first, .success(.done))
    // The second of these is never answered with a success.
    _ = radio.sent(.startAdvertising(Self.advertising(2), Self.second))
    _ = radio.sent(.startAdvertising(Self.advertising(3), RequestToken(rawValue: 7)))
    #expect(radio.completed(Self.second, .failure(.cancelled)) == .failure(.cancelled))
    #expect(radio.completed(RequestToken(rawValue: 7), Self.refusal) == Self.refusal)
    let requests = radio.takeDue().requests
    #expect(requests == [.startAdvertising(Self.advertising(1), BackgroundRadio.token)])
    // What refuses that, too, is asked again.
    let token = try #require(Self.token(requests))
    #expect(radio.answered(token, Self.refusal, radioIsOn: true, now: .zero) == .delayed)
    #expect(!radio.isAdvertising && radio.nextTry == .zero + .seconds(1))
  }

  @Test func `Advertising that was changed for the background ends if the app's is refused`() throws
  {
    var radio = BackgroundRadio()
    _ = radio.sent(.startAdvertising(Self.advertising(1), Self.first))
    let token = try #require(Self.token(radio.follow(.background)))
    #expect(radio.completed(Self.first, Self.refusal) == Self.refusal)
    #expect(radio.takeDue().requests == [.stopAdvertising])
    #expect(radio.answered(token, .failure(.cancelled), radioIsOn: true, now: .zero) == nil)
    #expect(!radio.isAdvertising && radio.follow(.foreground).isEmpty && radio.nextTry == nil)
  }

  // MARK: With a host

  private static func completions(_ system: TestSystem) -> [Result<HostReply, HostError>] {
    (system.process?.events ?? []).compactMap {
      guard case .completed(first, let result) = $0 else { return nil }
      return result
    }
  }

  private static func kept(_ system: TestSystem) -> AdvertisingOptions? {
    system.machine.preservedManagers.first?.holdings.advertising
  }

  @Test(arguments: [false, true])
  func `An app that leaves the screen before the host's answer advertises, and the record has it`(
    ends: Bool
  ) {
    var system = TestSystem(.bluetoothPeripheral, manager: "peripheral:bell")
    system.person(.opened)
    system.answers = false
    system.request(.startAdvertising(Self.advertising(1), Self.first))
    system.person(.sentToBackground)
    if ends { system.crash() }
    system.answers = true
    system.answerRequests()
    #expect(system.machine.radioUse(of: TestSystem.app).advertisementCount == 1)
    #expect(Self.kept(system) == Self.advertising(1))
    if !ends { #expect(Self.completions(system) == [.success(.done)]) }
    #expect(system.machine.retries.isEmpty)
  }

  @Test
  func `A beacon that an app requests in the background begins when the app is on the screen`() {
    var system = TestSystem(.bluetoothPeripheral, manager: "peripheral:bell")
    system.person(.opened)
    system.person(.sentToBackground)
    system.process?.handles = false
    system.host([.subscribed(TestSystem.peer, handle: 3)])
    #expect(system.state == .background)
    var beacon = AdvertisingOptions()
    beacon.data = [2, 0x01, 6, 5, 0xFF, 0x4C, 0x00, 0x02, 0x15]
    system.request(.startAdvertising(beacon, Self.first))
    system.input(.eventsHandled(TestSystem.session, count: 1))
    system.process?.handles = true
    #expect(Self.completions(system) == [.success(.done)])
    #expect(Self.kept(system) == beacon)
    #expect(system.machine.radioUse(of: TestSystem.app).advertisementCount == 0)
    _ = system.takeRequests()
    system.person(.opened)
    #expect(Self.token(system.takeRequests()) != nil)
    #expect(system.machine.radioUse(of: TestSystem.app).advertisementCount == 1)
  }

  @Test func `What a suspended app without the mode has requested is advertised on the screen`() {
    var system = TestSystem([], manager: "peripheral:bell")
    system.person(.opened)
    system.person(.sentToBackground)
    #expect(system.state == .suspended)
    system.request(.startAdvertising(Self.advertising(1), Self.first))
    system.person(.opened)
    #expect(Self.completions(system) == [.success(.done)])
    #expect(system.machine.radioUse(of: TestSystem.app).advertisementCount == 1)
  }

  @Test func `The host advertises again what an app had before a request that is refused`() {
    var system = TestSystem(.bluetoothPeripheral, manager: "peripheral:bell")
    system.person(.opened)
    system.request(.startAdvertising(Self.advertising(2), RequestToken(rawValue: 1)))
    system.refusal = { request in
      guard case .startAdvertising(Self.advertising(1), _) = request else { return nil }
      return .limitReached("sets")
    }
    _ = system.takeRequests()
    system.request(.startAdvertising(Self.advertising(1), Self.first))
    #expect(Self.completions(system) == [.failure(.limitReached("sets"))])
    let advertised = system.takeRequests().compactMap { request in
      if case .startAdvertising(let options, _) = request { options } else { nil }
    }
    // By the manager, and by the library of the app, which hears of the refusal.
    #expect(advertised == [Self.advertising(1), Self.advertising(2), Self.advertising(2)])
    #expect(Self.kept(system) == Self.advertising(2))
    #expect(system.machine.radioUse(of: TestSystem.app).advertisementCount == 1)
  }
}

import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BlueZMachines

/// Pairings over bluetoothd, and the agent of this program.
struct PairingTests {
  private static let one = RequestToken(rawValue: 1)

  private func connected(agent: SMPIOCapability? = nil) -> BlueZBench {
    var bench = BlueZBench()
    bench.start()
    bench.connect()
    if let agent { bench.request(.setPairingAgent(agent)) }
    return bench
  }

  @Test func `A pairing is bluetoothd's`() {
    var bench = connected()
    bench.request(.pair(.peer, RequestToken(rawValue: 1)))
    bench.refuse("Pair", "org.bluez.Error.AuthenticationFailed", "Authentication Failed")
    #expect(
      bench.takeEvents().result(1) == .failure(.security(.pairingFailed(.unspecifiedReason))))
    bench.request(.pair(.peer, RequestToken(rawValue: 2)))
    bench.refuse("Pair", BlueZErrorName.alreadyExists, "Already Exists")
    #expect(bench.takeEvents().result(2) == .success(.done))
  }

  @Test func `A pairing without an answer is cancelled after three minutes`() {
    var bench = connected()
    bench.request(.pair(.peer, RequestToken(rawValue: 1)))
    bench.advance(by: BlueZLimits.pairingMax)
    #expect(bench.takeEvents().result(1) == .failure(.security(.timeout)))
    #expect(bench.call("CancelPairing")?.path == devicePath)
  }

  @Test func `A pairing is cancelled when its session closes`() {
    var bench = connected()
    bench.request(.pair(.peer, RequestToken(rawValue: 1)))
    bench.handle(.closed(.first))
    #expect(bench.count(of: "CancelPairing") == 1)
    bench.refuse("Pair", "org.bluez.Error.AuthenticationCanceled")
    #expect(bench.takeEvents() == [])
  }

  // MARK: The agent

  @Test func `The agent is registered before a pairing, until no client has a link`() {
    var bench = connected(agent: .keyboardDisplay)
    #expect(bench.agentCalls.isEmpty)
    bench.request(.pair(.peer, Self.one))
    #expect(bench.agentCalls.map(\.member) == ["RegisterAgent"])
    #expect(
      bench.agentCalls[0].arguments
        == [.path(BlueZMachine.agentPath), .string("KeyboardDisplay")])
    bench.reply(to: "Pair")
    #expect(
      bench.takeEvents() == [.completed(Self.one, .success(.done)), .pairingEnded(.peer, nil)])
    bench.request(.disconnect(.peer))
    bench.changeDevice(["Connected": .boolean(false)])
    #expect(bench.agentCalls.map(\.member) == ["RegisterAgent", "UnregisterAgent"])
  }

  @Test func `Without an agent of a client, pairing is by Just Works`() {
    var bench = connected()
    bench.request(.pair(.peer, Self.one))
    #expect(bench.agentCalls.last?.arguments.last == .string("NoInputNoOutput"))
    let consent = bench.call(
      BlueZMachine.agentPath, BusName.agent, "RequestAuthorization", [.path(devicePath)])
    #expect(bench.answers[consent] == .success([]))
    let number = bench.call(
      BlueZMachine.agentPath, BusName.agent, "RequestConfirmation",
      [.path(devicePath), .uint32(1)])
    guard case .failure? = bench.answers[number] else {
      Issue.record("the numbers were not compared")
      return
    }
  }

  @Test func `A refused agent is a warning, and is not tried for each operation`() {
    var bench = connected()
    bench.refusesAgents = true
    for token in 1...5 as ClosedRange<UInt64> {
      bench.gatt(.read(0x0C), token: token)
      bench.reply(to: "ReadValue", [.bytes([1])])
    }
    #expect(bench.warnings.count == 1)
    #expect(bench.agentCalls.count == 1)
  }

  @Test func `A refused agent is registered for the next pairing`() {
    var bench = connected(agent: .keyboardDisplay)
    bench.refusesAgents = true
    bench.gatt(.read(0x0C), token: 1)
    bench.reply(to: "ReadValue", [.bytes([1])])
    bench.refusesAgents = false
    for token in [2, 3] as [UInt64] {
      bench.request(.pair(.peer, RequestToken(rawValue: token)))
      bench.reply(to: "Pair")
    }
    #expect(bench.agentCalls.map(\.member) == ["RegisterAgent", "RegisterAgent"])
    #expect(bench.warnings.count == 1)
  }

  @Test func `An agent that comes later replaces the one for Just Works`() {
    var bench = connected()
    bench.gatt(.read(0x0C), token: 1)
    bench.reply(to: "ReadValue", [.bytes([1])])
    bench.request(.setPairingAgent(.displayYesNo))
    bench.gatt(.read(0x0C), token: 2)
    #expect(
      bench.agentCalls.map(\.member) == ["RegisterAgent", "UnregisterAgent", "RegisterAgent"])
    #expect(bench.agentCalls.last?.arguments.last == .string("DisplayYesNo"))
  }

  private func prompted(
    _ member: String, _ arguments: [BusValue] = [], agent: SMPIOCapability = .keyboardDisplay
  ) -> (bench: BlueZBench, call: IncomingCallID, prompt: PairingPrompt?, id: PairingPromptID?) {
    var bench = connected(agent: agent)
    bench.request(.pair(.peer, Self.one))
    let call = bench.call(
      BlueZMachine.agentPath, BusName.agent, member, [.path(devicePath)] + arguments)
    guard case .pairingPrompt(.peer, let prompt, let id)? = bench.takeEvents().last else {
      return (bench, call, nil, nil)
    }
    return (bench, call, prompt, id)
  }

  @Test func `A number to compare is a prompt, and its acceptance bluetoothd's answer`() throws {
    var (bench, call, prompt, id) = prompted("RequestConfirmation", [.uint32(123_456)])
    #expect(prompt == .compareNumber(123_456))
    #expect(bench.answers[call] == nil)
    bench.request(.answerPairing(try #require(id), .accept))
    #expect(bench.answers[call] == .success([]))
  }

  @Test func `A passkey is typed, and one with seven digits is a refusal`() throws {
    var (bench, call, prompt, id) = prompted("RequestPasskey")
    #expect(prompt == .enterPasskey)
    bench.request(.answerPairing(try #require(id), .passkey(42)))
    #expect(bench.answers[call] == .success([.uint32(42)]))
    (bench, call, prompt, id) = prompted("RequestPasskey")
    bench.request(.answerPairing(try #require(id), .passkey(1_000_000)))
    guard case .failure? = bench.answers[call] else {
      Issue.record("not refused")
      return
    }
  }

  @Test func `A passkey is displayed once, although bluetoothd repeats it for each digit`() {
    var (bench, call, prompt, _) = prompted("DisplayPasskey", [.uint32(7), .uint16(0)])
    #expect(prompt == .displayPasskey(7))
    #expect(bench.answers[call] == .success([]))
    bench.call(
      BlueZMachine.agentPath, BusName.agent, "DisplayPasskey",
      [.path(devicePath), .uint32(7), .uint16(1)])
    #expect(bench.takeEvents() == [])
  }

  @Test func `A user's refusal is the reason of the failure`() throws {
    var (bench, call, _, id) = prompted("RequestConfirmation", [.uint32(1)])
    bench.request(.answerPairing(try #require(id), .reject))
    guard case .failure(let error)? = bench.answers[call] else {
      Issue.record("not refused")
      return
    }
    #expect(error.name == "org.bluez.Error.Rejected")
    bench.refuse("Pair", "org.bluez.Error.AuthenticationRejected")
    let failure = SecurityFailure.pairingFailed(.numericComparisonFailed)
    #expect(
      bench.takeEvents() == [
        .completed(Self.one, .failure(.security(failure))), .pairingEnded(.peer, failure),
      ])
  }

  @Test func `Pairings that this program did not begin are refused by its agent`() {
    var bench = connected(agent: .keyboardDisplay)
    bench.request(.pair(.peer, Self.one))
    let other = "/org/bluez/hci0/dev_C0_11_22_33_44_66"
    for (member, path) in [
      ("RequestConfirmation", other), ("RequestPinCode", devicePath),
      ("AuthorizeService", devicePath), ("RequestAuthorization", other),
    ] {
      let call = bench.call(
        BlueZMachine.agentPath, BusName.agent, member, [.path(path), .uint32(1)])
      guard case .failure(let error)? = bench.answers[call] else {
        Issue.record("\(member) was not refused")
        continue
      }
      #expect(error.name == "org.bluez.Error.Rejected")
    }
    #expect(bench.takeEvents() == [])
  }

  @Test func `Only bluetoothd can call the agent`() {
    var bench = connected(agent: .keyboardDisplay)
    bench.request(.pair(.peer, Self.one))
    let call = bench.call(
      BlueZMachine.agentPath, BusName.agent, "RequestConfirmation",
      [.path(devicePath), .uint32(1)], from: ":1.99")
    guard case .failure(let error)? = bench.answers[call] else {
      Issue.record("another program was answered")
      return
    }
    #expect(error.name == BlueZErrorName.accessDenied)
    #expect(bench.takeEvents() == [])
  }

  @Test
  func `A prompt of a session that closes is refused, and one that bluetoothd cancels is gone`()
    throws
  {
    var (bench, call, _, id) = prompted("RequestConfirmation", [.uint32(1)])
    bench.handle(.closed(.first))
    guard case .failure? = bench.answers[call] else {
      Issue.record("the prompt has no answer")
      return
    }
    (bench, call, _, id) = prompted("RequestConfirmation", [.uint32(1)])
    bench.call(BlueZMachine.agentPath, BusName.agent, "Cancel")
    guard case .failure(let error)? = bench.answers[call] else {
      Issue.record("the call stays without an answer")
      return
    }
    #expect(error.name == "org.bluez.Error.Canceled")
    bench.request(.answerPairing(try #require(id), .accept))
    #expect(bench.answers[call] == .failure(error))
  }

  @Test func `Each call of the agent has an answer when its pairing or bluetoothd ends`() {
    var (bench, call, _, _) = prompted("RequestConfirmation", [.uint32(1)])
    bench.refuse("Pair", "org.bluez.Error.AuthenticationTimeout")
    #expect(bench.answers[call] != nil)
    (bench, call, _, _) = prompted("RequestPasskey")
    let second = bench.call(
      BlueZMachine.agentPath, BusName.agent, "RequestPasskey", [.path(devicePath)])
    #expect(bench.answers[call] != nil && bench.answers[second] == nil)
    bench.ownerChanged(to: "")
    #expect(bench.answers[second] != nil)
  }

  @Test
  func `bluetoothd that ends during a pairing is an error, and the next one gets the agent anew`() {
    var bench = connected(agent: .keyboardDisplay)
    bench.request(.pair(.peer, Self.one))
    bench.ownerChanged(to: "")
    #expect(bench.takeEvents().result(1) == .failure(.radioNotReady))
    bench.calls = []
    bench.ownerChanged(to: daemon)
    bench.reply(
      to: "GetManagedObjects",
      [.objects([adapterPath: [BusName.adapter: BlueZBench.adapterValues]])])
    bench.connect()
    bench.calls = []
    bench.agentCalls = []
    bench.request(.pair(.peer, Self.one))
    #expect(bench.agentCalls.map(\.member) == ["RegisterAgent"])
  }

  // MARK: Values that need encryption

  @Test func `A value that needs encryption is paired for and read again`() {
    var bench = connected(agent: .displayYesNo)
    bench.gatt(.read(0x0C), token: 1)
    bench.gatt(.read(0x11), token: 2)
    bench.refuse(
      "ReadValue", "org.bluez.Error.Failed", "Operation failed with ATT error: 0x0f (x)")
    #expect(bench.calls.map(\.call.member) == ["Pair"])
    bench.changeDevice(["Paired": .boolean(true)])
    bench.reply(to: "Pair")
    #expect(bench.call("ReadValue")?.path == valuePath)
    bench.reply(to: "ReadValue", [.bytes([5])])
    bench.reply(to: "ReadValue", [.bytes([6])])
    let events = bench.takeEvents()
    #expect(events.result(1) == .success(.value([5])))
    #expect(events.result(2) == .success(.value([6])))
  }

  @Test func `A subscription that needs encryption is paired for and begun again, once`() {
    var bench = connected(agent: .displayYesNo)
    bench.subscribe(token: 1)
    bench.refuse("StartNotify", "org.bluez.Error.NotPermitted", "Not paired")
    bench.reply(to: "Pair")
    bench.refuse("StartNotify", "org.bluez.Error.NotPermitted", "Not paired")
    #expect(
      bench.takeEvents().result(1) == .failure(.att(.insufficientAuthentication, handle: 0x0C)))
    #expect(bench.count(of: "Pair") == 0)
  }

  @Test func `A bonded device is not paired with again for a value that it refuses`() {
    var bench = connected(agent: .displayYesNo)
    bench.changeDevice(["Paired": .boolean(true)])
    bench.gatt(.read(0x0C), token: 1)
    bench.refuse("ReadValue", "org.bluez.Error.NotPermitted", "Not paired")
    #expect(bench.count(of: "Pair") == 0)
    #expect(
      bench.takeEvents().result(1) == .failure(.att(.insufficientAuthentication, handle: 0x0C)))
  }

  @Test func `A value whose pairing fails has the pairing's error, and the next one goes on`() {
    var bench = connected(agent: .displayYesNo)
    bench.gatt(.read(0x0C), token: 1)
    bench.gatt(.read(0x11), token: 2)
    bench.refuse("ReadValue", "org.bluez.Error.NotPermitted", "Not paired")
    bench.refuse("Pair", "org.bluez.Error.AuthenticationFailed")
    #expect(
      bench.takeEvents().result(1) == .failure(.security(.pairingFailed(.unspecifiedReason))))
    #expect(bench.call("ReadValue")?.path == secondValuePath)
  }

  @Test func `A pairing for a value is cancelled when its client leaves the link`() {
    var bench = connected(agent: .displayYesNo)
    bench.handle(.opened(.second, acknowledgesEvents: false))
    bench.request(.connect(.peer, ConnectOptions()), of: .second)
    bench.gatt(.read(0x0C), token: 1)
    bench.refuse("ReadValue", "org.bluez.Error.NotPermitted", "Not paired")
    bench.request(.disconnect(.peer))
    #expect(bench.count(of: "CancelPairing") == 1)
    #expect(bench.takeEvents().result(1) == .failure(.cancelled))
  }

  @Test func `A pairing that bluetoothd begins for an operation asks the client's user`() throws {
    var bench = connected(agent: .displayYesNo)
    bench.gatt(.read(0x0C), token: 1)
    let call = bench.call(
      BlueZMachine.agentPath, BusName.agent, "RequestConfirmation",
      [.path(devicePath), .uint32(7)])
    guard case .pairingPrompt(.peer, .compareNumber(7), let id)? = bench.takeEvents().last else {
      Issue.record("no prompt")
      return
    }
    bench.request(.answerPairing(id, .accept))
    #expect(bench.answers[call] == .success([]))
    bench.changeDevice(["Paired": .boolean(true)])
    #expect(bench.takeEvents() == [.pairingEnded(.peer, nil)])
    bench.reply(to: "ReadValue", [.bytes([5])])
    #expect(bench.takeEvents().result(1) == .success(.value([5])))
  }

  @Test func `A refusal of such a pairing ends the operation, which bluetoothd leaves unanswered`()
  {
    var bench = connected(agent: .displayYesNo)
    bench.gatt(.read(0x0C), token: 1)
    bench.gatt(.read(0x11), token: 2)
    bench.call(
      BlueZMachine.agentPath, BusName.agent, "RequestConfirmation",
      [.path(devicePath), .uint32(7)])
    guard case .pairingPrompt(_, _, let id)? = bench.takeEvents().last else {
      Issue.record("no prompt")
      return
    }
    bench.request(.answerPairing(id, .reject))
    let failure = SecurityFailure.pairingFailed(.numericComparisonFailed)
    #expect(
      bench.takeEvents() == [
        .completed(Self.one, .failure(.security(failure))), .pairingEnded(.peer, failure),
      ])
    #expect(bench.calls.map(\.call.path) == [valuePath, secondValuePath])
  }

  /// A read for which bluetoothd pairs, with a question.
  private func asked(
    _ member: String, _ arguments: [BusValue] = []
  ) -> (bench: BlueZBench, call: IncomingCallID, id: PairingPromptID?) {
    var bench = connected(agent: .keyboardDisplay)
    bench.gatt(.read(0x0C), token: 1)
    bench.gatt(.read(0x11), token: 2)
    let call = bench.call(
      BlueZMachine.agentPath, BusName.agent, member, [.path(devicePath)] + arguments)
    guard case .pairingPrompt(.peer, _, let id)? = bench.takeEvents().last else {
      return (bench, call, nil)
    }
    return (bench, call, id)
  }

  @Test func `A user has a minute for the passkey that a read needs, and the read goes on`() throws
  {
    var (bench, call, id) = asked("RequestPasskey")
    bench.advance(by: .seconds(60))
    #expect(bench.takeEvents() == [])
    bench.request(.answerPairing(try #require(id), .passkey(123_456)))
    #expect(bench.answers[call] == .success([.uint32(123_456)]))
    bench.advance(by: .seconds(34))
    bench.changeDevice(["Paired": .boolean(true)])
    bench.reply(to: "ReadValue", [.bytes([5])])
    let events = bench.takeEvents()
    #expect(events.contains(.pairingEnded(.peer, nil)))
    #expect(events.result(1) == .success(.value([5])))
  }

  @Test func `A read whose question has no answer ends, and so does the question`() throws {
    var (bench, call, id) = asked("RequestPasskey")
    bench.advance(by: BlueZLimits.userAnswerMax)
    #expect(
      bench.takeEvents() == [
        .completed(Self.one, .failure(.security(.timeout))), .pairingEnded(.peer, .timeout),
      ])
    guard case .failure(let error)? = bench.answers[call] else {
      Issue.record("the call stays without an answer")
      return
    }
    bench.request(.answerPairing(try #require(id), .passkey(1)))
    #expect(bench.answers[call] == .failure(error))
    #expect(bench.calls.last?.call.path == secondValuePath)
  }

  @Test func `A notification during a read whose pairing is refused keeps its characteristic`()
    throws
  {
    var bench = connected(agent: .displayYesNo)
    bench.subscribe()
    bench.reply(to: "StartNotify")
    bench.gatt(.read(0x0C), token: 1)
    bench.notify([9])
    bench.gatt(.read(0x11), token: 2)
    bench.call(
      BlueZMachine.agentPath, BusName.agent, "RequestConfirmation",
      [.path(devicePath), .uint32(7)])
    guard case .pairingPrompt(_, _, let id)? = bench.takeEvents().last else {
      Issue.record("no prompt")
      return
    }
    bench.request(.answerPairing(id, .reject))
    #expect(bench.takeEvents().contains(.valueUpdated(.peer, handle: 0x0C, [9])))
    bench.calls.removeFirst()
    bench.reply(to: "ReadValue", [.bytes([5])])
    #expect(bench.takeEvents() == [.completed(RequestToken(rawValue: 2), .success(.value([5])))])
  }

  @Test func `A question that bluetoothd takes back ends the read, and the next one goes on`() {
    for member in ["RequestPasskey", "RequestConfirmation", "RequestAuthorization"] {
      let isNumber = member == "RequestConfirmation"
      var (bench, call, _) = asked(member, isNumber ? [.uint32(1)] : [])
      bench.call(BlueZMachine.agentPath, BusName.agent, "Cancel")
      let failure = SecurityFailure.peerFailed(.unspecifiedReason)
      #expect(
        bench.takeEvents() == [
          .completed(Self.one, .failure(.security(failure))), .pairingEnded(.peer, failure),
        ])
      guard case .failure? = bench.answers[call] else {
        Issue.record("the call stays without an answer")
        continue
      }
      #expect(bench.calls.last?.call.path == secondValuePath)
      #expect(bench.machine.pairings.isEmpty)
    }
  }

  @Test
  func `A displayed passkey stays while the peer's user types, and is no question to take back`() {
    var (bench, _, id) = asked("DisplayPasskey", [.uint32(7), .uint16(0)])
    #expect(id != nil)
    for entered in 1...6 as ClosedRange<UInt16> {
      bench.advance(by: .seconds(20))
      bench.call(
        BlueZMachine.agentPath, BusName.agent, "DisplayPasskey",
        [.path(devicePath), .uint32(7), .uint16(entered)])
    }
    // For another device.
    bench.call(BlueZMachine.agentPath, BusName.agent, "Cancel")
    #expect(bench.takeEvents() == [])
    bench.changeDevice(["Paired": .boolean(true)])
    bench.reply(to: "ReadValue", [.bytes([5])])
    #expect(bench.takeEvents().result(1) == .success(.value([5])))
  }

  @Test func `A link that ends during such a pairing is its end`() {
    var bench = connected(agent: .displayYesNo)
    bench.gatt(.read(0x0C), token: 1)
    bench.call(
      BlueZMachine.agentPath, BusName.agent, "RequestConfirmation",
      [.path(devicePath), .uint32(7)])
    bench.changeDevice(["Connected": .boolean(false)])
    #expect(bench.takeEvents().contains(.pairingEnded(.peer, .disconnected)))
    #expect(bench.machine.pairings.isEmpty)
  }
}

import BluetoothInterface
import BluetoothWire
import Essentials
import HubWire
import Testing

@testable import HubClientMachines

/// What an earlier hub had granted, and the next one refuses.
@Suite struct RefusedRestorationTests {
  private static let peer = MachineRig.peer
  private static let full = HostError.limitReached("of an earlier connection")
  private static let definition = ServiceDefinition(uuid: 0x180D)

  private static func published(at start: UInt16) -> HostReply {
    .published(PublishedService(range: HandleRange(start, start), characteristics: []))
  }

  /// A session that advertises, with another hub whose radio is on.
  private static func advertising() -> MachineRig {
    var rig = MachineRig.connected()
    rig.request(.startAdvertising(AdvertisingOptions(), 1))
    rig.hub(.completed(1, .success(.done)))
    return restarted(rig)
  }

  private static func restarted(_ rig: MachineRig) -> MachineRig {
    var rig = rig
    rig.restartHub()
    rig.hub(.stateChanged(.poweredOn))
    _ = rig.takeEvents()
    rig.actions = []
    return rig
  }

  /// Answers each request for advertising with this error, and returns how many there were within a time.
  private func refuse(_ error: HostError, for span: TimeSpan, _ rig: inout MachineRig) -> Int {
    let end = rig.now + span
    var count = 0
    while true {
      for request in rig.takeRequests() {
        guard case .startAdvertising(_, let token) = request else { continue }
        count += 1
        rig.hub(.completed(token, .failure(error)))
      }
      guard rig.now < end else { return count }
      rig.sleep(.seconds(1))
      rig.answerPings()
    }
  }

  private func reports(_ rig: MachineRig) -> [String] {
    rig.actions.compactMap { if case .lost(let text) = $0 { text } else { nil } }
  }

  // MARK: Advertising

  @Test func `Advertising that the next hub refuses is requested again until it is on`() {
    var rig = Self.advertising()
    #expect(refuse(Self.full, for: .seconds(20), &rig) == 5, "after 1, 2, 4 and 8 seconds")
    #expect(reports(rig).count == 1)
    #expect(rig.takeEvents().isEmpty, "the client advertises, as far as it knows")
    rig.sleep(.seconds(16), answeringPings: true)
    guard case .startAdvertising(_, let token)? = rig.takeRequests().last else {
      Issue.record("it was not requested again")
      return
    }
    rig.hub(.completed(token, .success(.done)))
    rig.sleep(.seconds(2))
    #expect(refuse(Self.full, for: .seconds(200), &rig) == 0)
    #expect(rig.machine.sessions[MachineRig.one]?.wants.advertising != nil)
  }

  @Test func `A client whose advertising is refused for two minutes is reset, and may begin anew`()
  {
    var rig = Self.advertising()
    #expect(
      refuse(Self.full, for: .seconds(600), &rig) == RefusedRestorations.attemptsMax)
    #expect(rig.takeEvents() == [.stateChanged(.resetting), .stateChanged(.poweredOn)])
    #expect(reports(rig).count == 2)
    rig.request(.startAdvertising(AdvertisingOptions(), 9))
    guard case .startAdvertising(_, let token)? = rig.takeRequests().last else {
      Issue.record("it was not requested")
      return
    }
    rig.hub(.completed(token, .failure(Self.full)))
    #expect(rig.takeEvents() == [.completed(9, .failure(Self.full))])
    #expect(refuse(Self.full, for: .seconds(600), &rig) == 0, "the client knows that it is off")
  }

  @Test(arguments: [
    HostError.unsupported("extended advertising"), .invalidArgument("too long"),
    .unauthorized("The rules deny it."),
  ])
  func `What the next hub can't do at all resets the client at once`(error: HostError) {
    var rig = Self.advertising()
    #expect(refuse(error, for: .seconds(600), &rig) == 1)
    #expect(rig.takeEvents() == [.stateChanged(.resetting), .stateChanged(.poweredOn)])
    let next = Self.restarted(rig)
    #expect(next.sent.allSatisfy { if case .request = $0 { false } else { true } })
  }

  @Test func `Advertising that the client stops meanwhile is not requested again`() {
    var rig = Self.advertising()
    #expect(refuse(Self.full, for: .seconds(1), &rig) == 2)
    rig.request(.stopAdvertising)
    #expect(refuse(Self.full, for: .seconds(600), &rig) == 0)
    #expect(rig.takeEvents().isEmpty)
  }

  @Test func `A radio that is off is waited for, and counts as no refusal`() {
    var rig = Self.advertising()
    rig.hub(.stateChanged(.poweredOff))
    #expect(refuse(.radioNotReady, for: .seconds(600), &rig) == 1)
    #expect(reports(rig).isEmpty)
    rig.hub(.stateChanged(.poweredOn))
    #expect(refuse(Self.full, for: .seconds(1), &rig) == 2)
  }

  @Test func `An advertisement that can't replace an earlier one leaves that on the air`() {
    var rig = MachineRig.connected()
    var options = AdvertisingOptions()
    rig.request(.startAdvertising(options, 1))
    rig.hub(.completed(1, .success(.done)))
    _ = rig.takeRequests()
    _ = rig.takeEvents()
    options.isConnectable.toggle()
    rig.request(.startAdvertising(options, 2))
    rig.hub(.completed(2, .failure(Self.full)))
    #expect(rig.takeEvents() == [.completed(2, .failure(Self.full))])
    // Hosts end an earlier one before they begin the new one.
    #expect(
      rig.takeRequests() == [
        .startAdvertising(options, 2), .startAdvertising(AdvertisingOptions(), 3),
      ])
    rig.hub(.completed(3, .failure(Self.full)))
    #expect(refuse(Self.full, for: .seconds(600), &rig) == RefusedRestorations.attemptsMax - 1)
    #expect(rig.takeEvents() == [.stateChanged(.resetting), .stateChanged(.poweredOn)])
  }

  @Test func `A refused restoration replaces no newer request of the client`() {
    var rig = Self.advertising()
    _ = rig.takeRequests()
    var options = AdvertisingOptions()
    options.isConnectable.toggle()
    rig.request(.startAdvertising(options, 2))
    #expect(rig.takeRequests() == [.startAdvertising(options, 3)])
    rig.hub(.completed(2, .failure(.cancelled)))
    rig.sleep(.milliseconds(1_500))
    #expect(rig.takeRequests().isEmpty)
    rig.hub(.completed(3, .success(.done)))
    rig.sleep(.seconds(1))
    rig.answerPings()
    #expect(rig.takeRequests().isEmpty)
    #expect(rig.takeEvents() == [.completed(2, .success(.done))])
    #expect(rig.machine.sessions[MachineRig.one]?.wants.advertising == options)
  }

  // MARK: Services and PSMs

  /// A session with two services, of which the second one includes the first one.
  private static func publishing() -> MachineRig {
    var rig = MachineRig.connected()
    rig.request(.addService(definition, 1))
    rig.hub(.completed(1, .success(published(at: 20))))
    var including = ServiceDefinition(uuid: 0x1812)
    including.includedServices = [20]
    rig.request(.addService(including, 2))
    rig.hub(.completed(2, .success(published(at: 30))))
    return rig
  }

  @Test func `A refused service is published later, and so is the one that includes it`() {
    var rig = Self.publishing()
    rig.restartHub()
    _ = rig.takeEvents()
    #expect(rig.takeRequests() == [.addService(Self.definition, 3)])
    rig.hub(.stateChanged(.poweredOn))
    #expect(rig.takeEvents().isEmpty)
    rig.hub(.completed(3, .failure(Self.full)))
    #expect(rig.takeEvents() == [.stateChanged(.poweredOn)], "the radio's state waits for no pause")
    rig.sleep(.seconds(1))
    #expect(rig.takeRequests() == [.addService(Self.definition, 4)])
    rig.hub(.completed(4, .success(Self.published(at: 40))))
    var including = ServiceDefinition(uuid: 0x1812)
    including.includedServices = [40]
    #expect(rig.takeRequests() == [.addService(including, 5)])
    rig.hub(.completed(5, .success(Self.published(at: 50))))
    #expect(rig.takeEvents().isEmpty)
    #expect(rig.machine.sessions[MachineRig.one]?.wants.services.wire(30) == 50)
  }

  @Test
  func `A service that waits for the radio is published before the client hears that it is on`() {
    var rig = Self.publishing()
    rig.restartHub()
    _ = rig.takeEvents()
    rig.hub(.completed(3, .failure(.radioNotReady)))
    _ = rig.takeRequests()
    rig.hub(.stateChanged(.poweredOn))
    #expect(rig.takeEvents().isEmpty)
    #expect(rig.takeRequests() == [.addService(Self.definition, 4)])
    rig.hub(.completed(4, .success(Self.published(at: 40))))
    rig.hub(.completed(5, .success(Self.published(at: 50))))
    #expect(rig.takeEvents() == [.stateChanged(.poweredOn)])
    #expect(reports(rig).isEmpty)
  }

  @Test
  func `A client is reset for a service that is refused for ever, and its centrals have left`() {
    var rig = MachineRig.connected()
    for (token, start) in [(1, 20), (2, 30)] as [(RequestToken, UInt16)] {
      rig.request(.addService(Self.definition, token))
      rig.hub(.completed(token, .success(Self.published(at: start))))
    }
    rig.restartHub()
    rig.hub(.completed(3, .success(Self.published(at: 20))), .stateChanged(.poweredOn))
    rig.hub(.completed(4, .failure(Self.full)), .subscribed(Self.peer, handle: 20))
    _ = rig.takeEvents()
    _ = rig.takeRequests()
    for attempt in 1..<RefusedRestorations.attemptsMax {
      #expect(rig.takeEvents().isEmpty, "attempt \(attempt)")
      rig.sleep(.seconds(1 << Int64(attempt - 1)), answeringPings: true)
      guard case .addService(_, let token)? = rig.takeRequests().last else {
        Issue.record("attempt \(attempt) is missing")
        return
      }
      rig.hub(.completed(token, .failure(Self.full)))
    }
    #expect(
      rig.takeEvents() == [
        .unsubscribed(Self.peer, handle: 20), .stateChanged(.resetting),
        .stateChanged(.poweredOn),
      ])
    #expect(rig.takeRequests() == [.stopAdvertising, .removeAllServices])
    #expect(rig.machine.sessions[MachineRig.one]?.wants.services.services.isEmpty == true)
  }

  @Test func `A refused service that the client removes is not published again`() {
    var rig = Self.restarted(Self.publishing())
    rig.hub(.completed(3, .failure(Self.full)))
    rig.request(.removeAllServices)
    _ = rig.takeRequests()
    rig.sleep(.seconds(10), answeringPings: true)
    #expect(rig.takeRequests().isEmpty)
  }

  @Test func `A service that was under way at a reset is cancelled and not reported as published`()
  {
    var rig = Self.advertising()
    _ = rig.takeRequests()
    rig.request(.addService(Self.definition, 7))
    rig.hub(.completed(2, .failure(.unsupported("advertising"))))
    rig.hub(.completed(3, .success(Self.published(at: 20))))
    #expect(
      rig.takeEvents() == [
        .stateChanged(.resetting), .stateChanged(.poweredOn), .completed(7, .failure(.cancelled)),
      ])
    #expect(
      rig.takeRequests() == [.addService(Self.definition, 3), .stopAdvertising, .removeAllServices])
  }

  @Test func `A refused PSM and refused out-of-band data are requested again`() {
    var rig = MachineRig.connected()
    rig.request(.publishChannel(psm: nil, requiresEncryption: true, 1))
    rig.hub(.completed(1, .success(.psm(0x81))))
    let data = OutOfBandData.legacy(temporaryKey: SMPValue(number: 7))
    rig.request(.setOutOfBandData(Self.peer, data, 2))
    rig.hub(.completed(2, .success(.done)))
    rig = Self.restarted(rig)
    _ = rig.takeRequests()
    rig.hub(.completed(3, .failure(Self.full)), .completed(4, .failure(Self.full)))
    rig.sleep(.seconds(1))
    #expect(
      rig.takeRequests() == [
        .setOutOfBandData(Self.peer, data, 5),
        .publishChannel(psm: 0x81, requiresEncryption: true, 6),
      ])
    rig.hub(.completed(5, .success(.done)), .completed(6, .success(.psm(0x81))))
    rig.sleep(.seconds(100), answeringPings: true)
    #expect(rig.takeRequests().isEmpty)
    #expect(rig.takeEvents().isEmpty)
  }

  // MARK: Connections

  @Test
  func `A pending connection that the next hub refuses is requested again, and then has failed`() {
    var rig = MachineRig.connected()
    rig.request(.connect(Self.peer, ConnectOptions()))
    rig = Self.restarted(rig)
    #expect(rig.takeRequests() == [.connect(Self.peer, ConnectOptions())])
    for attempt in 1..<RefusedRestorations.attemptsMax {
      rig.hub(.connectionFailed(Self.peer, Self.full))
      #expect(rig.takeEvents().isEmpty, "attempt \(attempt)")
      rig.sleep(.seconds(1 << Int64(attempt - 1)), answeringPings: true)
      #expect(rig.takeRequests() == [.connect(Self.peer, ConnectOptions())])
    }
    rig.hub(.connectionFailed(Self.peer, Self.full))
    #expect(rig.takeEvents() == [.connectionFailed(Self.peer, Self.full)])
    rig.sleep(.seconds(600), answeringPings: true)
    #expect(rig.takeRequests().isEmpty)
    rig.restartHub()
    #expect(rig.takeRequests().isEmpty)
  }

  @Test func `A connection that the client requests anew, or without a hub, fails at once`() {
    var rig = MachineRig.connected()
    rig.request(.connect(Self.peer, ConnectOptions()))
    rig = Self.restarted(rig)
    rig.request(.connect(Self.peer, ConnectOptions()))
    rig.hub(.connectionFailed(Self.peer, Self.full))
    #expect(rig.takeEvents() == [.connectionFailed(Self.peer, Self.full)])

    rig.handle(.closed(.ended))
    rig.request(.connect(Self.peer, ConnectOptions()))
    rig.sleep(.seconds(1))
    rig.connect()
    rig.hub(.stateChanged(.poweredOn))
    _ = rig.takeEvents()
    rig.hub(.connectionFailed(Self.peer, Self.full))
    #expect(rig.takeEvents() == [.connectionFailed(Self.peer, Self.full)])
  }

  @Test func `A connection that the next hub has established and lost has failed for the client`() {
    var rig = MachineRig.connected()
    rig.request(.connect(Self.peer, ConnectOptions()))
    rig = Self.restarted(rig)
    rig.hub(.linkOpened(.sample), .connected(Self.peer))
    let error = HostError.disconnected(.connectionTimeout)
    rig.hub(.disconnected(Self.peer, error, reconnecting: false))
    #expect(rig.takeEvents().last == .disconnected(Self.peer, error, reconnecting: false))
    rig.sleep(.seconds(600), answeringPings: true)
    #expect(rig.takeRequests() == [.connect(Self.peer, ConnectOptions())], "that of the restart")
  }

  // MARK: All of it

  @Test func `Each hub has all attempts again`() {
    var rig = Self.advertising()
    #expect(refuse(Self.full, for: .seconds(40), &rig) == 6)
    rig = Self.restarted(rig)
    #expect(refuse(Self.full, for: .seconds(40), &rig) == 6)
    #expect(
      rig.takeEvents().allSatisfy { if case .stateChanged(.resetting) = $0 { false } else { true } }
    )
  }

  @Test func `A session that is closed requests nothing again`() {
    var rig = Self.advertising()
    #expect(refuse(Self.full, for: .seconds(1), &rig) == 2)
    rig.handle(.sessionClosed(MachineRig.one))
    rig.sleep(.seconds(5))
    #expect(rig.takeRequests().isEmpty)
  }
}

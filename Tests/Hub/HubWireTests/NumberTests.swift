import BluetoothInterface
import Testing

@testable import HubWire

/// The numbers as other versions know them. A line of this table may be added, and never changed.
@Suite("The numbers of the hub's protocol")
struct NumberTests {
  private static func table<Number: CaseIterable & RawRepresentable>(
    _: Number.Type
  ) -> [String: UInt8] where Number.RawValue == UInt8 {
    var table: [String: UInt8] = [:]
    for number in Number.allCases { table["\(number)"] = number.rawValue }
    return table
  }

  private static func table<Value: HubNumbered>(_: Value.Type) -> [String: UInt8] {
    var table: [String: UInt8] = [:]
    for value in Value.allCases { table["\(value)"] = value.number }
    return table
  }

  private static func numberCount<Value: HubNumbered>(_: Value.Type) -> Int {
    Set(Value.allCases.map(\.number)).count
  }

  @Test("the numbers of messages are those of version 1")
  func messages() {
    #expect(
      Self.table(AppMessage.Number.self) == [
        "ping": 0x02, "greeting": 0x81, "openSession": 0x90, "request": 0x91,
        "eventsHandled": 0x92, "closeSession": 0x93, "status": 0x94, "forget": 0x95,
        "settled": 0x96, "hasWork": 0x97,
      ])
    #expect(
      Self.table(HubMessage.Number.self) == [
        "pong": 0x03, "status": 0x04, "attached": 0x08, "forgotten": 0x09, "welcome": 0x81,
        "time": 0x91, "settle": 0x92,
        "refusal": 0x82, "events": 0x90,
      ])
    #expect(
      Self.table(HubRefusal.Reason.self) == [
        "other": 0, "otherVersion": 1, "denied": 2, "limitReached": 3, "invalidMessage": 4,
        "notUnderstood": 5, "ending": 6,
      ])
    #expect(HubAbilities.bluetooth.rawValue == 1 && HubAbilities.status.rawValue == 2)
    #expect(HubAbilities.identity.rawValue == 16 && HubAbilities.forgetting.rawValue == 32)
    #expect(HubAbilities.virtualTime.rawValue == 64)
  }

  @Test("the numbers of requests are those of version 1, and those with a token begin at 0x80")
  func requests() {
    let first = Self.table(RadioRequestNumber.self).merging(
      Self.table(LinkRequestNumber.self), uniquingKeysWith: { $1 })
    #expect(
      first == [
        "startScan": 0x01, "stopScan": 0x02, "startAdvertising": 0x83, "stopAdvertising": 0x04,
        "barrier": 0x85, "connect": 0x10, "disconnect": 0x11, "readRSSI": 0x92,
        "updateParameters": 0x93, "setPHY": 0x94, "setSubrate": 0x95,
      ])
    #expect(
      Self.table(SecurityRequestNumber.self) == [
        "pair": 0xA0, "setPairingAgent": 0x21, "answerPairing": 0x22,
        "createOutOfBandData": 0xA3, "setOutOfBandData": 0xA4, "removeBond": 0xA5,
        "attendAllPairings": 0xA6,
      ])
    #expect(
      Self.table(AttributeRequestNumber.self) == [
        "gatt": 0xB0, "subscribe": 0xB1, "unsubscribe": 0xB2, "addService": 0xC0,
        "removeService": 0x41, "removeAllServices": 0x42, "respond": 0x43, "updateValue": 0xC4,
      ])
    #expect(
      Self.table(ChannelRequestNumber.self) == [
        "publishChannel": 0xD0, "unpublishChannel": 0x51, "openChannel": 0xD2,
        "sendOnChannel": 0xD3, "consumedFromChannel": 0x54, "closeChannel": 0x55,
      ])
    var sampler = Sampler(seed: 1)
    for request in sampler.requests() {
      #expect((request.token != nil) == (request.number >= 0x80), "\(request)")
    }
  }

  @Test("the numbers of events are those of version 1")
  func events() {
    #expect(
      Self.table(RadioEventNumber.self) == [
        "stateChanged": 0x01, "completed": 0x02, "discovered": 0x03,
        "acknowledgementRequested": 0x04,
      ])
    #expect(
      Self.table(LinkEventNumber.self) == [
        "linkOpened": 0x10, "linkUpdated": 0x11, "linkClosed": 0x12, "connected": 0x13,
        "connectionFailed": 0x14, "disconnected": 0x15, "pairingPrompt": 0x20,
        "pairingEnded": 0x21, "bondNotKept": 0x22,
      ])
    #expect(
      Self.table(AttributeEventNumber.self) == [
        "valueUpdated": 0x30, "valuesDropped": 0x31, "servicesChanged": 0x32,
        "serverRequest": 0x40, "writesDropped": 0x41, "requestsExpired": 0x42,
        "subscribed": 0x43, "unsubscribed": 0x44,
      ])
    #expect(
      Self.table(ChannelEventNumber.self) == [
        "channelOpened": 0x50, "channelReceived": 0x51, "channelClosed": 0x52,
      ])
  }

  @Test("the numbers of replies, errors and procedures are those of version 1")
  func choices() {
    #expect(
      Self.table(HostReply.Number.self) == [
        "done": 1, "services": 2, "characteristics": 3, "descriptors": 4, "value": 5,
        "values": 6, "rssi": 7, "published": 8, "psm": 9, "channel": 10, "outOfBandData": 11,
      ])
    #expect(
      Self.table(HostError.Number.self) == [
        "radioNotReady": 1, "controller": 2, "unsupported": 3, "invalidArgument": 4,
        "limitReached": 5, "notConnected": 6, "connectionFailed": 7, "disconnected": 8,
        "cancelled": 9, "att": 10, "attTimeout": 11, "invalidResponse": 12,
        "channelRefused": 13, "security": 14, "transport": 15, "unauthorized": 16,
        "tooManyNotifications": 17,
      ])
    #expect(
      Self.table(GATTOperation.Number.self) == [
        "discoverServices": 1, "discoverIncludedServices": 2, "discoverCharacteristics": 3,
        "discoverDescriptors": 4, "read": 5, "readByUUID": 6, "readMultiple": 7, "write": 8,
        "reliableWrite": 9, "writeWithoutResponse": 10, "signedWrite": 11,
      ])
    #expect(Self.table(ServerRequest.Kind.Number.self) == ["read": 1, "write": 2])
  }

  @Test("the numbers of pairings and of states are those of version 1")
  func states() {
    #expect(
      Self.table(PairingPrompt.Number.self) == [
        "consent": 1, "displayPasskey": 2, "enterPasskey": 3, "compareNumber": 4,
        "replaceBond": 5,
      ])
    #expect(Self.table(PairingAnswer.Number.self) == ["accept": 1, "passkey": 2, "reject": 3])
    #expect(
      Self.table(SecurityFailure.Number.self) == [
        "pairingFailed": 1, "peerFailed": 2, "timeout": 3, "keyMissing": 4,
        "encryptionFailed": 5, "disconnected": 6,
      ])
    #expect(Self.table(OutOfBandData.Number.self) == ["secureConnections": 1, "legacy": 2])
    #expect(
      Self.table(BondRejection.self) == [
        "full": 1, "changingAddress": 2, "weaker": 3, "unconfirmed": 4, "claimed": 5,
      ])
    #expect(
      Self.table(RadioState.self) == [
        "unknown": 1, "resetting": 2, "unsupported": 3, "unauthorized": 4, "poweredOff": 5,
        "poweredOn": 6,
      ])
    #expect(Self.table(LinkInfo.Role.self) == ["central": 1, "peripheral": 2])
  }

  @Test("no two requests, and no two events, have one number")
  func uniqueness() {
    let requests =
      Array(Self.table(RadioRequestNumber.self).values)
      + Array(Self.table(LinkRequestNumber.self).values)
      + Array(Self.table(SecurityRequestNumber.self).values)
      + Array(Self.table(AttributeRequestNumber.self).values)
      + Array(Self.table(ChannelRequestNumber.self).values)
    #expect(Set(requests).count == requests.count)
    let events =
      Array(Self.table(RadioEventNumber.self).values)
      + Array(Self.table(LinkEventNumber.self).values)
      + Array(Self.table(AttributeEventNumber.self).values)
      + Array(Self.table(ChannelEventNumber.self).values)
    #expect(Set(events).count == events.count)
    #expect(events.allSatisfy { $0 < HubProtocol.mustUnderstand })
  }

  @Test("no two states, roles or reasons have one number")
  func uniqueValues() {
    #expect(Self.numberCount(RadioState.self) == RadioState.allCases.count)
    #expect(Self.numberCount(LinkInfo.Role.self) == LinkInfo.Role.allCases.count)
    #expect(Self.numberCount(BondRejection.self) == BondRejection.allCases.count)
    #expect(Self.numberCount(HubRefusal.Reason.self) == HubRefusal.Reason.allCases.count)
  }
}

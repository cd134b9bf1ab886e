import BluetoothInterface
import BluetoothWire
import Essentials

@testable import HubWire

/// The messages whose bytes are in `Version1`, by their names there.
enum Version1 {
  static let random = DeviceAddress(bits: 0xC012_3456_789A, kind: .random)
  static let fixed = DeviceAddress(bits: 0x0011_2233_4455, kind: .public)
  static let token = RequestToken(rawValue: 300)
  static let channel = ChannelID(rawValue: 5)
  static let session = HubSessionID(rawValue: 2)
  static let custom = BluetoothUUID(high: 0x0011_2233_4455_6677, low: 0x8899_AABB_CCDD_EEFF)
  static let parameters = ConnectionParameters(
    intervalUnits: 24...40, latency: 4, timeoutUnits: 72)
  static let secret = SMPValue(number: 0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF)
  static let info = ChannelInfo(id: channel, peer: random, psm: 0x80, peerMTU: 512)

  static var appMessages: [String: AppMessage] {
    let opening = SessionOpening(id: session, acknowledgesEvents: true, manager: "central")
    var messages: [String: AppMessage] = [
      "greeting": .greeting(
        HubGreeting(app: "Lamp", abilities: .bluetooth, openings: [opening])),
      "ping": .ping(1 << 40),
      "openSession": .openSession(opening),
      "eventsHandled": .eventsHandled(session, count: 1_000),
      "closeSession": .closeSession(session),
    ]
    for (name, request) in radioRequests.merging(attributeRequests, uniquingKeysWith: { $1 }) {
      messages[name] = .request(session, .known(request))
    }
    return messages
  }

  static var hubMessages: [String: HubMessage] {
    let abilities: HubAbilities = [.bluetooth, HubAbilities(rawValue: 1 << 20)]
    var messages: [String: HubMessage] = [
      "welcome": .welcome(HubWelcome(version: 1, abilities: abilities, isSimulated: true)),
      "refusal": .refusal(HubRefusal(.limitReached, "Too many apps.")),
      "pong": .pong(7),
      "severalEvents": .events(
        session, HubEvents([.acknowledgementRequested, .connected(fixed)])),
    ]
    for (name, event) in linkEvents.merging(valueEvents, uniquingKeysWith: { $1 }) {
      messages[name] = .events(session, HubEvents([event]))
    }
    return messages
  }

  // MARK: Requests

  private static var radioRequests: [String: HostRequest] {
    var scan = ScanOptions()
    scan.services = [0x180D, BluetoothUUID(UInt32(0x0001_2345)), custom]
    scan.solicitedServices = [0x180F]
    scan.allowsDuplicates = true
    scan.usesExtendedScanning = false
    var advertising = AdvertisingOptions()
    advertising.data = [2, 1, 6]
    advertising.scanResponse = [1]
    advertising.interval = .milliseconds(250)
    advertising.usesCodedPHY = true
    advertising.target = fixed
    var options = ConnectOptions()
    options.parameters = parameters
    options.reconnectsAutomatically = true
    options.startDelay = .milliseconds(-1)
    let subrate = SubrateRequest(
      factorMin: 1, factorMax: 2, latencyMax: 3, continuationNumber: 4, timeoutUnits10ms: 500)
    return [
      "startScan": .startScan(scan), "stopScan": .stopScan,
      "startAdvertising": .startAdvertising(advertising, token),
      "stopAdvertising": .stopAdvertising, "barrier": .barrier(token),
      "connect": .connect(random, options), "disconnect": .disconnect(fixed),
      "readRSSI": .readRSSI(random, token),
      "updateParameters": .updateParameters(random, parameters, token),
      "setPHY": .setPHY(
        random, PHYPreference(transmit: [.le1M, .leCoded], receive: nil), token),
      "setSubrate": .setSubrate(random, subrate, token),
      "pair": .pair(random, token), "setPairingAgent": .setPairingAgent(.keyboardDisplay),
      "answerPairing": .answerPairing(PairingPromptID(rawValue: 9), .passkey(123_456)),
      "createOutOfBandData": .createOutOfBandData(token),
      "setOutOfBandData": .setOutOfBandData(
        random, .secureConnections(confirm: secret, random: SMPValue(number: 1)), token),
      "removeBond": .removeBond(random, token),
    ]
  }

  private static var attributeRequests: [String: HostRequest] {
    let range = HandleRange(1, 0xFFFF)
    let target = SubscriptionTarget(
      valueHandle: 0x20, configurationHandle: 0x21, usesIndications: true)
    let definition = ServiceDefinition(
      uuid: 0x180D, isPrimary: true, includedServices: [7],
      characteristics: [
        CharacteristicDefinition(
          uuid: 0x2A37, properties: [.notify], permissions: [.readable], value: [1, 2],
          subscribingRequiresEncryption: true,
          descriptors: [DescriptorDefinition(uuid: 0x2901, value: [0x61])])
      ])
    let values = [AttributeValue(handle: 3, value: [4]), AttributeValue(handle: 5, value: [])]
    let operations: [String: GATTOperation] = [
      "discoverServices": .discoverServices([0x180D]),
      "discoverAllServices": .discoverServices(nil),
      "discoverIncludedServices": .discoverIncludedServices(in: range),
      "discoverCharacteristics": .discoverCharacteristics(in: range, [0x2A37]),
      "discoverDescriptors": .discoverDescriptors(in: range), "read": .read(0x20),
      "readByUUID": .readByUUID(0x2A37, in: range), "readMultiple": .readMultiple([1, 2]),
      "write": .write(0x20, [1]), "reliableWrite": .reliableWrite(values),
      "writeWithoutResponse": .writeWithoutResponse(0x20, [2]),
      "signedWrite": .signedWrite(0x20, [3]),
    ]
    let others: [String: HostRequest] = [
      "subscribe": .subscribe(random, target, token),
      "unsubscribe": .unsubscribe(random, target, token),
      "addService": .addService(definition, token), "removeService": .removeService(0x10),
      "removeAllServices": .removeAllServices,
      "respond": .respond(ServerRequestID(rawValue: 8), .success([1, 2])),
      "respondWithError": .respond(ServerRequestID(rawValue: 8), .failure(.readNotPermitted)),
      "updateValue": .updateValue(handle: 0x20, [9], peers: [random], token),
      "updateAll": .updateValue(handle: 0x20, [9], peers: nil, token),
      "publishChannel": .publishChannel(psm: 0x80, requiresEncryption: true, token),
      "unpublishChannel": .unpublishChannel(psm: 0x80),
      "openChannel": .openChannel(random, psm: 0x80, token),
      "sendOnChannel": .sendOnChannel(channel, [1, 2, 3], token),
      "consumedFromChannel": .consumedFromChannel(channel, byteCount: 4_096),
      "closeChannel": .closeChannel(channel),
    ]
    return operations.mapValues { HostRequest.gatt(random, $0, token) }
      .merging(others, uniquingKeysWith: { $1 })
  }

  // MARK: Events

  private static var linkEvents: [String: HostEvent] {
    let report = AdvertisingReport(
      address: random, isConnectable: true, isScannable: false, isLegacy: true, rssi: -60,
      data: [2, 1, 6], scanResponse: [1], heardAt: Instant(nanoseconds: 0x0102_0304_0506_0708))
    var link = LinkInfo(peer: random, role: .central)
    (link.mtu, link.intervalUnits, link.latency, link.timeoutUnits) = (247, 24, 1, 72)
    (link.subrateFactor, link.continuationNumber) = (2, 1)
    (link.transmitPHY, link.receivePHY) = (.le2M, .leCoded)
    (link.sentPacketByteCountMax, link.receivedPacketByteCountMax) = (251, 27)
    link.encryption = EncryptionInfo(
      keyByteCount: 16, isAuthenticated: true, isSecureConnections: false)
    link.name = "Gerät"
    link.services = [0x180D]
    let prompt = PairingPromptID(rawValue: 9)
    return [
      "stateChanged": .stateChanged(.poweredOn), "discovered": .discovered(report),
      "acknowledgementRequested": .acknowledgementRequested,
      "linkOpened": .linkOpened(link),
      "linkUpdated": .linkUpdated(LinkInfo(peer: fixed, role: .peripheral)),
      "linkClosed": .linkClosed(random, .disconnected(.connectionTimeout)),
      "connected": .connected(random),
      "connectionFailed": .connectionFailed(random, .connectionFailed(.hardwareFailure)),
      "disconnected": .disconnected(random, .attTimeout, reconnecting: true),
      "disconnectedOnRequest": .disconnected(random, nil, reconnecting: false),
      "pairingPrompt": .pairingPrompt(random, .compareNumber(123_456), prompt),
      "consentPrompt": .pairingPrompt(random, .consent, prompt),
      "passkeyPrompt": .pairingPrompt(random, .displayPasskey(5), prompt),
      "entryPrompt": .pairingPrompt(random, .enterPasskey, prompt),
      "bondPrompt": .pairingPrompt(random, .replaceBond(fixed), prompt),
      "pairingEnded": .pairingEnded(random, nil),
      "pairingFailed": .pairingEnded(random, .peerFailed(.busy)),
      "bondNotKept": .bondNotKept(random, .claimed),
    ]
  }

  private static var valueEvents: [String: HostEvent] {
    let range = HandleRange(1, 9)
    let write = ServerRequest.Write(handle: 0x20, offset: 300, value: [1])
    let characteristic = RemoteCharacteristic(
      uuid: 0x2A37, declarationHandle: 2, valueHandle: 3, endHandle: 4,
      properties: [.read, .notify])
    let published = PublishedService(
      range: range,
      characteristics: [
        PublishedCharacteristic(valueHandle: 3, configurationHandle: 4),
        PublishedCharacteristic(valueHandle: 6, configurationHandle: nil),
      ])
    let replies: [String: HostReply] = [
      "done": .done,
      "services": .services([RemoteService(uuid: custom, range: range, isPrimary: true)]),
      "characteristics": .characteristics([characteristic]),
      "descriptors": .descriptors([RemoteDescriptor(uuid: 0x2902, handle: 4)]),
      "value": .value([1, 2]), "values": .values([AttributeValue(handle: 3, value: [4])]),
      "rssi": .rssi(-60), "published": .published(published), "psm": .psm(0x81),
      "channel": .channel(info), "outOfBandData": .outOfBandData(.legacy(temporaryKey: secret)),
    ]
    let errors: [String: HostError] = [
      "radioNotReady": .radioNotReady, "controller": .controller(.hardwareFailure),
      "unsupported": .unsupported("LE Coded"), "invalidArgument": .invalidArgument("x"),
      "limitReached": .limitReached("y"), "notConnected": .notConnected, "cancelled": .cancelled,
      "att": .att(.invalidHandle, handle: 0x20), "invalidResponse": .invalidResponse,
      "channelRefused": .channelRefused(2), "keyMissing": .security(.keyMissing),
      "pairingTimeout": .security(.timeout), "transport": .transport("unplugged"),
      "pairingRefused": .security(.pairingFailed(.pairingNotSupported)),
      "encryptionFailed": .security(.encryptionFailed(.pinOrKeyMissing)),
      "linkEnded": .security(.disconnected), "unauthorized": .unauthorized("CAP_NET_ADMIN"),
    ]
    var events: [String: HostEvent] = [
      "valueUpdated": .valueUpdated(random, handle: 0x20, [6, 72]),
      "valuesDropped": .valuesDropped(random, handle: 0x20, count: 200),
      "servicesChanged": .servicesChanged(random, range),
      "serverRead": .serverRequest(
        ServerRequest(
          id: ServerRequestID(rawValue: 8), peer: random, kind: .read(handle: 0x20, offset: 22),
          needsResponse: true)),
      "serverWrite": .serverRequest(
        ServerRequest(
          id: ServerRequestID(rawValue: 8), peer: random, kind: .write([write]),
          needsResponse: false)),
      "writesDropped": .writesDropped(random, handle: 0x20, count: 1),
      "requestsExpired": .requestsExpired(random, handle: 0x20, count: 1),
      "subscribed": .subscribed(random, handle: 0x20),
      "unsubscribed": .unsubscribed(random, handle: 0x20), "channelOpened": .channelOpened(info),
      "channelReceived": .channelReceived(channel, [1, 2, 3]),
      "channelClosed": .channelClosed(channel, .notConnected),
      "channelClosedOnRequest": .channelClosed(channel, nil),
    ]
    for (name, reply) in replies { events["reply-\(name)"] = .completed(token, .success(reply)) }
    for (name, error) in errors { events["error-\(name)"] = .completed(token, .failure(error)) }
    return events
  }
}

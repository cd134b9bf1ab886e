import BluetoothInterface
import BluetoothWire
import Essentials
import HubWire
import Testing

@testable import HubClientMachines

/// A hub ends the connection for what a program of this library never sends.
@Suite("The largest requests")
struct LargestRequestTests {
  private static let token = RequestToken(rawValue: 1)
  private static let peer = MachineRig.peer
  private static let uuids = Array(
    repeating: BluetoothUUID(high: 1, low: 2), count: HubProtocol.listCountMax)
  private static let bytes = [UInt8](repeating: 7, count: 3 << 20)
  /// In the first connection.
  private static let number = UInt64(1) << 40 | 1

  private static var scan: ScanOptions {
    var options = ScanOptions()
    options.services = uuids
    options.solicitedServices = uuids
    return options
  }

  private static var advertising: AdvertisingOptions {
    var options = AdvertisingOptions()
    options.data = bytes
    options.scanResponse = bytes
    return options
  }

  private static var service: ServiceDefinition {
    let characteristic = CharacteristicDefinition(
      uuid: uuids[0], properties: .read, permissions: .readable, value: bytes,
      descriptors: Array(
        repeating: DescriptorDefinition(uuid: uuids[0], value: bytes), count: 100))
    return ServiceDefinition(
      uuid: uuids[0], includedServices: Array(repeating: 1, count: HubProtocol.listCountMax),
      characteristics: [characteristic])
  }

  /// The next kind of request with its largest contents, after one of another kind; nil after the last one. A
  /// request without a place here doesn't compile.
  private static func next(after request: HostRequest?) -> HostRequest? {
    let target = SubscriptionTarget(valueHandle: 3, endHandle: 9, usesIndications: true)
    let channel = ChannelID(rawValue: number)
    switch request {
    case nil: return .startScan(scan)
    case .startScan: return .stopScan
    case .stopScan: return .startAdvertising(advertising, token)
    case .startAdvertising: return .stopAdvertising
    case .stopAdvertising: return .connect(peer, ConnectOptions())
    case .connect: return .disconnect(peer)
    case .disconnect: return .readRSSI(peer, token)
    case .readRSSI: return .updateParameters(peer, .default, token)
    case .updateParameters:
      return .setPHY(peer, PHYPreference(transmit: .le2M, receive: .le2M), token)
    case .setPHY:
      let subrate = SubrateRequest(
        factorMin: 1, factorMax: 500, latencyMax: 499, continuationNumber: 499,
        timeoutUnits10ms: 3_200)
      return .setSubrate(peer, subrate, token)
    case .setSubrate: return .pair(peer, token)
    case .pair: return .setPairingAgent(.keyboardDisplay)
    case .setPairingAgent:
      return .answerPairing(PairingPromptID(rawValue: number), .passkey(999_999))
    case .answerPairing: return .createOutOfBandData(token)
    case .createOutOfBandData:
      return .setOutOfBandData(peer, .legacy(temporaryKey: SMPValue(number: .max)), token)
    case .setOutOfBandData: return .removeBond(peer, token)
    case .removeBond: return .attendAllPairings(token)
    case .attendAllPairings: return .gatt(peer, .write(3, bytes), token)
    case .gatt: return .subscribe(peer, target, token)
    case .subscribe: return .unsubscribe(peer, target, token)
    case .unsubscribe: return .addService(service, token)
    case .addService: return .removeService(.max)
    case .removeService: return .removeAllServices
    case .removeAllServices:
      return .respond(ServerRequestID(rawValue: number), .success(bytes))
    case .respond:
      let peers = Array(repeating: peer, count: HubProtocol.listCountMax)
      return .updateValue(handle: 3, bytes, peers: peers, token)
    case .updateValue: return .publishChannel(psm: .max, requiresEncryption: true, token)
    case .publishChannel: return .unpublishChannel(psm: .max)
    case .unpublishChannel: return .openChannel(peer, psm: .max, token)
    case .openChannel: return .sendOnChannel(channel, bytes, token)
    case .sendOnChannel:
      return .consumedFromChannel(channel, byteCount: HubProtocol.countMax)
    case .consumedFromChannel: return .closeChannel(channel)
    case .closeChannel: return .barrier(token)
    case .barrier: return nil
    }
  }

  private static func byteCount(_ message: AppMessage) throws -> Int {
    var writer = HubFrameWriter()
    try writer.append(message)
    return writer.byteCount
  }

  @Test("each request with its largest contents is sent as a hub takes it, or fails by its token")
  func all() throws {
    var request = Self.next(after: nil)
    var count = 0
    while let largest = request {
      var rig = MachineRig.connected()
      _ = (rig.takeSent(), rig.takeEvents())
      rig.request(largest)
      let sent = rig.takeSent()
      for message in sent {
        guard case .request(_, .known(let sent)) = message, sent.token == nil else { continue }
        #expect(try Self.byteCount(message) <= HubProtocol.plainRequestByteCountMax)
      }
      if sent.isEmpty {
        guard case .completed(Self.token, .failure)? = rig.takeEvents().first else {
          Issue.record("neither sent nor completed: \(String(describing: largest).prefix(40))")
          return
        }
      }
      #expect(rig.failures.isEmpty)
      request = Self.next(after: largest)
      count += 1
    }
    #expect(count == 32)
  }

  @Test("a scan for too many services is cut to what a hub takes, which is reported once")
  func longScan() {
    var rig = MachineRig.connected()
    for _ in 0..<2 { rig.request(.startScan(Self.scan)) }
    for case .startScan(let options) in rig.takeRequests() {
      #expect(options.services.count == 128 && options.solicitedServices.count == 128)
    }
    var options = ScanOptions()
    options.services = Array(Self.uuids.prefix(300))
    options.solicitedServices = Array(Self.uuids.prefix(10))
    rig.request(.startScan(options))
    options.services.removeLast(54)
    #expect(rig.takeRequests() == [.startScan(options)])
    let losses = rig.actions.count { if case .lost = $0 { true } else { false } }
    #expect(losses == 1)
    // The next hub gets the same.
    rig.restartHub()
    #expect(rig.takeRequests() == [.startScan(options)])
  }
}

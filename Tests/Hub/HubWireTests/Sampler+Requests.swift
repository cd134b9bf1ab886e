import BluetoothInterface
import BluetoothWire
import Essentials

@testable import HubWire

// A request of every number, and every procedure. A request without a number doesn't compile, nor a number without a sample.
extension Sampler {
  mutating func requests() -> [HostRequest] {
    var requests: [HostRequest] = []
    for number in RadioRequestNumber.allCases { requests.append(request(number)) }
    for number in LinkRequestNumber.allCases { requests.append(request(number)) }
    for number in SecurityRequestNumber.allCases { requests.append(request(number)) }
    for number in AttributeRequestNumber.allCases { requests.append(request(number)) }
    for number in ChannelRequestNumber.allCases { requests.append(request(number)) }
    for number in GATTOperation.Number.allCases {
      requests.append(.gatt(address(), operation(number), token()))
    }
    return requests
  }

  mutating func request(_ number: RadioRequestNumber) -> HostRequest {
    switch number {
    case .startScan: return .startScan(scanOptions())
    case .stopScan: return .stopScan
    case .startAdvertising: return .startAdvertising(advertisingOptions(), token())
    case .stopAdvertising: return .stopAdvertising
    case .barrier: return .barrier(token())
    }
  }

  mutating func request(_ number: LinkRequestNumber) -> HostRequest {
    switch number {
    case .connect: return .connect(address(), connectOptions())
    case .disconnect: return .disconnect(address())
    case .readRSSI: return .readRSSI(address(), token())
    case .updateParameters: return .updateParameters(address(), parameters(), token())
    case .setPHY:
      let preference = PHYPreference(
        transmit: optional { PHYSet(rawValue: $0.number()) },
        receive: optional { PHYSet(rawValue: $0.number()) })
      return .setPHY(address(), preference, token())
    case .setSubrate:
      let subrate = SubrateRequest(
        factorMin: self.number(), factorMax: self.number(), latencyMax: self.number(),
        continuationNumber: self.number(), timeoutUnits10ms: self.number())
      return .setSubrate(address(), subrate, token())
    }
  }

  mutating func request(_ number: SecurityRequestNumber) -> HostRequest {
    switch number {
    case .pair: return .pair(address(), token())
    case .setPairingAgent:
      return .setPairingAgent(optional { $0.element(of: SMPIOCapability.allCases) })
    case .answerPairing:
      return .answerPairing(promptID(), answer(element(of: PairingAnswer.Number.allCases)))
    case .createOutOfBandData: return .createOutOfBandData(token())
    case .setOutOfBandData:
      let data = optional { $0.outOfBandData($0.element(of: OutOfBandData.Number.allCases)) }
      return .setOutOfBandData(address(), data, token())
    case .removeBond: return .removeBond(address(), token())
    case .attendAllPairings: return .attendAllPairings(token())
    }
  }

  mutating func request(_ number: AttributeRequestNumber) -> HostRequest {
    switch number {
    case .gatt:
      return .gatt(address(), operation(element(of: GATTOperation.Number.allCases)), token())
    case .subscribe: return .subscribe(address(), target(), token())
    case .unsubscribe: return .unsubscribe(address(), target(), token())
    case .addService: return .addService(definition(), token())
    case .removeService: return .removeService(self.number())
    case .removeAllServices: return .removeAllServices
    case .respond:
      let result: Result<[UInt8], ATTErrorCode> =
        bool() ? .success(bytes()) : .failure(ATTErrorCode(rawValue: self.number()))
      return .respond(serverRequestID(), result)
    case .updateValue:
      let peers = optional { $0.list { $0.address() } }
      return .updateValue(handle: self.number(), bytes(), peers: peers, token())
    }
  }

  mutating func request(_ number: ChannelRequestNumber) -> HostRequest {
    switch number {
    case .publishChannel:
      return .publishChannel(
        psm: optional { $0.number() }, requiresEncryption: bool(), token())
    case .unpublishChannel: return .unpublishChannel(psm: self.number())
    case .openChannel: return .openChannel(address(), psm: self.number(), token())
    case .sendOnChannel: return .sendOnChannel(channelID(), bytes(), token())
    case .consumedFromChannel: return .consumedFromChannel(channelID(), byteCount: count())
    case .closeChannel: return .closeChannel(channelID())
    }
  }

  // MARK: Parts

  mutating func scanOptions() -> ScanOptions {
    var options = ScanOptions()
    options.services = list { $0.uuid() }
    options.solicitedServices = list { $0.uuid() }
    options.allowsDuplicates = bool()
    options.isActive = bool()
    options.usesExtendedScanning = bool()
    options.usesCodedPHY = bool()
    options.isInBackground = bool()
    options.seeksBeacons = bool()
    return options
  }

  mutating func advertisingOptions() -> AdvertisingOptions {
    var options = AdvertisingOptions()
    options.data = bytes()
    options.scanResponse = bytes()
    options.isConnectable = bool()
    options.interval = span()
    options.usesExtendedAdvertising = bool()
    options.usesCodedPHY = bool()
    options.target = optional { $0.address() }
    return options
  }

  mutating func connectOptions() -> ConnectOptions {
    var options = ConnectOptions()
    options.parameters = parameters()
    options.reconnectsAutomatically = bool()
    options.startDelay = span()
    options.usesCodedPHY = bool()
    options.alerts = ConnectionAlerts(rawValue: number() & 7)
    return options
  }

  mutating func operation(_ number: GATTOperation.Number) -> GATTOperation {
    switch number {
    case .discoverServices: return .discoverServices(optional { $0.list { $0.uuid() } })
    case .discoverIncludedServices: return .discoverIncludedServices(in: range())
    case .discoverCharacteristics:
      return .discoverCharacteristics(in: range(), optional { $0.list { $0.uuid() } })
    case .discoverDescriptors: return .discoverDescriptors(in: range())
    case .read: return .read(self.number())
    case .readByUUID: return .readByUUID(uuid(), in: range())
    case .readMultiple: return .readMultiple(list { $0.number() })
    case .write: return .write(self.number(), bytes())
    case .reliableWrite: return .reliableWrite(list { $0.attributeValue() })
    case .writeWithoutResponse: return .writeWithoutResponse(self.number(), bytes())
    case .signedWrite: return .signedWrite(self.number(), bytes())
    }
  }

  mutating func answer(_ number: PairingAnswer.Number) -> PairingAnswer {
    switch number {
    case .accept: return .accept
    case .passkey: return .passkey(self.number())
    case .reject: return .reject
    }
  }

  mutating func outOfBandData(_ number: OutOfBandData.Number) -> OutOfBandData {
    switch number {
    case .secureConnections: return .secureConnections(confirm: secret(), random: secret())
    case .legacy: return .legacy(temporaryKey: secret())
    }
  }
}

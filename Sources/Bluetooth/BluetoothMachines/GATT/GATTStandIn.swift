import BluetoothWire
import Essentials

// Holds the place of the GATT machines, so that the host can be used before they are there. To be
// deleted by the change that brings them (gatt: just delete it; host adapts its calls at once).

struct OperationID: Hashable, Sendable { var rawValue: UInt64 }

struct GATTClient: Sendable {
  enum Output: Sendable {
    case send([UInt8])
    case completed(OperationID, Result<HostReply, HostError>)
    case valueReceived(handle: UInt16, ArraySlice<UInt8>, isIndication: Bool)
    case mtuChanged(Int)
    case servicesChanged(HandleRange)
    case bearerFailed(HostError)
  }
  var mtu = 23
  var open: [OperationID] = []
  init(mtuMax: Int) {}
  mutating func start(
    _ operation: GATTOperation, id: OperationID, now: Instant, into: inout [Output]
  ) { open.append(id) }
  mutating func exchangeMTU(now: Instant, into: inout [Output]) {}
  mutating func receive(_ pdu: ArraySlice<UInt8>, now: Instant, into: inout [Output]) {}
  mutating func wake(now: Instant, into: inout [Output]) {}
  var nextWake: Instant? { nil }
  mutating func close(_ error: HostError, into outputs: inout [Output]) {
    for id in open { outputs.append(.completed(id, .failure(error))) }
    open = []
  }
}

struct GATTServer: Sendable {
  enum Output: Sendable {
    case send(to: DeviceAddress, [UInt8])
    case request(ClientID, ServerRequest)
    case subscribed(ClientID, DeviceAddress, handle: UInt16)
    case unsubscribed(ClientID, DeviceAddress, handle: UInt16)
    case updateCompleted(ClientID, RequestToken, Result<HostReply, HostError>)
    case mtuChanged(DeviceAddress, Int)
    case bearerFailed(DeviceAddress, HostError)
  }
  init(name: String, appearance: UInt16, mtuMax: Int) {}
  mutating func addService(
    _ definition: ServiceDefinition, owner: ClientID, now: Instant, into: inout [Output]
  ) -> Result<PublishedService, HostError> { .failure(.unsupported("services")) }
  mutating func removeService(
    _ handle: UInt16, owner: ClientID, now: Instant, into: inout [Output]
  ) {}
  mutating func removeAllServices(owner: ClientID, now: Instant, into: inout [Output]) {}
  mutating func linkOpened(_ peer: DeviceAddress) {}
  mutating func linkClosed(_ peer: DeviceAddress, now: Instant, into: inout [Output]) {}
  mutating func setEncrypted(_ isEncrypted: Bool, _ peer: DeviceAddress) {}
  mutating func receive(
    _ pdu: ArraySlice<UInt8>, from peer: DeviceAddress, now: Instant, into: inout [Output]
  ) {}
  mutating func respond(
    _ id: ServerRequestID, _ result: Result<[UInt8], ATTErrorCode>, from owner: ClientID,
    now: Instant, into: inout [Output]
  ) {}
  mutating func updateValue(
    handle: UInt16, value: [UInt8], peers: [DeviceAddress]?, token: RequestToken, owner: ClientID,
    now: Instant, into outputs: inout [Output]
  ) { outputs.append(.updateCompleted(owner, token, .failure(.unsupported("services")))) }
  mutating func wake(now: Instant, into: inout [Output]) {}
  var nextWake: Instant? { nil }
}

import BluetoothInterface
import BluetoothWire
import Essentials
import Foundation
import Testing

@testable import CoreBluetooth

/// Records the calls of a restored peripheral manager.
private final class RestoredThermostat: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
  // Unchecked: changed on the delegate queue and read after it has settled.
  let record = Record()
  var state: [String: Any] = [:]
  var services: [CBMutableService] = []

  func peripheralManager(
    _ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]
  ) {
    state = dict
    services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
    record.add("restored \(peripheral.state), advertising \(peripheral.isAdvertising)")
  }
  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    record.add("\(peripheral.state)")
  }
  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral,
    didSubscribeTo characteristic: CBCharacteristic
  ) { record.add("subscribed \(characteristic.uuid.uuidString)") }
  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral,
    didUnsubscribeFrom characteristic: CBCharacteristic
  ) { record.add("unsubscribed \(characteristic.uuid.uuidString)") }
  func peripheralManager(
    _ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest
  ) {
    record.add("read \(request.characteristic.uuid.uuidString)")
    request.value = Data([21])
    peripheral.respond(to: request, withResult: .success)
  }
}

@Suite("A restored peripheral manager")
struct PeripheralManagerRestorationTests {
  private let keeping = KeepingHost()
  private let app = RestoredThermostat()
  private let manager: CBPeripheralManager
  private var record: Record { app.record }

  init() {
    manager = CBPeripheralManager(
      delegate: app, queue: DispatchQueue(label: "test"), host: keeping,
      restoreIdentifier: "thermostat")
  }

  /// A service with a value that a phone has subscribed to, and a name, which another service includes.
  private static func holdings() -> SessionHoldings {
    var holdings = SessionHoldings()
    let temperature = CharacteristicDefinition(
      uuid: 0x2A6E, properties: [.read, .notify],
      permissions: [.readable, .readEncryptionRequired], subscribingRequiresEncryption: true,
      descriptors: [
        DescriptorDefinition(uuid: 0x2901, value: Array("Temperature".utf8)),
        DescriptorDefinition(uuid: 0x2904, value: [14, 0, 0, 0x27, 1, 0, 0]),
      ])
    let name = CharacteristicDefinition(
      uuid: 0x2A00, properties: .read, permissions: .readable, value: [72, 105])
    holdings.services = [
      Service(
        definition: ServiceDefinition(
          uuid: 0x181A, isPrimary: false, characteristics: [temperature, name]),
        published: PublishedService(
          range: HandleRange(30, 38),
          characteristics: [
            PublishedCharacteristic(valueHandle: 32, configurationHandle: 33),
            PublishedCharacteristic(valueHandle: 37, configurationHandle: nil),
          ])),
      Service(
        definition: ServiceDefinition(uuid: 0x180F, includedServices: [30]),
        published: PublishedService(range: HandleRange(40, 41), characteristics: [])),
    ]
    holdings.subscribers = [SessionHoldings.Subscriber(peer: .phone, handle: 32)]
    holdings.listeners = [SessionHoldings.Listener(psm: 0x81, requiresEncryption: false)]
    holdings.advertising = AdvertisingPlan(name: "Hall", services: [0x181A, 0x180F]).options
    return holdings
  }

  private typealias Service = SessionHoldings.Service

  private func restore(_ events: HostEvent...) {
    keeping.attach(Self.holdings())
    var link = LinkInfo(peer: .phone, role: .peripheral)
    link.mtu = 185
    for event in [.linkOpened(link), .stateChanged(.poweredOn)] + events {
      keeping.host.post(event)
    }
    keeping.host.settle()
  }

  @Test("services are restored with values, permissions, descriptors and subscribed centrals")
  func services() throws {
    restore()
    #expect(record.lines == ["restored unknown, advertising true", "poweredOn"])
    #expect(keeping.host.name == "peripheral:thermostat" && keeping.host.requests.isEmpty)
    try #require(app.services.count == 2)
    let environment = app.services[0]
    #expect(app.services.map(\.uuid.uuidString) == ["181A", "180F"])
    #expect(app.services.map(\.isPrimary) == [false, true])
    #expect(app.services[1].includedServices == [environment])
    let members = (environment.characteristics ?? []).compactMap { $0 as? CBMutableCharacteristic }
    try #require(members.count == 2)
    #expect(members[0].properties == [.read, .notifyEncryptionRequired])
    #expect(members[0].permissions == [.readable, .readEncryptionRequired])
    #expect(members.map(\.value) == [nil, Data([72, 105])])
    #expect(members[0].descriptors?.map(\.uuid.uuidString) == ["2901", "2904"])
    #expect(members[0].descriptors?.first?.value as? String == "Temperature")
    #expect(members[0].service === environment)
    let centrals = try #require(members[0].subscribedCentrals)
    #expect(centrals.map(\.identifier) == [PeerIdentifier.uuid(of: .phone)])
    #expect(centrals.map(\.maximumUpdateValueLength) == [182])
  }

  @Test("a restored definition is the one that was published")
  func definitions() throws {
    restore()
    let definition = try ServiceDefinition(app.services[0]) { _ in nil }
    #expect(definition == Self.holdings().services[0].definition)
  }

  @Test("an advertisement goes on, and is in the dictionary as it was begun")
  func advertising() {
    restore()
    #expect(manager.isAdvertising)
    let key = CBPeripheralManagerRestoredStateAdvertisementDataKey
    let data = app.state[key] as? [String: Any]
    #expect(data?[CBAdvertisementDataLocalNameKey] as? String == "Hall")
    let services = data?[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID]
    #expect(services == [CBUUID(string: "181A"), CBUUID(string: "180F")])
    #expect(data?.count == 2)
    manager.stopAdvertising()
    #expect(!manager.isAdvertising && keeping.host.requests == [.stopAdvertising])
  }

  @Test("a beacon that was advertised is in the dictionary with its bytes")
  func beacon() {
    let bytes = Data((1...21).map { UInt8($0) })
    let options = AdvertisingPlan([AdvertisingPlan.beaconKey: bytes])?.options
    #expect(options?.advertisementData[AdvertisingPlan.beaconKey] as? Data == bytes)
    #expect(options?.advertisementData.count == 1)
  }

  @Test("values are sent to restored subscribers, and requests reach restored characteristics")
  func use() throws {
    restore(
      .serverRequest(
        ServerRequest(
          id: ServerRequestID(rawValue: 1), peer: .phone, kind: .read(handle: 32, offset: 0),
          needsResponse: true)))
    #expect(record.lines.last == "read 2A6E")
    #expect(
      keeping.host.requests == [.respond(ServerRequestID(rawValue: 1), .success([21]))])
    let temperature = try #require(
      app.services.first?.characteristics?.first as? CBMutableCharacteristic)
    #expect(manager.updateValue(Data([22]), for: temperature, onSubscribedCentrals: nil))
    guard case .updateValue(32, [22], peers: [.phone]?, _) = keeping.host.requests.last else {
      Issue.record("\(String(describing: keeping.host.requests.last))")
      return
    }
    manager.remove(app.services[0])
    #expect(keeping.host.requests.last == .removeService(30))
    manager.unpublishL2CAPChannel(0x81)
    #expect(keeping.host.requests.last == .unpublishChannel(psm: 0x81))
  }

  @Test("subscriptions that changed meanwhile follow, once")
  func subscriptions() throws {
    restore(.unsubscribed(.phone, handle: 32), .subscribed(.strap, handle: 32))
    #expect(record.lines.suffix(2) == ["unsubscribed 2A6E", "subscribed 2A6E"])
    let temperature = try #require(
      app.services.first?.characteristics?.first as? CBMutableCharacteristic)
    #expect(temperature.subscribedCentrals?.map(\.identifier) == [.strap])
    #expect(manager.updateValue(Data([22]), for: temperature, onSubscribedCentrals: nil))
    guard case .updateValue(32, [22], peers: [.strap]?, _) = keeping.host.requests.last else {
      Issue.record("\(String(describing: keeping.host.requests.last))")
      return
    }
  }

  @Test(
    "a radio that was off for a while changes nothing, and one that is off ends the advertising")
  func radioOff() {
    restore(.stateChanged(.poweredOff), .stateChanged(.poweredOn))
    #expect(manager.isAdvertising && record.lines.last == "poweredOn")
    keeping.host.deliver(.stateChanged(.poweredOff))
    #expect(!manager.isAdvertising && record.lines.last == "poweredOff")
    #expect(keeping.host.requests == [.stopAdvertising])
  }

  @Test("a radio that was off already when the process ended ends the restored advertising")
  func radioOffBefore() {
    keeping.attach(Self.holdings())
    keeping.host.deliver(.stateChanged(.poweredOff))
    #expect(record.lines == ["restored unknown, advertising true", "poweredOff"])
    #expect(!manager.isAdvertising && keeping.host.requests == [.stopAdvertising])
  }
}

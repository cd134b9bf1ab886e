import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import CoreBluetooth

/// A peripheral manager with a scripted host and, if asked, a published thermostat.
struct PeripheralManagerFixture {
  let host = ScriptedHost()
  let recorder = PeripheralManagerRecorder()
  let manager: CBPeripheralManager
  let service = CBMutableService(type: CBUUID(string: "181A"), primary: true)
  let temperature = CBMutableCharacteristic(
    type: CBUUID(string: "2A6E"), properties: [.read, .notify], value: nil,
    permissions: .readable)
  let setPoint = CBMutableCharacteristic(
    type: CBUUID(string: "2A6F"), properties: [.read, .write], value: nil,
    permissions: [.readable, .writeable])
  var record: Record { recorder.record }

  init(poweredOn: Bool = true, published: Bool = true) {
    manager = CBPeripheralManager(
      delegate: recorder, queue: DispatchQueue(label: "test"), host: host)
    service.characteristics = [temperature, setPoint]
    guard poweredOn else { return }
    host.deliver(.stateChanged(.poweredOn))
    if published { publish() }
    record.clear()
  }

  func publish() {
    manager.add(service)
    host.answer(
      .success(
        .published(
          PublishedService(
            range: HandleRange(30, 35),
            characteristics: [
              PublishedCharacteristic(valueHandle: 32, configurationHandle: 33),
              PublishedCharacteristic(valueHandle: 35, configurationHandle: nil),
            ]))))
  }

  func read(_ handle: UInt16, offset: Int = 0, id: UInt64 = 1) -> HostEvent {
    .serverRequest(
      ServerRequest(
        id: ServerRequestID(rawValue: id), peer: .phone,
        kind: .read(handle: handle, offset: offset), needsResponse: true))
  }

  /// The result of the last response.
  var lastResponse: Result<[UInt8], ATTErrorCode>? {
    guard case .respond(_, let result) = host.requests.last else { return nil }
    return result
  }
}

@Suite("CBPeripheralManager")
struct PeripheralManagerTests {
  @Test("commands before poweredOn have no effect")
  func notReady() {
    let fixture = PeripheralManagerFixture(poweredOn: false)
    fixture.manager.add(fixture.service)
    fixture.manager.startAdvertising(nil)
    #expect(fixture.host.requests.isEmpty)
    fixture.host.deliver(.stateChanged(.poweredOn))
    #expect(fixture.record.lines == ["state poweredOn"])
  }

  @Test("a published service is frozen until it is removed")
  func frozen() {
    let fixture = PeripheralManagerFixture(published: false)
    fixture.publish()
    #expect(fixture.record.take() == ["added 181A ok"])
    fixture.service.characteristics = []
    #expect(fixture.service.characteristics?.count == 2)
    fixture.manager.add(fixture.service)
    fixture.host.settle()
    #expect(fixture.record.take() == ["added 181A invalidParameters"])
    fixture.manager.remove(fixture.service)
    #expect(fixture.host.requests.last?.name == "removeService")
    fixture.service.characteristics = []
    #expect(fixture.service.characteristics?.isEmpty == true)
  }

  @Test("an invalid service is refused")
  func refused() {
    let fixture = PeripheralManagerFixture(published: false)
    func add(_ uuid: String, _ change: (CBMutableService) -> Void = { _ in }) {
      let service = CBMutableService(type: CBUUID(string: uuid), primary: true)
      change(service)
      fixture.manager.add(service)
      fixture.host.settle()
    }
    add("1800")
    add("1801")
    add("1234") {
      $0.characteristics = [
        CBMutableCharacteristic(
          type: CBUUID(string: "0001"), properties: [.read, .notify], value: Data([1]),
          permissions: .readable)
      ]
    }
    add("1235") {
      let characteristic = CBMutableCharacteristic(
        type: CBUUID(string: "0001"), properties: .read, value: nil, permissions: .readable)
      characteristic.descriptors = [
        CBMutableDescriptor(type: CBUUID(string: "2902"), value: NSNumber(value: 0))
      ]
      $0.characteristics = [characteristic]
    }
    add("1236") { $0.includedServices = [fixture.service] }
    #expect(
      fixture.record.lines
        == [
          "added 1800 uuidNotAllowed", "added 1801 uuidNotAllowed",
          "added 1234 invalidParameters", "added 1235 invalidParameters",
          "added 1236 invalidParameters",
        ])
    #expect(fixture.host.requests.isEmpty)
  }

  @Test("static values, descriptors and encryption reach the host")
  func definition() throws {
    let fixture = PeripheralManagerFixture(published: false)
    let fixed = CBMutableCharacteristic(
      type: CBUUID(string: "2A29"), properties: .read, value: Data("Ambit".utf8),
      permissions: .readable)
    fixed.descriptors = [CBMutableDescriptor(type: CBUUID(string: "2901"), value: "Maker")]
    let secret = CBMutableCharacteristic(
      type: CBUUID(string: "0002"), properties: [.notifyEncryptionRequired], value: nil,
      permissions: .readEncryptionRequired)
    fixture.service.characteristics = [fixed, secret]
    fixture.manager.add(fixture.service)
    guard case .addService(let definition, _) = fixture.host.requests.last else {
      Issue.record("nothing published")
      return
    }
    #expect(definition.characteristics[0].value == Array("Ambit".utf8))
    #expect(
      definition.characteristics[0].descriptors
        == [DescriptorDefinition(uuid: 0x2901, value: Array("Maker".utf8))])
    #expect(definition.characteristics[1].properties == .notify)
    #expect(definition.characteristics[1].subscribingRequiresEncryption)
    #expect(definition.characteristics[1].permissions == .readEncryptionRequired)
    #expect(fixed.service === fixture.service)
  }

  @Test("a read is answered with the value from its offset on")
  func reads() throws {
    let fixture = PeripheralManagerFixture()
    fixture.host.deliver(fixture.read(32, offset: 2))
    let request = try #require(fixture.recorder.reads.first)
    #expect(request.characteristic === fixture.temperature)
    #expect(request.central.identifier == PeerIdentifier.uuid(of: .phone))
    request.value = Data([3, 4])
    fixture.manager.respond(to: request, withResult: .success)
    #expect(fixture.lastResponse == .success([3, 4]))
    let count = fixture.host.requests.count
    fixture.manager.respond(to: request, withResult: .success)
    #expect(fixture.host.requests.count == count, "a second answer goes nowhere")
    fixture.host.deliver(fixture.read(32, id: 2))
    fixture.manager.respond(
      to: try #require(fixture.recorder.reads.last), withResult: .invalidOffset)
    #expect(fixture.lastResponse == .failure(.invalidOffset))
    fixture.host.deliver(fixture.read(99, id: 3))
    #expect(fixture.lastResponse == .failure(.invalidHandle))
  }

  @Test("a batch of writes is answered by its first request")
  func writes() throws {
    let fixture = PeripheralManagerFixture()
    fixture.host.deliver(
      .serverRequest(
        ServerRequest(
          id: ServerRequestID(rawValue: 1), peer: .phone,
          kind: .write([
            .init(handle: 35, offset: 0, value: [1, 2]),
            .init(handle: 35, offset: 2, value: [3]),
          ]), needsResponse: true)))
    #expect(fixture.record.lines == ["write [\"2A6F at 0\", \"2A6F at 2\"]"])
    let requests = try #require(fixture.recorder.writes.first)
    #expect(requests[1].value == Data([3]))
    let count = fixture.host.requests.count
    fixture.manager.respond(to: requests[1], withResult: .success)
    #expect(fixture.host.requests.count == count)
    fixture.manager.respond(to: requests[0], withResult: .writeNotPermitted)
    #expect(fixture.lastResponse == .failure(.writeNotPermitted))
  }

  @Test("a delegate that implements no requests answers that they are not supported")
  func unimplemented() {
    final class Minimal: NSObject, CBPeripheralManagerDelegate {
      func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {}
    }
    let fixture = PeripheralManagerFixture()
    let minimal = Minimal()
    fixture.manager.delegate = minimal
    fixture.host.deliver(fixture.read(32))
    #expect(fixture.lastResponse == .failure(.requestNotSupported))
    fixture.manager.delegate = nil
    fixture.host.deliver(fixture.read(32, id: 2))
    #expect(fixture.lastResponse == .failure(.requestNotSupported))
  }

  @Test("subscribers come and go, and know how long a value may be")
  func subscribers() throws {
    let fixture = PeripheralManagerFixture()
    var link = LinkInfo(peer: .phone, role: .peripheral)
    link.mtu = 100
    fixture.host.deliver(.linkOpened(link), .subscribed(.phone, handle: 32))
    let central = try #require(fixture.recorder.centrals.first)
    #expect(fixture.temperature.subscribedCentrals == [central])
    link.mtu = 185
    fixture.host.deliver(.linkUpdated(link))
    #expect(central.maximumUpdateValueLength == 182)
    fixture.host.deliver(fixture.read(32))
    #expect(fixture.recorder.reads.first?.central === central)
    fixture.host.deliver(.unsubscribed(.phone, handle: 32))
    #expect(fixture.temperature.subscribedCentrals == [])
    #expect(
      fixture.record.lines == ["subscribed 2A6E 97", "read 2A6E at 0", "unsubscribed 2A6E"])
  }

  @Test("updates fill a window, are refused beyond, and resume when there is room")
  func updateWindow() throws {
    let fixture = PeripheralManagerFixture()
    fixture.host.deliver(.subscribed(.phone, handle: 32))
    fixture.record.clear()
    func update() -> Bool {
      fixture.manager.updateValue(
        Data([1]), for: fixture.temperature, onSubscribedCentrals: nil)
    }
    for _ in 0..<Limits.updatesMax { #expect(update()) }
    #expect(!update())
    let updates = fixture.host.requests.filter { $0.name == "updateValue" }.compactMap(\.token)
    #expect(updates.count == Limits.updatesMax)
    for token in updates { fixture.host.deliver(.completed(token, .success(.done))) }
    #expect(fixture.record.lines == ["ready"])
    #expect(update())
    let stranger = CBMutableCharacteristic(
      type: CBUUID(string: "0001"), properties: .notify, value: nil, permissions: [])
    #expect(
      !fixture.manager.updateValue(Data(), for: stranger, onSubscribedCentrals: nil))
  }

  @Test("advertising starts once and is reported, and ends with the radio")
  func advertising() {
    let fixture = PeripheralManagerFixture()
    let data: [String: Any] = [
      CBAdvertisementDataLocalNameKey: "Home",
      CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "181A")],
    ]
    fixture.manager.startAdvertising(data)
    #expect(!fixture.manager.isAdvertising)
    fixture.host.answer(.success(.done))
    #expect(fixture.manager.isAdvertising)
    fixture.manager.startAdvertising(data)
    fixture.host.settle()
    #expect(fixture.record.take() == ["advertising ok", "advertising alreadyAdvertising"])
    fixture.host.deliver(.stateChanged(.poweredOff))
    #expect(!fixture.manager.isAdvertising)
    fixture.host.deliver(.stateChanged(.poweredOn))
    fixture.manager.startAdvertising(data)
    fixture.host.answer(.failure(.controller(HCIStatus(rawValue: 0x0C))))
    #expect(!fixture.manager.isAdvertising)
  }

  @Test("a radio that starts anew forgets the services")
  func reset() {
    let fixture = PeripheralManagerFixture()
    fixture.host.deliver(.stateChanged(.resetting), .stateChanged(.poweredOn))
    #expect(fixture.host.requests.contains { $0.name == "removeAllServices" })
    fixture.record.clear()
    fixture.publish()
    #expect(fixture.record.lines == ["added 181A ok"])
  }

  @Test("a service that is removed before it was published does not stay")
  func removedEarly() {
    let fixture = PeripheralManagerFixture(published: false)
    fixture.manager.add(fixture.service)
    fixture.manager.remove(fixture.service)
    fixture.host.answer(
      .success(.published(PublishedService(range: HandleRange(30, 35), characteristics: []))))
    #expect(fixture.host.requests.last?.name == "removeService")
    #expect(fixture.record.lines.isEmpty)
  }

  private func published(at handle: UInt16) -> Result<HostReply, HostError> {
    .success(
      .published(
        PublishedService(
          range: HandleRange(handle, handle + 5),
          characteristics: [
            PublishedCharacteristic(valueHandle: handle + 2, configurationHandle: handle + 3),
            PublishedCharacteristic(valueHandle: handle + 5, configurationHandle: nil),
          ])))
  }

  private func removed(_ host: ScriptedHost) -> [UInt16] {
    host.requests.compactMap { if case .removeService(let handle) = $0 { handle } else { nil } }
  }

  @Test("a service that is removed and added anew before it was published is there once")
  func addedAnew() {
    let fixture = PeripheralManagerFixture(published: false)
    fixture.manager.add(fixture.service)
    fixture.manager.remove(fixture.service)
    fixture.manager.add(fixture.service)
    fixture.host.answer(at: 0, published(at: 30))
    fixture.host.answer(at: 1, published(at: 40))
    #expect(removed(fixture.host) == [30])
    #expect(fixture.record.take() == ["added 181A ok"])
    fixture.host.deliver(fixture.read(42))
    #expect(fixture.record.lines == ["read 2A6E at 0"])
  }

  @Test("a service that the host removed with all others is not removed once more")
  func removedWithAll() {
    let fixture = PeripheralManagerFixture(published: false)
    fixture.manager.add(fixture.service)
    fixture.manager.removeAllServices()
    fixture.manager.add(fixture.service)
    fixture.host.answer(at: 0, published(at: 30))
    fixture.host.answer(at: 1, published(at: 30))
    #expect(removed(fixture.host).isEmpty)
    #expect(fixture.record.lines == ["added 181A ok"])
  }

  @Test("the end of an earlier start does not affect the advertising that runs")
  func advertisedAnew() {
    let fixture = PeripheralManagerFixture()
    fixture.manager.startAdvertising(nil)
    fixture.manager.stopAdvertising()
    fixture.manager.startAdvertising(nil)
    fixture.host.answer(at: 1, .failure(.cancelled))
    #expect(fixture.record.lines.isEmpty)
    fixture.host.answer(at: 2, .success(.done))
    #expect(fixture.record.lines == ["advertising ok"])
    #expect(fixture.manager.isAdvertising)
  }

  @Test("the first state is reported when the radio has started")
  func firstState() {
    let fixture = PeripheralManagerFixture(poweredOn: false)
    fixture.host.deliver(.stateChanged(.unknown), .stateChanged(.resetting))
    #expect(fixture.record.lines.isEmpty)
    fixture.host.deliver(.stateChanged(.poweredOff))
    #expect(fixture.record.lines == ["state poweredOff"])
  }

  @Test("absurd arguments do no harm")
  func absurd() {
    let fixture = PeripheralManagerFixture()
    fixture.manager.startAdvertising([
      CBAdvertisementDataLocalNameKey: String(repeating: "ä", count: 100_000),
      CBAdvertisementDataServiceUUIDsKey: (0..<1_000).map { number in
        CBUUID(data: Data([UInt8(number / 256), UInt8(number % 256)]))
      },
    ])
    let count = fixture.host.requests.count
    #expect(
      fixture.manager.updateValue(
        Data(count: 100_000), for: fixture.temperature, onSubscribedCentrals: []))
    #expect(fixture.host.requests.count == count + 1)
    #expect(
      !fixture.manager.updateValue(
        Data(),
        for: CBMutableCharacteristic(
          type: CBUUID(string: "2A6E"), properties: .notify, value: nil, permissions: []),
        onSubscribedCentrals: nil))
    let other = PeripheralManagerFixture(published: false)
    other.manager.add(fixture.service)
    other.manager.remove(fixture.service)
    other.host.settle()
    #expect(other.record.lines == ["added 181A invalidParameters"])
    #expect(other.host.requests.isEmpty)
  }

  @Test("channels are published, opened and unpublished")
  func channels() {
    let fixture = PeripheralManagerFixture()
    fixture.manager.publishL2CAPChannel(withEncryption: false)
    fixture.host.answer(.success(.psm(0x81)))
    let info = ChannelInfo(
      id: ChannelID(rawValue: 1), peer: .phone, psm: 0x81, peerMTU: 100)
    fixture.host.deliver(.channelOpened(info))
    #expect(fixture.recorder.channel?.psm == 0x81)
    fixture.recorder.channel = nil
    #expect(fixture.host.requests.last?.name == "closeChannel")
    fixture.manager.unpublishL2CAPChannel(0x81)
    fixture.host.settle()
    #expect(fixture.record.lines == ["published ok", "channel ok", "unpublished 129 ok"])
  }
}

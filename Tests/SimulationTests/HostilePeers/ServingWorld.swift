import BluetoothInterface
import BluetoothWire
import Essentials
import Simulation
import Testing

@testable import BluetoothMachines

/// The client of a host that serves: it published a service, and a hostile central as well as an
/// honest one can connect.
final class ServingWorld: HostileWorld {
  static let service: BluetoothUUID = 0xFFB0
  static let register: BluetoothUUID = 0xFFB1
  static let constant: BluetoothUUID = 0xFFB2
  static let indicated: BluetoothUUID = 0xFFB3
  static let constantValue = Array("constant".utf8)

  /// The honest central.
  private(set) lazy var phone = HostClient(2, in: world, at: Position(x: 3))
  /// The values written to the register.
  private(set) var written: [[UInt8]] = []
  private(set) var requestCount = 0
  /// The handle of each characteristic's value; its configuration follows it.
  private(set) var handles: [BluetoothUUID: UInt16] = [:]
  /// Whether requests are answered.
  var isAnswering = true

  init(radio: RadioModel = .ideal) throws {
    try super.init(radio: radio, peerIsPeripheral: false)
    host.answer = { [weak self] in self?.answer($0) }
    let both: AttributePermissions = [.readable, .writeable]
    let all: CharacteristicProperties = [.read, .write, .writeWithoutResponse, .notify]
    let definition = ServiceDefinition(
      uuid: Self.service,
      characteristics: [
        CharacteristicDefinition(uuid: Self.register, properties: all, permissions: both),
        CharacteristicDefinition(
          uuid: Self.constant, properties: .read, permissions: .readable,
          value: Self.constantValue),
        CharacteristicDefinition(
          uuid: Self.indicated, properties: [.read, .indicate], permissions: .readable),
      ])
    let reply = try #require(complete { .addService(definition, $0) }).get()
    guard case .published(let place) = reply else { throw HostError.invalidResponse }
    for (characteristic, place) in zip(definition.characteristics, place.characteristics) {
      handles[characteristic.uuid] = place.valueHandle
    }
    #expect(complete { .startAdvertising(AdvertisingOptions(), $0) } == .success(.done))
    phone.world.run(for: .milliseconds(200))
    try #require(phone.host.machine.state == .poweredOn)
  }

  var registerHandle: UInt16 { handles[Self.register] ?? 0 }
  var indicatedHandle: UInt16 { handles[Self.indicated] ?? 0 }

  private func answer(_ request: ServerRequest) -> Result<[UInt8], ATTErrorCode>? {
    requestCount += 1
    guard isAnswering else { return nil }
    switch request.kind {
    case .read(_, let offset):
      let value = Pattern.written(300)
      return offset <= value.count ? .success(Array(value[offset...])) : .failure(.invalidOffset)
    case .write(let writes):
      for write in writes { written.append(write.value) }
      return .success([])
    }
  }

  // MARK: The hostile central

  /// The hostile peer connects to our host.
  func intrude() throws {
    forgetEvents()
    peer.connect(to: address)
    try #require(wait { if case .linkOpened = $0 { true } else { false } })
    try #require(peer.handle != nil)
  }

  /// What our host answers to a PDU of the hostile peer.
  func answers(to pdu: [UInt8]) -> [[UInt8]] {
    let count = peer.heard.count
    peer.attribute(pdu)
    world.run(for: .milliseconds(50))
    return peer.heard.dropFirst(count).filter { $0.channel == L2CAPChannelIdentifier.attribute }
      .map(\.payload)
  }

  /// The only answer to a PDU of the hostile peer, as it goes over the wire.
  func answer(to hex: String) -> String {
    answers(to: bytes(hex)).map(Hexadecimal.string).joined(separator: ", ")
  }

  /// Whether our host answers the hostile peer as any other.
  var isServing: Bool {
    answers(to: ATTPDU.readRequest(handle: handles[Self.constant] ?? 0).bytes)
      == [ATTPDU.readResponse(value: Self.constantValue[...]).bytes]
  }

  // MARK: The honest central

  /// Discovers and reads the services of our host, over an open link.
  func usePhone() throws {
    let found = try phone.characteristics(in: Self.service, of: address)
    let constant = try #require(found[Self.constant]).valueHandle
    #expect(phone.gatt(.read(constant), on: address) == .success(.value(Self.constantValue)))
    let register = try #require(found[Self.register]).valueHandle
    #expect(phone.gatt(.read(register), on: address) == .success(.value(Pattern.written(300))))
    #expect(phone.gatt(.write(register, [7]), on: address) == .success(.done))
    #expect(written.last == [7])
  }

  /// As of any host; and an honest central can connect to it, discover and read.
  override func expectUnharmed() throws {
    peer.disconnect()
    isAnswering = true
    try phone.meet(address)
    try usePhone()
    try phone.part(address)
    try super.expectUnharmed()
    #expect(phone.host.checkQuiet() == [])
  }
}

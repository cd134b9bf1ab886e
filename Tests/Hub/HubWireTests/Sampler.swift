import BluetoothInterface
import BluetoothWire
import Essentials

@testable import HubWire

/// Draws values of every kind from a seed.
struct Sampler {
  private var generator: SeededGenerator

  init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  mutating func number<Number: FixedWidthInteger>(_: Number.Type = Number.self) -> Number {
    // Small numbers and the ends of the range as often as those between.
    switch generator.next(upperBound: UInt64(4)) {
    case 0: Number(truncatingIfNeeded: generator.next(upperBound: UInt64(3)))
    case 1: Number.max - Number(truncatingIfNeeded: generator.next(upperBound: UInt64(3)))
    case 2: Number(truncatingIfNeeded: generator.next(upperBound: UInt64(1) << 16))
    default: Number(truncatingIfNeeded: generator.next())
    }
  }

  mutating func count() -> Int { Int(number(UInt32.self) >> 1) }
  mutating func below(_ limit: Int) -> Int { Int(generator.next(upperBound: UInt64(limit))) }
  mutating func bool() -> Bool { below(2) == 1 }

  mutating func element<Element>(of elements: [Element]) -> Element {
    elements[below(elements.count)]
  }

  mutating func optional<Value>(_ draw: (inout Sampler) -> Value) -> Value? {
    bool() ? draw(&self) : nil
  }

  mutating func list<Value>(_ draw: (inout Sampler) -> Value) -> [Value] {
    (0..<below(4)).map { _ in draw(&self) }
  }

  mutating func bytes() -> [UInt8] {
    let count = below(8) == 0 ? below(600) : below(20)
    return (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
  }

  mutating func slice() -> ArraySlice<UInt8> {
    let bytes = self.bytes()
    return ([1, 2] + bytes + [3])[2..<(2 + bytes.count)]
  }

  mutating func text() -> String { element(of: ["", "Lamp", "Gerät №1 🩺", "e\u{301}\u{0}"]) }

  // MARK: Values

  mutating func address() -> DeviceAddress {
    DeviceAddress(bits: number(), kind: bool() ? .random : .public)
  }

  mutating func uuid() -> BluetoothUUID {
    switch below(3) {
    case 0: BluetoothUUID(number(UInt16.self))
    case 1: BluetoothUUID(number(UInt32.self))
    default: BluetoothUUID(high: number(), low: number())
    }
  }

  mutating func range() -> HandleRange { HandleRange(number(), number()) }
  mutating func token() -> RequestToken { RequestToken(rawValue: number()) }
  mutating func channelID() -> ChannelID { ChannelID(rawValue: number()) }
  mutating func serverRequestID() -> ServerRequestID { ServerRequestID(rawValue: number()) }
  mutating func promptID() -> PairingPromptID { PairingPromptID(rawValue: number()) }
  mutating func session() -> HubSessionID { HubSessionID(rawValue: number()) }
  mutating func status() -> HCIStatus { HCIStatus(rawValue: number()) }
  mutating func span() -> TimeSpan { TimeSpan(nanoseconds: number()) }
  mutating func secret() -> SMPValue { SMPValue(number: number()) }
  mutating func phy() -> PHY { element(of: Self.phys) }

  private static let phys = (UInt8.min...UInt8.max).compactMap(PHY.init(rawValue:))

  mutating func interval() -> ClosedRange<UInt16> {
    let (one, other): (UInt16, UInt16) = (number(), number())
    return min(one, other)...max(one, other)
  }

  mutating func parameters() -> ConnectionParameters {
    ConnectionParameters(intervalUnits: interval(), latency: number(), timeoutUnits: number())
  }

  mutating func attributeValue() -> AttributeValue {
    AttributeValue(handle: number(), value: bytes())
  }

  mutating func channel() -> ChannelInfo {
    ChannelInfo(id: channelID(), peer: address(), psm: number(), peerMTU: count())
  }

  mutating func link() -> LinkInfo { link(element(of: LinkInfo.Role.allCases)) }

  mutating func link(_ role: LinkInfo.Role) -> LinkInfo {
    var link = LinkInfo(peer: address(), role: role)
    link.mtu = count()
    link.intervalUnits = number()
    link.latency = number()
    link.timeoutUnits = number()
    link.subrateFactor = number()
    link.continuationNumber = number()
    link.transmitPHY = phy()
    link.receivePHY = phy()
    link.sentPacketByteCountMax = count()
    link.receivedPacketByteCountMax = count()
    link.encryption = optional {
      EncryptionInfo(
        keyByteCount: $0.count(), isAuthenticated: $0.bool(), isSecureConnections: $0.bool())
    }
    link.name = optional { $0.text() }
    link.services = list { $0.uuid() }
    return link
  }

  mutating func report() -> AdvertisingReport {
    AdvertisingReport(
      address: address(), isConnectable: bool(), isScannable: bool(), isLegacy: bool(),
      rssi: number(), txPower: number(), data: slice(), scanResponse: slice(),
      heardAt: Instant(nanoseconds: number()))
  }

  mutating func definition() -> ServiceDefinition {
    ServiceDefinition(
      uuid: uuid(), isPrimary: bool(), includedServices: list { $0.number() },
      characteristics: list { sampler in
        CharacteristicDefinition(
          uuid: sampler.uuid(), properties: CharacteristicProperties(rawValue: sampler.number()),
          permissions: AttributePermissions(rawValue: sampler.number()),
          value: sampler.optional { $0.bytes() },
          subscribingRequiresEncryption: sampler.bool(),
          subscribingRequiresAuthentication: sampler.bool(),
          descriptors: sampler.list { DescriptorDefinition(uuid: $0.uuid(), value: $0.bytes()) })
      })
  }

  mutating func target() -> SubscriptionTarget {
    var target = SubscriptionTarget(
      valueHandle: number(), endHandle: number(), usesIndications: bool())
    target.configurationHandle = optional { $0.number() }
    return target
  }
}

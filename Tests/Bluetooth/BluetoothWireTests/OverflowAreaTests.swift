import BluetoothWire
import Essentials
import Testing

@Suite("The overflow area")
struct OverflowAreaTests {
  private func read(_ structure: [UInt8]) throws -> OverflowArea? {
    let first = try #require(AdvertisingData(structure[...]).first { _ in true })
    guard case .manufacturerData(let company, let bytes) = first.element else { return nil }
    return OverflowArea(company: company, data: bytes)
  }

  @Test("the overflow area holds the UUIDs that were put in, and comes back from its bytes")
  func roundTrip() throws {
    let services: [BluetoothUUID] = [
      0x180D, 0x180F, BluetoothUUID(high: 0x6E40_0001_B5A3_F393, low: 0xE0A9_E50E_24DC_CA9E),
    ]
    let area = OverflowArea(services)
    #expect(area.structure.count == OverflowArea.structureByteCount)
    #expect(try read(area.structure) == area)
    for service in services { #expect(area.contains(service)) }
    #expect(!OverflowArea([]).contains(0x180D))
  }

  @Test("the overflow area has bytes that don't change from one version to the next")
  func vector() {
    let service = BluetoothUUID(high: 0x6E40_0001_B5A3_F393, low: 0xE0A9_E50E_24DC_CA9E)
    #expect(
      Hexadecimal.string(OverflowArea([service]).structure)
        == "12ffffff410400000000000000008008000000")
  }

  @Test("an overflow area of three services matches fewer than one in a thousand others")
  func falseMatches() {
    var random = SeededGenerator(seed: 3)
    func uuid() -> BluetoothUUID { BluetoothUUID(high: random.next(), low: random.next()) }
    var count = 0
    for _ in 0..<100 {
      let area = OverflowArea([uuid(), uuid(), uuid()])
      for _ in 0..<1_000 where area.contains(uuid()) { count += 1 }
    }
    #expect(count < 100, "\(count) of 100,000")
  }

  @Test("an overflow area is not mistaken for other manufacturer data")
  func others() {
    let area = Array(OverflowArea([0x180D]).structure.dropFirst(4))
    #expect(OverflowArea(company: 0xFFFF, data: area[...]) != nil)
    #expect(OverflowArea(company: 0x004C, data: area[...]) == nil)
    #expect(OverflowArea(company: 0xFFFF, data: area.dropLast()) == nil)
    #expect(OverflowArea(company: 0xFFFF, data: (area + [0])[...]) == nil)
    #expect(OverflowArea(company: 0xFFFF, data: [0] + area.dropFirst()) == nil)
    #expect(OverflowArea(company: 0xFFFF, data: []) == nil)
  }
}

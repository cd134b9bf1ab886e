import BluetoothWire
import Essentials
import Testing

@Suite("Advertising data")
struct AdvertisingDataTests {
  @Test("the advertising data of a heart-rate strap are read")
  func heartRateStrap() throws {
    let bytes = try #require(
      Hexadecimal.bytes("020106 03030d18 09095374726170203132 020af4 0319 4103 06ff 4c000215ab"))
    let fields = AdvertisingFields(bytes[...])
    #expect(fields.flags == [.generalDiscoverable, .classicNotSupported])
    #expect(fields.services == [0x180D])
    #expect(fields.localName == "Strap 12")
    #expect(fields.isLocalNameComplete)
    #expect(fields.txPowerLevel == -12)
    #expect(fields.appearance == 0x0341)
    #expect(fields.manufacturerData == .init(company: 0x004C, data: [0x02, 0x15, 0xAB]))
    #expect(AdvertisingData(bytes[...]).listsService(0x180D))
    #expect(!AdvertisingData(bytes[...]).listsService(0x180F))
    #expect(!AdvertisingData(bytes[...]).isMalformed)
  }

  @Test("UUIDs of every width, solicited services and service data are read")
  func widths() throws {
    let long = try #require(BluetoothUUID("6E400001-B5A3-F393-E0A9-E50E24DCCA9E"))
    let middle = BluetoothUUID(UInt32(0x0001_180D))
    var builder = AdvertisingDataBuilder(byteCountMax: 200)
    let leftA = builder.append(services: [long, 0x180D, middle, 0x180F])
    #expect(leftA.isEmpty)
    let leftB = builder.append(solicitedServices: [0x1812, long])
    #expect(leftB.isEmpty)
    let fitsC = builder.append(serviceData: 0x180F, [42])
    #expect(fitsC)
    let fitsD = builder.append(serviceData: middle, [1])
    #expect(fitsD)
    let fitsE = builder.append(serviceData: long, [])
    #expect(fitsE)
    let fields = AdvertisingFields(builder.bytes[...])
    #expect(fields.services == [0x180D, 0x180F, middle, long])
    #expect(fields.solicitedServices == [0x1812, long])
    #expect(fields.serviceData == [0x180F: [42], middle: [1], long: []])
    #expect(AdvertisingData(builder.bytes[...]).solicitsService(long))
  }

  @Test("a name in the advertisement is completed by the scan response, not shortened")
  func nameFromScanResponse() {
    let short: [UInt8] = [3, 0x08, 0x41, 0x42]
    let whole: [UInt8] = [4, 0x09, 0x41, 0x42, 0x43]
    #expect(AdvertisingFields(short[...], scanResponse: whole[...]).localName == "ABC")
    #expect(AdvertisingFields(whole[...], scanResponse: short[...]).localName == "ABC")
  }

  @Test("data before a structure that is too long is kept, and the fault is reported")
  func tooLong() {
    let bytes: [UInt8] = [2, 0x01, 0x06, 9, 0x09, 0x41]
    #expect(AdvertisingFields(bytes[...]).flags == [.generalDiscoverable, .classicNotSupported])
    #expect(AdvertisingFields(bytes[...]).localName == nil)
    #expect(AdvertisingData(bytes[...]).isMalformed)
  }

  @Test("a structure of length zero ends the data")
  func earlyTermination() {
    let bytes: [UInt8] = [2, 0x0A, 4, 0, 2, 0x0A, 8]
    #expect(AdvertisingFields(bytes[...]).txPowerLevel == 4)
    #expect(!AdvertisingData(bytes[...]).isMalformed)
  }

  @Test("bytes that don't fit their type are handed over as they are")
  func unknown() {
    let bytes: [UInt8] = [4, 0x03, 1, 2, 3, 1, 0x0A, 2, 0x16, 1, 2, 0x77, 5]
    let elements = AdvertisingData(bytes[...]).map(\.element)
    #expect(
      elements == [
        .unknown(.completeServices16, [1, 2, 3]), .unknown(.txPowerLevel, []),
        .unknown(.serviceData16, [1]), .unknown(AdvertisingDataType(rawValue: 0x77), [5]),
      ])
  }

  @Test("the builder never passes its bound: names are cut between characters, UUIDs left over")
  func bounds() throws {
    var builder = AdvertisingDataBuilder()
    builder.append([.generalDiscoverable])
    let leftF = builder.append(services: (0..<10).map { BluetoothUUID(0x1800 + UInt16($0)) })
    #expect(leftF.isEmpty)
    #expect(builder.room == 4)
    let fitsG = builder.append(localName: "Aäöü")
    #expect(fitsG)
    #expect(builder.bytes.count == 30)
    #expect(builder.bytes.suffix(3) == [0x41, 0xC3, 0xA4])
    let fitsH = builder.append(txPowerLevel: 0)
    #expect(!fitsH)
    var full = AdvertisingDataBuilder()
    let left = full.append(services: (0..<20).map { BluetoothUUID(0x1800 + UInt16($0)) })
    #expect(left.count == 6)
    #expect(full.bytes.prefix(2) == [29, 0x02])
    let long = try #require(BluetoothUUID("6E400001-B5A3-F393-E0A9-E50E24DCCA9E"))
    let longLeft = full.append(services: [long])
    #expect(longLeft == [long])
    #expect(full.bytes.count <= 31)
  }

  @Test("any bytes can be read, cut anywhere")
  func hostile() {
    for seed in UInt64(0)..<3_000 {
      var random = SeededGenerator(seed: seed)
      let types: [UInt8] = [1, 2, 3, 5, 7, 8, 9, 10, 0x12, 0x14, 0x16, 0x19, 0x20, 0x21, 0xFF]
      let bytes = (0..<Int.random(in: 0...64, using: &random)).map { index in
        switch random.next() % 4 {
        case 0: UInt8.random(in: 0...20, using: &random)
        case 1: types[Int(random.next() % UInt64(types.count))]
        default: UInt8.random(in: .min ... .max, using: &random)
        }
      }
      for count in 0...bytes.count {
        let slice = bytes[(bytes.count - count)...]
        let structures = Array(AdvertisingData(slice))
        let total = structures.reduce(0) { $0 + $1.data.count + 2 }
        #expect(total <= count, "seed \(seed)")
        _ = AdvertisingFields(slice, scanResponse: bytes[..<count])
      }
    }
  }
}

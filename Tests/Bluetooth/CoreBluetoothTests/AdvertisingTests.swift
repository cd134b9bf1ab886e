import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines
@testable import CoreBluetooth

@Suite("Advertising data, both ways")
struct AdvertisingTests {
  private func report(_ data: [UInt8], _ scanResponse: [UInt8] = []) -> AdvertisingReport {
    AdvertisingReport(
      address: .strap, isConnectable: true, isScannable: true, isLegacy: true, rssi: -60,
      data: data[...], scanResponse: scanResponse[...], heardAt: .zero)
  }

  private func dictionary(
    name: String?, services: [BluetoothUUID], scanned: [BluetoothUUID] = []
  ) -> [String: Any] {
    let options = AdvertisingPlan(name: name, services: services).options
    #expect(options.data.count <= 31)
    #expect(options.scanResponse.count <= 31)
    return Advertisement(
      report(options.data, options.scanResponse), scannedServices: scanned
    ).dictionary
  }

  @Test("the dictionary has Apple's keys and value types")
  func dictionaryTypes() throws {
    let data: [UInt8] =
      [2, 0x01, 6] + [3, 0x03, 0x0D, 0x18] + [5, 0x09, 0x48, 0x52, 0x4D, 0x21]
      + [2, 0x0A, 0xF4] + [5, 0x16, 0x0F, 0x18, 1, 2] + [5, 0xFF, 0x4C, 0x00, 7, 8]
      + [3, 0x14, 0x0A, 0x18]
    let dictionary = Advertisement(report(data)).dictionary
    #expect(dictionary[CBAdvertisementDataLocalNameKey] as? String == "HRM!")
    #expect(
      dictionary[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] == [CBUUID(string: "180D")])
    #expect((dictionary[CBAdvertisementDataTxPowerLevelKey] as? NSNumber)?.intValue == -12)
    #expect(dictionary[CBAdvertisementDataTxPowerLevelKey] as? Int == -12)
    #expect(dictionary[CBAdvertisementDataIsConnectable] as? Bool == true)
    #expect((dictionary[CBAdvertisementDataIsConnectable] as? NSNumber)?.boolValue == true)
    #expect(
      dictionary[CBAdvertisementDataServiceDataKey] as? [CBUUID: Data]
        == [CBUUID(string: "180F"): Data([1, 2])])
    #expect(
      dictionary[CBAdvertisementDataManufacturerDataKey] as? Data == Data([0x4C, 0, 7, 8]))
    #expect(
      dictionary[CBAdvertisementDataSolicitedServiceUUIDsKey] as? [CBUUID]
        == [CBUUID(string: "180A")])
    #expect(dictionary[CBAdvertisementDataOverflowServiceUUIDsKey] == nil)
  }

  @Test("advertising data that makes no sense is survived")
  func hostile() {
    var random = SeededGenerator(seed: 5)
    for _ in 0..<2_000 {
      let bytes = (0..<Int(random.next() % 40)).map { _ in UInt8(truncatingIfNeeded: random.next())
      }
      #expect(Advertisement(report(bytes, bytes)).dictionary.count >= 1)
    }
  }

  @Test("a name and a service that fit are in the advertising data")
  func fits() {
    let options = AdvertisingPlan(name: "Strap", services: [0x180D]).options
    #expect(options.data == [2, 1, 6, 3, 3, 0x0D, 0x18, 6, 9] + Array("Strap".utf8))
    #expect(options.scanResponse.isEmpty)
    #expect(AdvertisingPlan(name: nil, services: []).options.data == [2, 1, 6])
  }

  @Test("a name that does not fit goes to the scan response, cut to ten bytes at a character")
  func longName() {
    let long = "A heart-rate strap for you"
    let options = AdvertisingPlan(name: long + "!", services: []).options
    #expect(options.scanResponse == [11, 8] + Array(long.utf8.prefix(10)))
    #expect(AdvertisingPlan(name: long, services: []).options.scanResponse.isEmpty)
    let umlauts = AdvertisingPlan(name: "aöööööööööööööööö", services: []).options
    #expect(umlauts.scanResponse == [10, 8] + Array("aöööö".utf8))
  }

  private func long(_ number: Int) throws -> BluetoothUUID {
    try #require(BluetoothUUID("6E40000\(number)-B5A3-F393-E0A9-E50E24DCCA9E"))
  }

  @Test("services that do not fit are in the overflow area, where a scan for them finds them all")
  func overflow() throws {
    let services = try (1...5).map { try long($0) }
    for scanned in services.dropFirst() {
      let found = dictionary(
        name: "A name that is long", services: services, scanned: [scanned, 0x180D])
      #expect(found[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] == [CBUUID(services[0])])
      #expect(found[CBAdvertisementDataOverflowServiceUUIDsKey] as? [CBUUID] == [CBUUID(scanned)])
      #expect(found[CBAdvertisementDataManufacturerDataKey] == nil)
      #expect(found[CBAdvertisementDataLocalNameKey] as? String == "A name tha")
    }
    let open = dictionary(name: nil, services: services)
    #expect(open[CBAdvertisementDataOverflowServiceUUIDsKey] == nil)

    let mixed = dictionary(name: nil, services: [0x180D, 0x180F, services[0], services[1]])
    #expect(
      mixed[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID]
        == [CBUUID(string: "180D"), CBUUID(string: "180F"), CBUUID(services[0])])
  }

  @Test("only a scan for a service in the overflow area finds its advertiser")
  func explicitScan() throws {
    let services = try (1...5).map { try long($0) }
    let options = AdvertisingPlan(name: nil, services: services).options
    func matches(_ scanned: BluetoothUUID) -> Bool {
      var scan = ScanOptions()
      scan.services = [scanned]
      return ServiceFilter(scan).matches(options.data[...], options.scanResponse[...])
    }
    for service in services { #expect(matches(service)) }
    #expect(!matches(0x180D))
    #expect(try !matches(long(6)))
  }
}

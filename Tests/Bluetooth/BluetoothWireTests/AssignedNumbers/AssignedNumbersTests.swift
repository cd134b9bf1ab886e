import BluetoothWire
import Essentials
import Testing

@Suite("Assigned numbers")
struct AssignedNumbersTests {
  @Test("services, characteristics, descriptors and companies have the names that the SIG gave")
  func names() {
    #expect(AssignedNumbers.serviceName(0x180D) == "Heart Rate")
    #expect(AssignedNumbers.serviceName(0x1800) == "Generic Access")
    #expect(AssignedNumbers.serviceName(0xFEFF) == "GN Netcom")
    #expect(AssignedNumbers.characteristicName(0x2A37) == "Heart Rate Measurement")
    #expect(AssignedNumbers.characteristicName(0x2A6E) == "Temperature")
    #expect(AssignedNumbers.descriptorName(0x2902) == "Client Characteristic Configuration")
    #expect(AssignedNumbers.companyName(0x004C) == "Apple, Inc.")
    #expect(AssignedNumbers.companyName(0x0000) == "Ericsson AB")
    #expect(AssignedNumbers.companyName(0x0059) == "Nordic Semiconductor ASA")
  }

  @Test("a 128-bit UUID that many devices use has a name too")
  func longNames() throws {
    let uart = try #require(BluetoothUUID("6E400001-B5A3-F393-E0A9-E50E24DCCA9E"))
    #expect(AssignedNumbers.serviceName(uart) == "Nordic UART Service")
  }

  @Test("an unassigned number has no name")
  func unknown() throws {
    #expect(AssignedNumbers.serviceName(0x0001) == nil)
    #expect(AssignedNumbers.characteristicName(0xFFFF) == nil)
    #expect(AssignedNumbers.descriptorName(0x180D) == nil)
    #expect(AssignedNumbers.companyName(0xFFFF) == nil)
    #expect(AssignedNumbers.serviceName(try #require(BluetoothUUID("12345678"))) == nil)
  }

  @Test("every number finds at most itself")
  func everyNumber() {
    var found = 0
    for number in UInt16.min...UInt16.max {
      if AssignedNumbers.characteristicName(BluetoothUUID(number)) != nil { found += 1 }
    }
    #expect(found > 400)
  }

  @Test("a name finds its number, whatever the case")
  func reverse() {
    #expect(AssignedNumbers.service(named: "heart rate") == 0x180D)
    #expect(AssignedNumbers.characteristic(named: "Battery Level") == 0x2A19)
    #expect(AssignedNumbers.service(named: "") == nil)
    #expect(AssignedNumbers.service(named: "no such service") == nil)
  }

  @Test("an appearance without a name of its own has its category's")
  func appearances() {
    #expect(AssignedNumbers.appearanceName(0x0341) == "Heart Rate Belt")
    #expect(AssignedNumbers.appearanceName(0x037F) == "Heart Rate Sensor")
    #expect(AssignedNumbers.appearanceName(0xFFFF) == nil)
  }
}

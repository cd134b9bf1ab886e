import DNSWire
import DiscoveryMachines
import Testing

@testable import AmbitCLI

@Suite("The table of services on the network")
struct NetworkTableTests {
  static func service(_ name: String, _ type: String) throws -> ServiceName {
    try ServiceName(instance: name, type: ServiceType(text: type))
  }

  static func table(count: Int) -> NetworkTable {
    var table = NetworkTable()
    for number in 0..<count {
      let name = "Büro 印刷 \u{1B}[31m \(number)"
      guard let service = try? service(name, "_ipp._tcp") else { continue }
      table.add(service, on: "wlan0")
    }
    return table
  }

  @Test("services of one name share a row, with their types as other commands take them")
  func oneRow() throws {
    var table = NetworkTable()
    table.add(try Self.service("Printer", "_ipp._tcp"), on: "eth0")
    table.add(try Self.service("Lamp", "_hap._tcp"), on: "eth0")
    table.add(try Self.service("Printer", "_http._tcp"), on: "eth0")
    table.add(try Self.service("Printer", "_scan._udp"), on: "wlan0")
    table.add(try Self.service("Printer", "_ipp._tcp"), on: "wlan0")
    let rows = table.ordered
    #expect(rows.map(\.name) == ["Printer", "Lamp"])
    #expect(rows.first?.types == ["_scan._udp", "http", "ipp"])
    #expect(rows.first?.interfaces == ["eth0", "wlan0"])
    let row = NearbyScreen.plainRow(try #require(rows.first))
    #expect(row.hasPrefix("  Printer "))
    for part in ["eth0, wlan0", "_scan._udp, http, ipp"] { #expect(row.contains(part)) }
  }

  @Test("an interface that is gone keeps the name that it had, so that its rows can go")
  func interfaceNames() async {
    let system = Guarded<[InterfaceIndex: String]>([InterfaceIndex(rawValue: 2): "eth0"])
    var names = InterfaceNames { system.value[$0] }
    #expect(await names.name(of: InterfaceIndex(rawValue: 2)) == "eth0")
    #expect(await names.name(of: nil) == nil)
    system.update { $0 = [:] }
    #expect(await names.name(of: InterfaceIndex(rawValue: 2)) == "eth0")
    #expect(await names.name(of: InterfaceIndex(rawValue: 3)) == nil)
    system.update { $0 = [InterfaceIndex(rawValue: 2): "lan"] }
    #expect(await names.name(of: InterfaceIndex(rawValue: 2)) == "lan", "it was renamed")
  }

  @Test("a row goes with its last service, and keeps its place until then")
  func removal() throws {
    var table = NetworkTable()
    let service = try Self.service("Printer", "_ipp._tcp")
    table.add(service, on: "eth0")
    table.add(service, on: "wlan0")
    table.add(try Self.service("Lamp", "_hap._tcp"), on: "eth0")
    table.remove(service, on: "eth0")
    #expect(table.ordered.map(\.name) == ["Printer", "Lamp"])
    table.remove(service, on: "eth0")
    #expect(table.count == 2)
    table.remove(service, on: "wlan0")
    #expect(table.ordered.map(\.name) == ["Lamp"])
    table.remove(try Self.service("Nobody", "_ipp._tcp"), on: "eth0")
    #expect(table.count == 1)
  }

  @Test("a network full of names and types makes the table grow to its bounds only")
  func bounds() throws {
    var table = NetworkTable()
    for number in 0..<NetworkTable.Limits.rowCount + 100 {
      table.add(try Self.service("N\(number)", "_ipp._tcp"), on: "eth0")
    }
    #expect(table.count == NetworkTable.Limits.rowCount)
    for number in 0..<NetworkTable.Limits.placeCount + 100 {
      table.add(try Self.service("N0", "_t\(number)._tcp"), on: "eth0")
    }
    #expect(table.ordered.first?.types.count == NetworkTable.Limits.placeCount)
  }
}

import BluetoothInterface
import BluetoothWire
import Testing

@testable import BluetoothMachines
@testable import GATTMachines

@Suite("Handles of removed services, and numbers of updates")
struct ServerTableTests {
  private let few = PublisherID(userID: 1, app: "few", manager: "")
  private let many = PublisherID(userID: 2, app: "many", manager: "")

  private func service(_ number: UInt16) -> ServiceDefinition {
    ServiceDefinition(uuid: BluetoothUUID(number))
  }

  @Test("The user with the most handles loses those of its services that were removed first")
  func mostHandles() {
    var vacated = VacatedHandles()
    vacated.add(service(1), HandleRange(1, 1_000), of: few)
    vacated.add(service(2), HandleRange(1_001, 20_000), of: many)
    vacated.add(service(3), HandleRange(20_001, 32_000), of: many)
    #expect(vacated.ranges.count == 3)
    vacated.add(service(4), HandleRange(32_001, 32_001), of: few)
    #expect(vacated.take(service(2), of: many) == nil)
    #expect(vacated.take(service(1), of: few) == 1)
    #expect(vacated.take(service(3), of: many) == 20_001)
    #expect(vacated.take(service(4), of: few) == 32_001)
  }

  @Test("The handles that another service has taken no longer count for their user")
  func takenHandles() {
    var vacated = VacatedHandles()
    vacated.add(service(1), HandleRange(1, 31_000), of: many)
    vacated.remove(HandleRange(500, 500))
    vacated.add(service(2), HandleRange(1, 1_000), of: many)
    vacated.add(service(3), HandleRange(1_001, 1_002), of: many)
    #expect(vacated.ranges == [HandleRange(1, 1_000), HandleRange(1_001, 1_002)])
  }

  @Test("The number of an update that is gone is not that of a later one in its slot")
  func numbers() {
    var table = UpdateTable()
    let client = ClientID(rawValue: 1)
    let first = table.insert(GATTServer.Update(owner: client, token: RequestToken(rawValue: 1)))
    table[first] = nil
    let second = table.insert(GATTServer.Update(owner: client, token: RequestToken(rawValue: 2)))
    #expect(table[first] == nil)
    table[first] = nil
    #expect(table[second]?.token == RequestToken(rawValue: 2) && table.count == 1)
  }
}

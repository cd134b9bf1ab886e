import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines
@testable import GATTMachines

/// Searches for services at servers that compare the bytes of a UUID, as the specification defines it.
struct ServiceSearchTests {
  /// FFF0 in 128 bits, in wire order.
  private static let full = Hexadecimal.bytes("fb349b5f8000008000100000f0ff0000") ?? []
  private static let short: [UInt8] = [0xF0, 0xFF]

  /// Runs a search at a server with one service, at the handles 0x10 to 0x1F. Returns the result and the values that the
  /// server was asked for.
  private func search(
    for uuids: [BluetoothUUID], inServerWith stored: [UInt8]
  ) -> (services: [RemoteService], requested: [[UInt8]]) {
    var search = DiscoverServicesByUUID(uuids)
    var step = search.start(mtu: 64)
    var requested: [[UInt8]] = []
    for _ in 0..<20 {
      guard case .request(.findByTypeValueRequest(let start, _, 0x2800, let value)) = step else {
        break
      }
      requested.append(Array(value))
      let isFound = value == stored[...] && start <= 0x10
      step = search.received(
        isFound
          ? .findByTypeValueResponse(
            ATTHandleRangeList(entryByteCount: 4, encoded: [0x10, 0, 0x1F, 0]))
          : .errorResponse(
            request: .findByTypeValueRequest, handle: start, error: .attributeNotFound), mtu: 64)
    }
    guard case .done(.services(let services)) = step else {
      Issue.record("the search has not ended: \(step)")
      return ([], requested)
    }
    return (services, requested)
  }

  @Test func `A server that stores an assigned number in 128 bits is asked for that form, too`() {
    let (services, requested) = search(for: [0xFFF0], inServerWith: Self.full)
    #expect(
      services == [
        RemoteService(uuid: 0xFFF0, range: HandleRange(0x10, 0x1F), isPrimary: true)
      ])
    #expect(requested.prefix(2) == [Self.short, Self.full])
  }

  @Test func `A server that stores the short form is asked for no other`() {
    let (services, requested) = search(for: [0xFFF0], inServerWith: Self.short)
    #expect(services.map(\.uuid) == [0xFFF0])
    #expect(!requested.contains(Self.full))
  }

  @Test func `Each of several UUIDs is searched for in both forms, and others once`() throws {
    let vendor = try #require(BluetoothUUID("6E400001-B5A3-F393-E0A9-E50E24DCCA9E"))
    let (services, requested) = search(for: [0x180D, vendor, 0xFFF0], inServerWith: Self.full)
    #expect(services.map(\.uuid) == [0xFFF0])
    #expect(requested.map(\.count) == [2, 16, 16, 2, 16, 16])
  }

  @Test func `Services that single searches have found are in the order of their handles`() {
    var database = RemoteDatabase()
    var services: [RemoteService] = []
    for number: UInt16 in 1...30 {
      let range = HandleRange(number * 16, number * 16 + 9)
      services.append(
        RemoteService(uuid: BluetoothUUID(0xFF00 + number), range: range, isPrimary: true))
    }
    for service in services.reversed() {
      database.learn(.discoverServices([service.uuid]), .services([service]))
    }
    #expect(database.knownServices == services)
  }
}

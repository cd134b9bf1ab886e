import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@Suite("Goodbyes for a process that was killed")
struct ResponderWithdrawalTests {
  private let types: DNSName = "_services._dns-sd._udp.local."

  private func service(
    _ instance: String, type: String = "_http._tcp", interface: InterfaceIndex? = nil
  ) throws -> ServiceRegistration {
    try ServiceRegistration(
      ServiceName(instance: instance, type: ServiceType(text: type)), subtypes: ["_colour"],
      port: 80, interface: interface)
  }

  private func goodbyes(_ rig: ResponderRig) -> [DNSRecord] {
    rig.answers.filter { $0.ttlSeconds == 0 }
  }

  @Test("D26: goodbyes are sent at once for all records of a service; for its type a little later")
  func service() throws {
    var rig = try ResponderRig.ready()
    let data = DNSRecordData.hinfo(processor: [1], system: [2])
    rig.handle(
      .withdrawService(try service("Lamp"), addedRecords: [(data: data, ttlSeconds: UInt32(120))]))
    rig.pass(.milliseconds(20))
    #expect(rig.sent.count == 1)
    #expect(
      goodbyes(rig).map(\.name) == [
        .http, "_colour._sub._http._tcp.local.", .lamp, .lamp, .lamp,
      ])
    #expect(goodbyes(rig).map(\.type) == [.ptr, .ptr, .srv, .txt, .hinfo])
    rig.sent = []
    rig.pass(.seconds(10))
    #expect(goodbyes(rig).map(\.data) == [.ptr(.http)])
    #expect(rig.sent.count == 1 && rig.responder.nextWake == nil)
    #expect(rig.answer(.lamp, .srv).isEmpty && rig.answer(.http, .ptr).isEmpty)
  }

  @Test("records that are registered here, too, or are again, get no goodbyes")
  func registeredAgain() throws {
    var rig = try ResponderRig.registered("Lamp", subtypes: ["_colour"])
    rig.handle(.withdrawService(try service("Lamp"), addedRecords: []))
    rig.pass(.seconds(10))
    #expect(rig.sent.isEmpty)
    rig.handle(.withdrawService(try service("Chair"), addedRecords: []))
    rig.handle(.withdrawService(try service("Chair", type: "_ipp._tcp"), addedRecords: []))
    try rig.register("Desk", type: "_ipp._tcp")
    rig.pass(.seconds(10))
    #expect(goodbyes(rig).filter { $0.name == types }.isEmpty)
    #expect(
      goodbyes(rig).filter { $0.name == .http }.map(\.data) == [
        .ptr("Chair._http._tcp.local.")
      ])
  }

  @Test("goodbyes are sent on the service's interface, or on all")
  func interfaces() throws {
    var rig = try ResponderRig.ready()
    rig.connect(ResponderRig.eth1, ["10.0.1.1"])
    rig.pass(.seconds(5))
    rig.sent = []
    rig.handle(
      .withdrawService(try service("Lamp", interface: ResponderRig.eth1), addedRecords: []))
    rig.handle(.withdrawRecord(RecordRegistration(.a("x.local.", 7), .knownUnique)))
    rig.pass(.milliseconds(20))
    #expect(rig.sent.map(\.packet.link.interface) == [ResponderRig.eth1])
    #expect(goodbyes(rig).contains { $0.name == .lamp })
    rig.sent = []
    rig.pass(.seconds(5))
    // Several processes may have registered the same record.
    #expect(rig.sent.count == 2)
    #expect(rig.sent.allSatisfy { $0.message.answers.contains { $0.name == "x.local." } })
  }

  @Test("a record that another process registers again in time is not withdrawn")
  func sameRecord() throws {
    var rig = try ResponderRig.ready()
    let record = RecordRegistration(.a("x.local.", 7), .knownUnique)
    rig.handle(.withdrawRecord(record))
    rig.pass(.seconds(1))
    rig.handle(.registerRecord(RegistrationID(rawValue: 77), record))
    rig.pass(.seconds(10))
    #expect(goodbyes(rig).isEmpty)
  }

  @Test("a responder that ends leaves types that others may register again")
  func shutDown() throws {
    var rig = try ResponderRig.ready()
    rig.handle(.withdrawService(try service("Lamp"), addedRecords: []))
    rig.handle(.shutDown)
    #expect(goodbyes(rig).contains { $0.name == .http })
    #expect(goodbyes(rig).filter { $0.name == types }.isEmpty)
    #expect(rig.responder.nextWake == nil)
  }
}

import DNSWire
import DiscoveryMachines
import Essentials
import PortSharing

/// One of every message and of every value in them.
enum Sample {
  static func type(_ text: String = "_light._tcp") throws -> ServiceType {
    try ServiceType(text: text)
  }

  static func name(_ instance: String) throws -> ServiceName {
    try ServiceName(instance: instance, type: type())
  }

  static func service(_ instance: String, port: UInt16 = 80) throws -> ServiceRegistration {
    try ServiceRegistration(name(instance), port: port)
  }

  static func text(_ value: String) throws -> TXTRecord {
    try TXTRecord([.init(key: "room", value: Array(value.utf8)), .init(key: "dim", value: nil)])
  }

  static let record = DNSRecord(
    name: "lamp.local.", ttlSeconds: 120, data: .a(Inet4Address(10, 0, 0, 1)))

  static func requests() throws -> [DiscoveryRequest] {
    let (query, registration) = (QueryID(rawValue: 7), RegistrationID(rawValue: .max))
    let udp = try ServiceType(name: "Light", transport: .udp)
    let full = try ServiceRegistration(
      name("Désk. lämp"), subtypes: ["_dim", "ü", #"\255,."#], host: "elsewhere.local.",
      port: 65_535,
      text: text("study"), interface: InterfaceIndex(rawValue: 3), conflictPolicy: .refuse)
    return try [
      .startQuery(query, .records("lamp.local.", .any), on: nil),
      .startQuery(query, .browse(type()), on: InterfaceIndex(rawValue: 2)),
      .startQuery(query, .browse(udp, subtype: "_dim", domain: "example.org."), on: nil),
      .startQuery(
        query, .browse(type(#"_long_\255\. and more than 15._tcp"#), subtype: #"\254"#), on: nil),
      .startQuery(query, .resolve(name("Desk lamp")), on: nil),
      .startQuery(query, .addresses("lamp.local.", versions: []), on: nil),
      .startQuery(query, .addresses("lamp.local.", versions: [.v4, .v6]), on: nil),
      .startQuery(query, .serviceTypes(), on: nil),
      .startQuery(query, .domains(.automaticBrowsing), on: nil),
      .startQuery(
        query, .records("x.org.", .a), on: nil,
        options: QueryOptions(
          reachesBeyondLink: true, timeout: .seconds(3), reportsAliases: true)),
      .stopQuery(query),
      .reconfirm(record, on: nil), .reconfirm(record, on: InterfaceIndex(rawValue: 4)),
      .registerService(registration, service("Desk lamp")), .registerService(registration, full),
      .registerRecord(registration, RecordRegistration(record, .shared)),
      .registerRecord(
        registration,
        RecordRegistration(record, .unique, interface: InterfaceIndex(rawValue: 9))),
      .registerRecord(registration, RecordRegistration(record, .knownUnique)),
      .updateText(registration, text("attic")), .unregister(registration),
      .updateRecord(registration, .txt(text("x")), ttlSeconds: 5),
      .setRecord(registration, 9, .a(Inet4Address(1, 2, 3, 4)), ttlSeconds: 7),
      .setRecord(registration, .max, nil, ttlSeconds: 0),
    ]
  }

  static func clientMessages() throws -> [ClientMessage] {
    [
      .hello(versions: 1...9, SharedConfiguration(hostName: "büro")),
      .hello(
        versions: 1...1, SharedConfiguration(hostName: "", interfaceNames: ["eth0", "wlan0"])),
      .ping, .leaving,
    ] + (try requests()).map { .request($0) }
  }

  static func events() throws -> [QueryEvent] {
    let data: [DNSRecordData] = [
      .a(Inet4Address(1, 2, 3, 4)), .aaaa(Inet6Address(high: 1, low: 2)), .ptr("a.local."),
      .cname("b.local."), .ns("c.local."), .srv(DNSService(port: 1, target: "d.local.")),
      .txt(try text("hall")), .hinfo(processor: [1], system: []),
      .nsec(next: "e.local.", types: [.a, .srv]), .opt(options: [0, 1, 0, 0]),
      .opaque(DNSType(rawValue: 99), [1, 2, 3]),
    ]
    let resolution = ServiceResolution(
      name: try name("Desk lamp"), host: "lamp.local.", port: 80, text: try text("study"))
    let addresses: [InetAddress] = [
      .v4(Inet4Address(1, 2, 3, 4)), .v6(Inet6Address(high: 1, low: 2)),
    ]
    return data.map {
      .recordAdded(DNSRecord(name: "x.local.", flushesCache: true, ttlSeconds: 9, data: $0))
    }
      + addresses.flatMap {
        [
          QueryEvent.addressAdded($0, ttlSeconds: 120), .addressRemoved($0),
          .addressAbsent($0.version),
        ]
      } + [
        .recordRemoved(record), .recordAbsent(.srv), .serviceAdded(try name("A")),
        .serviceRemoved(try name("B")), .resolved(resolution), .typeAdded(try type()),
        .typeRemoved(try type("_ipp._udp")), .domainAdded(.local), .domainRemoved("example.org."),
        .failed(.notOnThisLink("example.org.")), .failed(.nameTooLong), .failed(.tooManyClients),
        .failed(.identifierInUse), .failed(.timedOut),
      ]
  }

  static func ownerMessages() throws -> [OwnerMessage] {
    let index = InterfaceIndex(rawValue: 2)
    return OwnerMessage.RejectionReason.allCases.map { .rejected($0) } + [
      .welcome(version: 1), .pong, .report(.answersFromCache(QueryID(rawValue: 9))),
      .report(.registered(RegistrationID(rawValue: 1), "a.local.")),
      .report(.refused(RegistrationID(rawValue: 2), "a.local.")),
      .report(.interfaces([:])),
      .report(.interfaces([index: "eth0", InterfaceIndex(rawValue: 9): "wlan0"])),
    ]
      + (try events()).enumerated().map { number, event in
        .report(
          .found(
            QueryID(rawValue: UInt64(number)), event, on: number % 2 == 0 ? nil : index,
            moreComing: number % 3 == 0))
      }
  }
}

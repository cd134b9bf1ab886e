import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@Suite("Querier: services")
struct ServiceQueryTests {
  private func resolved(
    _ instance: String, host: DNSName = Web.host, port: UInt16 = 80, text: TXTRecord = TXTRecord()
  ) throws -> QueryEvent {
    .resolved(
      ServiceResolution(name: try Web.service(instance), host: host, port: port, text: text))
  }

  @Test("E5: a service is resolved when its host, port and text are known, once")
  func resolve() throws {
    var lab = QuerierLab()
    let query = lab.start(.resolve(try Web.service("Hall")))
    lab.run(.milliseconds(200))
    lab.hear([try Web.location("Hall")])
    #expect(lab.events(query).isEmpty)
    lab.hear([try Web.text("Hall", "path=/")])
    lab.hear([try Web.location("Hall"), try Web.text("Hall", "path=/")])
    let text = try TXTRecord(strings: [Array("path=/".utf8)])
    #expect(lab.events(query) == [try resolved("Hall", text: text)])
    #expect(lab.sent.count == 1)
    #expect(Set(lab.sent.first?.message.questions.map(\.type) ?? []) == [.srv, .txt])
    #expect(lab.times(try Web.service("Hall").name, .srv).count == 1)
  }

  @Test("E16: additional records of a browse's answer resolve without a question")
  func additionals() throws {
    var lab = QuerierLab()
    lab.start(try Web.browse)
    lab.run(.milliseconds(200))
    lab.hear(
      [try Web.pointer("Hall")],
      additionals: [try Web.location("Hall"), try Web.text("Hall"), Web.address(5)])
    lab.sent = []
    let query = lab.start(.resolve(try Web.service("Hall")))
    #expect(lab.events(query) == [try resolved("Hall")])
    let host = lab.start(.addresses(Web.host, versions: [.v4]))
    #expect(lab.events(host) == [.addressAdded(.v4(Inet4Address(192, 0, 2, 5)), ttlSeconds: 120)])
    lab.run(.milliseconds(500))
    #expect(lab.sent.isEmpty)
  }

  @Test("E16: a peer that sends no additional records is resolved step by step")
  func noAdditionals() throws {
    var lab = QuerierLab()
    let browse = lab.start(try Web.browse)
    lab.run(.milliseconds(200))
    lab.hear([try Web.pointer("Hall")])
    #expect(lab.events(browse) == [.serviceAdded(try Web.service("Hall"))])
    let query = lab.start(.resolve(try Web.service("Hall")))
    lab.run(.milliseconds(200))
    lab.hear([try Web.location("Hall")])
    lab.hear([try Web.text("Hall")])
    #expect(lab.events(query) == [try resolved("Hall")])
    let host = lab.start(.addresses(Web.host, versions: [.v4]))
    lab.run(.milliseconds(200))
    #expect(lab.times(Web.host, .a).count == 1)
    lab.hear([Web.address(5)])
    #expect(lab.events(host).count == 1)
  }

  @Test("E6: a service without a text, or with one of no bytes, has an empty one")
  func missingText() throws {
    var lab = QuerierLab()
    let query = lab.start(.resolve(try Web.service("Hall")))
    lab.hear([try Web.location("Hall")])
    let begin = lab.now
    lab.run(.seconds(5))
    #expect(lab.events(query) == [try resolved("Hall")])
    #expect(lab.told.first?.at == begin + .seconds(1))
    // The owner denies that a record exists: no need to wait.
    let other = lab.start(.resolve(try Web.service("Shop")))
    let name = try Web.service("Shop").name
    lab.hear([try Web.location("Shop"), Web.denial(name, has: [.srv])])
    #expect(lab.events(other) == [try resolved("Shop")])
    let third = lab.start(.resolve(try Web.service("Café")))
    lab.hear([try Web.location("Café"), try Web.text("Café")])
    #expect(lab.events(third) == [try resolved("Café")])
  }

  @Test("E18 E20: a changed text, port or host is reported again")
  func changes() throws {
    var lab = QuerierLab()
    let query = lab.start(.resolve(try Web.service("Hall")))
    lab.hear([try Web.location("Hall"), try Web.text("Hall", "a=1")])
    lab.run(.seconds(3))
    let begin = lab.now
    lab.hear([try Web.text("Hall", "a=2")])
    #expect(lab.told.last?.at == begin)
    lab.run(.seconds(3))
    lab.hear([try Web.location("Hall", port: 81)])
    lab.run(.seconds(3))
    lab.hear([try Web.location("Hall", port: 81, target: "other.local.")])
    lab.run(.seconds(10))
    let text = try TXTRecord(strings: [Array("a=2".utf8)])
    #expect(
      lab.events(query) == [
        try resolved("Hall", text: try TXTRecord(strings: [Array("a=1".utf8)])),
        try resolved("Hall", text: text), try resolved("Hall", port: 81, text: text),
        try resolved("Hall", host: "other.local.", port: 81, text: text),
      ])
  }

  @Test("E5: the lowest priority is taken, and among equals by weight")
  func priorities() throws {
    var counts: [UInt16: Int] = [:]
    for seed in 1...200 {
      var lab = QuerierLab(seed: UInt64(seed))
      let query = lab.start(.resolve(try Web.service("Hall")))
      lab.hear([
        try Web.text("Hall"), try Web.location("Hall", port: 1, priority: 2, weight: 9),
        try Web.location("Hall", port: 2, priority: 1, weight: 30),
        try Web.location("Hall", port: 3, priority: 1, weight: 10),
      ])
      lab.run(.seconds(30))
      #expect(lab.events(query).count == 1)
      if case .resolved(let service)? = lab.events(query).first {
        counts[service.port, default: 0] += 1
      }
    }
    #expect(counts[1] == nil)
    #expect((120...180).contains(counts[2] ?? 0), "three of four, more or less: \(counts)")
  }

  @Test("E11: a subtype is browsed for under its own name, and finds services of the type")
  func subtypes() throws {
    var lab = QuerierLab()
    let all = lab.start(try Web.browse)
    let query = lab.start(.browse(try ServiceType(text: "_http._tcp"), subtype: "_printer"))
    lab.run(.seconds(1))
    let name: DNSName = "_printer._sub._http._tcp.local."
    #expect(lab.times(name, .ptr).count >= 1)
    let target = try Web.service("Hall").name
    lab.hear([DNSRecord(name: name, ttlSeconds: 4500, data: .ptr(target))])
    #expect(lab.events(query) == [.serviceAdded(try Web.service("Hall"))])
    #expect(lab.events(all).isEmpty)
  }

  @Test("a pointer to a name that is no service of the type is not reported by browsing")
  func oddPointers() throws {
    var lab = QuerierLab()
    let query = lab.start(try Web.browse)
    let targets: [DNSName] = ["local.", "Hall._ipp._tcp.local.", "_http._tcp.local.", "."]
    lab.hear(targets.map { DNSRecord(name: Web.type, ttlSeconds: 9, data: .ptr($0)) })
    #expect(lab.events(query).isEmpty)
  }

  @Test("services of types that RFC 6335 does not allow are found, and so are the types")
  func unregisteredTypes() throws {
    var lab = QuerierLab()
    let types = try [
      "_androidtvremote2._tcp", "_zigate-zigbee-gateway._tcp", "_dyson_mqtt._tcp",
      #"_a\.\255._udp"#,
    ].map { try ServiceType(text: $0) }
    let listing = lab.start(.serviceTypes())
    lab.hear(
      try types.map {
        DNSRecord(name: .serviceTypes, ttlSeconds: 4500, data: .ptr(try $0.name(in: .local)))
      })
    #expect(lab.events(listing) == types.map { .typeAdded($0) })
    for type in types {
      let (query, other) = (lab.start(.browse(type)), lab.start(.browse(type, subtype: #"\254,x"#)))
      let service = try ServiceName(instance: "Hall", type: type)
      let names = try [
        type.name(in: .local), type.name(ofSubtype: #"\254,x"#, in: .local),
      ]
      lab.hear(names.map { DNSRecord(name: $0, ttlSeconds: 4500, data: .ptr(service.name)) })
      #expect(lab.events(query) == [.serviceAdded(service)])
      #expect(lab.events(other) == [.serviceAdded(service)])
    }
  }

  @Test("E12: each type of service is reported once")
  func types() throws {
    var lab = QuerierLab()
    let query = lab.start(.serviceTypes())
    lab.run(.milliseconds(200))
    #expect(lab.times(.serviceTypes, .ptr).count == 1)
    let http = DNSRecord(name: .serviceTypes, ttlSeconds: 4500, data: .ptr("_http._tcp.local."))
    let ipp = DNSRecord(name: .serviceTypes, ttlSeconds: 4500, data: .ptr("_ipp._tcp.local."))
    lab.hear([http, ipp])
    lab.hear([http])
    lab.hear([Web.goodbye(ipp)])
    lab.run(.seconds(2))
    let type = try ServiceType(text: "_ipp._tcp")
    #expect(
      lab.events(query) == [
        .typeAdded(try ServiceType(text: "_http._tcp")), .typeAdded(type), .typeRemoved(type),
      ])
  }

  @Test(
    "E13: the local domain is always there; others are asked for", arguments: DomainUse.allCases)
  func domains(use: DomainUse) {
    var lab = QuerierLab()
    let query = lab.start(.domains(use))
    #expect(lab.events(query) == [.domainAdded(.local)])
    lab.run(.milliseconds(200))
    let name: DNSName = DNSName(stringLiteral: "\(use.rawValue)._dns-sd._udp.local.")
    #expect(lab.times(name, .ptr).count == 1)
    let record = DNSRecord(name: name, ttlSeconds: 60, data: .ptr("example.com."))
    let local = DNSRecord(name: name, ttlSeconds: 60, data: .ptr(.local))
    lab.hear([record, local])
    lab.run(.seconds(200))
    #expect(
      lab.events(query).dropFirst() == [
        .domainAdded("example.com."), .domainRemoved("example.com."),
      ])
  }

  @Test("E19: all but the last of each client's events that come together have more coming")
  func moreComing() throws {
    var lab = QuerierLab()
    let query = lab.start(try Web.browse)
    let other = lab.start(try Web.browse)
    lab.hear(try (0..<30).map { try Web.pointer("S\($0)") })
    for id in [query, other] {
      let told = lab.told.filter { $0.query == id }
      #expect(told.map(\.moreComing) == told.dropLast().map { _ in true } + [false])
      #expect(told.count == 30)
    }
    // Also where they come from the cache.
    let later = lab.start(try Web.browse)
    #expect(lab.told.filter { $0.query == later && !$0.moreComing }.count == 1)
  }

  @Test("E2: a name with dots and backslashes stays one label")
  func escapedNames() throws {
    var lab = QuerierLab()
    let query = lab.start(try Web.browse)
    lab.hear([try Web.pointer("Dr. A\\B")])
    guard case .serviceAdded(let service)? = lab.events(query).first else {
      Issue.record("nothing was found")
      return
    }
    #expect(service.instanceText == "Dr. A\\B")
    #expect(service.description == "Dr\\.\\032A\\\\B._http._tcp.local.")
  }

  @Test("an alias is followed, and the records of its target end with it")
  func alias() {
    var lab = QuerierLab()
    let query = lab.start(.addresses("www.local.", versions: [.v4]))
    lab.run(.milliseconds(200))
    let alias = DNSRecord(
      name: "www.local.", flushesCache: true, ttlSeconds: 60, data: .cname(Web.host))
    lab.hear([alias])
    lab.run(.milliseconds(200))
    #expect(lab.times(Web.host, .a).count == 1)
    lab.hear([Web.address(5, ttlSeconds: 4500)])
    let address = InetAddress.v4(Inet4Address(192, 0, 2, 5))
    #expect(lab.events(query) == [.addressAdded(address, ttlSeconds: 4500)])
    // Another host takes the name over.
    lab.run(.seconds(5))
    let other = DNSRecord(
      name: "www.local.", flushesCache: true, ttlSeconds: 60, data: .cname("b.local."))
    lab.hear([other, Web.address(6, name: "b.local.")])
    lab.run(.seconds(2))
    #expect(
      lab.events(query).dropFirst() == [
        .addressRemoved(address),
        .addressAdded(.v4(Inet4Address(192, 0, 2, 6)), ttlSeconds: 120),
      ])
    lab.handle(.stop(query))
    lab.sent = []
    lab.run(.seconds(10_000))
    #expect(lab.sent.isEmpty)
  }

  @Test("an alias and its target's records, in one packet, are reported once")
  func aliasWithAddress() {
    var lab = QuerierLab()
    let query = lab.start(.addresses("www.local.", versions: [.v4]))
    lab.hear([
      DNSRecord(name: "www.local.", ttlSeconds: 60, data: .cname(Web.host)), Web.address(5),
    ])
    let address = InetAddress.v4(Inet4Address(192, 0, 2, 5))
    #expect(lab.events(query) == [.addressAdded(address, ttlSeconds: 120)])
  }

  @Test("results for the target of an alias are removed when its interface goes")
  func aliasOnInterfaceThatGoes() {
    var lab = QuerierLab()
    let query = lab.start(.addresses("www.local.", versions: [.v4]))
    lab.hear([DNSRecord(name: "www.local.", ttlSeconds: 60, data: .cname(Web.host))])
    lab.hear([Web.address(5)])
    lab.handle(.interfaceGone(QuerierLab.first))
    let address = InetAddress.v4(Inet4Address(192, 0, 2, 5))
    #expect(
      lab.events(query) == [.addressAdded(address, ttlSeconds: 120), .addressRemoved(address)])
  }

  @Test("a query that reports aliases gets each of them once, and its end")
  func aliasesAreTold() {
    func alias(_ from: DNSName, _ to: DNSName) -> DNSRecord {
      DNSRecord(name: from, flushesCache: true, ttlSeconds: 120, data: .cname(to))
    }
    func texts(_ lab: QuerierLab, _ query: QueryID) -> [String] {
      lab.events(query).map { event in
        switch event {
        case .recordAdded(let record): "+\(record.name) \(record.type)"
        case .recordRemoved(let record): "-\(record.name) \(record.type)"
        default: "\(event)"
        }
      }
    }
    var lab = QuerierLab()
    let silent = lab.start(.records("a.local.", .a))
    let query = lab.start(.records("a.local.", .a), options: QueryOptions(reportsAliases: true))
    lab.hear([alias("a.local.", "b.local."), alias("b.local.", Web.host), Web.address(5)])
    let all = ["+a.local. CNAME", "+b.local. CNAME", "+host.local. A"]
    #expect(texts(lab, query) == all)
    #expect(texts(lab, silent) == ["+host.local. A"])
    // The same comes from the cache, and to a query for all types, each once.
    let later = lab.start(.records("a.local.", .a), options: QueryOptions(reportsAliases: true))
    #expect(texts(lab, later) == all)
    let any = lab.start(.records("b.local.", .any), options: QueryOptions(reportsAliases: true))
    #expect(texts(lab, any) == ["+b.local. CNAME", "+host.local. A"])
    // Another host takes the first name over: all that was behind it ends.
    lab.run(.seconds(5))
    lab.hear([alias("a.local.", "c.local.")])
    lab.run(.seconds(2))
    #expect(
      Set(texts(lab, query).dropFirst(3)) == [
        "+a.local. CNAME", "-a.local. CNAME", "-b.local. CNAME", "-host.local. A",
      ])
    #expect(texts(lab, silent).dropFirst() == ["-host.local. A"])
  }

  @Test("an alias with a goodbye hides no longer that a name has no such record")
  func aliasThatLeft() {
    var lab = QuerierLab()
    let alias = DNSRecord(
      name: "www.local.", flushesCache: true, ttlSeconds: 60, data: .cname(Web.host))
    lab.start(.records("www.local.", .any))
    lab.hear([alias])
    let query = lab.start(.records("www.local.", .a))
    lab.hear([Web.goodbye(alias)])
    lab.hear([Web.denial("www.local.", has: [.txt])])
    #expect(lab.events(query) == [.recordAbsent(.a)])
  }

  @Test("a query after the goodbye of a negative answer gets it when it is received again")
  func denialHeardAgain() {
    var lab = QuerierLab()
    let denial = Web.denial(Web.host, has: [.a])
    lab.start(.records(Web.host, .aaaa))
    lab.hear([denial])
    lab.hear([Web.goodbye(denial)])
    let query = lab.start(.records(Web.host, .aaaa))
    #expect(lab.events(query).isEmpty)
    lab.hear([denial])
    #expect(lab.events(query) == [.recordAbsent(.aaaa)])
  }

  @Test("a text is not reported to clients that resolve the service after its goodbye")
  func textThatLeft() throws {
    var lab = QuerierLab()
    lab.start(.resolve(try Web.service("Hall")))
    lab.hear([try Web.location("Hall"), try Web.text("Hall", "a=b")])
    lab.hear([Web.goodbye(try Web.text("Hall", "a=b"))])
    let query = lab.start(.resolve(try Web.service("Hall")))
    #expect(lab.events(query).isEmpty)
    lab.hear([try Web.text("Hall", "a=c")])
    let text = try TXTRecord(strings: [Array("a=c".utf8)])
    #expect(
      lab.events(query) == [
        .resolved(
          ServiceResolution(
            name: try Web.service("Hall"), host: Web.host, port: 80, text: text))
      ])
  }

  @Test("G8: aliases in a circle, of a second's life, or two of one name do no harm")
  func hostileAliases() {
    var lab = QuerierLab()
    let query = lab.start(.addresses("a.local.", versions: [.v4]))
    func alias(_ from: DNSName, _ to: DNSName, _ ttlSeconds: UInt32 = 120) -> DNSRecord {
      DNSRecord(name: from, flushesCache: true, ttlSeconds: ttlSeconds, data: .cname(to))
    }
    lab.hear([alias("a.local.", "b.local."), alias("b.local.", "a.local.")])
    lab.hear([alias("b.local.", "b.local.")])
    lab.run(.seconds(3))
    lab.hear([alias("a.local.", "c.local.", 1)])
    lab.run(.seconds(2))
    lab.hear([alias("a.local.", "d.local."), alias("a.local.", "e.local.")])
    lab.run(.seconds(2))
    lab.hear([alias("a.local.", "f.local.")])
    lab.run(.seconds(2))
    for number in 0..<40 {
      let next = DNSName(stringLiteral: "chain\(number + 1).local.")
      lab.hear([alias(DNSName(stringLiteral: "chain\(number).local."), next)])
    }
    let chain = lab.start(.addresses("chain0.local.", versions: [.v4]))
    lab.run(.seconds(1))
    let asked = Set(lab.sent.flatMap { $0.message.questions.map(\.name.description) })
    #expect(asked.filter { $0.hasPrefix("chain") }.count <= 9)
    lab.hear([Web.address(7, name: "f.local.")])
    #expect(lab.events(query).last.map { "\($0)".contains("192.0.2.7") } == true)
    lab.handle(.stop(query))
    lab.handle(.stop(chain))
    lab.run(.seconds(500))
    lab.sent = []
    lab.run(.seconds(5_000))
    #expect(lab.sent.isEmpty)
  }

  @Test("a number that is in use, a name too long and too many clients are refused")
  func refusals() throws {
    var lab = QuerierLab()
    let id = QueryID(rawValue: 9)
    lab.handle(.start(id, try Web.browse))
    lab.handle(.start(id, try Web.browse))
    #expect(lab.events(id) == [.failed(.identifierInUse)])
    let long = try DNSName(labels: [
      Array(repeating: UInt8(97), count: 63), Array(repeating: UInt8(97), count: 63),
      Array(repeating: UInt8(97), count: 63), Array(repeating: UInt8(97), count: 50),
      Array("local".utf8),
    ])
    let other = lab.start(.browse(try ServiceType(text: "_http._tcp"), domain: long))
    #expect(lab.events(other) == [.failed(.nameTooLong)])
    lab.handle(.stop(QueryID(rawValue: 1_000)))
  }
}

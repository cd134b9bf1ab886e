import BonjourHost
import DNSWire
import DiscoveryMachines
import Essentials
import Foundation
import JSONWire
import Testing

@testable import AmbitCLI

/// Commands of the network, on this machine's own interface.
@Suite("Commands of the network", .timeLimit(.minutes(5)))
struct NetworkCommandTests {
  private let run = String(UInt32.random(in: 0 ... .max), radix: 36)
  private var type: String { "_n-\(run)._tcp" }

  private static func object(_ line: String) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
  }

  private func publish(_ name: String, _ arguments: String...) async throws -> AmbitRun {
    let publisher = try AmbitRun(
      ["publish", name, type, "8080", "--interface", "lo", "--json"] + arguments)
    let line = try #require(await publisher.output.next(containing: "\"published\""))
    #expect(try Self.object(line)["type"] as? String == type)
    return publisher
  }

  private static func hasOutput(_ end: AmbitRun.End) -> Bool { !end.output.isEmpty }

  @Test("a service of a host without an address is not resolved, which is a failure")
  func unresolved() async throws {
    let publisher = try await publish("Lamp", "--host", "nowhere-\(run)")
    // On a busy machine, the publisher itself may not answer in that time.
    let command = ["resolve", "Lamp", type, "--interface", "lo", "--timeout", "5"]
    let end = try await AmbitRun.end(command) { end in
      end.complaints.joined().contains("did not answer with an address")
    }
    #expect(end.status == AmbitCLI.ExitStatus.notFound.rawValue && end.output.isEmpty, "\(end)")
    withExtendedLifetime(publisher) {}
  }

  @Test("a service of another host is published with its addresses")
  func proxy() async throws {
    let publisher = try await publish(
      "Lamp", "--host", "proxy-\(run)", "--address", "192.0.2.7", "--address", "2001:db8::7")
    let end = try await AmbitRun.end(
      "resolve", "Lamp", type, "--interface", "lo", "--json", "--timeout", "60")
    let object = try Self.object(try #require(end.output.first, "\(end)"))
    #expect(object["host"] as? String == "proxy-\(run).local.")
    #expect(object["addresses"] as? [String] == ["192.0.2.7", "2001:db8::7"])
    withExtendedLifetime(publisher) {}
  }

  @Test("browse lists all types with their services, where they are, and ends")
  func everything() async throws {
    let publisher = try await publish("Lamp", "room=study")
    let command = ["browse", "--all", "--resolve", "--once", "--interface", "lo", "--json"]
    let end = try await AmbitRun.end(command) { end in
      end.output.contains { $0.contains(type) && $0.contains("\"resolved\"") }
    }
    #expect(end.status == 0, "\(end)")
    let events = try end.output.map(Self.object).filter { $0["type"] as? String == type }
    #expect(events.map { $0["event"] as? String } == ["found", "resolved"])
    #expect(events.last?["addresses"] as? [String] == ["127.0.0.1"])
    #expect(events.last?["strings"] as? [String] == ["726f6f6d3d7374756479"])
    withExtendedLifetime(publisher) {}
  }

  @Test("browse and resolve give the TTLs of the records that list a service, and locate it")
  func timesToLive() async throws {
    let publisher = try await publish("Lamp", "--subtype", "dim")
    let commands = [
      ["browse", type, "--resolve"], ["browse", type, "--subtype", "dim", "--resolve"],
      ["browse", "--types"], ["resolve", "Lamp", type],
    ]
    for command in commands {
      let once = command[0] == "browse" ? ["--once"] : []
      let end = try await AmbitRun.end(command + once + ["--interface", "lo", "--json"]) { end in
        end.output.contains { $0.contains(type) }
          && (command.last != "--resolve" || end.output.contains { $0.contains("\"resolved\"") })
      }
      let events = try end.output.map(Self.object).filter { $0["type"] as? String == type }
      #expect(!events.isEmpty && end.status == 0, "\(command): \(end)")
      for event in events {
        let isResolved = event["event"] as? String == "resolved"
        #expect(event["ttl"] as? Int == (isResolved ? 120 : 4_500), "\(command): \(event)")
      }
    }
    withExtendedLifetime(publisher) {}
  }

  @Test("browse --resolve tells a service again when an address of its host changes")
  func changedAddress() async throws {
    let host = BonjourHost(
      configuration: BonjourConfiguration(hostName: "mover-\(run)", interfaceNames: ["lo"]))
    let name = try DNSName(text: "moving-\(run).local")
    let address = DNSRecord(
      name: name, ttlSeconds: 120, data: .a(Inet4Address(192, 0, 2, 7)))
    let registration = host.register(RecordRegistration(address, .unique)) { _ in }
    let lamp = try await publish("Lamp", "--host", "moving-\(run)")
    let browser = try AmbitRun(
      ["browse", type, "--resolve", "--interface", "lo", "--json"])
    let resolved = #""resolved""#
    var line = try #require(await browser.output.next(containing: resolved))
    #expect(try Self.object(line)["addresses"] as? [String] == ["192.0.2.7"])
    registration.update(.a(Inet4Address(192, 0, 2, 8)), ttlSeconds: 120)
    repeat {
      line = try #require(await browser.output.next(containing: resolved))
    } while line.contains("192.0.2.7")
    #expect(try Self.object(line)["addresses"] as? [String] == ["192.0.2.8"])
    withExtendedLifetime((lamp, registration)) {}
    await host.close()
  }

  /// A shell that runs `ambit` where no interface is up.
  private static let withoutNetwork = #"unshare -rn "$0" "$@"; exit $?"#

  private static let canBeWithoutNetwork: Bool = {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
    process.arguments = ["-rn", "true"]
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }()

  @Test(
    "a service is not called published where there is no network",
    .enabled(if: canBeWithoutNetwork))
  func withoutNetwork() async throws {
    let end = try await AmbitRun.end(
      "publish", "Lamp", type, "8080", "--interface", "lo", "--json", "--timeout", "1s",
      shell: Self.withoutNetwork)
    #expect(end.status == AmbitCLI.ExitStatus.failure.rawValue, "\(end)")
    #expect(!end.output.contains { $0.contains("published") }, "\(end)")
  }

  @Test("a service whose host's address is refused is not called published")
  func refusedAddress() async throws {
    let first = try await publish("One", "--host", "taken-\(run)", "--address", "192.0.2.7")
    let end = try await AmbitRun.end(
      "publish", "Two", type, "8080", "--host", "taken-\(run)", "--address", "192.0.2.8",
      "--interface", "lo", "--json", "--timeout", "20s")
    #expect(end.status == AmbitCLI.ExitStatus.failure.rawValue, "\(end)")
    #expect(!end.output.contains { $0.contains("published") }, "\(end)")
    withExtendedLifetime(first) {}
  }

  @Test("types, subtypes and text of any bytes are published, browsed for and resolved")
  func anyBytes() async throws {
    let type = "_longer_than_fifteen-\(run)._tcp"
    let publisher = try AmbitRun([
      "publish", "", type + #",x\255"#, "8080", #"key=\000\xff"#, "--hex", "6b323d00",
      "--subtype", "dim", "--interface", "lo", "--json",
    ])
    #expect(await publisher.output.next(containing: "\"published\"") != nil)
    #expect(await publisher.complaints.next(containing: "some clients may not find") != nil)
    for subtype in ["", #",x\255"#, ",_dim"] {
      let end = try await AmbitRun.end(
        ["browse", type + subtype, "--once", "--interface", "lo", "--json"], until: Self.hasOutput)
      let object = try Self.object(try #require(end.output.first, "\(end)"))
      #expect(object["type"] as? String == type)
      #expect(object["name"] as? String == BonjourConfiguration().hostName)
      let resolved = try await AmbitRun.end(
        "resolve", try #require(object["fullName"] as? String), "--interface", "lo", "--json",
        "--timeout", "60")
      let place = try Self.object(try #require(resolved.output.first, "\(resolved)"))
      #expect(place["strings"] as? [String] == ["6b65793d00ff", "6b323d00"])
      #expect((place["text"] as? [String: Any])?["key"] as? [String: String] == ["hex": "00ff"])
    }
    _ = try await AmbitRun.end(["browse", "--types", "--once", "--interface", "lo"]) { types in
      types.output.contains { $0.contains(type) }
    }
  }

  @Test("browse --ignore-local leaves out services of this machine, and no others")
  func ignoreLocal() async throws {
    let own = try await publish("Own")
    let other = try await publish("Other", "--host", "other-\(run)", "--address", "192.0.2.7")
    let end = try await AmbitRun.end(
      ["browse", type, "--ignore-local", "--once", "--interface", "lo", "--json"],
      until: Self.hasOutput)
    #expect(try end.output.map(Self.object).map { $0["name"] as? String } == ["Other"], "\(end)")
    _ = try await AmbitRun.end(["browse", type, "--once", "--interface", "lo", "--json"]) { all in
      all.output.count == 2
    }
    withExtendedLifetime((own, other)) {}
  }

  @Test("browse takes a type with its domain, and fails where nothing is found")
  func once() async throws {
    let end = try await AmbitRun.end("browse", type + ".local", "--once", "--interface", "lo")
    #expect(end.status == AmbitCLI.ExitStatus.notFound.rawValue)
    #expect(end.complaints == ["ambit: nothing was found."])
  }

  @Test("query prints the name of an address, and fails without an answer")
  func query() async throws {
    let publisher = try await publish("Lamp")
    let found = try await AmbitRun.end(
      "query", "127.0.0.1", "--once", "--interface", "lo", "--json", "--timeout", "60")
    let object = try Self.object(try #require(found.output.first, "\(found)"))
    #expect(object["type"] as? String == "PTR" && found.status == 0)
    #expect((object["data"] as? String)?.hasSuffix(".local.") == true)
    let missing = try await AmbitRun.end(
      "query", "nobody-\(run).local", "A", "--timeout", "300ms", "--interface", "lo")
    #expect(missing.status == AmbitCLI.ExitStatus.notFound.rawValue)
    #expect(missing.complaints == ["ambit: no answer within 0.3 s."])
    withExtendedLifetime(publisher) {}
  }

  @Test(
    "with few descriptors there is a sentence and a status, never a trap",
    arguments: [5, 6, 8, 10, 12, 14, 20])
  func fewDescriptors(count: Int) async throws {
    let end = try await AmbitRun.end(
      "browse", "http", "--timeout", "1", "--interface", "lo", shell: "ulimit -n \(count)")
    #expect(end.status == AmbitCLI.ExitStatus.failure.rawValue, "\(end)")
    #expect(end.complaints.count == 1 && end.complaints[0].contains("ulimit -n"), "\(end)")
  }

  @Test("a soft limit of descriptors is raised where the hard one allows it")
  func softLimit() async throws {
    let end = try await AmbitRun.end(
      "browse", "http", "--timeout", "300ms", "--interface", "lo", shell: "ulimit -Sn 8")
    #expect(end.status == 0 && end.complaints == ["No services."], "\(end)")
  }

  @Test("with just enough descriptors a command works, and ends when it is asked to")
  func enoughDescriptors() async throws {
    let browser = try AmbitRun(
      ["browse", "--types", "--interface", "lo"], shell: "ulimit -n 28")
    let publisher = try await publish("Lamp")
    #expect(await browser.output.next(containing: type) != nil)
    browser.terminate()
    let end = await browser.end()
    #expect(end.status == AmbitCLI.ExitStatus.terminated.rawValue && end.complaints.isEmpty)
    withExtendedLifetime(publisher) {}
  }

  @Test(
    "output to a full device is a failure",
    arguments: [["--help"], ["browse", "--types", "--once", "--interface", "lo"]])
  func fullDevice(_ arguments: [String]) async throws {
    let publisher = try await publish("Lamp")
    var end: AmbitRun.End
    // Until there is something to write.
    repeat {
      end = await (try AmbitRun(arguments, shell: "exec >/dev/full")).end()
    } while end.status == AmbitCLI.ExitStatus.notFound.rawValue
    #expect(end.status == AmbitCLI.ExitStatus.cannotCreate.rawValue, "\(end)")
    #expect(end.complaints.joined().contains("cannot be written"))
    withExtendedLifetime(publisher) {}
  }

  @Test("a wrong command line is reported like every other failure, followed by the usage")
  func errorLine() async throws {
    let end = try await AmbitRun.end("browse")
    #expect(end.status == AmbitCLI.ExitStatus.usage.rawValue)
    #expect(end.complaints.first?.hasPrefix("ambit: It takes the type") == true, "\(end)")
    #expect(end.complaints.contains { $0.hasPrefix("Usage: ambit browse") })
  }

  // MARK: What people write

  @Test(
    "a type is understood as avahi-browse and dns-sd take it",
    arguments: [
      ("http", "_http._tcp", []), ("_http", "_http._tcp", []), ("_http._tcp", "_http._tcp", []),
      ("_http._tcp.local", "_http._tcp", []), ("_http._tcp.local.", "_http._tcp", []),
      ("_sleep._UDP.", "_sleep._udp", []), ("_http._tcp,_printer", "_http._tcp", ["_printer"]),
      ("http,a,b", "_http._tcp", ["a", "b"]), ("_http._tcp.,a", "_http._tcp", ["a"]),
      ("_printer._sub._http._tcp", "_http._tcp", ["_printer"]),
      (#"\255._sub._http._tcp.local"#, "_http._tcp", [#"\255"#]),
      ("_androidtvremote2._tcp", "_androidtvremote2._tcp", []),
      ("dyson_mqtt", "_dyson_mqtt._tcp", []),
      ("zigate-zigbee-gateway", "_zigate-zigbee-gateway._tcp", []),
      (#"_a\,b\.c._tcp,x\,y"#, #"_a\,b\.c._tcp"#, ["x,y"]), ("a b", #"_a\032b._tcp"#, []),
    ] as [(String, String, [DNSLabel])])
  func types(text: String, type: String, subtypes: [DNSLabel]) throws {
    let found = try NetworkText.services(text)
    #expect("\(found.type)" == type && found.subtypes == subtypes && found.domain == .local)
  }

  @Test("a type may have a domain of its own, or one beside it")
  func domains() throws {
    #expect(try NetworkText.services("_http._tcp.example.com,_a").domain == "example.com.")
    #expect(try NetworkText.services("http", domain: "example.com").domain == "example.com.")
    #expect(try NetworkText.services("_http._tcp.local", domain: "").domain == .local)
    #expect(throws: CommandFailure.self) { try NetworkText.services("http", domain: "a..b") }
  }

  @Test(
    "a text that is no service type is refused",
    arguments: [
      "", "_", ".", "_http._sctp", "http._tcp", "a.b", "_http._tcp,", "_http._tcp,,a", "a..b",
      String(repeating: "a", count: 63), #"_http._tcp\"#, "._sub._http._tcp",
    ])
  func noTypes(text: String) {
    let failure = #expect(throws: CommandFailure.self) { try NetworkText.services(text) }
    #expect(failure?.status == .usage && failure?.sentence.contains("\"\(text)\"") == true)
  }

  @Test(
    "a subtype is taken with and without its underscore",
    arguments: [("printer", "_printer"), ("_printer", "_printer"), (#"a\255"#, #"_a\255"#)])
  func subtypes(text: String, label: String) throws {
    #expect(try NetworkText.subtype(text).description == label)
  }

  @Test(
    "a full name is taken apart at its last type, and its dots need no backslash",
    arguments: [
      ("My Printer._ipp._tcp.local", #"My\032Printer._ipp._tcp.local."#),
      ("My Printer._ipp._tcp", #"My\032Printer._ipp._tcp.local."#),
      (#"My\032Printer._ipp._tcp.local."#, #"My\032Printer._ipp._tcp.local."#),
      ("Mr. Ames' Desk._ipp._tcp.local", #"Mr\.\032Ames'\032Desk._ipp._tcp.local."#),
      ("a._http._tcp._ipp._udp.example.com", #"a\._http\._tcp._ipp._udp.example.com."#),
      (#"\255\007._dyson_mqtt._tcp.local"#, #"\255\007._dyson_mqtt._tcp.local."#),
      ("Cafe\u{301}._ipp._tcp.local", "Café._ipp._tcp.local."),
    ])
  func fullNames(text: String, name: String) throws {
    let service = try NetworkText.service(fullName: text)
    #expect(service.description == name)
    #expect(try NetworkText.service(fullName: service.description) == service)
  }

  @Test(
    "a text that is no full name is refused",
    arguments: [
      "", "Lamp", "_ipp._tcp.local", "Lamp._ipp.local", "Lamp._ipp._tcp..local",
      "\(String(repeating: "a.", count: 32))x._ipp._tcp.local",
    ])
  func noFullNames(text: String) {
    let failure = #expect(throws: CommandFailure.self) { try NetworkText.service(fullName: text) }
    #expect(failure?.status == .usage)
  }

  @Test(
    "an address and a reverse name are queried by name",
    arguments: [
      ("192.0.2.1", "1.2.0.192.in-addr.arpa.", true),
      ("1.2.0.192.in-addr.arpa", "1.2.0.192.in-addr.arpa.", true),
      ("1.2.0.192.IN-ADDR.ARPA.", "1.2.0.192.in-addr.arpa.", true),
      ("printer.local", "printer.local.", false), ("arpa", "arpa.", false),
    ] as [(String, DNSName, Bool)])
  func reverseNames(text: String, name: DNSName, isReverse: Bool) throws {
    #expect(try NetworkText.queried(text) == (name, isReverse))
    let six = try NetworkText.queried("fe80::1%eth0")
    #expect(six.isReverse && six.name.isWithin("8.e.f.ip6.arpa."))
  }

  @Test(
    "bytes of a value are typed and printed as escapes",
    arguments: [
      ("plain text", "plain text"), (#"C:\\dir"#, #"C:\\dir"#),
      (#"\000\255"#, #"\000\255"#), (#"\xFf\x0a"#, #"\255\010"#), ("küche", "küche"),
      (#"é\xff"#, #"\195\169\255"#), ("tab\t", #"tab\009"#),
    ])
  func escapes(typed: String, printed: String) throws {
    let bytes = try TextEscapes.bytes(typed)
    #expect(TextEscapes.text(bytes) == printed)
    #expect(try TextEscapes.bytes(printed) == bytes)
  }

  @Test(
    "a backslash that begins no escape is a mistake, whose position is reported",
    arguments: [
      (#"C:\dir"#, 7), (#"\256"#, 5), (#"\12"#, 5), (#"\x1"#, 5), (#"\x+1"#, 5),
      ("é👩\u{200D}🔬\\", 7),
      (#"\\\000\q"#, 11),
    ])
  func mistakes(value: String, position: Int) {
    let failure = #expect(throws: CommandFailure.self) { try Publish.entry("key=" + value) }
    #expect(failure?.status == .usage)
    let sentence = "the backslash at character \(position) of \"key=\(value)\" begins no escape"
    #expect(failure?.sentence.hasPrefix(sentence) == true, "\(failure?.sentence ?? "")")
  }

  @Test("every value of bytes comes back from its escapes")
  func allBytes() throws {
    let bytes = Array(UInt8.min ... .max)
    #expect(try TextEscapes.bytes(TextEscapes.text(bytes)) == bytes)
    for byte in bytes { #expect(try TextEscapes.bytes(TextEscapes.text([byte])) == [byte]) }
  }

  @Test("a link-local address of IPv6 is printed with its interface, any other without")
  func scopes() {
    let linkLocal = InetAddress.v6(Inet6Address(high: 0xFE80 << 48, low: 1))
    #expect("\(ScopedAddress(linkLocal, on: "eth0"))" == "fe80::1%eth0")
    #expect("\(ScopedAddress(linkLocal, on: nil))" == "fe80::1")
    #expect("\(ScopedAddress(.v6(Inet6Address(high: 1, low: 2)), on: "eth0"))" == "::1:0:0:0:2")
    #expect("\(ScopedAddress(.v4(Inet4Address(169, 254, 0, 1)), on: "eth0"))" == "169.254.0.1")
  }

  @Test("addresses are news once they are complete, and whenever they change")
  func addressNews() {
    let (one, other) = (
      InetAddress.v4(Inet4Address(10, 0, 0, 1)), InetAddress.v4(Inet4Address(10, 0, 0, 2))
    )
    var search = AddressSearch()
    func take(_ event: QueryEvent) -> [InetAddress]? {
      _ = search.take(FoundEvent(event: event, interface: nil, moreComing: false))
      return search.takeNews()
    }
    #expect(take(.addressAdded(one, ttlSeconds: 1)) == nil)
    #expect(take(.addressAbsent(.v6)) == [one])
    #expect(take(.addressAdded(one, ttlSeconds: 9)) == nil)
    #expect(take(.addressAdded(other, ttlSeconds: 1)) == [one, other])
    #expect(take(.addressRemoved(one)) == [other])
    #expect(take(.addressRemoved(other)) == [])
    #expect(take(.addressAdded(one, ttlSeconds: 1)) == [one])
    var silent = AddressSearch()
    silent.isPastSecondAnswer = true
    #expect(silent.takeNews() == nil)
    silent.isPastLimit = true
    #expect(silent.takeNews() == [])
    #expect(silent.takeNews() == nil)
  }

  @Test("every string of a text is shown, also with keys that should not be, and its bytes kept")
  func text() throws {
    let record = try TXTRecord(
      strings: ["raum=küche", "größe=2", "flag", "=nokey", "RAUM=x", "e="].map { Array($0.utf8) }
        + [[0x62, 0x3D, 0xFF]])
    #expect(
      TextPair.object(of: record).line
        == #"{"raum":"küche","größe":"2","flag":true,"e":"","b":{"hex":"ff"}}"#)
    guard case .array(let strings) = TextPair.strings(of: record) else {
      Issue.record("no array")
      return
    }
    #expect(strings.count == 7 && strings.last == .string("623dff"))
  }

  @Test("addresses are waited for until both versions are known, or the second answer is due")
  func addresses() throws {
    let four = QueryEvent.addressAdded(.v4(Inet4Address(10, 0, 0, 1)), ttlSeconds: 1)
    let six = QueryEvent.addressAdded(.v6(Inet6Address(high: 1, low: 2)), ttlSeconds: 1)
    /// Whether it is done after each of these.
    func answers(
      _ events: [(QueryEvent, moreComing: Bool)], isPastSecondAnswer: Bool = false
    ) -> [Bool] {
      var search = AddressSearch()
      search.isPastSecondAnswer = isPastSecondAnswer
      return events.map { event, moreComing in
        search.take(FoundEvent(event: event, interface: nil, moreComing: moreComing))
      }
    }
    #expect(answers([(six, false), (four, true), (six, false)]) == [false, false, true])
    #expect(answers([(.addressAbsent(.v6), false), (four, false)]) == [false, true])
    #expect(answers([(four, false)]) == [false])
    #expect(answers([(four, false)], isPastSecondAnswer: true) == [true])
    #expect(answers([(.failed(.nameTooLong), false)]) == [true])
  }
}

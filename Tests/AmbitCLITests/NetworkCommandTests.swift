import BonjourHost
import DNSWire
import DiscoveryMachines
import Essentials
import Foundation
import JSONWire
import Testing

@testable import AmbitCLI

/// Commands of the network, on this machine's own interface.
@Suite("Commands of the network", .timeLimit(.minutes(3)))
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

  @Test("a service of a host without an address is not resolved, which is a failure")
  func unresolved() async throws {
    let publisher = try await publish("Lamp", "--host", "nowhere-\(run)")
    let end = try await AmbitRun.end(
      "resolve", "Lamp", type, "--interface", "lo", "--timeout", "1500ms")
    #expect(end.status == AmbitCLI.ExitStatus.notFound.rawValue && end.output.isEmpty)
    #expect(end.complaints.joined().contains("did not answer with an address"), "\(end)")
    withExtendedLifetime(publisher) {}
  }

  @Test("a service of another host is published with its addresses")
  func proxy() async throws {
    let publisher = try await publish(
      "Lamp", "--host", "proxy-\(run)", "--address", "192.0.2.7", "--address", "2001:db8::7")
    let end = try await AmbitRun.end("resolve", "Lamp", type, "--interface", "lo", "--json")
    let object = try Self.object(try #require(end.output.first, "\(end)"))
    #expect(object["host"] as? String == "proxy-\(run).local.")
    #expect(object["addresses"] as? [String] == ["192.0.2.7", "2001:db8::7"])
    withExtendedLifetime(publisher) {}
  }

  @Test("browse lists all types with their services, where they are, and ends")
  func everything() async throws {
    let publisher = try await publish("Lamp", "room=study")
    let end = try await AmbitRun.end(
      "browse", "--all", "--resolve", "--once", "--interface", "lo", "--json")
    #expect(end.status == 0, "\(end)")
    let events = try end.output.map(Self.object).filter { $0["type"] as? String == type }
    #expect(events.map { $0["event"] as? String } == ["found", "resolved"])
    #expect(events.last?["addresses"] as? [String] == ["127.0.0.1"])
    #expect(events.last?["strings"] as? [String] == ["726f6f6d3d7374756479"])
    withExtendedLifetime(publisher) {}
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
      "query", "127.0.0.1", "--once", "--interface", "lo", "--json")
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
    #expect(end.status == 0 && end.complaints.isEmpty, "\(end)")
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
    let full = try AmbitRun(arguments, shell: "exec >/dev/full")
    let end = await full.end()
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
      ("http", "_http._tcp", nil), ("_http._tcp", "_http._tcp", nil),
      ("_http._tcp.local", "_http._tcp", nil), ("_http._tcp.local.", "_http._tcp", nil),
      ("_sleep._UDP.", "_sleep._udp", nil), ("_http._tcp,_printer", "_http._tcp", "_printer"),
      ("_printer._sub._http._tcp", "_http._tcp", "_printer"),
    ] as [(String, String, String?)])
  func types(text: String, type: String, subtype: String?) throws {
    let found = try NetworkText.browsed(text, subtype: nil)
    #expect("\(found.type)" == type && found.subtype == subtype)
  }

  @Test(
    "a text that is no service type is refused",
    arguments: ["_http._tcp.example.com", "_http", "a b", ""])
  func noTypes(text: String) {
    let failure = #expect(throws: CommandFailure.self) { try NetworkText.type(text) }
    #expect(failure?.status == .usage && failure?.sentence.contains("\"\(text)\"") == true)
  }

  @Test("every string of a text is shown, also with keys that should not be, and its bytes kept")
  func text() throws {
    let record = try TXTRecord(
      strings: ["raum=küche", "größe=2", "flag", "=nokey", "RAUM=x", "e="].map { Array($0.utf8) }
        + [[0x62, 0x3D, 0xFF]])
    #expect(
      TextPair.object(of: record).line
        == #"{"raum":"küche","größe":"2","flag":true,"e":"","b":"\#u{FFFD}"}"#)
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

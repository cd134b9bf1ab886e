import Essentials
import Foundation
import Testing

@testable import Bonjour

private typealias IPv4Address = Bonjour.IPv4Address
private typealias IPv6Address = Bonjour.IPv6Address

@Suite("Endpoints, addresses and errors of Network")
struct NWValueTests {
  @Test(
    "a host is an address where its text is one",
    arguments: [
      ("192.0.2.1", NWEndpoint.Host.ipv4(IPv4Address(.init(192, 0, 2, 1)))),
      ("::1", .ipv6(.loopback)),
      ("lamp.local", .name("lamp.local", nil)), ("300.1.1.1", .name("300.1.1.1", nil)),
      ("fe80::1%nowhere", .name("fe80::1%nowhere", nil)),
    ])
  func hosts(_ text: String, _ host: NWEndpoint.Host) {
    #expect(NWEndpoint.Host(text) == host)
    #expect(host.debugDescription == text)
  }

  @Test("an address has its interface after a percent sign")
  func scope() throws {
    let host = NWEndpoint.Host("fe80::1%lo")
    #expect(host.interface?.index == 1)
    #expect(host.interface?.type == .loopback)
    #expect(host.debugDescription == "fe80::1%lo")
    #expect(NWEndpoint.hostPort(host: host, port: 80).interface?.name == "lo")
  }

  @Test("ports have numbers and a few have names")
  func ports() {
    let port: NWEndpoint.Port = 8_080
    #expect(port.rawValue == 8_080 && NWEndpoint.Port(rawValue: 8_080) == port)
    let optional: NWEndpoint.Port? = NWEndpoint.Port(rawValue: 0)
    #expect(optional == .any)
    #expect(NWEndpoint.Port("443") == .https && NWEndpoint.Port("https") == .https)
    #expect(NWEndpoint.Port("65536") == nil && NWEndpoint.Port("") == nil)
    #expect("\(port)" == "8080")
  }

  @Test("endpoints are described as people write them")
  func descriptions() throws {
    #expect("\(NWEndpoint.hostPort(host: "192.0.2.1", port: 80))" == "192.0.2.1:80")
    #expect("\(NWEndpoint.hostPort(host: "::1", port: 80))" == "::1.80")
    let service = NWEndpoint.service(
      name: "Desk lamp", type: "_lamp._tcp", domain: "local", interface: nil)
    #expect("\(service)" == "Desk lamp._lamp._tcp.local.")
    #expect("\(NWEndpoint.unix(path: "/run/x"))" == "/run/x")
    let url = try #require(URL(string: "http://example.com/"))
    #expect("\(NWEndpoint.url(url))" == "http://example.com/")
  }

  @Test("addresses are classified by their range")
  func addresses() {
    #expect(
      IPv4Address("127.0.0.1") == .loopback && IPv4Address.loopback.isLoopback)
    #expect(
      IPv4Address.mdnsGroup.isMulticast
        && IPv4Address("169.254.1.2")?.isLinkLocal == true)
    #expect(IPv4Address(Data([1, 2, 3])) == nil && IPv4Address("1.2.3") == nil)
    #expect(IPv4Address(Data([10, 0, 0, 1]))?.rawValue == Data([10, 0, 0, 1]))
    let mapped = IPv6Address("::ffff:192.0.2.1")
    #expect(mapped?.isIPv4Mapped == true && mapped?.asIPv4 == IPv4Address("192.0.2.1"))
    #expect(
      IPv6Address("fd00::1")?.isUniqueLocal == true
        && IPv6Address("fe00::1")?.isUniqueLocal == false)
    #expect(IPv6Address("2002::1")?.is6to4 == true)
    #expect(IPv6Address.linkLocalNodes.multicastScope == .linkLocal)
    #expect(IPv6Address.loopback.multicastScope == nil && IPv6Address.any.isAny)
    #expect(IPv6Address("::1")?.asIPv4 == nil)
    #expect(IPv6Address("2001:db8::1")?.rawValue.count == 16)
  }

  @Test("errors are compared by their codes, which have Apple's numbers")
  func errors() {
    let error = NWError.dns(DNSServiceErrorType(kDNSServiceErr_PolicyDenied))
    #expect(error == .dns(-65_570) && error != .posix(.ECONNREFUSED))
    #expect("\(error)" == "-65570: PolicyDenied")
    let refusal = NWError.posix(.ECONNREFUSED)
    #expect("\(refusal)" == "POSIXErrorCode(rawValue: 111): Connection refused")
    #expect(kDNSServiceErr_NoAuth == -65_555 && kDNSServiceErr_ServiceNotRunning == -65_563)
    #expect(kDNSServiceErr_StaleData == -65_572 && kDNSServiceErr_NoError == 0)
  }
}

@Suite("NWTXTRecord")
struct NWTXTRecordTests {
  @Test("keys are found in any case, and set in their place")
  func keys() {
    var record = NWTXTRecord(["a": "1", "B": "2"])
    #expect(record["b"] == "2" && record["A"] == "1" && record["c"] == nil)
    record["b"] = "3"
    #expect(record.dictionary == ["a": "1", "b": "3"])
    record["a"] = nil
    #expect(record.dictionary == ["b": "3"] && record.count == 1)
    let wasThere = [record.removeEntry(key: "B"), record.removeEntry(key: "B")]
    #expect(wasThere == [true, false])
    #expect(record.isEmpty && record.data == Data([0]))
  }

  @Test("entries without a value, with an empty one, with text and with bytes are kept apart")
  func entries() {
    let entries: [String: NWTXTRecord.Entry] = [
      "none": .none, "empty": .empty, "text": .string("Grüße"), "bytes": .data(Data([0xFF, 0])),
    ]
    let record = NWTXTRecord(entries)
    #expect(NWTXTRecord(record.data) == record)
    #expect(record.entries == entries)
    #expect(record.getEntry(for: "NONE") == NWTXTRecord.Entry.none)
    #expect(record.getEntry(for: "missing") == nil)
    #expect(record.getEntry(for: "bytes")?.data == Data([0xFF, 0]))
    #expect(record["none"] == "" && record["bytes"] == nil)
    #expect(record.dictionary == ["none": "", "empty": "", "text": "Grüße"])
    #expect(record.dataDictionary["bytes"] == Data([0xFF, 0]))
    #expect(
      NWTXTRecord(["bytes": Data([0xFF, 0])]).getEntry(for: "bytes") == .data(Data([0xFF, 0])))
  }

  @Test("a pair that can't be in a record is refused and changes nothing")
  func limits() {
    var record = NWTXTRecord(["a": "1"])
    let before = record
    let long = String(repeating: "v", count: 253)
    let isSet = [
      record.setEntry(.empty, for: ""), record.setEntry(.empty, for: "x=y"),
      record.setEntry(.string(long + "v"), for: "k"),
    ]
    #expect(isSet == [false, false, false] && record == before)
    let fits = record.setEntry(.string(long), for: "k")
    #expect(fits)
    #expect(NWTXTRecord(Data([9, 1])).isEmpty)
  }

  @Test("a text record is a collection in the order of the wire, forwards and backwards")
  func collection() {
    let record = NWTXTRecord(["txtvers": "1", "a": "", "b": "2"])
    #expect(record.map(\.key) == ["txtvers", "a", "b"])
    #expect(record.reversed().map(\.key) == ["b", "a", "txtvers"])
    #expect(record[record.startIndex].value == .string("1"))
    #expect(record.last?.value == .string("2"))
  }
}

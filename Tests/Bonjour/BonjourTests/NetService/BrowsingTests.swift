import DNSWire
import DiscoveryMachines
import Foundation
import Testing

@testable import Bonjour

@Suite("Browsing with NetServiceBrowser", .timeLimit(.minutes(5)))
struct BrowsingTests {
  private let discovery = ScriptedDiscovery()
  private let thread = RunLoopThread()
  private let recorder = BrowserRecorder()

  private func browser() async -> NetServiceBrowser {
    await thread.run { [discovery, recorder] in
      DiscoveryContext.$override.withValue(discovery) {
        let browser = NetServiceBrowser()
        browser.delegate = recorder
        return browser
      }
    }
  }

  private func request() throws -> QueryRequest {
    .browse(try ServiceType(text: "_lamp._tcp"))
  }

  @Test("results that come together are reported with more coming, but for the last")
  func moreComing() async throws {
    let browser = await browser()
    browser.searchForServices(ofType: "_lamp._tcp.", inDomain: "")
    #expect(discovery.requests == [try request()])
    discovery.notify(
      try request(), .serviceAdded(try .lamp("A")), .serviceAdded(try .lamp("B")),
      .serviceAdded(try .lamp("C")))
    #expect(await recorder.events.next(4) == ["will search", "found A…", "found B…", "found C"])
    discovery.notify(try request(), .serviceRemoved(try .lamp("A")), .serviceAdded(try .lamp("D")))
    #expect(await recorder.events.next(2) == ["gone A…", "found D"])
    withExtendedLifetime(browser) {}
    await thread.end()
  }

  @Test("a service on two interfaces is found with the first and gone with the last")
  func twoInterfaces() async throws {
    let browser = await browser()
    browser.searchForServices(ofType: "_lamp._tcp.", inDomain: "local.")
    discovery.notify(try request(), .serviceAdded(try .lamp("A")), .serviceAdded(try .lamp("B")))
    discovery.notify(try request(), .serviceAdded(try .lamp("A")), on: .second)
    discovery.notify(
      try request(), .serviceRemoved(try .lamp("A")), .serviceRemoved(try .lamp("B")))
    discovery.notify(try request(), .serviceRemoved(try .lamp("A")), on: .second)
    // The last event reported at once has no more coming, although unreported ones follow it.
    #expect(
      await recorder.events.next(5) == [
        "will search", "found A…", "found B", "gone B", "gone A",
      ])
    withExtendedLifetime(browser) {}
    await thread.end()
  }

  @Test("a second search meanwhile is refused, and one after stopping is not")
  func busy() async throws {
    let browser = await browser()
    browser.searchForServices(ofType: "_lamp._tcp.", inDomain: "")
    browser.searchForBrowsableDomains()
    #expect(await recorder.events.next(2) == ["will search", "not searched -72003 of 10"])
    browser.stop()
    browser.stop()
    #expect(discovery.requests.isEmpty)
    browser.searchForRegistrationDomains()
    #expect(await recorder.events.next(2) == ["stopped", "will search"])
    #expect(discovery.requests == [.domains(.registration)])
    await thread.end()
  }

  @Test("types that can't be are bad arguments", arguments: ["lamp", "_lamp", "", "_lamp._ftp."])
  func badType(_ type: String) async {
    let browser = await browser()
    browser.searchForServices(ofType: type, inDomain: "")
    #expect(await recorder.events.next() == "not searched -72004 of 10")
    withExtendedLifetime(browser) {}
    await thread.end()
  }

  @Test(
    "types that RFC 6335 does not allow are searched for, and found",
    arguments: ["_androidtvremote2._tcp", "_dyson_mqtt._tcp.", #"_a\.\255._tcp"#])
  func unregisteredType(_ text: String) async throws {
    let browser = await browser()
    browser.searchForServices(ofType: text + ",_led", inDomain: "")
    let type = try ServiceType(text: text)
    let request = QueryRequest.browse(type, subtype: "_led")
    #expect(discovery.requests == [request])
    discovery.notify(request, .serviceAdded(try ServiceName(instance: "A", type: type)))
    #expect(await recorder.events.next(2) == ["will search", "found A"])
    let services = await thread.run { [recorder] in recorder.services }
    let found = try #require(services.first)
    #expect(found.type == "\(type).")
    found.resolve(withTimeout: 5)
    #expect(discovery.requests.contains(.resolve(try ServiceName(instance: "A", type: type))))
    found.stop()
    withExtendedLifetime(browser) {}
    await thread.end()
  }

  @Test("a domain beyond this link can't be searched")
  func otherDomain() async throws {
    let browser = await browser()
    browser.searchForServices(ofType: "_lamp._tcp.", inDomain: "example.com.")
    let request = QueryRequest.browse(try ServiceType(text: "_lamp._tcp"), domain: "example.com.")
    discovery.notify(request, .failed(.notOnThisLink("_lamp._tcp.example.com.")))
    #expect(await recorder.events.next(2) == ["will search", "not searched -72004 of 10"])
    #expect(discovery.requests.isEmpty)
    withExtendedLifetime(browser) {}
    await thread.end()
  }

  @Test("a subtype is searched for by itself")
  func subtype() async throws {
    let browser = await browser()
    browser.searchForServices(ofType: "_lamp._tcp,_led", inDomain: "")
    #expect(
      discovery.requests == [.browse(try ServiceType(text: "_lamp._tcp"), subtype: "_led")])
    withExtendedLifetime(browser) {}
    await thread.end()
  }

  @Test("types are found as services of the transport, as Apple's are")
  func types() async throws {
    let browser = await browser()
    browser.searchForServices(ofType: "_services._dns-sd._udp.", inDomain: "")
    let lamp = try ServiceType(text: "_lamp._tcp")
    discovery.notify(.serviceTypes(), .typeAdded(lamp))
    discovery.notify(.serviceTypes(), .typeAdded(lamp), on: .second)
    discovery.notify(.serviceTypes(), .typeAdded(try ServiceType(text: "_lamp._udp")))
    #expect(
      await recorder.events.next(3) == ["will search", "found _lamp", "found _lamp"])
    let services = await thread.run { [recorder] in recorder.services }
    #expect(services.map(\.type) == ["_tcp.local.", "_udp.local."])
    #expect(services.first?.domain == ".")
    discovery.notify(.serviceTypes(), .typeRemoved(lamp))
    discovery.notify(.serviceTypes(), .typeRemoved(lamp), on: .second)
    #expect(await recorder.events.next() == "gone _lamp")
    withExtendedLifetime(browser) {}
    await thread.end()
  }

  @Test("domains are found and go")
  func domains() async throws {
    let browser = await browser()
    browser.searchForBrowsableDomains()
    discovery.notify(.domains(.browsing), .domainAdded(.local), on: nil)
    discovery.notify(.domains(.browsing), .domainAdded("home.arpa."))
    discovery.notify(.domains(.browsing), .domainAdded("home.arpa."), on: .second)
    discovery.notify(.domains(.browsing), .domainRemoved("home.arpa."), on: .second)
    discovery.notify(.domains(.browsing), .domainRemoved("home.arpa."))
    #expect(
      await recorder.events.next(4) == [
        "will search", "domain local.", "domain home.arpa.", "domain gone home.arpa.",
      ])
    withExtendedLifetime(browser) {}
    await thread.end()
  }

  @Test("a browser that is released stops, and holds neither itself nor its delegate")
  func letGo() async throws {
    weak var browser: NetServiceBrowser?
    weak var delegate: BrowserRecorder?
    do {
      let held = await self.browser()
      let recorder = BrowserRecorder()
      held.delegate = recorder
      held.searchForServices(ofType: "_lamp._tcp.", inDomain: "")
      discovery.notify(try request(), .serviceAdded(try .lamp("A")))
      _ = await recorder.events.next(2)
      (browser, delegate) = (held, recorder)
    }
    await thread.run {}
    #expect(browser == nil && delegate == nil)
    #expect(discovery.requests.isEmpty)
    await thread.end()
  }

  @Test("a service that was found can be resolved where it was found")
  func resolvesFound() async throws {
    let browser = await browser()
    browser.searchForServices(ofType: "_lamp._tcp.", inDomain: "")
    discovery.notify(try request(), .serviceAdded(try .lamp("A")))
    _ = await recorder.events.next(2)
    let services = ServiceRecorder()
    let found = await thread.run { [recorder] in recorder.services.first }
    let service = try #require(found)
    service.delegate = services
    service.resolve(withTimeout: 5)
    #expect(await services.events.next() == "will resolve")
    #expect(discovery.requests.contains(.resolve(try .lamp("A"))))
    withExtendedLifetime(browser) {}
    await thread.end()
  }
}

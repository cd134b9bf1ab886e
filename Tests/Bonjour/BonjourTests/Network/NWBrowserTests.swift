import DNSWire
import DiscoveryMachines
import Foundation
import Synchronization
import Testing

@testable import Bonjour

@Suite("NWBrowser", .timeLimit(.minutes(5)))
struct NWBrowserTests {
  typealias Change = NWBrowser.Result.Change

  private let discovery = ScriptedDiscovery()
  private let queue = DispatchQueue(label: "test")
  private let states = Events<NWBrowser.State>()
  private let changes = Events<(Set<NWBrowser.Result>, Set<Change>)>()

  private func browser(
    _ descriptor: NWBrowser.Descriptor = .bonjour(type: "_lamp._tcp", domain: nil),
    _ parameters: NWParameters = NWParameters()
  ) -> NWBrowser {
    let browser = DiscoveryContext.$override.withValue(discovery) {
      NWBrowser(for: descriptor, using: parameters)
    }
    browser.stateUpdateHandler = { [states] in states.add($0) }
    browser.browseResultsChangedHandler = { [changes] in changes.add(($0, $1)) }
    return browser
  }

  private func request() throws -> QueryRequest {
    .browse(try ServiceType(text: "_lamp._tcp"))
  }

  private static func result(
    _ name: String, _ interfaces: [InterfaceIndex] = [.first],
    _ metadata: NWBrowser.Result.Metadata = .none
  ) -> NWBrowser.Result {
    NWBrowser.Result(
      endpoint: .service(name: name, type: "_lamp._tcp", domain: "local.", interface: nil),
      interfaces: interfaces.compactMap { NWInterface($0) }, metadata: metadata)
  }

  @Test("a browser becomes ready, and reports results that come together in one call")
  func batch() async throws {
    let browser = browser()
    #expect(browser.state == .setup && browser.queue == nil)
    browser.start(queue: queue)
    #expect(await states.next() == .ready)
    discovery.notify(try request(), .serviceAdded(try .lamp("A")), .serviceAdded(try .lamp("B")))
    let told = await changes.next()
    let (a, b) = (Self.result("A"), Self.result("B"))
    #expect(told?.0 == [a, b])
    #expect(told?.1 == [.added(a), .added(b)])
    #expect(browser.browseResults == [a, b])
    #expect(a.interfaces.map(\.name) == ["lo"])
    discovery.notify(try request(), .serviceRemoved(try .lamp("A")))
    let gone = await changes.next()
    #expect(gone?.0 == [b] && gone?.1 == [.removed(a)])
  }

  @Test("a text that comes with a service is there when that is reported; another changes it")
  func text() async throws {
    let browser = browser(.bonjourWithTXTRecord(type: "_lamp._tcp", domain: "local."))
    browser.start(queue: queue)
    discovery.notify(try request(), .serviceAdded(try .lamp("A")))
    let name = try ServiceName.lamp("A").name
    let record = { (room: String) throws in
      let text = try TXTRecord([.init(key: "room", value: Array(room.utf8))])
      return DNSRecord(name: name, ttlSeconds: 4_500, data: .txt(text))
    }
    discovery.notify(.records(name, .txt), .recordAdded(try record("study")))
    let study = Self.result("A", [.first], .bonjour(NWTXTRecord(["room": "study"])))
    #expect(await changes.next()?.1 == [.added(study)])
    discovery.notify(.records(name, .txt), .recordAdded(try record("attic")))
    let attic = Self.result("A", [.first], .bonjour(NWTXTRecord(["room": "attic"])))
    #expect(
      await changes.next()?.1 == [.changed(old: study, new: attic, flags: .metadataChanged)])
    discovery.notify(try request(), .serviceRemoved(try .lamp("A")))
    #expect(await changes.next()?.1 == [.removed(attic)])
    #expect(discovery.requests == [try request()])
  }

  @Test("a service without a text is reported after a second")
  func noText() async throws {
    let browser = browser(.bonjourWithTXTRecord(type: "_lamp._tcp", domain: nil))
    browser.start(queue: queue)
    discovery.notify(try request(), .serviceAdded(try .lamp("A")))
    discovery.pass(seconds: 1)
    #expect(await changes.next()?.1 == [.added(Self.result("A"))])
  }

  @Test("only the interfaces that the parameters allow count")
  func interfaces() async throws {
    let parameters = NWParameters()
    parameters.prohibitedInterfaces = [NWInterface(name: "x", index: 2)]
    let browser = browser(.bonjour(type: "_lamp._tcp", domain: nil), parameters)
    browser.start(queue: queue)
    discovery.notify(try request(), .serviceAdded(try .lamp("A")), on: .second)
    discovery.notify(try request(), .serviceAdded(try .lamp("B")))
    #expect(await changes.next()?.1 == [.added(Self.result("B"))])

    parameters.requiredInterface = NWInterface(.first)
    let other = self.browser(.bonjour(type: "_lamp._tcp", domain: nil), parameters)
    other.start(queue: queue)
    #expect(discovery.searchedInterfaces == [nil, .first])
  }

  @Test("a type that can't be browsed for fails")
  func failures() async throws {
    browser(.bonjour(type: "lamp", domain: nil)).start(queue: queue)
    #expect(await states.next() == .failed(.dns(DNSServiceErrorType(kDNSServiceErr_BadParam))))
    browser(.applicationService(name: "App")).start(queue: queue)
    #expect(await states.next() == .failed(.dns(DNSServiceErrorType(kDNSServiceErr_Unsupported))))
    let elsewhere = browser(.bonjour(type: "_lamp._tcp", domain: "example.com"))
    elsewhere.start(queue: queue)
    discovery.notify(
      .browse(try ServiceType(text: "_lamp._tcp"), domain: "example.com."),
      .failed(.notOnThisLink("_lamp._tcp.example.com.")))
    #expect(await states.next() == .ready)
    #expect(await states.next() == .failed(.dns(DNSServiceErrorType(kDNSServiceErr_Unsupported))))
  }

  @Test("a browser that is cancelled reports that, and nothing more, and holds no handlers")
  func cancels() async throws {
    let browser = browser()
    browser.start(queue: queue)
    #expect(await states.next() == .ready)
    browser.cancel()
    browser.start(queue: queue)
    #expect(await states.next() == .cancelled)
    #expect(discovery.requests.isEmpty)
    queue.sync {}
    #expect(browser.stateUpdateHandler == nil && browser.browseResultsChangedHandler == nil)
    #expect(browser.state == .cancelled)
  }

  @Test func `The last state that a handler gets is the last one, whatever threads change it`() {
    for _ in 0..<500 {
      let browser = browser()
      let reported = Mutex<[NWBrowser.State]>([])
      browser.stateUpdateHandler = { state in reported.withLock { $0.append(state) } }
      DispatchQueue.concurrentPerform(iterations: 2) { index in
        if index == 0 { browser.start(queue: queue) } else { browser.cancel() }
      }
      queue.sync {}
      #expect(browser.state == .cancelled)
      #expect([[], [.cancelled], [.ready, .cancelled]].contains(reported.withLock { $0 }))
      // It doesn't search.
      #expect(discovery.requests.isEmpty)
    }
  }

  @Test("a browser that is released stops")
  func letGo() async throws {
    weak var browser: NWBrowser?
    do {
      let held = self.browser()
      held.start(queue: queue)
      #expect(await states.next() == .ready)
      browser = held
    }
    queue.sync {}
    #expect(browser == nil)
    #expect(discovery.requests.isEmpty)
  }

  @Test("a change is reported if it makes one result another")
  func change() throws {
    let (lo, other) = (NWInterface(name: "lo", index: 1), NWInterface(name: "eth9", index: 9))
    let endpoint = NWEndpoint.service(name: "A", type: "_a._tcp", domain: "local.", interface: nil)
    let one = NWBrowser.Result(endpoint: endpoint, interfaces: [lo], metadata: .none)
    let two = NWBrowser.Result(endpoint: endpoint, interfaces: [lo, other], metadata: .none)
    let text = NWBrowser.Result(
      endpoint: endpoint, interfaces: [other], metadata: .bonjour(NWTXTRecord(["a": "b"])))
    #expect(Change(between: one, one) == .identical)
    #expect(Change(between: nil, nil) == .identical)
    #expect(Change(between: nil, one) == .added(one))
    #expect(Change(between: one, nil) == .removed(one))
    #expect(Change(between: one, two) == .changed(old: one, new: two, flags: .interfaceAdded))
    #expect(Change(between: two, one) == .changed(old: two, new: one, flags: .interfaceRemoved))
    #expect(
      Change(between: one, text)
        == .changed(
          old: one, new: text, flags: [.interfaceAdded, .interfaceRemoved, .metadataChanged]))
  }
}

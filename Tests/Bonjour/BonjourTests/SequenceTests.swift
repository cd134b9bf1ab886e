import BonjourHost
import BonjourReactive
import DNSWire
import DiscoveryMachines
import Essentials
import Foundation
import Reactive
import Synchronization
import Testing

@testable import Bonjour

@Suite("Sequences and producers", .timeLimit(.minutes(5)))
struct SequenceTests {
  private let discovery = ScriptedDiscovery()

  private func request() throws -> QueryRequest {
    .browse(try ServiceType(text: "_lamp._tcp"))
  }

  private func service() -> NetService {
    DiscoveryContext.$override.withValue(discovery) {
      NetService(domain: "", type: "_lamp._tcp.", name: "Desk lamp", port: 80)
    }
  }

  private func reportResolution() throws {
    let name = try ServiceName.lamp()
    let resolution = ServiceResolution(name: name, host: .lampHost, port: 80, text: TXTRecord())
    discovery.notify(.resolve(name), .resolved(resolution))
    discovery.notify(
      .addresses(.lampHost, versions: [.v4, .v6]),
      .addressAdded(.v4(.init(192, 0, 2, 1)), ttlSeconds: 120))
  }

  @Test("a sequence has all services after each change; the search ends with its consumer")
  func services() async throws {
    do {
      let services = DiscoveryContext.$override.withValue(discovery) {
        NetServiceBrowser.services(ofType: "_lamp._tcp.")
      }
      var snapshots = services.makeAsyncIterator()
      discovery.notify(try request(), .serviceAdded(try .lamp("A")), .serviceAdded(try .lamp("B")))
      #expect(Set(try await snapshots.next()?.map(\.name) ?? []) == ["A", "B"])
      discovery.notify(try request(), .serviceAdded(try .lamp("A")), on: .second)
      discovery.notify(try request(), .serviceRemoved(try .lamp("B")))
      #expect(try await snapshots.next()?.map(\.name) == ["A"])
      #expect(discovery.requests.count == 1)
    }
    #expect(discovery.requests.isEmpty)
  }

  @Test("a task that is cancelled ends its search")
  func cancelled() async throws {
    let began = Events<Bool>()
    let task = Task { [discovery] in
      let services = DiscoveryContext.$override.withValue(discovery) {
        NetServiceBrowser.services(ofType: "_lamp._tcp.")
      }
      began.add(true)
      for try await _ in services {}
    }
    _ = await began.next()
    task.cancel()
    try await task.value
    #expect(discovery.requests.isEmpty)
  }

  @Test("a request that can't be searched for, resolved or published throws")
  func errors() async throws {
    await #expect(throws: NetServiceError(.badArgumentError)) {
      for try await _ in NetServiceBrowser.services(ofType: "lamp") {}
    }
    let service = service()
    let resolution = Task { try await service.resolve(timeout: .seconds(3)) }
    while discovery.timerCount == 0 { await Task.yield() }
    discovery.pass(seconds: 3)
    await #expect(throws: NetServiceError(.timeoutError)) { _ = try await resolution.value }
    #expect(discovery.requests.isEmpty)
    let names = service.publishedNames(options: .noAutoRename)
    discovery.notify(.refused(try ServiceName.lamp().name))
    await #expect(throws: NetServiceError(.collisionError)) { for try await _ in names {} }
  }

  @Test("a sequence gives a service's resolution, and the names under which it is published")
  func resolutionAndNames() async throws {
    let service = service()
    async let resolution = service.resolve()
    while discovery.requests.isEmpty { await Task.yield() }
    try reportResolution()
    let found = try await resolution
    #expect(found.hostName == "lamp.local." && found.port == 80 && found.addresses.count == 1)
    #expect(found.txtRecord == Data([0]))

    do {
      var names = service.publishedNames().makeAsyncIterator()
      discovery.notify(.registered(try ServiceName.lamp().name))
      discovery.notify(.registered(try ServiceName.lamp("Desk lamp (2)").name))
      #expect(try await names.next() == "Desk lamp")
      #expect(try await names.next() == "Desk lamp (2)")
    }
    #expect(discovery.published.first?.isLive == false)
  }

  @Test("sequences give results of Network, and an endpoint's addresses")
  func network() async throws {
    let results = DiscoveryContext.$override.withValue(discovery) {
      NWBrowser.results(for: .bonjour(type: "_lamp._tcp", domain: nil))
    }
    var snapshots = results.makeAsyncIterator()
    discovery.notify(try request(), .serviceAdded(try .lamp()))
    let endpoint = try #require(try await snapshots.next()?.first?.endpoint)
    async let addresses = DiscoveryContext.$override.withValue(discovery) {
      try await endpoint.addresses()
    }
    while discovery.requests.count < 2 { await Task.yield() }
    try reportResolution()
    #expect(try await addresses == [.hostPort(host: "192.0.2.1", port: 80)])
  }

  @Test("a producer searches for each run and ends with it")
  func producers() throws {
    let service = service()
    let producer = DiscoveryContext.$override.withValue(discovery) {
      NetServiceBrowser.reactive.services(ofType: "_lamp._tcp.")
    }
    #expect(discovery.requests.isEmpty)
    let names = Mutex<[[String]]>([])
    let run = producer.startWithResult { result in
      if case .success(let services) = result {
        names.withLock { $0.append(services.map(\.name).sorted()) }
      }
    }
    discovery.notify(try request(), .serviceAdded(try .lamp("A")))
    discovery.notify(try request(), .serviceAdded(try .lamp("B")))
    #expect(names.withLock { $0 } == [["A"], ["A", "B"]])
    run.dispose()
    #expect(discovery.requests.isEmpty)

    let ports = Mutex<[Int]>([])
    let resolving = service.reactive.resolutions.startWithResult { result in
      if case .success(let resolution) = result { ports.withLock { $0.append(resolution.port) } }
    }
    try reportResolution()
    #expect(ports.withLock { $0 } == [80])
    resolving.dispose()

    let errors = Mutex<[NetServiceError]>([])
    _ = service.reactive.publishedNames(options: .noAutoRename).startWithResult { result in
      if case .failure(let error) = result { errors.withLock { $0.append(error) } }
    }
    discovery.notify(.refused(try ServiceName.lamp().name))
    #expect(errors.withLock { $0 } == [NetServiceError(.collisionError)])
    #expect(discovery.published.first?.isLive == false)
  }

  @Test("a consumer of results may find more, look at others and end the search")
  func resultsAreToldFreely() throws {
    let counts = Mutex<[Int]>([])
    let run = Mutex<(any Disposable)?>(nil)
    let request = try request()
    let producer = DiscoveryContext.$override.withValue(discovery) {
      NWBrowser.reactive.results(for: .bonjour(type: "_lamp._tcp", domain: nil))
    }
    let new = producer.startWithResult { [discovery] result in
      guard case .success(let results) = result, let next = try? ServiceName.lamp("B") else {
        return
      }
      counts.withLock { $0.append(results.count) }
      if results.count == 1 { discovery.notify(request, .serviceAdded(next)) }
      if results.count == 2 { run.withLock { $0 }?.dispose() }
    }
    run.withLock { $0 = new }
    discovery.notify(request, .serviceAdded(try .lamp("A")))
    #expect(counts.withLock { $0 } == [1, 2])
    #expect(discovery.requests.isEmpty)
  }
}

import BonjourHost
import DNSWire
import DiscoveryMachines
import Foundation
import Testing

@testable import Bonjour

@Suite("Run loops", .timeLimit(.minutes(5)))
struct RunLoopTests {
  private let discovery = ScriptedDiscovery()
  private let thread = RunLoopThread()
  private let recorder = ServiceRecorder()

  private func service() -> NetService {
    DiscoveryContext.$override.withValue(discovery) {
      let service = NetService(domain: "", type: "_lamp._tcp.", name: "Desk lamp", port: 80)
      service.remove(from: .current, forMode: .default)
      service.delegate = recorder
      return service
    }
  }

  @Test("delegates are called on the run loop on which the service is scheduled")
  func onTheLoop() async {
    final class Delegate: NSObject, NetServiceDelegate {
      let loops = Events<ObjectIdentifier>()
      func netServiceWillPublish(_ sender: NetService) {
        loops.add(ObjectIdentifier(RunLoop.current))
      }
    }
    let delegate = Delegate()
    let service = service()
    service.delegate = delegate
    service.schedule(in: thread.loop, forMode: .default)
    service.publish()
    #expect(await delegate.loops.next() == ObjectIdentifier(thread.loop))
    await thread.end()
  }

  @Test("an object without a run loop reports nothing until it has one again, and then everything")
  func silence() async throws {
    let service = service()
    service.schedule(in: thread.loop, forMode: .default)
    service.publish()
    #expect(await recorder.events.next() == "will publish Desk lamp")
    service.remove(from: thread.loop, forMode: .default)
    discovery.notify(.registered(try ServiceName.lamp("Lamp (2)").name))
    await thread.run {}
    // The delegate was not called, so the name is the old one.
    #expect(service.name == "Desk lamp")
    service.schedule(in: thread.loop, forMode: .default)
    #expect(await recorder.events.next() == "published Lamp (2) in local.")
    await thread.end()
  }

  @Test(arguments: [true, false])
  func `A stop is reported before the start that another thread makes meanwhile`(
    _ isPublished: Bool
  ) async {
    let service = service()
    service.schedule(in: thread.loop, forMode: .default)
    let start: @Sendable () -> Void = {
      if isPublished { service.publish() } else { service.resolve(withTimeout: 0) }
    }
    let begun = isPublished ? "will publish Desk lamp" : "will resolve"
    start()
    #expect(await recorder.events.next() == begun)
    discovery.onEnd(start)
    service.stop()
    #expect(await recorder.events.next(2) == ["stopped", begun])
    #expect(discovery.published.filter(\.isLive).count == (isPublished ? 1 : 0))
    await thread.end()
  }

  @Test func `A browser's stop is reported before the search that another thread begins meanwhile`()
    async
  {
    let recorder = BrowserRecorder()
    let browser = await thread.run { [discovery] in
      DiscoveryContext.$override.withValue(discovery) {
        let browser = NetServiceBrowser()
        browser.delegate = recorder
        return browser
      }
    }
    browser.searchForBrowsableDomains()
    #expect(await recorder.events.next() == "will search")
    discovery.onEnd { browser.searchForBrowsableDomains() }
    browser.stop()
    #expect(await recorder.events.next(2) == ["stopped", "will search"])
    #expect(discovery.requests.count == 1)
    await thread.end()
  }

  @Test("a mode in which the loop does not run is not served")
  func modes() async throws {
    let mode = RunLoop.Mode("test")
    let service = service()
    service.schedule(in: thread.loop, forMode: mode)
    service.publish()
    await thread.run {}
    // Not told yet: stopping discards it.
    service.stop()
    // The block runs on the loop's thread, which then runs the loop in the other mode.
    await thread.run { _ = RunLoop.current.run(mode: mode, before: .distantFuture) }
    #expect(await recorder.events.next() == "stopped")
    await thread.end()
  }

  @Test("a loop that waits for one event returns when the delegate was called")
  func wakes() async {
    let service = service()
    let isRunning = Events<Bool>()
    let done = Task { [thread] in
      await thread.run {
        service.schedule(in: .current, forMode: .default)
        isRunning.add(true)
        return RunLoop.current.run(mode: .default, before: .distantFuture)
      }
    }
    _ = await isRunning.next()
    service.publish()
    #expect(await done.value)
    #expect(await recorder.events.next() == "will publish Desk lamp")
    await thread.end()
  }

  @Test("however much happens while no run loop runs, few notices wait, with the same result")
  func bounded() async throws {
    let service = service()
    service.publish()
    for number in 1...1_000 {
      discovery.notify(.registered(try ServiceName.lamp("Lamp \(number)").name))
    }
    service.schedule(in: thread.loop, forMode: .default)
    var count = 0
    while let event = await recorder.events.next(), event != "published Lamp 1000 in local." {
      count += 1
    }
    #expect(count <= 129)
    await thread.end()
  }

  @Test("a browser without a run loop drops services that came and went, and nothing else")
  func browserIsBounded() async throws {
    let recorder = BrowserRecorder()
    let browser = DiscoveryContext.$override.withValue(discovery) {
      let browser = NetServiceBrowser()
      browser.remove(from: .current, forMode: .default)
      return browser
    }
    browser.delegate = recorder
    browser.searchForServices(ofType: "_lamp._tcp.", inDomain: "")
    let request = QueryRequest.browse(try ServiceType(text: "_lamp._tcp"))
    discovery.notify(request, .serviceAdded(try .lamp("First")))
    for number in 1...1_000 {
      let name = try ServiceName.lamp("Lamp \(number)")
      discovery.notify(request, .serviceAdded(name))
      discovery.notify(request, .serviceRemoved(name))
    }
    discovery.notify(request, .serviceAdded(try .lamp("Last")))
    browser.schedule(in: thread.loop, forMode: .default)
    var events: [String] = []
    while let event = await recorder.events.next(), event != "found Last" { events.append(event) }
    #expect(events.prefix(2).map { $0.prefix(11) } == ["will search", "found First"])
    #expect(events.count <= 66)
    #expect(recorder.services.map(\.name) == ["First", "Last"])
    await thread.end()
  }
}

import BonjourHost
import Foundation
import Testing

@testable import Bonjour
@testable import BonjourAppCode

/// Code as apps have it, on two real hosts that talk to each other on the loopback interface; names
/// and types are made up for each run, since others may listen there.
@Suite("Apps' code", .timeLimit(.minutes(5)))
struct AppCodeTests {
  private let run = String(UInt32.random(in: 0 ... .max), radix: 36)
  private let thread = RunLoopThread()
  private let here: BonjourHost
  private let there: BonjourHost
  private var type: String { "_a-\(run)._tcp" }

  init() {
    let run = run
    let host = { (name: String) in
      BonjourHost(
        configuration: BonjourConfiguration(
          hostName: "\(name)-\(run)", interfaceNames: ["lo"]))
    }
    here = host("here")
    there = host("there")
  }

  /// Objects of an app, used on the thread's run loop only.
  private struct App: @unchecked Sendable {
    // Unchecked: used on one run loop only.
    let server = ChatServer()
    let browser: ChatBrowser
  }

  @Test("a chat room is published, found, resolved, spoken to and missed")
  func chat() async throws {
    let events = Events<String>()
    let app = await thread.run { [here, there, type] in
      let app = App(
        browser: DiscoveryContext.$override.withValue(there) { ChatBrowser() })
      app.server.onPublished = { events.add("published \($0)") }
      app.server.onMessage = { events.add("message \($0)") }
      app.browser.onServices = { events.add("found \($0.joined(separator: ", "))") }
      app.browser.onGone = { events.add("gone \($0)") }
      app.browser.onResolved = { service, addresses in
        events.add("resolved \(service.hostName ?? "") \(addresses.joined(separator: ", "))")
        app.browser.say("hello", to: service)
      }
      DiscoveryContext.$override.withValue(here) {
        app.server.start(roomName: "Kitchen", type: type)
      }
      return app
    }
    #expect(await events.next() == "published Kitchen")
    await thread.run { [type] in app.browser.start(type: type) }
    #expect(await events.next() == "found Kitchen")
    #expect(await events.next() == "resolved here-\(run).local. 127.0.0.1")
    #expect(await events.next() == "message hello")
    await thread.run { app.server.stop() }
    #expect(await events.next() == "gone Kitchen")
    await thread.run { app.browser.stop() }
    await thread.end()
    await here.close()
    await there.close()
  }

  @Test("players find each other with Network, and exchange moves")
  func peers() async throws {
    let events = Events<String>()
    let listener = PeerListener()
    listener.onAdvertised = { events.add("advertised \($0)") }
    listener.onMove = { events.add("move \($0)") }
    try DiscoveryContext.$override.withValue(here) {
      try listener.start(name: "Anna", type: type)
    }
    #expect(await events.next() == "advertised Anna")
    let browser = PeerBrowser()
    browser.onPeers = { peers in
      for (name, record) in peers { events.add("peer \(name), \(record["board"] ?? "")") }
    }
    browser.onConnected = { endpoint in
      events.add("connected to \(endpoint?.debugDescription ?? "")")
    }
    DiscoveryContext.$override.withValue(there) { browser.start(type: type) }
    #expect(await events.next() == "peer Anna, 3x3")
    DiscoveryContext.$override.withValue(there) { browser.connect(to: "Anna") }
    let connected = await events.next()
    #expect(connected?.hasPrefix("connected to 127.0.0.1:") == true)
    browser.send(move: "b2")
    #expect(await events.next() == "move b2")
    browser.stop()
    listener.stop()
    await thread.end()
    await here.close()
    await there.close()
  }
}

import DNSWire
import Dispatch
import Essentials
import Foundation
import PortSharing
import Testing

@testable import Bonjour
@testable import BonjourHost

/// Objects of an app whose hub is stopped, killed or of another version, on the interface that every machine has.
@Suite("Apps whose hub fails", .timeLimit(.minutes(5)))
struct HubFaultTests {
  private let run = String(UInt32.random(in: 0 ... .max), radix: 36)
  private let queue = DispatchQueue(label: "test")
  private let log = Events<String>()
  private let found = Events<NWBrowser.Result.Change>()
  private let listenerStates = Events<NWListener.State>()

  private var type: String { "_f-\(run)._tcp" }

  private func host() -> BonjourHost {
    var configuration = HubProcess.configuration(run)
    configuration.hubPauseMin = .milliseconds(400)
    return BonjourHost(configuration: configuration) { [log] in log.add($0) }
  }

  /// A listener that publishes a service, and echoes what its connections send.
  private func listener(_ name: String, _ host: BonjourHost) async throws -> NWListener {
    let listener = try DiscoveryContext.$override.withValue(host) {
      try NWListener(service: .init(name: name, type: type), using: .tcp)
    }
    let registrations = Events<NWListener.ServiceRegistrationChange>()
    listener.serviceRegistrationUpdateHandler = { registrations.add($0) }
    listener.stateUpdateHandler = { [listenerStates] in listenerStates.add($0) }
    listener.newConnectionHandler = { [queue] connection in
      connection.start(queue: queue)
      Self.echo(connection)
    }
    listener.start(queue: queue)
    #expect(await listenerStates.next() == .ready)
    #expect(await registrations.next() == .add(endpoint(name)))
    return listener
  }

  private static func echo(_ connection: NWConnection) {
    connection.receive(minimumIncompleteLength: 1, maximumLength: 100) { content, _, _, _ in
      guard let content else { return connection.cancel() }
      connection.send(content: content, completion: .idempotent)
      echo(connection)
    }
  }

  private func endpoint(_ name: String) -> NWEndpoint {
    .service(name: name, type: type, domain: "local.", interface: nil)
  }

  /// A connection to a service, once it is ready.
  private func connection(_ name: String, _ host: BonjourHost) async -> NWConnection {
    let connection = DiscoveryContext.$override.withValue(host) {
      NWConnection(to: endpoint(name), using: .tcp)
    }
    let states = Events<NWConnection.State>()
    connection.stateUpdateHandler = { states.add($0) }
    connection.start(queue: queue)
    #expect(await states.next(2) == [.preparing, .ready], "\(name)")
    return connection
  }

  private func exchange(_ connection: NWConnection, _ text: String) async {
    let received: Data? = await withCheckedContinuation { continuation in
      connection.send(content: Data(text.utf8), completion: .idempotent)
      connection.receive(minimumIncompleteLength: text.utf8.count, maximumLength: 100) {
        data, _, _, _ in
        continuation.resume(returning: data)
      }
    }
    #expect(received == Data(text.utf8))
  }

  private func browser(_ host: BonjourHost) -> NWBrowser {
    let browser = DiscoveryContext.$override.withValue(host) {
      NWBrowser(for: .bonjour(type: type, domain: nil), using: NWParameters())
    }
    browser.browseResultsChangedHandler = { [found] _, changes in
      for change in changes { found.add(change) }
    }
    browser.start(queue: queue)
    return browser
  }

  /// A service object on a run loop of its own, and the calls of its delegate.
  private func service(
    _ name: String, port: Int32 = -1, _ host: BonjourHost, on thread: RunLoopThread,
    _ recorder: ServiceRecorder
  ) -> NetService {
    let service = DiscoveryContext.$override.withValue(host) {
      NetService(domain: "local.", type: type, name: name, port: port)
    }
    service.remove(from: .main, forMode: .default)
    service.schedule(in: thread.loop, forMode: .default)
    service.delegate = recorder
    return service
  }

  /// The next service that is found. None may be lost meanwhile.
  private func nextFound() async -> String? {
    guard case .added(let result) = await found.next(),
      case .service(let name, _, _, _) = result.endpoint
    else { return nil }
    return name
  }

  private func logged(_ text: String) async {
    while let line = await log.next() { if line.contains(text) { return } }
  }

  @Test
  func
    `What an app publishes, finds and is connected to stays while its hub stands still, is killed and comes back`()
    async throws
  {
    var hub: HubProcess? = try await HubProcess(run)
    let host = host()
    let thread = RunLoopThread()
    let lamp = try await listener("Lamp", host)
    let browser = browser(host)
    #expect(await nextFound() == "Lamp")
    let early = await connection("Lamp", host)
    await exchange(early, "before")

    hub?.signal(SIGSTOP)
    // It does without the hub, and logs that: everything begins and goes on.
    let desk = try await listener("Desk", host)
    await logged("does not answer")
    #expect(await nextFound() == "Desk")
    await exchange(early, "while it stands still")
    let late = await connection("Lamp", host)
    await exchange(late, "begun meanwhile")
    let recorder = ServiceRecorder()
    let chair = service("Chair", port: 81, host, on: thread, recorder)
    chair.publish()
    #expect(await recorder.events.next(2) == ["will publish Chair", "published Chair in local."])
    #expect(await nextFound() == "Chair")
    let resolver = ServiceRecorder()
    let resolved = service("Chair", host, on: thread, resolver)
    resolved.resolve(withTimeout: 120)
    #expect(await resolver.events.next() == "will resolve")
    #expect(await resolver.events.next()?.hasPrefix("resolved faults-\(run).local. 81") == true)

    hub?.signal(SIGCONT)
    await logged("hub of this machine answers")
    let shelf = try await listener("Shelf", host)
    #expect(await nextFound() == "Shelf")

    hub?.crash()
    await logged("does without")
    await exchange(early, "without a hub")
    let stool = try await listener("Stool", host)
    #expect(await nextFound() == "Stool")
    hub = try await HubProcess(run)
    await logged("hub of this machine answers")
    let bench = try await listener("Bench", host)
    #expect(await nextFound() == "Bench")

    // No object has failed, and none was reported as removed.
    for listener in [lamp, desk, shelf, stool, bench] { #expect(listener.state == .ready) }
    #expect(browser.state == .ready && browser.browseResults.count == 6)
    chair.stop()
    #expect(await recorder.events.next() == "stopped")
    withExtendedLifetime((hub, resolved)) {}
    await thread.end()
  }

  @Test(arguments: [OwnerMessage.RejectionReason.otherVersion, .tooManyClients])
  func
    `An app whose hub is of another version does without it, and a listener for which a hub has no room fails`(
      reason: OwnerMessage.RejectionReason
    ) async throws
  {
    let path = HubProcess.path(run)
    let listening = try #require(OwnerSocketAddress(path: path)).bindAndListen()
    let rejection = try #require(OwnerMessage.rejected(reason).frame)
    _ = fcntl(listening, F_SETFL, fcntl(listening, F_GETFL) & ~O_NONBLOCK)
    Thread.detachNewThread {
      var buffer = [UInt8](repeating: 0, count: 4_096)
      while case let client = accept(listening, nil, nil), client >= 0 {
        // A host that was released has closed its connection.
        if read(client, &buffer, buffer.count) > 0 {
          _ = send(client, rejection, rejection.count, Int32(MSG_NOSIGNAL))
        }
        close(client)
      }
    }
    defer {
      shutdown(listening, Int32(SHUT_RDWR))
      close(listening)
      unlink(path)
    }
    let host = host()
    if reason == .otherVersion {
      let lamp = try await listener("Lamp", host)
      let browser = browser(host)
      #expect(await nextFound() == "Lamp")
      await logged("version")
      withExtendedLifetime((lamp, browser)) {}
    } else {
      let listener = try DiscoveryContext.$override.withValue(host) {
        try NWListener(service: .init(name: "Lamp", type: type), using: .tcp)
      }
      listener.stateUpdateHandler = { [listenerStates] in listenerStates.add($0) }
      listener.newConnectionHandler = { $0.cancel() }
      listener.start(queue: queue)
      #expect(await listenerStates.next() == .ready)
      #expect(
        await listenerStates.next() == .failed(.dns(DNSServiceErrorType(kDNSServiceErr_NoMemory))))
    }
  }
}

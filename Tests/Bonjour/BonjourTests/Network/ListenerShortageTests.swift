import BonjourHost
import Connections
import Dispatch
import Essentials
import EventLoop
import Glibc
import Synchronization
import Testing

@testable import Bonjour

/// Each test has a process of its own, whose limit it sets.
@Suite("Listeners of a process without descriptors", .timeLimit(.minutes(5)))
struct ListenerShortageTests {
  @Test
  func
    `A listener whose connections wait for a descriptor is waiting, and ready once they are accepted`()
    async
  {
    await #expect(processExitsWith: .success) {
      let run = try await ListenerRun()
      let files = FewFiles(soft: 256, hard: 256)
      files.take()
      run.connect()
      #expect(await run.states.next() == .waiting(.posix(.EMFILE)))
      #expect(DescriptorShortage.count == 1)
      files.release()
      #expect(await run.states.next() == .ready)
      #expect(await run.connections.next() != nil)
      run.listener.cancel()
    }
  }

  @Test func `A service that is set while connections wait is published`() async {
    await #expect(processExitsWith: .success) {
      let run = try await ListenerRun()
      let files = FewFiles(soft: 256, hard: 256)
      files.take()
      run.connect()
      #expect(await run.states.next() == .waiting(.posix(.EMFILE)))
      run.listener.service = .init(name: "Desk lamp", type: "_lamp._tcp")
      #expect(run.discovery.published.map(\.isLive) == [true])
      run.listener.cancel()
      #expect(await run.states.next() == .cancelled)
    }
  }

  @Test
  func
    `A watch of the network that got no descriptor is tried again, and takes the network for changed`()
    async
  {
    await #expect(processExitsWith: .success) {
      await openLoop()
      let files = FewFiles(soft: 256, hard: 256)
      files.take()
      let changes = Events<Bool>()
      let watch = NetworkWatch { changes.add(true) }
      #expect(DescriptorShortage.count == 1)
      files.release()
      #expect(await changes.next() == true)
      withExtendedLifetime(watch) {}
    }
  }

  @Test func `An observer of a shortage may watch the network`() async {
    await #expect(processExitsWith: .success) {
      await openLoop()
      let files = FewFiles(soft: 256, hard: 256)
      files.take()
      let changes = Events<Int>()
      let watches = Mutex<[NetworkWatch]>([])
      let observation = DescriptorShortage.observe { _ in
        let watch = NetworkWatch { changes.add(2) }
        watches.withLock { $0.append(watch) }
      }
      let first = NetworkWatch { changes.add(1) }
      #expect(watches.withLock(\.count) == 1)
      files.release()
      #expect(await changes.next() == 1)
      #expect(await changes.next() == 2)
      withExtendedLifetime((first, observation)) {}
    }
  }

  @Test func `A listener raises the soft limit of descriptors before connections wait`() async {
    await #expect(processExitsWith: .success) {
      let run = try await ListenerRun()
      let files = FewFiles(soft: 256, hard: 1_024)
      files.take()
      run.connect()
      #expect(await run.connections.next() != nil)
      #expect(run.listener.state == .ready)
      #expect(DescriptorShortage.count == 0)
      #expect(DescriptorLimit.softLimit == 1_024)
      run.listener.cancel()
    }
  }
}

/// Waits until the event loop has its own descriptors: its thread opens them when it begins to run, and where there are
/// none left, no connection is accepted.
private func openLoop() async {
  await withCheckedContinuation { done in EpollLoop.shared.execute { done.resume() } }
}

/// A listener that is ready, and the socket of a client.
private final class ListenerRun: Sendable {
  let discovery = ScriptedDiscovery()
  let states = Events<NWListener.State>()
  let connections = Events<NWConnection>()
  let listener: NWListener
  private let client: Int32
  private let port: UInt16

  init() async throws {
    await openLoop()
    listener = try DiscoveryContext.$override.withValue(discovery) { try NWListener(using: .tcp) }
    listener.stateUpdateHandler = { [states] in states.add($0) }
    listener.newConnectionHandler = { [connections] in connections.add($0) }
    listener.start(queue: DispatchQueue(label: "test"))
    #expect(await states.next() == .ready)
    port = listener.port?.rawValue ?? 0
    client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  }

  /// Connects the client: the kernel does it, before the listener accepts.
  func connect() {
    let address = SocketAddress(.v4(Inet4Address(127, 0, 0, 1)), port: port)
    #expect(address.with { unsafe Glibc.connect(client, $0, $1) } == 0)
  }
}

/// The limits of descriptors of this process, and descriptors that use them up.
private final class FewFiles {
  private var taken: [Int32] = []

  init(soft: Int, hard: Int) {
    var limits = rlimit(rlim_cur: rlim_t(soft), rlim_max: rlim_t(hard))
    #expect(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0)
  }

  func take() {
    while case let copy = dup(STDERR_FILENO), copy >= 0 { taken.append(copy) }
  }

  func release() {
    for descriptor in taken { close(descriptor) }
    taken = []
  }
}

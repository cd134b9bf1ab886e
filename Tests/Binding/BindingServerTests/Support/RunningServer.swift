#if BindingServer
  import Binding
  import Foundation
  import Logging
  import ServiceLifecycle
  import Synchronization

  @testable import BindingServer

  /// A server on a free port of the loopback interface.
  final class RunningServer: Sendable {
    let server: PageServer
    let port: Int
    /// The address that it hands out.
    let address: String
    private let group: ServiceGroup
    private let running: Task<Void, any Error>

    private init(
      server: PageServer, port: Int, address: String, group: ServiceGroup,
      running: Task<Void, any Error>
    ) {
      self.server = server
      self.port = port
      self.address = address
      self.group = group
      self.running = running
    }

    /// Starts a server; 0 is any port that is free.
    static func start(
      site: Site, pages: sending @MainActor () -> [Page], port: Int = 0,
      configure: (inout PageServer.Configuration) -> Void = { _ in }
    ) async throws -> RunningServer {
      var configuration = PageServer.Configuration()
      configuration.port = port
      configure(&configuration)
      let server = try await make(site, pages, configuration)
      let (addresses, input) = AsyncStream<String>.makeStream()
      let group = ServiceGroup(
        services: [Listening(server: server, addresses: input)], logger: quiet)
      let running = Task {
        defer { input.finish() }
        try await group.run()
      }
      guard let address = await addresses.first(where: { _ in true }),
        // The address may be that of a proxy.
        let found = server.port.withLock({ $0 })
      else {
        try await running.value
        throw CocoaError(.featureUnsupported)
      }
      return RunningServer(
        server: server, port: found, address: address, group: group, running: running)
    }

    @MainActor
    private static func make(
      _ site: Site, _ pages: @MainActor () -> [Page], _ configuration: PageServer.Configuration
    ) async throws -> PageServer {
      try await PageServer(
        site: site, pages: pages(), configuration: configuration, logger: quiet)
    }

    private static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private struct Listening: Service {
      let server: PageServer
      let addresses: AsyncStream<String>.Continuation
      func run() async throws { try await server.run { self.addresses.yield($0) } }
    }

    /// Shuts it down as SIGTERM does, and waits until it has ended.
    func stop() async throws {
      await group.triggerGracefulShutdown()
      try await running.value
    }
  }

  /// Runs a test beside a server.
  func withServer<Result>(
    site: Site, pages: sending @MainActor () -> [Page],
    configure: (inout PageServer.Configuration) -> Void = { _ in },
    _ body: (RunningServer) async throws -> Result
  ) async throws -> Result {
    let server = try await RunningServer.start(site: site, pages: pages, configure: configure)
    do {
      let result = try await body(server)
      try await server.stop()
      return result
    } catch {
      try? await server.stop()
      throw error
    }
  }
#endif

#if BindingServer
  public import Binding
  internal import BindingMachines
  internal import Foundation
  internal import HummingbirdCore
  public import Logging
  internal import NIOCore
  internal import NIOPosix
  public import ServiceLifecycle
  internal import StateFiles
  internal import Synchronization
  internal import UnixSignals

  /// Serves pages over HTTP and synchronizes them with their view models.
  ///
  ///     let server = try await PageServer(
  ///       site: .folder("Site"), pages: [Page("index.html") { SignIn(authenticate: ask) }])
  ///     try await server.runService { print("Open \($0)") }
  ///
  /// The first page is at `/`, each file of the site at its path, the script that binds pages at
  /// `/binding.js`, its style sheet at `/binding.css`, and the stream at `/live`. View models are
  /// on the main actor; all else runs on the threads of SwiftNIO.
  ///
  /// By default the server is reachable from this machine only, by all of its users. With
  /// ``Configuration/needsToken``, and always with another host, access requires the address that the
  /// server returns, with a token that is valid once; the browser that opens it gets a signed cookie. The server doesn't support TLS: use a reverse proxy, see
  /// <doc:BehindAProxy>.
  public final class PageServer: Service {
    /// The address of a server, and the rules for access to it.
    public struct Configuration: Sendable {
      /// The address to listen on; `0.0.0.0` and `::` mean all addresses of this machine.
      public var host = "127.0.0.1"
      /// The port; 0 for any free port.
      public var port = 8_080
      /// Additional host names that requests may use, besides `localhost`, the server's addresses
      /// and the machine's name.
      public var hostNames: [String] = []
      /// Whether access from this machine also requires a token. Access from other machines, by trusted
      /// proxies, and to a server with a public address, always does.
      public var needsToken = false
      /// The addresses of reverse proxies, or their networks, such as `127.0.0.1` or `10.0.0.0/8`.
      /// Their `X-Forwarded-Host` and `X-Forwarded-Proto` fields are believed, those of others are
      /// ignored.
      public var trustedProxies: [String] = []
      /// The address at which browsers find the server behind its proxy, such as
      /// `https://ambit.example/`; nil for the server's own. Its host is one of the server's names, and pages
      /// there are the server's own, also where the proxy reports no address.
      public var publicAddress: String?
      /// The key for signing cookies, at least 32 bytes, so that they remain valid when the server
      /// is restarted; nil for a random key.
      public var signingKey: [UInt8]?
      /// The path of a file in which the server keeps a random key for signing cookies, so that they
      /// remain valid when the server is restarted; nil for none. The file is created for this user only.
      /// It also has the admitted browsers and invitations, see ``PageAccess``. Not used if there is a
      /// ``signingKey``.
      public var keyFile: String?
      /// The folder in which the server makes a folder for the files that pages upload; nil for the
      /// system's temporary one. See `Upload` of `Binding`.
      public var uploadFolder: String?
      /// The maximum number of connections; nil for the number that the limit of file descriptors
      /// allows.
      package var connectionCountMax: Int?
      package var times = ConnectionTimes()

      /// Creates a configuration for this machine only, at port 8080.
      public init() {}
    }

    private let configuration: Configuration
    private let logger: Logger
    private let responder: PageResponder
    /// The port on which it listens; nil before.
    let port = Mutex<Int?>(nil)

    /// Creates a server, which listens when it is run. Compares the pages with their view models.
    ///
    /// - Parameters:
    ///   - site: The files.
    ///   - pages: The pages; the first one is at `/`.
    ///   - configuration: The address and limits.
    ///   - logger: The logger for problems.
    /// - Throws: ``PageServerError``.
    @MainActor
    public init(
      site: Site, pages: [Page], configuration: Configuration = Configuration(),
      logger: Logger = Logger(label: "ambit.pages")
    ) async throws(PageServerError) {
      guard let start = pages.first else { throw PageServerError(.noPages, "there are no pages") }
      guard configuration.signingKey.map({ $0.count >= 32 }) != false else {
        throw PageServerError(.shortKey, "a signing key has at least 32 bytes")
      }
      try await Self.check(pages, of: site)
      let proxies: TrustedProxies
      do throws(TrustedProxies.InvalidText) {
        proxies = try TrustedProxies(configuration.trustedProxies)
      } catch {
        throw PageServerError(.badAddress, "\(error.text) is neither an address nor a network")
      }
      let publicName = try Self.publicName(of: configuration)
      let (key, list) = try Self.key(of: configuration, logger)
      let isLocal = Self.isLocal(configuration.host)
      let uploadFolder = UploadFolder(parent: configuration.uploadFolder)
      self.configuration = configuration
      self.logger = logger
      responder = PageResponder(
        site: site,
        policies: Dictionary(
          pages.map {
            ($0.file, ContentSecurityPolicy.text(allowsWebAssembly: $0.allowsWebAssembly))
          }
        ) { first, _ in first },
        start: start.file,
        routes: pages.compactMap { page in page.route.map { ($0, page.file) } },
        access: AccessControl(
          names: configuration.hostNames + publicName + Self.machineNames, proxies: proxies,
          publicAddress: configuration.publicAddress.flatMap { URL(string: $0) },
          needsToken: configuration.needsToken || !isLocal || !proxies.isEmpty
            || !publicName.isEmpty,
          key: key, list: list),
        live: LiveHost(pages: pages, uploadFolder: uploadFolder, logger: logger),
        uploadFolder: uploadFolder, times: configuration.times, logger: logger)
    }

    @MainActor
    private static func check(_ pages: [Page], of site: Site) async throws(PageServerError) {
      var problems: [PageProblem] = []
      for (index, page) in pages.enumerated() {
        guard let html = try? await site.resource(at: page.file)?.bytes else {
          throw PageServerError(.missingPage, "there is no file \(page.file) in the site")
        }
        problems += page.problems(html)
        problems += page.nameProblems(html, isFirst: index == 0)
      }
      if !problems.isEmpty {
        let lines = problems.map(\.description).joined(separator: "\n")
        throw PageServerError(.pageProblems, lines, problems: problems)
      }
      let names = Set(pages.map(\.name))
      guard names.count == pages.count else {
        throw PageServerError(.pageProblems, "two pages have one name")
      }
    }

    /// The key that signs cookies, nil for one of this run; with the sessions in its file, if it has one.
    private static func key(
      of configuration: Configuration, _ logger: Logger
    ) throws(PageServerError) -> ([UInt8]?, AccessList?) {
      if let key = configuration.signingKey { return (key, nil) }
      guard let path = configuration.keyFile else { return (nil, nil) }
      do throws(StateFileError) {
        let file = AccessFile(path: path)
        let key = try file.key()
        if let damaged = key.damagedPath {
          logger.warning(
            "\(path) was damaged and is now \(damaged): browsers must be invited again")
        }
        return (key.bytes, AccessList(file, key: key.bytes, logger: logger))
      } catch {
        throw PageServerError(.badKeyFile, "\(path) can't be used: \(error.reason)")
      }
    }

    /// The host of the public address, if there is one.
    private static func publicName(
      of configuration: Configuration
    ) throws(PageServerError) -> [String] {
      guard let address = configuration.publicAddress else { return [] }
      guard let url = URL(string: address), ["http", "https"].contains(url.scheme),
        let host = url.host(), !host.isEmpty, url.query() == nil
      else { throw PageServerError(.badAddress, "\(address) is no address of a site") }
      return [host]
    }

    private static func isLocal(_ host: String) -> Bool {
      host == "localhost" || host == "::1" || host.hasPrefix("127.")
    }

    private static var machineNames: [String] {
      let name = ProcessInfo.processInfo.hostName
      let short = name.split(separator: ".").first.map(String.init) ?? name
      return [name, short, short + ".local"]
    }

    // MARK: Running

    /// Runs the server as a service of a group, until graceful shutdown is triggered.
    public func run() async throws { try await run { _ in } }

    /// Runs the server until the process receives SIGTERM or SIGINT. Then streams are closed at
    /// once, and pending requests are answered.
    ///
    /// - Parameter onListening: Called once with the address to open, which has a token if one is
    ///   needed. What it prints is written at once, also into a file or a pipe.
    /// - Throws: See ``run(onListening:)``.
    public func runService(
      onListening: @escaping @Sendable (_ address: String) -> Void
    ) async throws {
      try await makeGroup(endingAt: [.sigterm, .sigint]) { address in
        onListening(address)
        StandardOutput.flush()
      }.run()
    }

    /// Runs the server until the task is cancelled. Then streams are closed at once, and pending
    /// requests are answered.
    ///
    /// For programs that handle signals themselves.
    ///
    /// - Parameter onListening: See ``runService(onListening:)``.
    /// - Throws: See ``run(onListening:)``.
    public func runUntilCancelled(
      onListening: @escaping @Sendable (_ address: String) -> Void
    ) async throws {
      let group = makeGroup(endingAt: [], onListening)
      // A task of its own: cancelling the group would break off what it serves.
      let serving = Task { try await group.run() }
      try await withTaskCancellationHandler {
        try await serving.value
      } onCancel: {
        Task { await group.triggerGracefulShutdown() }
      }
    }

    private func makeGroup(
      endingAt signals: [UnixSignal], _ onListening: @escaping @Sendable (String) -> Void
    ) -> ServiceGroup {
      struct Listening: Service {
        let server: PageServer
        let onListening: @Sendable (String) -> Void
        func run() async throws { try await server.run(onListening: onListening) }
      }
      return ServiceGroup(
        services: [Listening(server: self, onListening: onListening)],
        gracefulShutdownSignals: signals, logger: quiet(logger))
    }

    /// Runs the server until graceful shutdown is triggered.
    ///
    /// - Parameter onListening: Called once with the address to open.
    /// - Throws: ``PageServerError`` with the code `cannotListen`, or an error that occurs later.
    public func run(onListening: @escaping @Sendable (_ address: String) -> Void) async throws {
      // The system would take another port.
      guard (0...65_535).contains(configuration.port) else {
        throw cannotListen("ports are 0 to 65535")
      }
      let logger = quiet(logger)
      let server = Server(
        childChannelSetup: PageChannel(
          http: HTTP1Channel(
            responder: { request, writer, channel in
              try await self.responder.respond(to: request, writer, channel)
            },
            configuration: .init(
              additionalChannelHandlers: [
                InputClosedHandler(), SlowClientHandler(times: self.configuration.times),
              ], idleTimeout: .seconds(75))), times: configuration.times),
        configuration: ServerConfiguration(
          address: .hostname(configuration.host, port: configuration.port), backlog: 1_024,
          availableConnectionsDelegate: .maximum(
            configuration.connectionCountMax ?? ConnectionCount.max, logger: logger)),
        onServerRunning: { channel in
          // First, as another handler ends these errors.
          _ = channel.eventLoop.submit {
            try channel.pipeline.syncOperations.addHandler(
              AcceptErrorHandler(logger), position: .first)
          }
          self.port.withLock { $0 = channel.localAddress?.port }
          self.setRunning(true)
          onListening(self.makeAddress())
        }, eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: logger)
      port.withLock { $0 = nil }
      let watching = Task { await self.watchSessions() }
      defer {
        watching.cancel()
        setRunning(false)
        responder.uploadFolder.removeAll()
      }
      do {
        try await server.run()
      } catch {
        guard port.withLock({ $0 }) == nil, !(error is CancellationError) else { throw error }
        let (number, reason): (Int32?, String) =
          switch error {
          case let error as IOError where error.errnoCode == EADDRNOTAVAIL:
            (EADDRNOTAVAIL, "this machine doesn't have this address")
          case let error as IOError: (error.errnoCode, String(cString: strerror(error.errnoCode)))
          case is SocketAddressError.UnknownHost: (EADDRNOTAVAIL, "there is no such address")
          default: (nil, "\(error)")
          }
        throw cannotListen(reason, number)
      }
    }

    private func cannotListen(_ reason: String, _ number: Int32? = nil) -> PageServerError {
      var error = PageServerError(
        .cannotListen,
        "port \(configuration.port) of \(configuration.host) can't be listened on: \(reason)")
      error.systemError = number
      return error
    }

    /// Ends what other processes have ended, until the task is cancelled.
    @concurrent
    private func watchSessions() async {
      guard responder.access.isShared else { return }
      while (try? await Task.sleep(for: .seconds(1))) != nil { responder.endRefusedStreams() }
    }

    /// Enters this server in the file of its key while it listens, so that browsers can be invited to it.
    private func setRunning(_ isRunning: Bool) {
      guard let port = port.withLock({ $0 }) else { return }
      responder.access.setRunning(isRunning, .init(port: port, address: addressWithoutToken))
    }

    /// Hides the start and stop messages of the HTTP server below.
    private func quiet(_ logger: Logger) -> Logger {
      var quiet = logger
      quiet.logLevel = max(logger.logLevel, .warning)
      return quiet
    }

    /// Returns an address to open in one more browser, with a new token if one is needed. Before
    /// the server listens, the address has the configured port.
    public func makeAddress() -> String {
      responder.access.needsToken
        ? addressWithoutToken + "?token=" + responder.access.makeToken() : addressWithoutToken
    }

    private var addressWithoutToken: String {
      let port = port.withLock { $0 } ?? configuration.port
      let isEverywhere = Self.everywhere[configuration.host] != nil
      let own = Self.address(isEverywhere ? Self.addressOfThisMachine : configuration.host, port)
      return configuration.publicAddress.map { $0.hasSuffix("/") ? $0 : $0 + "/" } ?? own
    }

    /// Returns an address of this machine to open in a browser of this process's user, with a token if
    /// one is needed. Other users, to whom the system shows the command lines of browsers, can't use
    /// it; nor can other machines.
    public func makeOwnAddress() -> String {
      let port = port.withLock { $0 } ?? configuration.port
      let host = Self.everywhere[configuration.host] ?? configuration.host
      let address = Self.address(host, port)
      return responder.access.needsToken
        ? address + "?token=" + responder.access.makeToken(onlyFor: geteuid()) : address
    }

    /// The hosts that mean all addresses of this machine, with the one by which it reaches itself.
    private static let everywhere = ["0.0.0.0": "127.0.0.1", "::": "::1"]

    private static func address(_ host: String, _ port: Int) -> String {
      "http://\(host.contains(":") ? "[\(host)]" : host):\(port)/"
    }

    /// One by which other machines reach this one.
    private static var addressOfThisMachine: String {
      let addresses = (try? System.enumerateDevices())?.compactMap(\.address) ?? []
      let outside = addresses.first {
        $0.protocol == .inet && $0.ipAddress?.hasPrefix("127.") == false
      }
      return outside?.ipAddress ?? "127.0.0.1"
    }

    /// Counters of the server, for tests and benchmarks.
    @MainActor
    package var live: (streams: Int, snapshots: Int, patches: Int, messages: Int) {
      let counters = responder.live.counters
      return (
        responder.live.streamsNow, counters.snapshots, counters.patches, counters.messages
      )
    }
  }

  /// The reason why a server can't be created or can't listen.
  public struct PageServerError: Error, CustomStringConvertible {
    /// The kind of an error. Later versions may add more.
    public struct Code: Hashable, Sendable {
      private enum Wrapped {
        case noPages, missingPage, pageProblems, shortKey, badKeyFile, badAddress, cannotListen
      }
      private var wrapped: Wrapped

      /// No page was given.
      public static let noPages = Code(wrapped: .noPages)
      /// The file of a page doesn't exist in the site.
      public static let missingPage = Code(wrapped: .missingPage)
      /// A page uses names that its view model doesn't declare; see ``PageServerError/problems``.
      public static let pageProblems = Code(wrapped: .pageProblems)
      /// The key for signing cookies is too short.
      public static let shortKey = Code(wrapped: .shortKey)
      /// The file for the key that signs cookies can't be read or created.
      public static let badKeyFile = Code(wrapped: .badKeyFile)
      /// The address of a proxy, or the public address, is invalid.
      public static let badAddress = Code(wrapped: .badAddress)
      /// The server can't listen on the address or the port, usually because another program uses
      /// the port, or because the address isn't this machine's.
      public static let cannotListen = Code(wrapped: .cannotListen)
    }

    /// The kind of error.
    public var code: Code
    /// Why the server can't listen, by the number of the system's error; nil for other errors. It is
    /// `EADDRNOTAVAIL` for an address that isn't this machine's, also for an unknown name.
    package var systemError: Int32?
    /// The problems, each with its page and line.
    public var problems: [PageProblem]
    /// The problems as text, one line for each.
    public var description: String

    init(_ code: Code, _ description: String, problems: [PageProblem] = []) {
      self.code = code
      self.description = description
      self.problems = problems
    }
  }
#endif

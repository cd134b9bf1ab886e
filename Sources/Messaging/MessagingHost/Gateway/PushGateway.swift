#if Messaging
  internal import EventLoop
  internal import NIOCore
  internal import NIOPosix
  internal import XMPPMachines
  internal import XMPPWire

  /// A push gateway: a component of an XMPP server (XEP-0114), with an HTTP endpoint for an app's server. May be used from
  /// any thread.
  package final class PushGateway: Sendable {
    package struct Settings: Sendable {
      /// The component's domain.
      package var domain: String
      /// Where the server takes components.
      package var host: String
      package var port: UInt16
      /// The secret that the server has for the component.
      package var secret: String
      /// What an app's server sends as `Authorization: Bearer`.
      package var token: String
      /// Where the endpoint listens. Port 0 is a free one.
      package var listenHost: String
      package var listenPort: UInt16
      /// The socket of the manager of apps.
      package var managerPath: String
      package var storePath: String
      /// Where an earlier version has the queue; nil if there is none.
      package var earlierStorePath: String?

      package init(
        domain: String, host: String, port: UInt16, secret: String, token: String,
        listenHost: String = "127.0.0.1", listenPort: UInt16, managerPath: String,
        storePath: String,
        earlierStorePath: String? = nil
      ) {
        self.domain = domain
        self.host = host
        self.port = port
        self.secret = secret
        self.token = token
        self.listenHost = listenHost
        self.listenPort = listenPort
        self.managerPath = managerPath
        self.storePath = storePath
        self.earlierStorePath = earlierStorePath
      }
    }

    /// Something that a person may want to know.
    package enum Report: Hashable, Sendable {
      case online
      /// The server's connection has failed or ended, for this reason. It is established again.
      case offline(String)
      /// Another program is connected with the domain. The connection is established again after these seconds.
      case conflict(retrySeconds: Int64)
      /// A stanza or a notification of the message with this id was given up.
      case failed(id: String, String)
      case managerLost(String)
      /// The queue can't be written, for this reason; it is tried again.
      case store(String)
      /// Connections wait, for this reason, until the gateway's process has descriptors for them.
      case descriptorsExhausted(String)
    }

    package enum StartError: Error, Hashable, Sendable {
      case invalidDomain(String)
      case store(StoreError)
      /// The endpoint's address can't be used, for this reason.
      case listening(String)
    }

    private let group: MultiThreadedEventLoopGroup
    private let driver: NIOLoopBound<GatewayDriver>

    /// Opens the queue. Blocks until the disk has read it.
    package init(
      _ settings: Settings, report: @escaping @Sendable (Report) -> Void
    ) throws(StartError) {
      guard let domain = Self.address(typed: settings.domain) else {
        throw .invalidDomain(settings.domain)
      }
      let store: GatewayStore
      let rows: [GatewayRow]
      do throws(StoreError) {
        store = try GatewayStore(path: settings.storePath, earlierPath: settings.earlierStorePath)
        rows = try store.load()
      } catch {
        throw .store(error)
      }
      group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
      let loop = group.next()
      do {
        driver = try loop.submit {
          NIOLoopBound(
            GatewayDriver(settings, domain, store, rows, on: loop, report), eventLoop: loop)
        }.wait()
      } catch {
        throw .listening("\(error)")
      }
    }

    /// The domain that a person typed, as servers write it: in lower case, with Unicode labels, and without the dot at its
    /// end (RFC 7622, §3.2); nil for another text.
    package static func domain(typed text: String) -> String? { address(typed: text)?.domain }

    private static func address(typed text: String) -> JID? {
      guard let jid = JID(typed: text), jid.local == nil, jid.isBare else { return nil }
      var domain = jid.domain
      if domain.hasSuffix(".") { domain.removeLast() }
      return JID(typed: DomainLabels.unicode(domain))
    }

    /// Listens, and connects with the server.
    ///
    /// - Returns: The endpoint's port.
    package func start() async throws(StartError) -> Int {
      let loop = group.next()
      do {
        return try await loop.flatSubmit { [driver] in driver.value.start() }.get()
      } catch let error as IOError {
        throw .listening(SystemError(number: error.errnoCode).text)
      } catch {
        throw .listening("\(error)")
      }
    }

    /// Ends all connections, and closes the queue.
    package func close() async {
      let loop = group.next()
      try? await loop.flatSubmit { [driver] in driver.value.close() }.get()
      try? await group.shutdownGracefully()
    }
  }
#endif

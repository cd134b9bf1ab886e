#if Messaging
  import AmbitCLI
  import AppSessions
  import ArgumentParser
  import Foundation
  import Glibc
  import JSONWire
  import MessagingHost

  /// A push gateway: messages of an app's server as stanzas and as remote notifications.
  struct MessageGateway: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "gateway",
      abstract: "Send an app's messages over XMPP and as remote notifications.",
      discussion: """
        A component of an XMPP server (XEP-0114). An app's server posts each message once, over HTTP with a token; \
        the gateway keeps it on disk until the server has the stanza and the manager, "ambit apps", has the \
        notification, which has the same id and text. It is also a push service (XEP-0357), whose \
        notifications only wake. docs/messages.md describes the requests.

        The files of secrets have a secret in their first line, and may be read by their owner only.

        EXAMPLES:
          ambit message gateway push.chat.example --server 127.0.0.1:5347 --secret-file secret --token-file token
          curl -H "Authorization: Bearer $(cat token)" http://127.0.0.1:5280/v1/messages \
        -d '{"to":"bob@chat.example","body":"Good morning","app":"com.example.chat"}'
        """)

    @Argument(help: "The component's domain, as the server has it.")
    var domain: String

    @Option(
      help: ArgumentHelp(
        "Where the server takes components. Default: 127.0.0.1:5347.", valueName: "host:port"))
    var server: ServerArgument?

    @Option(
      help: ArgumentHelp(
        "Where the HTTP endpoint listens. Default: 127.0.0.1:5280.", valueName: "host:port"))
    var listen: ServerArgument?

    @Option(
      help: ArgumentHelp("The file of the component's secret.", valueName: "path"),
      completion: .file())
    var secretFile: String

    @Option(
      help: ArgumentHelp("The file of the token of an app's server.", valueName: "path"),
      completion: .file())
    var tokenFile: String

    @OptionGroup var run: RunOptions

    func run() async throws {
      let output = Output(isJSON: run.json)
      guard let managerPath = AppManagerPlace.path else {
        throw CommandFailure(
          .noInput,
          "the manager of apps has no place: neither AMBIT_APPS nor XDG_RUNTIME_DIR is set")
      }
      let typed = domain.precomposedStringWithCanonicalMapping
      guard let domain = PushGateway.domain(typed: typed) else {
        throw CommandFailure(PushGateway.StartError.invalidDomain(typed))
      }
      let paths = try AccountFile().gatewayPaths(of: domain)
      let settings = PushGateway.Settings(
        domain: domain, host: server?.host ?? Self.localHost, port: server?.port ?? 5_347,
        secret: try Self.secret(secretFile), token: try Self.secret(tokenFile),
        listenHost: listen?.host ?? Self.localHost, listenPort: listen?.port ?? 5_280,
        managerPath: managerPath, storePath: paths.current, earlierStorePath: paths.earlier)
      let gateway: PushGateway
      do throws(PushGateway.StartError) {
        gateway = try PushGateway(settings) { Self.show($0, output) }
        let port = try await gateway.start()
        output.object(
          .object(["event": .string("listening"), "port": .integer(Int64(port))]),
          or: "Listening at \(settings.listenHost), port \(port).")
      } catch {
        throw CommandFailure(error)
      }
      // It ends with the task that reads it.
      let (never, continuation) = AsyncStream.makeStream(of: Void.self)
      try? await run.untilTime { for await _ in never {} }
      continuation.finish()
      await gateway.close()
    }

    private static let localHost = "127.0.0.1"

    /// The first line of a file that other users can't read.
    static func secret(_ path: String) throws(CommandFailure) -> String {
      var status = stat()
      guard stat(path, &status) == 0 else {
        throw CommandFailure(.noInput, "\(path) can't be read")
      }
      guard status.st_mode & S_IFMT != S_IFREG || status.st_mode & 0o077 == 0 else {
        throw CommandFailure(.badData, "\(path) may be read by others; \"chmod 600\" ends that")
      }
      guard let data = FileManager.default.contents(atPath: path), data.count <= 4_096,
        let line = String(data: data, encoding: .utf8)?.split(whereSeparator: \.isNewline).first,
        case let text = line.trimmingCharacters(in: .whitespaces), text.utf8.count >= 8
      else {
        throw CommandFailure(.badData, "\(path) has no secret of at least eight bytes")
      }
      return text
    }

    private static func show(_ report: PushGateway.Report, _ output: Output) {
      let (event, id, reason, text): (String, String?, String?, String) =
        switch report {
        case .online: ("online", nil, nil, "The server has accepted the component.")
        case .offline(let reason):
          ("offline", nil, reason, "The server is gone, and is tried again: \(reason)")
        case .conflict(let seconds):
          (
            "conflict", nil, "another program is connected with this domain",
            "Another program is connected with this domain. The next attempt is in \(seconds) seconds; "
              + "end one of the two."
          )
        case .failed(let id, let reason):
          ("failed", id, reason, "Message \(id) was given up: \(reason)")
        case .managerLost(let reason):
          ("manager-lost", nil, reason, "Notifications wait: \(reason)")
        case .store(let reason):
          ("store", nil, reason, "The queue can't be written, and is tried again: \(reason)")
        case .descriptorsExhausted(let reason): ("descriptors-exhausted", nil, reason, reason)
        }
      output.object(
        .object([
          "event": .string(event), "id": id.map(JSON.string), "reason": reason.map(JSON.string),
        ]), or: Fit.safe(text))
    }
  }

  extension AccountFile {
    /// The path of a gateway's queue. Earlier versions have named its folder by the domain as it was typed; `earlier` is
    /// in a folder with another spelling of the domain, which gets the name.
    func gatewayPaths(
      of domain: String
    ) throws(CommandFailure) -> (current: String, earlier: String?) {
      let path = storePath(of: "gateway@\(domain)")
      let folder = URL(filePath: path).deletingLastPathComponent()
      let files = FileManager.default
      guard !files.fileExists(atPath: folder.path) else { return (path, nil) }
      let parent = folder.deletingLastPathComponent()
      let names = (try? files.contentsOfDirectory(atPath: parent.path)) ?? []
      let others = names.filter { name in
        guard name.hasPrefix("gateway@"), let text = name.removingPercentEncoding else {
          return false
        }
        return PushGateway.domain(typed: String(text.dropFirst(8))) == domain
      }
      guard let other = others.first else { return (path, nil) }
      guard others.count == 1 else {
        throw CommandFailure(
          .cannotCreate,
          "\(Fit.safe(parent.path)) has more than one queue of \(domain): "
            + others.sorted().map(Fit.safe).joined(separator: ", ")
            + "; give the one that is to be used the name \(folder.lastPathComponent)")
      }
      let earlier = parent.appending(path: other).appending(path: "messages.sqlite")
      return (path, earlier.path)
    }
  }

  extension CommandFailure {
    init(_ error: PushGateway.StartError) {
      switch error {
      case .invalidDomain(let text):
        self.init(.usage, "\"\(Fit.safe(text))\" is no domain")
      case .store(let error):
        self.init(.cannotCreate, "the queue can't be used: \(error.sentence)")
      case .listening(let reason):
        self.init(.cannotCreate, "the endpoint can't listen: \(reason)")
      }
    }
  }
#endif

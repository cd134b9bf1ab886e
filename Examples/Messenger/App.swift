import Binding
import ExampleProgram
import Foundation

#if BindingServer && Messaging
  import BindingServer
  import Messaging
  import Reactive

  /// Shows conversations in a page or in the terminal:
  /// `swift run --traits default,BindingServer,Messaging messenger ADDRESS [OPTIONS]`.
  @main
  struct App {
    @MainActor
    static func main() async {
      await ExampleProgram.run(usage: Options.usage) {
        try await run(Options(CommandLine.arguments.dropFirst()))
      }
    }

    @MainActor
    private static func run(_ options: Options) async throws {
      // Others of this machine must not read it.
      umask(0o077)
      try FileManager.default.createDirectory(
        at: options.folder, withIntermediateDirectories: true)
      guard let address = options.address else {
        let mailbox = DemoMailbox(pause: .seconds(options.pause), folder: options.folder)
        try Data(PackageResources.gate_png).write(to: options.folder.appending(path: "gate.png"))
        try Data(PackageResources.bell_wav).write(to: options.folder.appending(path: "bell.wav"))
        return try await show(Messages(mailbox), options)
      }
      let account = try open(address, options)
      // Ends the session in order; after `kill -9` the next process resumes it.
      do {
        try await show(Messages(AccountMailbox(account)), options)
      } catch {
        try? await account.close()
        throw error
      }
      try await account.close()
    }

    private static func open(_ address: String, _ options: Options) throws -> MessagingAccount {
      guard let password = ProcessInfo.processInfo.environment["MESSENGER_PASSWORD"] else {
        throw UsageError(reason: "MESSENGER_PASSWORD is not set.")
      }
      var configuration = MessagingAccount.Configuration(
        address: address, password: password,
        storePath: options.folder.appending(path: "messages").path)
      configuration.server = options.server.map { .init(host: $0.host, port: $0.port) }
      configuration.authorityFile = options.authority
      configuration.allowsPrivateFileServers = options.allowsPrivateFiles
      configuration.programName = "Messenger"
      return try MessagingAccount(configuration)
    }

    @MainActor
    private static func show(_ messages: Messages, _ options: Options) async throws {
      let following = Task { await messages.run() }
      defer { following.cancel() }
      if options.isTerminal {
        await showInTerminal(messages, options)
      } else {
        try await serve(messages, options)
      }
    }

    @MainActor
    private static func showInTerminal(_ messages: Messages, _ options: Options) async {
      let view = TerminalView(messages, outbox: outbox(options)) { line in
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
      }
      // Reading waits, so it has a queue of its own; a line is read when the one before was taken.
      let reading = DispatchQueue(label: "Standard input")
      while let line = await nextLine(on: reading) { await view.take(line) }
    }

    private nonisolated static func nextLine(on queue: DispatchQueue) async -> String? {
      await withCheckedContinuation { continuation in
        queue.async { continuation.resume(returning: readLine()) }
      }
    }

    @MainActor
    private static func serve(_ messages: Messages, _ options: Options) async throws {
      var configuration = PageServer.Configuration()
      configuration.port = options.port
      // Other users of this machine have no access to the messages.
      configuration.needsToken = true
      configuration.keyFile = options.folder.appending(path: "page-key").path
      let outbox = outbox(options)
      // Files are moved from here to there, which takes no time on one disk.
      configuration.uploadFolder = outbox.path
      let server = try await PageServer(
        site: .files([
          "index.html": PackageResources.index_html,
          "style.css": PackageResources.style_css,
        ]).or(Site { path in await messages.shownFile(at: path) }),
        pages: [Page("index.html") { Messenger(messages, outbox: outbox) }],
        configuration: configuration)
      try await server.runService { ExampleProgram.open($0) }
    }

    private static func outbox(_ options: Options) -> URL {
      let folder = options.folder.appending(path: "outbox")
      try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      return folder
    }
  }

  extension Messages {
    /// The picture or recording of a message, for the page.
    fileprivate func shownFile(at path: String) async -> Site.Resource? {
      let names = path.split(separator: "/", maxSplits: 1).map(String.init)
      guard names.count == 2, let found = conversations.value.bubble(names[1])?.file else {
        return nil
      }
      if names[0] == "thumbnails", let bytes = found.thumbnail {
        return File.shownType(of: bytes).map { Site.Resource(bytes, mediaType: $0) }
      }
      guard names[0] == "files", case .here(let file) = found.place else { return nil }
      return await Task.detached {
        guard
          let bytes = try? FileHandle(forReadingFrom: URL(filePath: file)).read(
            upToCount: 32 << 20),
          let type = File.shownType(of: bytes)
        else { return nil }
        return Site.Resource(Array(bytes), mediaType: type)
      }.value
    }
  }
#else
  @main
  struct App {
    static func main() { ExampleProgram.failWithout(traits: "default,BindingServer,Messaging") }
  }
#endif

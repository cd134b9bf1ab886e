import Binding
import ExampleProgram
import Foundation

#if BindingServer
  import BindingServer

  /// Serves the form: `swift run --traits default,BindingServer file-drop [PORT [FOLDER [ADDRESS]]]`.
  @main
  struct App {
    private static let usage = """
      file-drop [PORT [FOLDER [ADDRESS]]]
        PORT      of the page; 8080, or 0 for a free one
        FOLDER    where files are kept; files
        ADDRESS   the one that browsers use, behind a proxy on this machine
      """

    @MainActor
    static func main() async {
      await ExampleProgram.run(usage: usage) {
        try await serve(Arguments(CommandLine.arguments.dropFirst()))
      }
    }

    @MainActor
    private static func serve(_ arguments: Arguments) async throws {
      var arguments = arguments
      var configuration = PageServer.Configuration()
      if let text = arguments.next() { configuration.port = try UsageError.port(text) }
      let folder = URL(filePath: arguments.next() ?? "files")
      // Files are moved from here to there, which must be on the same disk to take no time.
      let temporary = folder.appending(path: ".parts").path
      do {
        try FileManager.default.createDirectory(
          atPath: temporary, withIntermediateDirectories: true)
      } catch {
        throw UsageError(reason: "No files can be kept in \(folder.path).")
      }
      configuration.uploadFolder = temporary
      if let address = arguments.next() {
        configuration.publicAddress = address
        configuration.trustedProxies = ["127.0.0.1"]
      }
      if let argument = arguments.next() { throw UsageError(unknown: argument) }
      let server = try await PageServer(
        site: .files([
          "index.html": PackageResources.index_html, "style.css": PackageResources.style_css,
        ]),
        pages: [Page("index.html") { FileDrop(folder: folder) }], configuration: configuration)
      try await server.runService { ExampleProgram.open($0) }
    }
  }
#else
  @main
  struct App {
    static func main() { ExampleProgram.failWithout(traits: "default,BindingServer") }
  }
#endif

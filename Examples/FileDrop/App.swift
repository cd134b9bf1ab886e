import Binding
import Foundation

#if BindingServer
  import BindingServer

  /// Serves the form: `swift run --traits default,BindingServer file-drop [PORT [FOLDER]]`. Behind a proxy on
  /// this machine, the address that browsers use follows the folder.
  @main
  struct App {
    @MainActor
    static func main() async throws {
      let arguments = CommandLine.arguments.dropFirst()
      var configuration = PageServer.Configuration()
      configuration.port = arguments.first.flatMap { Int($0) } ?? 8_080
      let folder = URL(filePath: arguments.dropFirst().first ?? "files")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      // Files are moved from here to there, which must be on the same disk to take no time.
      let temporary = folder.appending(path: ".parts").path
      try FileManager.default.createDirectory(
        atPath: temporary, withIntermediateDirectories: true)
      configuration.uploadFolder = temporary
      if let address = arguments.dropFirst(2).first {
        configuration.publicAddress = address
        configuration.trustedProxies = ["127.0.0.1"]
      }
      let server = try await PageServer(
        site: .files([
          "index.html": PackageResources.index_html, "style.css": PackageResources.style_css,
        ]),
        pages: [Page("index.html") { FileDrop(folder: folder) }], configuration: configuration)
      try await server.runService { print("Open \($0)") }
    }
  }
#else
  @main
  struct App {
    static func main() { print("Run it with: --traits default,BindingServer") }
  }
#endif

import Binding
import Reactive

#if BindingServer
  import BindingServer

  /// Serves the form: `swift run --traits default,BindingServer sign-in [PORT]`.
  @main
  struct App {
    @MainActor
    static func main() async throws {
      var configuration = PageServer.Configuration()
      configuration.port = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 8_080
      let server = try await PageServer(
        site: .files([
          "index.html": PackageResources.index_html,
          "style.css": PackageResources.style_css,
        ]),
        pages: [
          Page("index.html") {
            SignIn(accounts: DemoAccounts(), scheduler: QueueScheduler.main)
          }
        ], configuration: configuration)
      try await server.runService { print("Open \($0)") }
    }
  }
#else
  @main
  struct App {
    static func main() { print("Run it with: --traits default,BindingServer") }
  }
#endif

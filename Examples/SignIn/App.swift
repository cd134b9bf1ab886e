import Binding
import ExampleProgram
import Reactive

#if BindingServer
  import BindingServer

  /// Serves the form: `swift run --traits default,BindingServer sign-in [PORT]`.
  @main
  struct App {
    @MainActor
    static func main() async {
      await ExampleProgram.run(usage: "sign-in [PORT]") {
        try await serve(Arguments(CommandLine.arguments.dropFirst()))
      }
    }

    @MainActor
    private static func serve(_ arguments: Arguments) async throws {
      var arguments = arguments
      var configuration = PageServer.Configuration()
      if let text = arguments.next() { configuration.port = try UsageError.port(text) }
      if let argument = arguments.next() { throw UsageError(unknown: argument) }
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
      try await server.runService { ExampleProgram.open($0) }
    }
  }
#else
  @main
  struct App {
    static func main() { ExampleProgram.failWithout(traits: "default,BindingServer") }
  }
#endif

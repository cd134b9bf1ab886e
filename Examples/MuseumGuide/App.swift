import Binding
import BluetoothHost
import ExampleProgram
import Reactive

#if BindingServer
  import BindingServer
  import CoverFlowPage

  /// Serves the guide: `swift run --traits default,BindingServer museum-guide [PORT] [OPTIONS]`.
  @main
  struct App {
    @MainActor
    static func main() async {
      await ExampleProgram.run(usage: Options.usage) {
        try await serve(Options(CommandLine.arguments.dropFirst()))
      }
    }

    @MainActor
    private static func serve(_ options: Options) async throws {
      let exhibition = try options.exhibits.map { try Exhibition.read($0) } ?? Exhibition.builtIn()
      let visit = BluetoothHost.$current.withValue(try makePhone(options)) {
        Visit(of: exhibition.exhibits)
      }
      // All tabs show one visit; each follows it or doesn't.
      var page = Page("index.html") {
        MuseumGuide(exhibits: exhibition.exhibits, visit: visit.state)
      }
      page.allowsWebAssembly = true
      var configuration = PageServer.Configuration()
      configuration.port = options.port
      let server = try await PageServer(
        site: .files([
          "index.html": PackageResources.index_html,
          "style.css": PackageResources.style_css,
        ])
        .or(.files(CoverFlowPage.files)).or(.files(exhibition.pictures)),
        pages: [page], configuration: configuration)
      try await server.runService { ExampleProgram.open($0) }
    }

    /// The visitor's phone: a simulated one that is carried from exhibit to exhibit, or this machine.
    private static func makePhone(_ options: Options) throws -> BluetoothHost {
      if let radio = options.radio { return try BluetoothHost(radio) }
      let tour = try Tour(floor: PackageResources.floor_json)
      tour.start(speed: options.speed)
      return tour.phone
    }
  }
#else
  @main
  struct App {
    static func main() { ExampleProgram.failWithout(traits: "default,BindingServer") }
  }
#endif

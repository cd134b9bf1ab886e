import Binding
import ExampleProgram
import PictureStore
import Reactive

#if BindingServer
  import BindingServer

  /// Serves the search: `swift run --traits default,BindingServer instant-search [PORT] [OPTIONS]`.
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
      let archive = VillagePosts(options.behaviour)
      let pictures = PictureStore<Never>(byteCountMax: 64 << 10, loadCountMax: 4) { path in
        await archive.picture(at: path)
      }
      var configuration = PageServer.Configuration()
      configuration.port = options.port
      let server = try await PageServer(
        site: .files([
          "index.html": PackageResources.index_html,
          "style.css": PackageResources.style_css,
        ])
        .or(
          Site { path in
            await pictures.picture(named: path).map { .init($0.bytes, mediaType: $0.mediaType) }
          }),
        pages: [
          Page("index.html") { InstantSearch(archive: archive, scheduler: QueueScheduler.main) }
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

/// What the program was asked for.
struct Options: Sendable {
  var port = 8_080
  var behaviour = VillagePosts.Behaviour()

  static let usage = """
    instant-search [PORT] [--latency SECONDS] [--deny] [--fail N] [--silence N]
      --latency   how long answers and pictures take; 0.4
      --deny      the owner of the posts grants no access
      --fail      each Nth search fails
      --silence   each Nth search is not answered
    """

  init(_ arguments: some Sequence<String>) throws(UsageError) {
    var arguments = Arguments(arguments)
    while let argument = arguments.next() {
      switch argument {
      case "--deny": behaviour.deniesAccess = true
      case "--latency":
        behaviour.latency = try Self.value(&arguments, of: argument) { Double($0) }
      case "--fail": behaviour.failure = try Self.value(&arguments, of: argument) { Int($0) }
      case "--silence": behaviour.silence = try Self.value(&arguments, of: argument) { Int($0) }
      default:
        guard let port = UInt16(argument) else {
          throw UsageError(unknown: argument)
        }
        self.port = Int(port)
      }
    }
    guard (0...60).contains(behaviour.latency), behaviour.failure >= 0, behaviour.silence >= 0
    else {
      throw UsageError(reason: "Seconds are at most 60, and no number is negative.")
    }
  }

  private static func value<Value>(
    _ arguments: inout Arguments, of name: String, _ read: (String) -> Value?
  ) throws(UsageError) -> Value {
    guard let value = read(try arguments.value(of: name)) else {
      throw UsageError(reason: "\(name) needs a number.")
    }
    return value
  }
}

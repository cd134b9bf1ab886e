import ArgumentParser
import CoreBluetoothAsync
import Essentials
import Foundation
import JSONWire
import Reactive

#if BindingServer
  import BindingServer
  import CoverFlowPage
#endif

/// The live page: everything nearby in a browser.
struct PageCommand: RadioCommand {
  static let configuration = CommandConfiguration(
    commandName: "page",
    abstract: "Show everything nearby in a browser, live.",
    discussion: """
      Serves a page with all devices, beacons and services of the network, as a table and as a Cover \
      Flow: filter and search them, mark them, open one to see what it says, connect it, read, write \
      and follow its values. Prints the address to open. Only browsers of this machine reach it, unless \
      --listen says otherwise; then the address has a token, which opens it for one browser.

      EXAMPLES:
        ambit page
        ambit page --open
        ambit page --port 9000 --radio hci0
        ambit page --listen 0.0.0.0
      """)

  @OptionGroup var options: GlobalOptions

  @Option(help: "The port to listen on; 0 for any that is free.")
  var port = 8_080

  @Option(help: "The address to listen on; 0.0.0.0 and :: are all of this machine's.")
  var listen = "127.0.0.1"

  @Flag(help: "Open the page in the browser of this desktop.")
  var open = false

  @Flag(inversion: .prefixedNo, help: "Services of the local network beside Bluetooth devices.")
  var network = true

  /// The page displays the questions.
  var pairingInput: PairingInput { .command }

  func validate() throws {
    guard (0...65_535).contains(port) else { throw ValidationError("A port is 0 to 65535.") }
  }

  #if BindingServer
    func run(_ session: Session) async throws {
      let central = try await session.central()
      let sources = await NearbySources(session, central, listensToNetwork: network)
      let server = try await makeServer(sources.nearby)
      let opensBrowser = open
      try await session.untilTime {
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask { await sources.run() }
          group.addTask {
            do {
              try await server.runUntilCancelled { address in
                Self.tell(address, session.output)
                if opensBrowser { BrowserOpening.open(address, session.output) }
              }
            } catch let error as PageServerError {
              throw CommandFailure(.failure, error.description)
            }
          }
          // The first to end ends the other.
          defer { group.cancelAll() }
          try await group.next()
        }
      }
    }

    private static func tell(_ address: String, _ output: Output) {
      if output.isJSON {
        output.object(.object(["event": .string("listening"), "address": .string(address)]))
      } else {
        output.line("Open \(address)")
      }
    }

    @MainActor
    private func makeServer(_ nearby: Nearby) async throws -> PageServer {
      var page = Page("index.html") {
        NearbyPage(nearby, scheduler: QueueScheduler(qos: .userInitiated, name: "ambit.page"))
      }
      page.allowsWebAssembly = true
      var configuration = PageServer.Configuration()
      configuration.host = listen
      configuration.port = port
      do throws(PageServerError) {
        return try await PageServer(
          site: .files([
            "index.html": PackageResources.index_html, "style.css": PackageResources.style_css,
            "page.js": PackageResources.page_js,
          ])
          .or(.files(CoverFlowPage.files))
          .or(Site { path in CoverPicture.svg(at: path).map { .init(Array($0.utf8)) } }),
          pages: [page], configuration: configuration)
      } catch {
        throw CommandFailure(.failure, error.description)
      }
    }
  #else
    func run(_ session: Session) async throws {
      throw CommandFailure(
        .failure,
        "this ambit was built without the page; build it with --traits default,BindingServer")
    }
  #endif
}

package import AmbitCLI
package import ArgumentParser
import BluetoothHost
import CoreBluetoothAsync
import Essentials
import Foundation
import JSONWire
import Reactive

#if BindingServer
  import BindingServer
  import CoverFlowPage
#endif

/// The program `ambit-page`, which serves the live page for `ambit page`.
package struct AmbitPage: RadioCommand {
  package static let configuration = {
    var configuration = PageOptions.configuration
    configuration.commandName = "ambit page"
    return configuration
  }()

  @OptionGroup package var page: PageOptions

  package var options: GlobalOptions { page.global }

  /// The page answers prompts of pairings.
  package var pairingInput: PairingInput { .command }

  package init() {}

  #if BindingServer
    package func run(_ session: Session) async throws {
      let central = try await session.central()
      let sources = await NearbySources(session, central, listensToNetwork: page.network)
      let server = try await makeServer(sources.nearby)
      let opensBrowser = page.open
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
      configuration.host = self.page.listen
      configuration.port = self.page.port
      configuration.trustedProxies = self.page.trustedProxies
      configuration.publicAddress = self.page.publicAddress
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
    package func run(_ session: Session) async throws {
      throw CommandFailure(
        .failure,
        "this ambit was built without the page; build it with --traits default,BindingServer")
    }
  #endif
}

package import AmbitCLI
package import ArgumentParser
import BluetoothHost
import CoreBluetoothAsync
import Essentials
import Foundation
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
    package func run() async throws {
      guard let request = BrowserRequest(page) else { return try await runWithRadio() }
      try request.perform(Output(isJSON: options.json))
    }

    package func run(_ session: Session) async throws {
      let central = try await session.central()
      let sources = await NearbySources(session, central, listensToNetwork: page.network)
      let server = try await makeServer(sources.nearby, session.output)
      let opensBrowser = page.open
      try await session.untilTime {
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask { await sources.run() }
          group.addTask {
            do {
              try await server.runUntilCancelled { address in
                PrintedAddress.tell(address, session.output)
                // Other users see the command line of the browser.
                guard opensBrowser else { return }
                BrowserOpening { session.output.warn($0) }
                  .open(server.makeOwnAddress(), orAsk: address)
              }
            } catch let error as PageServerError {
              throw CommandFailure(.failure, error.description + Self.advice(for: error))
            }
          }
          // The first to end ends the other.
          defer { group.cancelAll() }
          try await group.next()
        }
      }
    }

    /// What the user can do about an error of the server; empty if that isn't known.
    private static func advice(for error: PageServerError) -> String {
      guard error.code == .cannotListen else { return "" }
      return switch error.systemError {
      case EADDRNOTAVAIL: "; --listen takes an address of this machine, such as 0.0.0.0 for all"
      case EADDRINUSE:
        "; --port names another one, and --invite invites a browser to a page that runs"
      default: "; --port names another one"
      }
    }

    /// A server whose cookies outlive this run, or one without that, if the key can't be kept.
    @MainActor
    private func makeServer(_ nearby: Nearby, _ output: Output) async throws -> PageServer {
      let keyFile = BrowserRequest.keyFile
      do throws(PageServerError) {
        do throws(PageServerError) {
          return try await makeServer(nearby, keyFile: keyFile)
        } catch {
          guard error.code == .badKeyFile else { throw error }
          output.warn("browsers must be invited again after this run: \(error)")
          return try await makeServer(nearby, keyFile: nil)
        }
      } catch {
        throw CommandFailure(.failure, error.description)
      }
    }

    @MainActor
    private func makeServer(
      _ nearby: Nearby, keyFile: String?
    ) async throws(PageServerError) -> PageServer {
      let invitations = Invitations()
      var page = Page("index.html") { request in
        NearbyPage(
          nearby, scheduler: QueueScheduler(qos: .userInitiated, name: "ambit.page"),
          opening: request.query["open"], invite: { invitations.makeAddress() })
      }
      page.allowsWebAssembly = true
      var configuration = PageServer.Configuration()
      configuration.host = self.page.listen
      configuration.port = self.page.port
      configuration.trustedProxies = self.page.trustedProxies
      configuration.publicAddress = self.page.publicAddress
      // A visitor of the page can connect, pair and write: not every user of this machine may.
      configuration.needsToken = true
      configuration.keyFile = keyFile
      let server = try await PageServer(
        site: .files([
          "index.html": PackageResources.index_html, "style.css": PackageResources.style_css,
          "page.js": PackageResources.page_js,
        ])
        .or(.files(CoverFlowPage.files))
        .or(Site { path in CoverPicture.svg(at: path).map { .init(Array($0.utf8)) } }),
        pages: [page], configuration: configuration)
      invitations.server = server
      return server
    }

    /// The addresses for other browsers, for view models, which the server makes.
    @MainActor
    private final class Invitations {
      weak var server: PageServer?

      func makeAddress() -> String? { server?.makeAddress() }
    }
  #else
    package func run(_ session: Session) async throws {
      throw CommandFailure(
        .failure,
        "this ambit was built without the page; build it with --traits default,BindingServer")
    }
  #endif
}

package import ArgumentParser
import Foundation

/// The options of `ambit page`, which `ambit` checks and `ambit-page` performs.
package struct PageOptions: ParsableArguments {
  @OptionGroup package var global: GlobalOptions

  @Option(help: "The port to listen on; 0 for any that is free.")
  package var port = 8_080

  @Option(help: "The address to listen on; 0.0.0.0 and :: are all of this machine's.")
  package var listen = "127.0.0.1"

  @Option(
    name: .customLong("trusted-proxy"),
    help: "The address or network of a reverse proxy, whose X-Forwarded fields are believed.")
  package var trustedProxies: [String] = []

  @Option(help: "The address of the page behind a proxy, such as https://ambit.example/.")
  package var publicAddress: String?

  @Flag(help: "Open the page in the browser of this desktop.")
  package var open = false

  @Flag(inversion: .prefixedNo, help: "Services of the local network beside Bluetooth devices.")
  package var network = true

  @Flag(help: "Invite a browser to the page that runs: prints an address that admits one, once.")
  package var invite = false

  @Flag(help: "List the browsers that were admitted.")
  package var browsers = false

  @Option(
    help: ArgumentHelp("End the session of a browser, by its id in the list.", valueName: "id"))
  package var endBrowser: String?

  package init() {}

  package func validate() throws {
    guard (0...65_535).contains(port) else { throw ValidationError("A port is 0 to 65535.") }
    guard !listen.isEmpty else {
      throw ValidationError("--listen takes an address, such as 127.0.0.1 or 0.0.0.0.")
    }
    guard [invite, browsers, endBrowser != nil].count(where: { $0 }) <= 1 else {
      throw ValidationError("--invite, --browsers and --end-browser are used one at a time.")
    }
  }

  package static let configuration = CommandConfiguration(
    commandName: "page",
    abstract: "Show everything nearby in a browser, live.",
    discussion: """
      Serves a page with all devices, beacons and services of the network, as a table and as a Cover \
      Flow: filter and search them, mark them, open one to see its advertising data, connect it, \
      read, write and follow its values. Prints the address to open, with a token, which admits one \
      browser for thirty days, also when the page is started again. Without it, other users of this \
      machine get nothing. Other machines can't connect, unless --listen names another address. \
      While the page runs, the same user can invite another browser (--invite), list all (--browsers) \
      and end one (--end-browser), which takes a second. Devices that were connected are disconnected a minute after \
      the last page was left, and ten minutes after it was hidden.

      EXAMPLES:
        ambit page
        ambit page --open
        ambit page --port 9000 --radio hci0
        ambit page --listen 0.0.0.0
        ambit page --invite
        ambit page --end-browser 0f1e2d3c4b5a
        ambit page --trusted-proxy 127.0.0.1 --public-address https://ambit.example/
      """)
}

/// The live page: everything nearby in a browser.
///
/// Its server is a program of its own, `ambit-page` in the folder of `ambit`, so that `ambit` is built
/// and started without an HTTP server.
struct PageCommand: ParsableCommand {
  static let configuration = PageOptions.configuration

  @OptionGroup var options: PageOptions

  /// Replaces this process by `ambit-page`, with the same options.
  ///
  /// - Throws: `CommandFailure` if it can't be executed.
  func run() throws {
    let arguments = Main.movingOptions(Array(CommandLine.arguments.dropFirst())).dropFirst()
    try ProgramReplacement.execute("ambit-page", arguments, for: "the page")
  }
}

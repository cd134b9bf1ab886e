import AmbitCLI
import Foundation
import JSONWire
import StateFiles

#if BindingServer
  import BindingServer

  /// A request about the browsers of the page that runs, from the command line of its user.
  enum BrowserRequest: Hashable {
    case invite
    case list
    case end(String)

    /// Nil if the options are those of the page itself.
    init?(_ options: PageOptions) {
      if options.invite {
        self = .invite
      } else if options.browsers {
        self = .list
      } else if let id = options.endBrowser {
        self = .end(id)
      } else {
        return nil
      }
    }

    /// The file in which the page keeps its key and its browsers; nil if the user has no folder for it.
    static var keyFile: String? {
      let environment = ProcessInfo.processInfo.environment
      return StateFile.path(of: "page-access") { environment[$0] }
    }

    /// Performs the request.
    ///
    /// - Throws: `CommandFailure`.
    func perform(_ output: Output) throws {
      guard let keyFile = Self.keyFile else {
        throw CommandFailure(.noInput, "neither XDG_STATE_HOME nor HOME is set")
      }
      let access = PageAccess(keyFile: keyFile)
      do {
        switch self {
        case .invite: try invite(access, output)
        case .list:
          let browsers = try access.browsers()
          if browsers.isEmpty { output.note("No browser is admitted.") }
          for browser in browsers { Self.show(browser, output) }
        case .end(let id):
          guard try access.end(id) else {
            throw CommandFailure(
              .notFound, "no browser has the id \(id); ambit page --browsers lists them")
          }
          output.note("The session has ended.")
        }
      } catch let error as PageServerError {
        throw CommandFailure(.failure, error.description)
      }
    }

    private func invite(_ access: PageAccess, _ output: Output) throws {
      let addresses = try access.invite()
      guard !addresses.isEmpty else {
        throw CommandFailure(.notFound, "no page of this user runs; ambit page starts one")
      }
      for address in addresses { PrintedAddress.tell(address, as: "invited", output) }
      output.note("For one browser, once, within an hour.")
    }

    private static func show(_ browser: PageAccess.Browser, _ output: Output) {
      guard output.isJSON else {
        let date = browser.admittedAt.formatted(.iso8601.dateSeparator(.dash).timeSeparator(.colon))
        let address = browser.address ?? "-"
        let line = FittedLine(
          first: "", next: "  ",
          parts: [
            .init(browser.id, browser.id), .init("  ", date, date),
            .init("  ", "port \(browser.port)", "port \(browser.port)"),
            .init("  ", Fit.safe(address), Fit.safe(address)),
            .init("  ", Fit.safe(browser.agent), Fit.safe(browser.agent)),
          ])
        for text in line.linesOfTerminal { output.line(text) }
        return
      }
      var members: [JSON.Member] = [
        .init(key: "event", value: .string("browser")),
        .init(key: "id", value: .string(browser.id)),
        .init(key: "time", value: .time(browser.admittedAt)),
        .init(key: "end", value: .time(browser.end)),
        .init(key: "port", value: .integer(Int64(browser.port))),
      ]
      if let address = browser.address {
        members.append(.init(key: "address", value: .string(address)))
      }
      members.append(.init(key: "agent", value: .string(browser.agent)))
      output.object(.object(members), isOfRadio: false)
    }
  }
#endif

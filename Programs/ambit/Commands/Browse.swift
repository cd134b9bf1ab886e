import ArgumentParser
import BonjourHost
import DNSWire
import DiscoveryMachines
import Foundation
import JSONWire

/// Finds services on the local network.
struct Browse: NetworkCommand {
  static let configuration = CommandConfiguration(
    abstract: "Find services on the local network (Bonjour), as they come and go.",
    discussion: """
      Runs until Ctrl-C or --timeout. A type is written with its underscores, or as the name alone \
      for TCP; a subtype may follow it after a comma. With the full name of a service only that one \
      is shown. --types lists the types of existing services instead, --all the services of all \
      types. Services in a domain other than local are looked for on the local network, too; name \
      servers are not queried. --once ends when no more answers are expected, and fails if none came. \
      With --resolve, a line follows whenever host, port, text or addresses change.

      EXAMPLES:
        ambit browse _http._tcp
        ambit browse ipp --resolve --timeout 5
        ambit browse "Desk lamp._http._tcp.local"
        ambit browse _http._tcp,_printer --ignore-local
        ambit browse --all --once
        ambit browse --types
        ambit browse http --json | jq -r .name
      """)

  @OptionGroup var options: NetworkOptions

  @Argument(help: "The type of service: _http._tcp, or http; or the full name of one.")
  var type: String?

  @Argument(help: "The domain. Default: local.")
  var domain: String?

  @Flag(help: "The types of all services instead of the services of one type.")
  var types = false

  @Flag(name: [.customShort("a"), .long], help: "The services of all types.")
  var all = false

  @Flag(
    name: [.customShort("r"), .long],
    help: "Resolve each service, too: host, port, addresses and text.")
  var resolve = false

  @Flag(
    name: [.customShort("t"), .long], help: "End when no more answers are to be expected.")
  var once = false

  @Option(
    help: ArgumentHelp(
      "Only services of this subtype, with or without its underscore.", valueName: "subtype"))
  var subtype: String?

  @Flag(name: [.customShort("l"), .long], help: "Leave out the services of this machine.")
  var ignoreLocal = false

  func validate() throws {
    guard [type != nil, types, all].filter({ $0 }).count == 1 else {
      throw ValidationError("It takes the type of a service, or --types, or --all.")
    }
    guard subtype == nil || type != nil, !(types && (resolve || ignoreLocal)) else {
      throw ValidationError("Types have neither subtypes nor addresses.")
    }
  }

  var endsByItself: Bool { once }
  var findsAll: Bool { !once }

  /// How long `--once` follows a network on which something new never stops coming.
  private static let onceTimeMax = Duration.seconds(60)

  func run(_ session: NetworkSession) async throws {
    let browsing = Browsing(
      session: session, resolves: resolve, ignoresLocal: ignoreLocal, showsType: all)
    let type = try browsed()
    if let domain = type?.domain, !domain.isOnThisLink {
      session.output.warn(
        "services in \(domain) are looked for on the local network only, by Multicast DNS; its "
          + "name servers are not queried")
    }
    session.output.progress("Browsing …")
    guard once else {
      try await follow(type, browsing)
      if !browsing.activity.hadNews {
        session.remark.update { $0 = types ? "No types of services." : "No services." }
      }
      return
    }
    _ = try await race(options.timeout?.duration ?? Self.onceTimeMax) {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await follow(type, browsing) }
        group.addTask { try await browsing.activity.untilQuiet() }
        defer { group.cancelAll() }
        _ = try await group.next()
      }
    }
    guard browsing.activity.hadNews else {
      throw CommandFailure(
        .notFound, "nothing was found" + NetworkText.reach(of: type?.domain ?? .local))
    }
  }

  /// The type to browse for; nil for all types.
  private func browsed() throws -> NetworkText.Services? {
    guard let type else { return nil }
    var services = try NetworkText.browsed(type, domain: domain)
    if let subtype { services.subtypes.append(try NetworkText.subtype(subtype)) }
    guard services.subtypes.count <= 1 else {
      throw CommandFailure(.usage, "services are browsed for by one subtype at a time")
    }
    return services
  }

  private func follow(_ services: NetworkText.Services?, _ browsing: Browsing) async throws {
    if let services {
      try await browsing.follow(services)
    } else {
      try await browsing.followTypes(withServices: all)
    }
  }

  /// The object that `--json` writes for a service that came or went.
  static func json(
    _ event: String, _ name: ServiceName, _ interface: String?, ttl: UInt32? = nil
  ) -> JSON {
    .object([
      "event": .string(event), "name": .string(name.instanceText),
      "type": .string("\(name.type)"), "domain": .string("\(name.domain)"),
      "fullName": .string("\(name)"), "ttl": ttl.map { .integer(Int64($0)) },
      "interface": interface.map { .string($0) }, "time": .time(Date()),
    ])
  }
}

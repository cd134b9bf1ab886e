import ArgumentParser
import BonjourHost
import DNSWire
import DiscoveryMachines
import Foundation

/// Finds services on the local network.
struct Browse: NetworkCommand {
  static let configuration = CommandConfiguration(
    abstract: "Find services on the local network (Bonjour), as they come and go.",
    discussion: """
      Goes on until Ctrl-C or --timeout. A type is written with its underscores, or as the name \
      alone where TCP is meant. --types lists the types that are there instead.

      EXAMPLES:
        ambit browse _http._tcp
        ambit browse ipp --timeout 5
        ambit browse --types
        ambit browse http --json | jq -r .name
      """)

  @OptionGroup var options: NetworkOptions

  @Argument(help: "The type of service: _http._tcp, or http.")
  var type: String?

  @Flag(help: "The types of all services instead of the services of one type.")
  var types = false

  @Option(help: ArgumentHelp("Only services of this subtype.", valueName: "subtype"))
  var subtype: String?

  func validate() throws {
    guard types != (type != nil) else {
      throw ValidationError("It takes the type of a service, or --types.")
    }
  }

  func run(_ session: NetworkSession) async throws {
    let request: QueryRequest =
      try type.map { .browse(try NetworkText.type($0), subtype: subtype) } ?? .serviceTypes()
    session.output.progress("Browsing …")
    var names = InterfaceNames(of: session.host)
    for await found in session.events(of: request) {
      let interface = await names.name(of: found.interface)
      switch found.event {
      case .serviceAdded(let name): tell("found", name, interface, session.output)
      case .serviceRemoved(let name): tell("gone", name, interface, session.output)
      case .typeAdded(let type): tell("found", type, interface, session.output)
      case .typeRemoved(let type): tell("gone", type, interface, session.output)
      case .failed(let error): throw NetworkText.failure(error)
      default: break
      }
    }
  }

  private func tell(
    _ event: String, _ name: ServiceName, _ interface: String?, _ output: Output
  ) {
    if output.isJSON { return output.object(Self.json(event, name, interface)) }
    line(event, Fit.safe(name.instanceText), interface, output)
  }

  /// The object that `--json` writes for a service that came or went.
  static func json(_ event: String, _ name: ServiceName, _ interface: String?) -> JSON {
    .object([
      "event": .string(event), "name": .string(name.instanceText),
      "type": .string("\(name.type)"), "domain": .string("\(name.domain)"),
      "interface": interface.map { .string($0) }, "time": .time(Date()),
    ])
  }

  private func tell(_ event: String, _ type: ServiceType, _ interface: String?, _ output: Output) {
    if output.isJSON {
      return output.object(
        .object([
          "event": .string(event), "type": .string("\(type)"),
          "interface": interface.map { .string($0) }, "time": .time(Date()),
        ]))
    }
    line(event, "\(type)", interface, output)
  }

  private func line(_ event: String, _ text: String, _ interface: String?, _ output: Output) {
    let clock = output.style.dim(ValueReport.clock(Date()))
    let sign = event == "found" ? "+" : "-"
    output.line("\(clock)  \(sign)  \(text)  \(output.style.dim(interface ?? ""))")
  }
}

/// Says where a service is.
struct Resolve: NetworkCommand {
  static let configuration = CommandConfiguration(
    abstract: "Say where a service is: host, port, addresses and text.",
    discussion: """
      EXAMPLES:
        ambit resolve "Desk lamp" _http._tcp
        ambit resolve "Office printer" ipp --json
      """)

  @OptionGroup var options: NetworkOptions

  @Argument(help: "The name of the service.")
  var name: String

  @Argument(help: "Its type: _http._tcp, or http.")
  var type: String

  var endsByItself: Bool { true }

  func run(_ session: NetworkSession) async throws {
    let service = try NetworkText.service(name, NetworkText.type(type))
    session.output.progress("Resolving …")
    guard let (place, interface) = try await session.first(.resolve(service), Self.place) else {
      throw CommandFailure(
        .notFound, "no service \"\(name)\" of type \(service.type) answered within \(session.limit)"
      )
    }
    let addresses = await session.addresses(of: place.host, on: interface)
    let name = await session.interfaceName(interface)
    report(place, addresses, name, session.output)
  }

  private static func place(_ event: QueryEvent) -> ServiceResolution? {
    if case .resolved(let place) = event { place } else { nil }
  }

  private func report(
    _ place: ServiceResolution, _ addresses: [String], _ interface: String?, _ output: Output
  ) {
    let entries = place.text.entries
    if output.isJSON {
      let text = entries.map { entry in
        JSON.Member(
          key: entry.key,
          value: entry.value.map { .string(String(decoding: $0, as: UTF8.self)) } ?? .bool(true))
      }
      return output.object(
        .object([
          "event": .string("resolved"), "name": .string(place.name.instanceText),
          "type": .string("\(place.name.type)"), "host": .string("\(place.host)"),
          "port": .integer(Int64(place.port)), "addresses": .array(addresses.map { .string($0) }),
          "text": .object(text), "interface": interface.map { .string($0) },
        ]))
    }
    output.line("\(Fit.safe("\(place.host)")):\(place.port)")
    for address in addresses { output.line("  \(address)") }
    for entry in entries {
      let value = entry.value.map { "=\(Fit.safe(String(decoding: $0, as: UTF8.self)))" } ?? ""
      output.line("  \(Fit.safe(entry.key))\(value)")
    }
  }
}

import ArgumentParser
import BonjourHost
import DNSWire
import DiscoveryMachines
import Essentials
import Foundation
import JSONWire

/// Publishes a service on the local network.
struct Publish: NetworkCommand {
  static let configuration = CommandConfiguration(
    abstract: "Publish a service on the local network (Bonjour) until Ctrl-C.",
    discussion: """
      An empty name ("") is that of this machine. If another host has the name, another is chosen ("Desk lamp (2)"); with --no-rename that is a \
      failure. Another program provides the service itself: this command only registers it. With \
      --host and --address it registers the service of a host that cannot do so itself.

      In the value of a TXT entry, \\DDD and \\xHH are a byte in decimal and hexadecimal digits, and \
      \\\\ is a backslash.

      EXAMPLES:
        ambit publish "Desk lamp" _http._tcp 8080 room=study
        ambit publish Files smb 445 --subtype photos --timeout 1h
        ambit publish "" _http._tcp,_printer 80 'key=\\000\\255'
        ambit publish Printer ipp 631 --host printer --address 192.168.1.9
      """)

  @OptionGroup var options: NetworkOptions

  @Argument(help: "The name that users see; empty for that of this machine.")
  var name: String

  @Argument(help: "The type: _http._tcp, or http.")
  var type: String

  @Argument(help: "The port where the service listens.")
  var port: UInt16

  @Argument(help: "The entries of the TXT record: key=value, or key alone.")
  var text: [String] = []

  @Option(
    help: ArgumentHelp(
      "A subtype, with or without its underscore; may be given several times.",
      valueName: "subtype"))
  var subtype: [String] = []

  @Option(
    help: ArgumentHelp(
      "A whole string of the TXT record in hexadecimal digits, as --json writes it in strings; may "
        + "be given several times.", valueName: "digits"))
  var hex: [String] = []

  @Option(
    help: ArgumentHelp("The host of the service, if it is not this one.", valueName: "name"))
  var host: String?

  @Option(
    help: ArgumentHelp(
      "An address of that host, to be published with the service; may be given several times.",
      valueName: "address"))
  var address: [String] = []

  @Flag(help: "Fail where another host has the name.")
  var noRename = false

  func validate() throws {
    guard address.isEmpty || host != nil else {
      throw ValidationError("An address is that of a host: --host is missing.")
    }
  }

  func run(_ session: NetworkSession) async throws {
    let service = try registration()
    let records = try addressRecords(of: service.host)
    session.output.progress("Publishing …")
    session.unfinished.update {
      $0 = CommandFailure(
        .failure, "\"\(service.name.instanceText)\" has not been published")
    }
    try await session.untilNetwork()
    let (events, continuation) = AsyncStream.makeStream(of: Event.self)
    // The addresses first, because clients that find the service query them.
    var registrations = records.map { record in
      session.host.register(record) { continuation.yield(.address(record.record, $0)) }
    }
    registrations.append(session.host.register(service) { continuation.yield(.service($0)) })
    defer { for registration in registrations { registration.unregister() } }
    // It can be found, and used, only once its host's addresses are registered, too.
    var missing = Set(records.map(\.record))
    var registered: DNSName?
    for await event in events {
      switch event {
      case .service(.registered(let name)):
        registered = name
        if missing.isEmpty { tell(name, service.name.type, session) }
      case .address(let record, .registered):
        let wasMissing = missing.remove(record) != nil
        if wasMissing, missing.isEmpty, let registered {
          tell(registered, service.name.type, session)
        }
      case .service(.refused):
        throw CommandFailure(.failure, "another host has the name \"\(service.name.instanceText)\"")
      case .address(let record, .refused):
        throw CommandFailure(.failure, "another host has the name \(record.name)")
      case .service(.failed), .address(_, .failed):
        throw NetworkText.refusal(of: "\"\(service.name.instanceText)\"")
      }
    }
  }

  private enum Event: Sendable {
    case service(RegistrationEvent)
    case address(DNSRecord, RegistrationEvent)
  }

  private func registration() throws -> ServiceRegistration {
    let services = try NetworkText.services(type)
    let service = try NetworkText.service(
      name.isEmpty ? BonjourConfiguration().hostName : name, services)
    let subtypes = try services.subtypes + subtype.map { try NetworkText.subtype($0) }
    let host = try host.map { try NetworkText.host($0) }
    let strings = try textStrings()
    do throws(DNSWireError) {
      return try ServiceRegistration(
        service, subtypes: subtypes, host: host, port: port,
        text: try TXTRecord(strings: TXTRecord(text.map(Self.entry)).strings + strings),
        conflictPolicy: noRename ? .refuse : .rename)
    } catch {
      throw CommandFailure(
        .usage, "the service cannot be published: \(NetworkText.reason(error))")
    }
  }

  private func textStrings() throws(CommandFailure) -> [ArraySlice<UInt8>] {
    var strings: [ArraySlice<UInt8>] = []
    for digits in hex {
      guard let bytes = Hexadecimal.bytes(digits), !bytes.isEmpty else {
        throw CommandFailure(.usage, "\"\(digits)\" is not hexadecimal")
      }
      strings.append(bytes[...])
    }
    return strings
  }

  private func addressRecords(of host: DNSName?) throws -> [RecordRegistration] {
    guard let host else { return [] }
    return try address.map { text in
      guard let address = InetAddress(text: text) else {
        throw CommandFailure(.usage, "\"\(text)\" is not an IP address")
      }
      guard host.isOnThisLink else {
        throw CommandFailure(.usage, "only names in local. have addresses here, not \(host)")
      }
      let data: DNSRecordData =
        switch address {
        case .v4(let address): .a(address)
        case .v6(let address): .aaaa(address)
        }
      return RecordRegistration(
        DNSRecord(name: host, ttlSeconds: ResponderConstants.hostTTLSeconds, data: data), .unique)
    }
  }

  private static func entry(_ text: String) -> TXTRecord.Entry {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let value = parts.count > 1 ? parts.last.map(TextEscapes.bytes) : nil
    return TXTRecord.Entry(key: parts.first.map(String.init) ?? "", value: value)
  }

  private func tell(_ name: DNSName, _ type: ServiceType, _ session: NetworkSession) {
    session.unfinished.update { $0 = nil }
    let output = session.output
    let shown = ServiceName(name)?.instanceText ?? "\(name)"
    if output.isJSON {
      return output.object(
        .object([
          "event": .string("published"), "name": .string(shown), "type": .string("\(type)"),
          "port": .integer(Int64(port)), "time": .time(Date()),
        ]))
    }
    output.line("Published as \"\(Fit.safe(shown))\".")
  }
}

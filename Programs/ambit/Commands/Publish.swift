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
    if !service.name.domain.isOnThisLink {
      session.output.warn(
        "\(service.name.domain) is not the domain of this network: the service is published by "
          + "Multicast DNS only, not on name servers")
    }
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
        if missing.isEmpty { await tell(name, service.name, session) }
      case .address(let record, .registered):
        let wasMissing = missing.remove(record) != nil
        if wasMissing, missing.isEmpty, let registered {
          await tell(registered, service.name, session)
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
    let entries = try text.map { try Self.entry($0) }
    do throws(DNSWireError) {
      return try ServiceRegistration(
        service, subtypes: subtypes, host: host, port: port,
        text: try TXTRecord(strings: TXTRecord(entries).strings + strings),
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

  /// An entry of the TXT record as it is typed.
  static func entry(_ text: String) throws(CommandFailure) -> TXTRecord.Entry {
    let key = text.prefix { $0 != "=" }
    guard key.endIndex < text.endIndex else {
      return TXTRecord.Entry(key: String(key), value: nil)
    }
    do throws(TextEscapes.Mistake) {
      let value = try TextEscapes.bytes(text[text.index(after: key.endIndex)...])
      return TXTRecord.Entry(key: String(key), value: value)
    } catch {
      throw CommandFailure(
        .usage,
        "the backslash at character \(key.count + 1 + error.characterCount + 1) of \"\(text)\" begins "
          + #"no escape: those are \DDD, \xHH, and \\ for a backslash"#)
    }
  }

  private func tell(_ name: DNSName, _ service: ServiceName, _ session: NetworkSession) async {
    session.unfinished.update { $0 = nil }
    let published = PublishedService(
      name: name, service: service, port: port,
      interfaces: await session.host.interfaces.values.sorted())
    if session.output.isJSON { return session.output.object(published.json) }
    session.output.line(published.sentence)
  }
}

/// A service that is registered, and where.
struct PublishedService: Sendable {
  /// The name that it got.
  var name: DNSName
  /// As which it was to be registered.
  var service: ServiceName
  var port: UInt16
  /// What the system calls the interfaces.
  var interfaces: [String]

  /// The interfaces that are listed in a sentence.
  private static let listedMax = 8

  private var shownName: String { ServiceName(name)?.instanceText ?? "\(name)" }

  /// Whether only programs of this machine can find it.
  private var isOfThisMachine: Bool { interfaces.allSatisfy { $0 == "lo" } }

  var json: JSON {
    .object([
      "event": .string("published"), "name": .string(shownName),
      "type": .string("\(service.type)"), "domain": .string("\(service.domain)"),
      "port": .integer(Int64(port)), "interfaces": .array(interfaces.map { .string($0) }),
      "reach": .string(isOfThisMachine ? "machine" : "network"), "time": .time(Date()),
    ])
  }

  var sentence: String {
    let start = "Published as \"\(Fit.safe(shownName))\""
    if isOfThisMachine { return start + ", for programs of this machine only: no network is up." }
    let listed =
      interfaces.count > Self.listedMax
      ? "\(interfaces.count) interfaces" : interfaces.joined(separator: ", ")
    return start + " on \(listed)."
  }
}

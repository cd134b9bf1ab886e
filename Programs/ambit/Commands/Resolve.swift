import ArgumentParser
import BonjourHost
package import DNSWire
package import DiscoveryMachines
import Essentials
import Foundation
import JSONWire

/// Resolves a service.
package struct Resolve: NetworkCommand {
  static let configuration = CommandConfiguration(
    abstract: "Resolve a service: host, port, addresses and text.",
    discussion: """
      Takes up to 5 s, or --timeout. A service that does not answer, or whose host has no address, \
      is a failure. In the text, a backslash and three digits are a byte that is no text.

      EXAMPLES:
        ambit resolve "Desk lamp" _http._tcp
        ambit resolve "Desk lamp._http._tcp.local"
        ambit resolve "Office printer" ipp --json
      """)

  @OptionGroup var options: NetworkOptions

  @Argument(help: "The name of the service, or its full name with type and domain.")
  var name: String

  @Argument(help: "Its type: _http._tcp, or http; none with a full name.")
  var type: String?

  @Argument(help: "Its domain. Default: local.")
  var domain: String?

  var endsByItself: Bool { true }

  func run(_ session: NetworkSession) async throws {
    let service = try service()
    session.output.progress("Resolving …")
    let end = ContinuousClock.now + session.limit.duration
    let times =
      session.output.isJSON ? RecordTimes(of: service.name, .srv, with: session.host) : nil
    guard let (place, interface) = try await session.first(.resolve(service), Self.place) else {
      throw CommandFailure(
        .notFound,
        "no service \"\(service.instanceText)\" of type \(service.type) answered within "
          + "\(session.limit)" + NetworkText.reach(of: service.domain))
    }
    let ttl = times?.secondsOfService(place, on: interface)
    let addresses = try await session.addresses(
      of: place.host, on: interface, within: max(.zero, ContinuousClock.now.duration(to: end)))
    guard !addresses.isEmpty else {
      throw CommandFailure(
        .notFound,
        "the service is on port \(place.port) of \(place.host), which did not answer with an "
          + "address within \(session.limit)")
    }
    let resolved = ResolvedPlace(
      place: place, addresses: addresses, interface: await session.interfaceName(interface),
      ttl: ttl)
    resolved.report(to: session.output)
  }

  private func service() throws(CommandFailure) -> ServiceName {
    guard let type else { return try NetworkText.service(fullName: name) }
    let services = try NetworkText.services(type, domain: domain)
    guard services.subtypes.isEmpty else {
      throw CommandFailure(.usage, "a service is resolved by its type, without a subtype")
    }
    return try NetworkText.foreignService(name, services)
  }

  package static func place(_ event: QueryEvent) -> ServiceResolution? {
    if case .resolved(let place) = event { place } else { nil }
  }
}

/// A service with all that a client needs.
struct ResolvedPlace: Sendable {
  var place: ServiceResolution
  var addresses: [InetAddress] = []
  /// What the system calls the interface.
  var interface: String?
  /// The TTL in seconds of the record with host and port, where that is written.
  var ttl: UInt32?

  func report(to output: Output) {
    if output.isJSON { return output.object(json) }
    output.line("\(Fit.safe("\(place.host)")):\(place.port)")
    lines.forEach(output.line)
  }

  private var scopedAddresses: [ScopedAddress] {
    addresses.map { ScopedAddress($0, on: interface) }
  }

  /// The addresses and the text, a line each.
  var lines: [String] {
    scopedAddresses.map { "  \($0)" }
      + TextPair.all(of: place.text).map { pair in
        let value = pair.value.map { "=\(Fit.safe(TextEscapes.text($0)))" } ?? ""
        return "  \(Fit.safe(pair.key))\(value)"
      }
  }

  var json: JSON {
    .object([
      "event": .string("resolved"), "name": .string(place.name.instanceText),
      "type": .string("\(place.name.type)"), "domain": .string("\(place.name.domain)"),
      "fullName": .string("\(place.name)"),
      "host": .string("\(place.host)"),
      "port": .integer(Int64(place.port)),
      "addresses": .array(scopedAddresses.map { .string("\($0)") }),
      "text": TextPair.object(of: place.text), "strings": TextPair.strings(of: place.text),
      "ttl": ttl.map { .integer(Int64($0)) },
      "interface": interface.map { .string($0) },
    ])
  }
}

/// A string of a TXT record as readable text. Keys that are not ASCII are included although RFC
/// 6763, §6.4 requires ASCII, since other implementations write such keys.
package struct TextPair: Hashable, Sendable {
  package var key: String
  /// Nil without an equals sign.
  package var value: [UInt8]?

  /// The strings of a record that have a key, the first of each key (§6.4).
  package static func all(of record: TXTRecord) -> [TextPair] {
    var known: Set<String> = []
    return record.strings.compactMap { string in
      let parts = string.split(
        separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard let key = parts.first.map({ String(decoding: $0, as: UTF8.self) }), !key.isEmpty,
        known.insert(key.lowercased()).inserted
      else { return nil }
      return TextPair(key: key, value: parts.count > 1 ? parts.last.map(Array.init) : nil)
    }
  }

  /// Keys with their values as text; `true` without a value, and an object with hexadecimal digits
  /// where the value isn't UTF-8.
  static func object(of record: TXTRecord) -> JSON {
    .object(
      all(of: record).map { pair in
        JSON.Member(
          key: pair.key,
          value: pair.value.map(json) ?? .bool(true))
      })
  }

  private static func json(_ value: [UInt8]) -> JSON {
    guard let text = String(validating: value, as: UTF8.self) else {
      return .object(["hex": .string(hexadecimal(value))])
    }
    return .string(text)
  }

  /// The bytes of each string of the record, in hexadecimal digits.
  static func strings(of record: TXTRecord) -> JSON {
    .array(record.strings.filter { !$0.isEmpty }.map { .string(hexadecimal($0)) })
  }

  static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}

import BonjourHost
import DNSWire
import DiscoveryMachines
import Essentials

/// Parses names and types from the command line, and explains invalid ones.
enum NetworkText {
  /// The services that a command is about.
  struct Services: Hashable, Sendable {
    var type: ServiceType
    var domain = DNSName.local
    var subtypes: [DNSLabel] = []
    /// The only one that is meant, if the text was its full name.
    var instance: ServiceName?
  }

  /// `_http._tcp`, `_http._tcp.local`, or `http` or `_http` where TCP is meant. Subtypes may be part
  /// of it, as `dns-sd` (`_http._tcp,_printer`) and `avahi-browse` (`_printer._sub._http._tcp`) take
  /// them.
  static func services(
    _ text: String, domain: String? = nil
  ) throws(CommandFailure) -> Services {
    var services: Services
    do throws(DNSWireError) {
      services = try parse(text)
    } catch {
      throw CommandFailure(
        .usage,
        "\"\(text)\" is not a type of service like _http._tcp, or http: \(reason(error))")
    }
    guard let domain, !domain.isEmpty else { return services }
    services.domain = try name(domain)
    return services
  }

  /// A type as above, or the full name of a service, of which only that one is meant.
  static func browsed(_ text: String, domain: String? = nil) throws(CommandFailure) -> Services {
    do throws(CommandFailure) {
      return try services(text, domain: domain)
    } catch {
      guard domain?.isEmpty ?? true, let name = try? service(fullName: text) else { throw error }
      return Services(type: name.type, domain: name.domain, instance: name)
    }
  }

  private static func parse(_ text: String) throws(DNSWireError) -> Services {
    if let end = text.firstRange(of: "._sub.") {
      var services = try parse(String(text[end.upperBound...]))
      services.subtypes.insert(try DNSLabel(text: text[..<end.lowerBound]), at: 0)
      return services
    }
    let comma = firstComma(of: text)
    let name = try DNSName(text: text[..<comma])
    let subtypes = try ServiceType.parse("_x._tcp\(text[comma...])").subtypes
    if name.labelCount == 1, let label = name.firstLabel {
      let name = label.first == UInt8(ascii: "_") ? label.dropFirst() : label
      return Services(type: try ServiceType(name: name, transport: .tcp), subtypes: subtypes)
    }
    guard let type = ServiceType(labelsOf: name), let domain = name.dropFirst(2) else {
      throw .invalidServiceType
    }
    return Services(type: type, domain: domain.isRoot ? .local : domain, subtypes: subtypes)
  }

  /// The end of the type: the first comma without a backslash.
  private static func firstComma(of text: String) -> String.Index {
    var isEscaped = false
    return text.firstIndex { character in
      if character == ",", !isEscaped { return true }
      isEscaped = character == "\\" && !isEscaped
      return false
    } ?? text.endIndex
  }

  /// A subtype as an option: by convention it begins with an underscore, which need not be typed.
  static func subtype(_ text: String) throws(CommandFailure) -> DNSLabel {
    do throws(DNSWireError) {
      return try DNSLabel(text: text.hasPrefix("_") ? text : "_" + text)
    } catch {
      throw CommandFailure(.usage, "\"\(text)\" is not a subtype: \(reason(error))")
    }
  }

  /// A host's name: `printer`, or `printer.local`.
  static func host(_ text: String) throws(CommandFailure) -> DNSName {
    let name = try name(text)
    guard name.labelCount == 1 else { return name }
    return try self.name(text + ".local")
  }

  /// The name of an instance of the service.
  static func service(
    _ name: String, _ services: Services
  ) throws(CommandFailure) -> ServiceName {
    do throws(DNSWireError) {
      return try ServiceName(instance: name, type: services.type, domain: services.domain)
    } catch {
      throw CommandFailure(.usage, "\"\(name)\" cannot be a service's name: \(reason(error))")
    }
  }

  /// The name of a service that another program publishes, which may have the control characters that
  /// ours may not.
  static func foreignService(
    _ name: String, _ services: Services
  ) throws(CommandFailure) -> ServiceName {
    let isRefused = name.utf8.contains { $0 < 0x20 || $0 == 0x7F }
    guard isRefused,
      let foreign = try? services.type.name(in: services.domain).prepending(Array(name.utf8)),
      let service = ServiceName(foreign)
    else { return try service(name, services) }
    return service
  }

  /// A service by its full name: `My Printer._ipp._tcp.local`. Dots of the instance need no
  /// backslash.
  static func service(fullName text: String) throws(CommandFailure) -> ServiceName {
    let labels = try name(text).labels.map { $0 }
    for start in labels.indices.dropFirst().reversed() {
      do throws(DNSWireError) {
        let rest = try DNSName(labels: labels[start...])
        guard let type = ServiceType(labelsOf: rest) else { continue }
        let domain = rest.dropFirst(2).flatMap { $0.isRoot ? nil : $0 } ?? .local
        let instance = Array(labels[..<start].joined(separator: CollectionOfOne(UInt8(ascii: "."))))
        // Text is composed; the bytes of another name are kept as they are.
        if let text = String(validating: instance, as: UTF8.self),
          let name = try? ServiceName(instance: text, type: type, domain: domain)
        {
          return name
        }
        if let name = ServiceName(try type.name(in: domain).prepending(instance)) { return name }
      } catch {
        throw CommandFailure(.usage, "\"\(text)\" cannot be a service's name: \(reason(error))")
      }
    }
    throw CommandFailure(
      .usage, "\"\(text)\" is not the full name of a service; the type is missing, as in _http._tcp"
    )
  }

  static func name(_ text: String) throws(CommandFailure) -> DNSName {
    do throws(DNSWireError) { return try DNSName(text: text) } catch {
      throw CommandFailure(.usage, "\"\(text)\" is not a name: \(reason(error))")
    }
  }

  /// The name that a query is for, and whether it is the reverse name of an address: `printer.local`,
  /// `192.0.2.1`, `fe80::1%eth0`, `1.2.0.192.in-addr.arpa`.
  static func queried(_ text: String) throws(CommandFailure) -> (name: DNSName, isReverse: Bool) {
    let unscoped = text.prefix { $0 != "%" }
    if let address = InetAddress(text: String(unscoped)) { return (address.reverseName, true) }
    let name = try name(text)
    let reverseDomains: [DNSName] = ["in-addr.arpa.", "ip6.arpa."]
    return (name, reverseDomains.contains { name.isWithin($0) })
  }

  static func recordType(_ text: String) throws(CommandFailure) -> DNSType {
    guard let type = DNSType(text: text) else {
      throw CommandFailure(.usage, "\"\(text)\" is not a type of record like A, PTR, ANY or 12")
    }
    return type
  }

  /// The error in a name or type, without a full stop.
  static func reason(_ error: DNSWireError) -> String {
    switch error {
    case .emptyLabel: "a part of it is empty"
    case .labelTooLong(let byteCount): "a part of it has \(byteCount) bytes, and 63 are allowed"
    case .nameTooLong: "with its type and domain it is too long"
    case .invalidEscape: "after a backslash comes a character, or three digits up to 255"
    case .controlCharacter: "it has a control character"
    case .messageTooLong(let byteCountMax):
      "all of it together has more than \(byteCountMax) bytes"
    case .invalidKey: "a key has no characters, or others than printable ASCII"
    case .stringTooLong(let byteCount):
      "a key with its value has \(byteCount) bytes, and 255 are allowed"
    case .invalidServiceType: "a type is a name after an underscore, then ._tcp or ._udp"
    case .invalidLength(let byteCount): "\(byteCount) bytes of it are too long"
    case .truncated, .reservedLabelType, .invalidPointer: "\(error)"
    }
  }

  /// The end of a sentence about a missing service: where it was looked for, if that may surprise.
  static func reach(of domain: DNSName) -> String {
    domain.isOnThisLink
      ? "" : " on the local network; the name servers of \(domain) are not queried"
  }

  /// The failure of what the hub refused, because it has too many clients.
  static func refusal(of what: String) -> CommandFailure {
    CommandFailure(
      .failure,
      "\(what) was refused by the hub that runs Bonjour for this program: it serves as many programs "
        + "as it can; try again later")
  }

  static func failure(_ error: QueryError) -> CommandFailure {
    switch error.reason {
    case .notOnThisLink(let name):
      CommandFailure(
        .usage, "\(name) cannot be queried on the local network: only names in local. can")
    case .nameTooLong: CommandFailure(.usage, "the name to query is too long")
    case .tooManyClients: refusal(of: "the query")
    case .identifierInUse: CommandFailure(.failure, "the query could not begin")
    case .timedOut: CommandFailure(.timedOut, "the query timed out without an answer")
    }
  }
}

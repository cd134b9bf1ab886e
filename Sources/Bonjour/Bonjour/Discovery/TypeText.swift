internal import DNSWire
internal import DiscoveryMachines
internal import Essentials

/// A type as Apple's interfaces take it: `_http._tcp`, with or without a dot at the end, and after
/// commas the names of subtypes.
struct TypeText {
  let type: ServiceType
  let subtypes: [DNSLabel]

  init(_ text: String) throws(DNSWireError) {
    let isDotted = text.hasSuffix(".") && text.contains(",")
    (type, subtypes) = try ServiceType.parse(isDotted ? text.dropLast() : text[...])
  }

  /// `_http._tcp.`
  var description: String { type.description + "." }
}

extension DNSName {
  /// The domain from Apple's interfaces; nil or an empty text means `local.`.
  static func domain(_ text: String?) throws(DNSWireError) -> DNSName {
    guard let text, !text.isEmpty else { return .local }
    return try DNSName(text: text)
  }
}

extension ServiceName {
  /// The name of a service as Apple's interfaces give it.
  init(name: String, type: String, domain: String?) throws(DNSWireError) {
    try self.init(instance: name, type: TypeText(type).type, domain: .domain(domain))
  }

  /// `_http._tcp.`
  var typeText: String { type.description + "." }

  /// `local.`
  var domainText: String { domain.description }
}

/// The name of a service instance, such as `Reading room._ipp._tcp.local.` (RFC 6763, §4).
public struct ServiceName: Hashable, Sendable, CustomStringConvertible {
  /// The instance label: user-visible text in UTF-8.
  public let instance: ArraySlice<UInt8>
  /// The service's type.
  public let type: ServiceType
  /// The domain; `local.` on this link.
  public let domain: DNSName
  /// The complete name.
  public let name: DNSName

  /// Creates the name of an instance. The text is normalised to precomposed form (Unicode NFC, as
  /// RFC 6762, §16 requires); it must have 1 to 63 bytes in UTF-8 and no control characters (RFC
  /// 6763, §4.1.1).
  public init(
    instance: some StringProtocol, type: ServiceType, domain: DNSName = .local
  ) throws(DNSWireError) {
    let label = try DNSName.instanceLabel(instance)
    name = try type.name(in: domain).prepending(label)
    self.instance = label[...]
    self.type = type
    self.domain = domain
  }

  /// Splits a name into its parts; nil if it isn't the name of a service instance.
  public init?(_ name: DNSName) {
    var labels = name.labels
    guard let instance = labels.next(), let rest = name.parent,
      let type = ServiceType(labelsOf: rest), let domain = rest.dropFirst(2)
    else { return nil }
    self.instance = instance
    self.type = type
    self.domain = domain
    self.name = name
  }

  /// The instance's label as text; invalid UTF-8 is replaced by U+FFFD.
  public var instanceText: String { String(decoding: instance, as: UTF8.self) }

  /// The full name with escapes.
  public var description: String { name.description }

  /// Whether both name the same service.
  public static func == (a: ServiceName, b: ServiceName) -> Bool { a.name == b.name }

  /// Hashes the complete name.
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension DNSName {
  /// `local.`, the domain of the link (RFC 6762, §3).
  public static let local: DNSName = "local."

  /// `_services._dns-sd._udp.local.`: the name whose PTR records list the types of services on the
  /// link (RFC 6763, §9).
  public static let serviceTypes: DNSName = "_services._dns-sd._udp.local."

  /// Converts an instance name to a label: precomposed UTF-8, 1 to 63 bytes, no control characters
  /// (RFC 6763, §4.1.1).
  public static func instanceLabel(
    _ text: some StringProtocol
  ) throws(DNSWireError) -> [UInt8] {
    let label = text.precomposedUTF8
    guard !label.isEmpty else { throw .emptyLabel }
    guard label.count <= Limits.labelByteCountMax else {
      throw .labelTooLong(byteCount: label.count)
    }
    if let control = label.first(where: { $0 < 0x20 || $0 == 0x7F }) {
      throw .controlCharacter(control)
    }
    return label
  }
}

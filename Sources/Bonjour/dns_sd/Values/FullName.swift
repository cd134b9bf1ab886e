public import CDNSServiceDiscovery
import Glibc

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceConstructFullName(
  _ fullName: UnsafeMutablePointer<CChar>?, _ service: UnsafePointer<CChar>?,
  _ regtype: UnsafePointer<CChar>?, _ domain: UnsafePointer<CChar>?
) -> DNSServiceErrorType {
  status { () throws(ServiceError) in
    guard let fullName else { throw .badParameter }
    let name = try FullName.join(
      service: service == nil ? [] : try Arguments.bytes(service),
      type: try Arguments.bytes(regtype), domain: try Arguments.bytes(domain))
    for (index, byte) in (name + [0]).enumerated() { fullName[index] = CChar(bitPattern: byte) }
  }
}

/// The full name of a service as text.
enum FullName {
  /// Joins the parts. Type and domain have their escapes already and get dots at their ends.
  static func join(
    service: [UInt8], type: [UInt8], domain: [UInt8]
  ) throws(ServiceError) -> [UInt8] {
    let transport = String(
      decoding: type.dropLast(endsInDot(type) ? 1 : 0).suffix(4), as: UTF8.self)
    // At least "x._tcp".
    guard type.count - (endsInDot(type) ? 1 : 0) >= 6, !domain.isEmpty,
      ["_tcp", "_udp"].contains(transport.lowercased())
    else { throw .badParameter }
    var name = service.isEmpty ? [] : escaped(service) + [UInt8(ascii: ".")]
    for part in [type, domain] {
      name += part
      if !endsInDot(part) { name.append(UInt8(ascii: ".")) }
    }
    guard name.count < Int(kDNSServiceMaxDomainName) else { throw .badParameter }
    return name
  }

  /// Dots and backslashes after a backslash; spaces and control characters as `\DDD`.
  private static func escaped(_ label: [UInt8]) -> [UInt8] {
    var text: [UInt8] = []
    for byte in label {
      switch byte {
      case UInt8(ascii: "."), UInt8(ascii: "\\"): text += [UInt8(ascii: "\\"), byte]
      case 0...UInt8(ascii: " "):
        let digits = [byte / 100, byte / 10 % 10, byte % 10].map { $0 + UInt8(ascii: "0") }
        text += [UInt8(ascii: "\\")] + digits
      default: text.append(byte)
      }
    }
    return text
  }

  /// Whether the last dot is one between labels, and no label's own.
  private static func endsInDot(_ text: [UInt8]) -> Bool {
    guard text.last == UInt8(ascii: ".") else { return false }
    return text.dropLast().reversed().prefix { $0 == UInt8(ascii: "\\") }.count % 2 == 0
  }
}

import Essentials

extension DNSRecord: CustomStringConvertible {
  /// The record in zone file format: name, TTL in seconds, type and data, and the class unless it
  /// is IN.
  public var description: String {
    let number = recordClass == .in ? "" : " CLASS\(recordClass.rawValue)"
    return "\(name) \(ttlSeconds)\(number)\(flushesCache ? " flush" : "") \(type) \(data)"
  }
}

extension DNSRecordData: CustomStringConvertible {
  /// The data in zone file format; without one for its type, in that of RFC 3597, §5.
  public var description: String {
    switch self {
    case .a(let address): return address.description
    case .aaaa(let address): return address.description
    case .ptr(let name), .cname(let name), .ns(let name): return name.description
    case .srv(let service):
      return "\(service.priority) \(service.weight) \(service.port) \(service.target)"
    case .txt(let record):
      return record.strings.map { "\"\(Self.quoted($0))\"" }.joined(separator: " ")
    case .hinfo(let processor, let system):
      return "\"\(Self.quoted(processor))\" \"\(Self.quoted(system))\""
    case .nsec(let next, let types):
      return "\(next) \(types.map(\.description).joined(separator: " "))"
    case .opt(let bytes), .opaque(_, let bytes):
      return "\\# \(bytes.count) \(Hexadecimal.string(bytes))"
    }
  }

  private static func quoted(_ string: some Collection<UInt8>) -> String {
    string.reduce(into: "") { text, byte in
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        text += "\\" + String(UnicodeScalar(byte))
      case 0x20...0x7E: text.unicodeScalars.append(UnicodeScalar(byte))
      default:
        text += "\\" + String(repeating: "0", count: byte < 10 ? 2 : byte < 100 ? 1 : 0)
        text += String(byte)
      }
    }
  }
}

extension DNSQuestion: CustomStringConvertible {
  /// The name, the type, and whether a unicast response is requested.
  package var description: String {
    "\(name) \(type)\(wantsUnicastResponse ? " QU" : "")"
  }
}

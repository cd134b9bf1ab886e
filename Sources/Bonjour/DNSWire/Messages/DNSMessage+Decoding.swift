import Essentials

extension DNSMessage {
  /// Decodes a message.
  ///
  /// A record whose data is malformed for its type gets opaque data, so that the other records
  /// remain usable (RFC 6762, §6.1 requires that for NSEC). Any other malformation throws. Bytes
  /// after the last record are ignored.
  package init(decoding bytes: ArraySlice<UInt8>) throws(DNSWireError) {
    var reader = DNSReader(bytes)
    header = DNSHeader(id: try reader.uint16(), flags: try reader.uint16())
    let questionCount = Int(try reader.uint16())
    let counts = (
      Int(try reader.uint16()), Int(try reader.uint16()), Int(try reader.uint16())
    )
    questions = []
    // A count may lie, so room is made for no more than the bytes can hold: a question takes five
    // at least.
    questions.reserveCapacity(min(questionCount, reader.available / 5))
    for _ in 0..<questionCount { questions.append(try reader.question()) }
    answers = try reader.records(counts.0)
    authorities = try reader.records(counts.1)
    additionals = try reader.records(counts.2)
  }
}

extension DNSRecordData {
  /// Decodes the data of one record, with uncompressed names. Data that is malformed for the type
  /// becomes opaque data.
  public init(type: DNSType, decoding bytes: some Collection<UInt8>) {
    let bytes = Array(bytes)
    var reader = DNSReader(bytes[...])
    let formed = reader.bounded(byteCount: bytes.count) { inner throws(DNSWireError) in
      try inner.formedData(of: type)
    }
    self = formed ?? .opaque(type, bytes)
  }
}

extension DNSName {
  /// Decodes an uncompressed name with no bytes after it.
  public init(decoding bytes: some Collection<UInt8>) throws(DNSWireError) {
    let bytes = Array(bytes)
    var reader = DNSReader(bytes[...])
    self = try reader.name()
    guard reader.available == 0 else { throw .invalidLength(bytes.count) }
  }
}

extension DNSReader {
  fileprivate mutating func question() throws(DNSWireError) -> DNSQuestion {
    let name = try name()
    let type = DNSType(rawValue: try uint16())
    let field = try uint16()
    return DNSQuestion(
      name: name, type: type, questionClass: DNSClass(rawValue: field & 0x7FFF),
      wantsUnicastResponse: field & 0x8000 != 0)
  }

  fileprivate mutating func records(_ count: Int) throws(DNSWireError) -> [DNSRecord] {
    var records: [DNSRecord] = []
    records.reserveCapacity(min(count, available / 11))
    for _ in 0..<count { records.append(try record()) }
    return records
  }

  private mutating func record() throws(DNSWireError) -> DNSRecord {
    let name = try name()
    let type = DNSType(rawValue: try uint16())
    let field = try uint16()
    let ttlSeconds = try uint32()
    let byteCount = Int(try uint16())
    guard byteCount <= available else {
      throw .truncated(needed: byteCount, available: available)
    }
    // The class of an OPT record is a size, without a bit for caches (RFC 6891, §6.1.2).
    let bit: UInt16 = type == .opt ? 0 : 0x8000
    return DNSRecord(
      name: name, recordClass: DNSClass(rawValue: field & ~bit), flushesCache: field & bit != 0,
      ttlSeconds: ttlSeconds, data: try data(of: type, byteCount: byteCount))
  }

  /// Reads the data of a record, which lies within the message. Names in it may point before it,
  /// but nothing may reach behind it.
  private mutating func data(
    of type: DNSType, byteCount: Int
  ) throws(DNSWireError) -> DNSRecordData {
    let formed = bounded(byteCount: byteCount) { inner throws(DNSWireError) in
      try inner.formedData(of: type)
    }
    if let formed { return formed }
    return .opaque(type, Array(try slice(byteCount)))
  }

  fileprivate mutating func formedData(of type: DNSType) throws(DNSWireError) -> DNSRecordData {
    switch type {
    case .a:
      guard let address = Inet4Address(bytes: try slice(available)) else {
        throw .invalidLength(available)
      }
      return .a(address)
    case .aaaa:
      guard let address = Inet6Address(bytes: try slice(available)) else {
        throw .invalidLength(available)
      }
      return .aaaa(address)
    case .ptr: return .ptr(try name())
    case .cname: return .cname(try name())
    case .ns: return .ns(try name())
    case .srv:
      return .srv(
        DNSService(
          priority: try uint16(), weight: try uint16(), port: try uint16(), target: try name()))
    case .txt: return .txt(try TXTRecord(decoding: try slice(available)))
    case .hinfo:
      return .hinfo(processor: Array(try string()), system: Array(try string()))
    case .nsec:
      let next = try name()
      return .nsec(next: next, types: try DNSTypeBitmap(decoding: try slice(available)))
    case .opt: return .opt(options: Array(try slice(available)))
    default: return .opaque(type, try expandedData(of: type))
    }
  }

  /// The data of another type, with the names in it written out where the type is one of those
  /// whose names may be compressed (RFC 6762, §18.14).
  private mutating func expandedData(of type: DNSType) throws(DNSWireError) -> [UInt8] {
    let layout = Self.compressedNames[type.rawValue] ?? (0, 0)
    var bytes = Array(try slice(layout.before))
    for _ in 0..<layout.nameCount { bytes += try name().wireBytes }
    return bytes + (try slice(available))
  }

  /// By type: how many bytes come before the names, and how many names there are.
  private static let compressedNames: [UInt16: (before: Int, nameCount: Int)] = [
    3: (0, 1), 4: (0, 1),  // MD, MF
    6: (0, 2),  // SOA
    7: (0, 1), 8: (0, 1), 9: (0, 1),  // MB, MG, MR
    14: (0, 2),  // MINFO
    15: (2, 1),  // MX
    17: (0, 2),  // RP
    18: (2, 1), 21: (2, 1),  // AFSDB, RT
    26: (2, 2),  // PX
    36: (2, 1),  // KX
    39: (0, 1),  // DNAME
  ]
}

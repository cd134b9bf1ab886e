import Essentials

/// The order in which RFC 6762, §8.2 compares what two probers propose.
extension DNSRecord {
  /// Whether this record is lexicographically earlier than `other`, by class, type and the
  /// uncompressed bytes of the data.
  public func isBefore(_ other: DNSRecord) -> Bool { Self.compare(self, other) < 0 }

  /// Compares two sets of proposed records for a tie-break (RFC 6762, §8.2.1): both are sorted,
  /// then the first difference decides, then the length.
  ///
  /// Negative if `theirs` wins, positive if `ours` wins, zero if both are equal.
  public static func tieBreak(ours: [DNSRecord], theirs: [DNSRecord]) -> Int {
    let (ours, theirs) = (
      ours.sorted { $0.isBefore($1) }, theirs.sorted { $0.isBefore($1) }
    )
    for (our, their) in zip(ours, theirs) {
      let order = compare(our, their)
      if order != 0 { return order }
    }
    return (ours.count - theirs.count).signum()
  }

  private static func compare(_ a: DNSRecord, _ b: DNSRecord) -> Int {
    if a.recordClass != b.recordClass {
      return a.recordClass.rawValue < b.recordClass.rawValue ? -1 : 1
    }
    if a.type != b.type { return a.type < b.type ? -1 : 1 }
    let (first, second) = (a.data.wireBytes, b.data.wireBytes)
    if first == second { return 0 }
    return first.lexicographicallyPrecedes(second) ? -1 : 1
  }
}

extension DNSRecordData {
  /// The data in wire format, with uncompressed names in their original case.
  public var wireBytes: [UInt8] {
    switch self {
    case .a(let address): return address.bytes
    case .aaaa(let address): return address.bytes
    case .ptr(let name), .cname(let name), .ns(let name): return name.wireBytes
    case .srv(let service):
      var writer = ByteWriter(capacity: 6 + service.target.wireBytes.count)
      for field in [service.priority, service.weight, service.port] {
        writer.bigEndian(UInt64(field), count: 2)
      }
      writer.append(service.target.wireBytes)
      return writer.bytes
    case .txt(let record): return record.wireBytes
    case .hinfo(let processor, let system):
      let (processor, system) = (processor.prefix(255), system.prefix(255))
      return [UInt8(processor.count)] + processor + [UInt8(system.count)] + system
    case .nsec(let next, let types): return next.wireBytes + types.wireBytes
    case .opt(let options): return options
    case .opaque(_, let bytes): return bytes
    }
  }
}

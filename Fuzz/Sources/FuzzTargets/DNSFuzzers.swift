import DNSWire
import Essentials

extension FuzzTarget {
  /// The decoders of Bonjour.
  static let dns: [FuzzTarget] = [dnsMessage, dnsName, txtRecord, querier]

  /// A decoded message can be encoded, under every compression, and decoded again as the same; also
  /// in packets of the size in the first byte.
  private static let dnsMessage = FuzzTarget(name: "DNSMessage") { bytes in
    guard let first = bytes.first, let message = try? DNSMessage(decoding: bytes[1...]) else {
      return
    }
    let records = message.answers + message.authorities + message.additionals
    for record in records { _ = record.description.count }
    // Opaque data may hold a pointer, which means something else, or something at all, elsewhere.
    guard !records.contains(where: \.data.isMalformed) else { return }
    for compression in [DNSMessageEncoder.Compression.multicast, .legacy, .none] {
      guard let encoded = try? message.encoded(compression: compression) else { continue }
      let again = try? DNSMessage(decoding: encoded[...])
      precondition(again == message, "\(message) came back as \(String(describing: again))")
    }
    precondition(pieces(of: message, byteCountMax: 300 + Int(first)) <= records.count + 300)
    precondition(DNSRecord.tieBreak(ours: records, theirs: records) == 0)
  }

  /// How many packets the message takes; every piece must arrive in one of them or fit in none.
  private static func pieces(of message: DNSMessage, byteCountMax: Int) -> Int {
    var count = 0
    var rest: DNSMessage? = message
    while let left = rest {
      let (encoded, next) = left.encodedPrefix(byteCountMax: byteCountMax)
      precondition(encoded.count <= byteCountMax, "a packet is longer than it may be")
      precondition((try? DNSMessage(decoding: encoded[...])) != nil, "a packet cannot be read")
      count += 1
      if next == left { break }
      rest = next
    }
    return count
  }

  private static let dnsName = FuzzTarget(name: "DNSName") { bytes in
    let text = String(decoding: bytes, as: UTF8.self)
    _ = try? ServiceType(text: text)
    if let address = InetAddress(text: text) {
      precondition(InetAddress(text: address.description) == address)
    }
    guard let name = try? DNSName(text: text) else { return }
    let again = try? DNSName(text: name.description)
    precondition(again?.wireBytes == name.wireBytes, "\(name) changed in writing")
    precondition(name.isWithin(name) && name.isWithin(.root))
    if let service = ServiceName(name) {
      precondition(service.name == name && name.isWithin(service.domain))
    }
  }

  private static let txtRecord = FuzzTarget(name: "TXTRecord") { bytes in
    guard let record = try? TXTRecord(decoding: bytes) else { return }
    precondition((try? TXTRecord(decoding: record.wireBytes)) == record)
    var emptied = record
    for entry in record.entries {
      precondition(record.entry(for: entry.key.uppercased()) == entry)
      precondition(emptied.remove(entry.key))
    }
    precondition(emptied.isEmpty)
    guard let copy = try? TXTRecord(record.entries) else { return }
    precondition(copy.entries == record.entries, "entries changed in writing")
  }
}

import Essentials

/// Encodes a message incrementally. Each append returns whether the question or record fitted.
///
/// One that doesn't fit leaves the message unchanged, so that the caller can send it and begin the
/// next message. The four sections must be filled in their order.
package struct DNSMessageEncoder: Sendable {
  /// Sizes of packets.
  package enum Limits {
    /// The maximum UDP payload in one Ethernet frame over IPv6, whose header is longer than that of
    /// IPv4. Packets of at most this size are not fragmented.
    package static let unfragmentedByteCount = 1_500 - 40 - 8
    /// The maximum size of a Multicast DNS packet, with the headers of IP and UDP (RFC 6762, §17).
    package static let packetByteCountMax = 9_000
    /// The maximum size without the headers of IPv6 and UDP.
    package static let byteCountMax = packetByteCountMax - 40 - 8
  }

  /// The names that are compressed.
  package enum Compression: Hashable, Sendable {
    /// All names that Multicast DNS allows, including the target of SRV and the next name of NSEC
    /// (RFC 6762, §18.14).
    case multicast
    /// The names that all resolvers since RFC 1035 expect: not in SRV and NSEC. For answers to
    /// legacy queries (RFC 6762, §6.7).
    case legacy
    /// No names.
    case none
  }

  /// The four sections of a message.
  package enum Section: Int, Comparable, Sendable {
    /// Questions.
    case question
    /// Answers, or known answers.
    case answer
    /// The proposed records of a probe.
    case authority
    /// Additional records.
    case additional

    /// Whether `a` comes before `b` in a message.
    package static func < (a: Section, b: Section) -> Bool { a.rawValue < b.rawValue }
  }

  /// The message ID and flags; can be changed until `bytes` is read.
  package var header: DNSHeader
  /// The maximum size of the message in bytes.
  package let byteCountMax: Int
  /// The number of elements in each section.
  package private(set) var counts:
    (questions: Int, answers: Int, authorities: Int, additionals: Int)
  private let compression: Compression
  private var section = Section.question
  private var body: [UInt8]
  private var suffixes = SuffixTable()

  /// Creates a message of at most `byteCountMax` bytes, which is at most 65,535.
  package init(
    header: DNSHeader, byteCountMax: Int = Limits.unfragmentedByteCount,
    compression: Compression = .multicast
  ) {
    self.header = header
    self.byteCountMax = min(max(byteCountMax, DNSHeader.byteCount), 65_535)
    self.compression = compression
    counts = (0, 0, 0, 0)
    body = Array(repeating: 0, count: DNSHeader.byteCount)
  }

  /// The current size of the message in bytes.
  package var byteCount: Int { body.count }

  /// Whether the message has no question or record.
  package var isEmpty: Bool { body.count == DNSHeader.byteCount }

  /// Appends a question. Returns false and changes nothing if it doesn't fit.
  package mutating func append(_ question: DNSQuestion) -> Bool {
    precondition(section == .question, "questions come before records")
    return piece { encoder in
      encoder.write(question.name, isCompressed: encoder.compression != .none)
      encoder.write(question.type.rawValue)
      let bit: UInt16 = question.wantsUnicastResponse ? 0x8000 : 0
      encoder.write(question.questionClass.rawValue & 0x7FFF | bit)
      encoder.counts.questions += 1
    }
  }

  /// Appends a record to the current section or a later one. Returns false and changes nothing if
  /// it doesn't fit. `ttlSeconds` replaces the record's own TTL: known answers have the remaining
  /// TTL.
  package mutating func append(
    _ record: DNSRecord, to section: Section, ttlSeconds: UInt32? = nil
  ) -> Bool {
    precondition(section >= self.section && section != .question, "lists come in their order")
    let didFit = piece { encoder in
      encoder.write(record.name, isCompressed: encoder.compression != .none)
      encoder.write(record.type.rawValue)
      let bit: UInt16 = record.flushesCache && record.type != .opt ? 0x8000 : 0
      encoder.write(record.recordClass.rawValue | bit)
      let ttlSeconds = ttlSeconds ?? record.ttlSeconds
      encoder.write(UInt16(ttlSeconds >> 16))
      encoder.write(UInt16(ttlSeconds & 0xFFFF))
      encoder.write(record.data)
      switch section {
      case .question: break
      case .answer: encoder.counts.answers += 1
      case .authority: encoder.counts.authorities += 1
      case .additional: encoder.counts.additionals += 1
      }
    }
    if didFit { self.section = section }
    return didFit
  }

  /// The encoded message.
  package var bytes: [UInt8] {
    var bytes = body
    let fields = [
      header.id, header.flags, UInt16(counts.questions), UInt16(counts.answers),
      UInt16(counts.authorities), UInt16(counts.additionals),
    ]
    for (index, field) in fields.enumerated() {
      bytes[2 * index] = UInt8(field >> 8)
      bytes[2 * index + 1] = UInt8(field & 0xFF)
    }
    return bytes
  }

  /// Writes one piece and takes it back where it doesn't fit.
  private mutating func piece(_ write: (inout DNSMessageEncoder) -> Void) -> Bool {
    let (byteCount, countsBefore) = (body.count, counts)
    suffixes.mark()
    write(&self)
    guard body.count > byteCountMax else { return true }
    body.removeSubrange(byteCount...)
    counts = countsBefore
    suffixes.takeBack()
    return false
  }

  private mutating func write(_ value: UInt16) {
    body.append(UInt8(value >> 8))
    body.append(UInt8(value & 0xFF))
  }

  private mutating func write(_ data: DNSRecordData) {
    let lengthIndex = body.count
    write(UInt16(0))
    switch data {
    case .ptr(let name), .cname(let name), .ns(let name):
      write(name, isCompressed: compression != .none)
    case .srv(let service):
      write(service.priority)
      write(service.weight)
      write(service.port)
      write(service.target, isCompressed: compression == .multicast)
    case .nsec(let next, let types):
      write(next, isCompressed: compression == .multicast)
      body += types.wireBytes
    case .a(let address):
      write(UInt16(address.rawValue >> 16))
      write(UInt16(address.rawValue & 0xFFFF))
    case .txt(let record): body += record.wireBytes
    case .aaaa, .hinfo, .opt, .opaque: body += data.wireBytes
    }
    // Data longer than the length field can express is longer than any message, and removed again.
    let byteCount = UInt16(truncatingIfNeeded: body.count - lengthIndex - 2)
    body[lengthIndex] = UInt8(byteCount >> 8)
    body[lengthIndex + 1] = UInt8(byteCount & 0xFF)
  }

  /// Writes a name. Its end is a pointer if the message has the same labels, in the same case,
  /// already.
  private mutating func write(_ name: DNSName, isCompressed: Bool) {
    guard isCompressed else {
      body += name.wireBytes
      return
    }
    let wire = name.wireBytes
    var index = 0
    while index + 1 < wire.count {
      let suffix = wire[index...]
      if let offset = suffixes.offset(of: suffix, in: body) {
        write(0xC000 | UInt16(offset))
        return
      }
      suffixes.insert(suffix, at: body.count)
      let end = index + 1 + Int(wire[index])
      body += wire[index..<end]
      index = end
    }
    body.append(0)
  }
}

extension DNSMessage {
  /// Encodes the message in one packet. Throws `messageTooLong` if it doesn't fit.
  package func encoded(
    byteCountMax: Int = 65_535, compression: DNSMessageEncoder.Compression = .multicast
  ) throws(DNSWireError) -> [UInt8] {
    let (bytes, rest) = encodedPrefix(byteCountMax: byteCountMax, compression: compression)
    guard rest == nil else { throw .messageTooLong(byteCountMax: byteCountMax) }
    return bytes
  }

  /// Encodes as much of the message as fits. Returns the rest in a message with the same header:
  /// the first element that doesn't fit, and everything after it.
  package func encodedPrefix(
    byteCountMax: Int, compression: DNSMessageEncoder.Compression = .multicast
  ) -> (bytes: [UInt8], rest: DNSMessage?) {
    var encoder = DNSMessageEncoder(
      header: header, byteCountMax: byteCountMax, compression: compression)
    let questions = Array(questions.drop { encoder.append($0) })
    let answers = questions.isEmpty ? encoder.append(answers, to: .answer) : answers
    let authorities =
      questions.isEmpty && answers.isEmpty
      ? encoder.append(authorities, to: .authority) : authorities
    let additionals =
      questions.isEmpty && answers.isEmpty && authorities.isEmpty
      ? encoder.append(additionals, to: .additional) : additionals
    let rest = DNSMessage(
      header: header, questions: questions, answers: answers, authorities: authorities,
      additionals: additionals)
    let isComplete =
      questions.isEmpty && answers.isEmpty && authorities.isEmpty && additionals.isEmpty
    return (encoder.bytes, isComplete ? nil : rest)
  }
}

extension DNSMessageEncoder {
  /// Appends records while they fit. Returns those that didn't.
  package mutating func append(_ records: [DNSRecord], to section: Section) -> [DNSRecord] {
    Array(records.drop { append($0, to: section) })
  }
}

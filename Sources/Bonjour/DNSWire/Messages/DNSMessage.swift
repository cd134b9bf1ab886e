/// A DNS message: a header, questions and three lists of records.
package struct DNSMessage: Hashable, Sendable {
  /// The message ID and flags.
  package var header: DNSHeader
  /// The questions.
  package var questions: [DNSQuestion]
  /// The answers; in a query the known answers (RFC 6762, §7.1).
  package var answers: [DNSRecord]
  /// In a probe, the proposed records (RFC 6762, §8.2).
  package var authorities: [DNSRecord]
  /// Additional records, which the receiver will probably query next.
  package var additionals: [DNSRecord]

  /// Creates a message.
  package init(
    header: DNSHeader, questions: [DNSQuestion] = [], answers: [DNSRecord] = [],
    authorities: [DNSRecord] = [], additionals: [DNSRecord] = []
  ) {
    self.header = header
    self.questions = questions
    self.answers = answers
    self.authorities = authorities
    self.additionals = additionals
  }
}

/// The header of a message (RFC 1035, §4.1.1; RFC 6762, §18).
package struct DNSHeader: Hashable, Sendable {
  /// The size in bytes, including the counts of the four lists.
  package static let byteCount = 12

  /// The message ID: matches a response to its query; 0 in multicast.
  package var id: UInt16
  /// All flags in wire format, with QR as the highest bit.
  package var flags: UInt16

  /// Creates a header from its ID and flags.
  package init(id: UInt16 = 0, flags: UInt16) {
    self.id = id
    self.flags = flags
  }

  /// The header of all multicast queries: all zero.
  package static let query = DNSHeader(flags: 0)
  /// The header of all Multicast DNS responses: QR and AA are set.
  package static let response = DNSHeader(flags: 0x8400)

  /// QR: this is a response.
  package var isResponse: Bool {
    get { flags & 0x8000 != 0 }
    set { set(0x8000, newValue) }
  }
  /// OPCODE: 0 is a standard query, the only one in Multicast DNS.
  package var operation: UInt8 {
    get { UInt8(flags >> 11 & 0xF) }
    set { flags = flags & ~0x7800 | UInt16(newValue & 0xF) << 11 }
  }
  /// AA: the answer is authoritative.
  package var isAuthoritative: Bool {
    get { flags & 0x0400 != 0 }
    set { set(0x0400, newValue) }
  }
  /// TC: the message is truncated; in a Multicast DNS query, more known answers follow.
  package var isTruncated: Bool {
    get { flags & 0x0200 != 0 }
    set { set(0x0200, newValue) }
  }
  /// RD: recursion desired.
  package var wantsRecursion: Bool {
    get { flags & 0x0100 != 0 }
    set { set(0x0100, newValue) }
  }
  /// RCODE: 0 is no error.
  package var responseCode: UInt8 {
    get { UInt8(flags & 0xF) }
    set { flags = flags & ~0xF | UInt16(newValue & 0xF) }
  }

  private mutating func set(_ bit: UInt16, _ isSet: Bool) {
    flags = isSet ? flags | bit : flags & ~bit
  }
}

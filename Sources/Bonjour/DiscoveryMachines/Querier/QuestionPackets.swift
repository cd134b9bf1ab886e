import DNSWire

/// A question with its known answers, ready to be sent.
struct PendingQuestion: Sendable {
  var question: DNSQuestion
  /// Each with its remaining TTL.
  var knownAnswers: [(record: DNSRecord, ttlSeconds: UInt32)]

  /// At most how many bytes it takes in a message.
  fileprivate var byteCountMax: Int {
    let owner = question.name
    return knownAnswers.reduce(owner.wireBytes.count + 4) { sum, answer in
      // The owner is a pointer, and most names in the data lie below it.
      var dataByteCount = RecordCache.byteCount(answer.record) - owner.wireBytes.count - 10
      if case .ptr(let target) = answer.record.data, target.isWithin(owner) {
        dataByteCount -= owner.wireBytes.count - 2
      }
      return sum + 12 + max(dataByteCount, 0)
    }
  }
}

/// Puts questions into as few packets as they fit in.
enum QuestionPackets {
  /// The packets for these questions, in order. Known answers that don't fit beside their question
  /// follow in packets without one, and every packet but the last of such a row has the TC bit
  /// (RFC 6762, §7.2).
  static func make(
    _ pending: [PendingQuestion], byteCountMax: Int = DNSMessageEncoder.Limits.unfragmentedByteCount
  ) -> [[UInt8]] {
    var packets: [[UInt8]] = []
    var rest = pending[...]
    while let first = rest.first {
      var end = rest.startIndex + 1
      var byteCount = DNSHeader.byteCount + first.byteCountMax
      while end < rest.endIndex, byteCount + rest[end].byteCountMax <= byteCountMax {
        byteCount += rest[end].byteCountMax
        end += 1
      }
      append(rest[..<end], byteCountMax: byteCountMax, to: &packets)
      rest = rest[end...]
    }
    return packets
  }

  private static func append(
    _ pending: ArraySlice<PendingQuestion>, byteCountMax: Int, to packets: inout [[UInt8]]
  ) {
    var encoder = DNSMessageEncoder(header: .query, byteCountMax: byteCountMax)
    for item in pending {
      let didFit = encoder.append(item.question)
      assert(didFit, "one question fits into every packet, several were measured")
    }
    for answer in pending.lazy.flatMap(\.knownAnswers) {
      if encoder.append(answer.record, to: .answer, ttlSeconds: answer.ttlSeconds) { continue }
      encoder.header.isTruncated = true
      packets.append(encoder.bytes)
      encoder = DNSMessageEncoder(header: .query, byteCountMax: byteCountMax)
      // A known answer that doesn't fit into an empty packet is left out; its host will send it
      // again.
      _ = encoder.append(answer.record, to: .answer, ttlSeconds: answer.ttlSeconds)
    }
    packets.append(encoder.bytes)
  }
}

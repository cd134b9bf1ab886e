package import Essentials

/// The number of packets of a connection that the controller has completed.
package struct CompletedPackets: HCIRecord {
  /// The connection.
  package var handle: UInt16
  /// Packets completed since the last Number Of Completed Packets event.
  package var count: UInt16

  /// Parameters from their values.
  package init(handle: UInt16, count: UInt16) {
    self.handle = handle
    self.count = count
  }

  /// The parameters in wire order.
  package static let layout = HCILayout(Self.init(handle:count:)) { ($0.handle, $0.count) }
}

/// The controller has buffers free again (Core 5.4, Vol 4, Part E, §7.7.19).
///
/// A view over the received bytes; reading it allocates nothing. Handle and count alternate.
package struct NumberOfCompletedPackets: HCIEventParameters, Sequence {
  /// Number Of Completed Packets.
  package static let code = HCIEventCode(0x13)
  private static let entrySize = 4
  private let entries: ArraySlice<UInt8>

  /// The event for these connections, at most 63.
  package init(_ packets: some Collection<CompletedPackets>) {
    precondition(packets.count <= 63, "an event has room for 63 connections")
    var writer = ByteWriter(capacity: packets.count * Self.entrySize)
    for entry in packets {
      writer.uint16(entry.handle)
      writer.uint16(entry.count)
    }
    entries = writer.bytes[...]
  }

  /// Reads a count, then handle and number for each.
  package init(decoding reader: inout ByteReader) throws(WireError) {
    let count = Int(try UInt8(decoding: &reader))
    guard count <= 63 else { throw .invalidLength(count) }
    entries = try decoding { () throws(Truncated) in try reader.slice(count * Self.entrySize) }
  }

  /// Writes a count, then handle and number for each.
  package func encode(into writer: inout ByteWriter) {
    writer.uint8(UInt8(truncatingIfNeeded: entries.count / Self.entrySize))
    writer.append(entries)
  }

  /// The number of connections.
  package var underestimatedCount: Int { entries.count / Self.entrySize }

  /// Goes through the connections.
  package func makeIterator() -> Iterator { Iterator(reader: ByteReader(entries)) }

  /// Goes through the connections.
  package struct Iterator: IteratorProtocol {
    var reader: ByteReader

    /// The next connection.
    package mutating func next() -> CompletedPackets? {
      guard let handle = try? reader.uint16(), let count = try? reader.uint16() else { return nil }
      return CompletedPackets(handle: handle, count: count)
    }
  }
}

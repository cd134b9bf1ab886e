import Essentials

/// Splits the byte stream of a serial line or a socket into packets (Core 5.4, Vol 4, Part A, §2).
///
/// Bytes may arrive in chunks of any size. A packet within one chunk shares its storage; only a
/// packet that spans chunks is copied. At most one packet is stored between chunks.
///
/// After an error no further packet can be found, since H4 has no synchronization: every call
/// throws the same error until `reset()`.
package struct H4Decoder: Sendable {
  /// The beginning of a packet whose rest has not come; empty most of the time.
  private var partial: [UInt8] = []
  /// What came last and is not yet read.
  private var chunk: ArraySlice<UInt8> = []
  private var failure: WireError?

  /// A decoder at the beginning of a stream.
  package init() {}

  /// The number of buffered bytes, of incomplete packets or packets not read yet.
  package var bufferedByteCount: Int { partial.count + chunk.count }

  /// Appends received bytes. Read all packets with `next()` before the next call, otherwise the
  /// bytes are copied behind the remaining ones.
  package mutating func append(_ bytes: ArraySlice<UInt8>) {
    if chunk.isEmpty { chunk = bytes } else { chunk += bytes }
  }

  /// Appends received bytes; shares their storage.
  package mutating func append(_ bytes: [UInt8]) { append(bytes[...]) }

  /// Returns the next packet, or nil if it is incomplete.
  ///
  /// Throws `unknownCode` if the first byte is no packet indicator.
  package mutating func next() throws(WireError) -> HCIPacket? {
    if let failure { throw failure }
    do throws(WireError) {
      return partial.isEmpty ? try nextInChunk() : try nextAcrossChunks()
    } catch {
      failure = error
      chunk = []
      partial = []
      throw error
    }
  }

  /// Appends all whole packets that came; where it throws, those before the error.
  package mutating func takePackets(into packets: inout [HCIPacket]) throws(WireError) {
    while let packet = try next() { packets.append(packet) }
  }

  /// Discards all received bytes and the error, as after the line was opened anew.
  package mutating func reset() { self = H4Decoder() }

  private mutating func nextInChunk() throws(WireError) -> HCIPacket? {
    guard let packet = try Self.packet(at: chunk) else {
      partial.append(contentsOf: chunk)
      chunk = []
      return nil
    }
    chunk = chunk[packet.bytes.endIndex...]
    return packet
  }

  /// Completes the packet in `partial`: first its header, then the parameters or data.
  private mutating func nextAcrossChunks() throws(WireError) -> HCIPacket? {
    while true {
      let needed = try Self.byteCount(of: partial[...])
      let taken = chunk.prefix(needed - partial.count)
      partial.append(contentsOf: taken)
      chunk = chunk[taken.endIndex...]
      guard partial.count == needed else { return nil }
      if let packet = try Self.packet(at: partial[...]) {
        partial = []
        return packet
      }
    }
  }

  /// The packet at the front of `bytes`; nil where it is not all there.
  private static func packet(at bytes: ArraySlice<UInt8>) throws(WireError) -> HCIPacket? {
    guard let first = bytes.first else { return nil }
    let kind = try Self.kind(first)
    let count = try byteCount(of: bytes)
    guard bytes.count >= count else { return nil }
    let start = bytes.startIndex
    return HCIPacket(kind: kind, bytes: bytes[(start + 1)..<(start + count)])
  }

  /// How many bytes the packet at the front takes with its indicator; as long as its header is not
  /// all there, how many these two take.
  private static func byteCount(of bytes: ArraySlice<UInt8>) throws(WireError) -> Int {
    guard let first = bytes.first else { return 1 }
    let kind = try Self.kind(first)
    let headerEnd = 1 + kind.headerByteCount
    guard bytes.count >= headerEnd else { return headerEnd }
    let start = bytes.startIndex
    switch kind {
    case .command: return headerEnd + Int(bytes[start + 3])
    case .synchronous: return headerEnd + Int(bytes[start + 3])
    case .event: return headerEnd + Int(bytes[start + 2])
    case .acl: return headerEnd + Int(bytes[start + 3]) + Int(bytes[start + 4]) << 8
    case .isochronous:
      // The two top bits are reserved (Core 5.4, Vol 4, Part E, §5.4.5).
      return headerEnd + Int(bytes[start + 3]) + Int(bytes[start + 4] & 0x3F) << 8
    }
  }

  private static func kind(_ indicator: UInt8) throws(WireError) -> HCIPacket.Kind {
    guard let kind = HCIPacket.Kind(rawValue: indicator) else {
      throw .unknownCode(Int(indicator))
    }
    return kind
  }
}

extension HCIPacket.Kind {
  /// Number of bytes before the parameters or data; the last ones are the length.
  public var headerByteCount: Int {
    switch self {
    case .command, .synchronous: 3
    case .event: 2
    case .acl, .isochronous: 4
    }
  }
}

extension HCIPacket {
  /// The packet with its H4 packet indicator, as on a serial line or a socket.
  public var h4Bytes: [UInt8] {
    var all: [UInt8] = []
    all.reserveCapacity(1 + bytes.count)
    all.append(kind.rawValue)
    all.append(contentsOf: bytes)
    return all
  }
}

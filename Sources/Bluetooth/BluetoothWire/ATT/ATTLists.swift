public import Essentials

/// A list in a PDU, which is decoded in place: iteration allocates nothing and cannot fail, because
/// the list was validated when the PDU was decoded.
@frozen
public struct ATTList<Entry: ATTListEntry>: Hashable, Sendable, Sequence {
  /// The encoded list.
  public let encoded: ArraySlice<UInt8>
  /// Number of bytes of every entry; 0 if each entry has its own length field.
  public let entryByteCount: Int

  /// Decodes the entries up to the end of the PDU.
  public init(entryByteCount: Int, decoding bytes: ArraySlice<UInt8>) throws(WireError) {
    guard Entry.byteCounts.contains(entryByteCount) else { throw .invalidLength(entryByteCount) }
    if entryByteCount == 0 {
      var reader = ByteReader(bytes)
      while !reader.isAtEnd {
        guard Entry(next: &reader, byteCount: 0) != nil else { throw .invalidLength(bytes.count) }
      }
    } else if !bytes.count.isMultiple(of: entryByteCount) {
      throw .invalidLength(bytes.count)
    }
    guard !bytes.isEmpty else { throw .truncated(needed: 1, available: 0) }
    encoded = bytes
    self.entryByteCount = entryByteCount
  }

  /// Creates a list for sending from encoded entries.
  ///
  /// `entryByteCount` must be one that the list can have.
  public init(entryByteCount: Int, encoded: ArraySlice<UInt8>) {
    precondition(Entry.byteCounts.contains(entryByteCount), "entries cannot have this length")
    self.encoded = encoded
    self.entryByteCount = entryByteCount
  }

  /// Goes through the entries in their order.
  @inlinable
  public func makeIterator() -> Iterator { Iterator(encoded, byteCount: entryByteCount) }

  /// Reads one entry after the other.
  @frozen
  public struct Iterator: IteratorProtocol, Sendable {
    @usableFromInline var reader: ByteReader
    @usableFromInline let byteCount: Int

    @inlinable
    init(_ bytes: ArraySlice<UInt8>, byteCount: Int) {
      reader = ByteReader(bytes)
      self.byteCount = byteCount
    }

    /// The next entry; nil at the end.
    @inlinable
    public mutating func next() -> Entry? {
      reader.isAtEnd ? nil : Entry(next: &reader, byteCount: byteCount)
    }
  }
}

/// An entry of a list in an ATT PDU.
public protocol ATTListEntry: Hashable, Sendable {
  /// The lengths that entries may have; 0 if each has its own length field.
  static var byteCounts: ClosedRange<Int> { get }
  /// Decodes the next entry of `byteCount` bytes; nil if the bytes are not valid.
  init?(next reader: inout ByteReader, byteCount: Int)
}

/// Handles, as the Read Multiple requests carry them (§3.4.4.7).
package typealias ATTHandleList = ATTList<UInt16>
/// Handles with their types (§3.4.3.2).
package typealias ATTInformationList = ATTList<ATTInformation>
/// The first and last handles of groups (§3.4.3.4).
package typealias ATTHandleRangeList = ATTList<ATTHandleRange>
/// Handles with values, all of one length (§3.4.4.2).
package typealias ATTAttributeDataList = ATTList<ATTAttributeData>
/// Groups with values, all of one length (§3.4.4.10).
package typealias ATTGroupDataList = ATTList<ATTGroupData>
/// Values, each after its length (§3.4.4.12).
package typealias ATTLengthValueList = ATTList<ATTLengthValue>
/// Handles and values, each value after its length (§3.4.7.4).
package typealias ATTHandleLengthValueList = ATTList<ATTHandleLengthValue>

extension UInt16: ATTListEntry {
  /// The size of a handle: two bytes.
  public static var byteCounts: ClosedRange<Int> { 2...2 }

  /// Reads a handle.
  @inlinable
  public init?(next reader: inout ByteReader, byteCount: Int) {
    do { self = try reader.uint16() } catch { return nil }
  }
}

extension ATTList<UInt16> {
  /// Creates a list of handles for sending.
  public init(_ handles: some Sequence<UInt16>) {
    var writer = ByteWriter()
    for handle in handles { writer.uint16(handle) }
    self.init(entryByteCount: 2, encoded: writer.bytes[...])
  }

  /// The number of handles.
  public var count: Int { encoded.count / 2 }
}

/// An attribute's handle with its type.
package struct ATTInformation: ATTListEntry {
  /// The attribute's handle.
  package var handle: UInt16
  /// The attribute's type.
  package var type: BluetoothUUID

  /// The size of a handle with a type of 16 or 128 bits.
  package static var byteCounts: ClosedRange<Int> { 4...18 }

  /// Decodes an entry.
  package init?(next reader: inout ByteReader, byteCount: Int) {
    do throws(Truncated) {
      handle = try reader.uint16()
      guard let type = BluetoothUUID(littleEndian: try reader.slice(byteCount - 2)) else {
        return nil
      }
      self.type = type
    } catch {
      return nil
    }
  }
}

extension ATTList<ATTInformation> {
  /// Decodes the entries up to the end of the PDU: types have 16 bits in format 1, and 128 bits in
  /// format 2.
  public init(format: UInt8, decoding bytes: ArraySlice<UInt8>) throws(WireError) {
    guard format == 1 || format == 2 else {
      throw .invalidValue(field: "format", value: Int(format))
    }
    try self.init(entryByteCount: format == 1 ? 4 : 18, decoding: bytes)
  }

  /// 1 for types of 16 bits, 2 for types of 128 bits.
  public var format: UInt8 { entryByteCount == 4 ? 1 : 2 }
}

/// The handle of a group's first attribute and of its last.
package struct ATTHandleRange: ATTListEntry {
  /// The handle that was found.
  package var start: UInt16
  /// The last handle of its group.
  package var end: UInt16

  /// The size of two handles.
  package static var byteCounts: ClosedRange<Int> { 4...4 }

  /// Reads a range.
  package init?(next reader: inout ByteReader, byteCount: Int) {
    do throws(Truncated) {
      start = try reader.uint16()
      end = try reader.uint16()
    } catch {
      return nil
    }
  }
}

/// An attribute's handle with its value.
package struct ATTAttributeData: ATTListEntry {
  /// The attribute's handle.
  package var handle: UInt16
  /// The attribute's value, which may be truncated.
  package var value: ArraySlice<UInt8>

  /// The size of a handle and up to 253 bytes.
  package static var byteCounts: ClosedRange<Int> { 2...255 }

  /// Decodes an entry.
  package init?(next reader: inout ByteReader, byteCount: Int) {
    do throws(Truncated) {
      handle = try reader.uint16()
      value = try reader.slice(byteCount - 2)
    } catch {
      return nil
    }
  }
}

/// A group with the value of its first attribute.
package struct ATTGroupData: ATTListEntry {
  /// The handle of the group's first attribute.
  package var start: UInt16
  /// The handle of the group's last attribute.
  package var end: UInt16
  /// The value of the group's first attribute, which may be truncated.
  package var value: ArraySlice<UInt8>

  /// The size of two handles and up to 251 bytes.
  package static var byteCounts: ClosedRange<Int> { 4...255 }

  /// Decodes an entry.
  package init?(next reader: inout ByteReader, byteCount: Int) {
    do throws(Truncated) {
      start = try reader.uint16()
      end = try reader.uint16()
      value = try reader.slice(byteCount - 4)
    } catch {
      return nil
    }
  }
}

/// A value with a length field.
package struct ATTLengthValue: ATTListEntry {
  /// The length of the value; greater than that of `value` if it was truncated.
  package var byteCount: Int
  /// The value; only the last one of a list may be truncated.
  package var value: ArraySlice<UInt8>

  /// Always 0: each entry has a length field.
  package static var byteCounts: ClosedRange<Int> { 0...0 }

  /// Reads the length of a value, then the value or, in a truncated PDU, its first bytes.
  package init?(next reader: inout ByteReader, byteCount: Int) {
    do throws(Truncated) {
      self.byteCount = Int(try reader.uint16())
      value = try reader.slice(min(self.byteCount, reader.count))
    } catch {
      return nil
    }
  }
}

/// A handle and a value with a length field.
@frozen
public struct ATTHandleLengthValue: ATTListEntry {
  /// The attribute's handle.
  public var handle: UInt16
  /// The attribute's value.
  public var value: ArraySlice<UInt8>

  /// Always 0: each entry has a length field.
  public static var byteCounts: ClosedRange<Int> { 0...0 }

  /// Reads a handle and its value.
  @inlinable
  public init?(next reader: inout ByteReader, byteCount: Int) {
    do throws(Truncated) {
      handle = try reader.uint16()
      value = try reader.slice(Int(try reader.uint16()))
    } catch {
      return nil
    }
  }
}

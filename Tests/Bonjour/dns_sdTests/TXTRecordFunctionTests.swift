import CDNSServiceDiscovery
import Testing
import dns_sd

/// A `TXTRecordRef` and a buffer, as a C caller has them.
private final class Builder {
  let record: UnsafeMutablePointer<TXTRecordRef>
  private let memory: UnsafeMutableRawPointer
  let buffer: UnsafeMutableRawPointer

  /// - Parameter offset: How far from where it should be the record lies.
  init(bufferSize: UInt16, offset: Int = 0) {
    memory = .allocate(byteCount: 64, alignment: 16)
    record = (memory + offset).assumingMemoryBound(to: TXTRecordRef.self)
    buffer = .allocate(byteCount: Int(bufferSize) + 1, alignment: 1)
    buffer.initializeMemory(as: UInt8.self, repeating: 0xEE, count: Int(bufferSize) + 1)
    TXTRecordCreate(record, bufferSize, buffer)
  }

  deinit {
    TXTRecordDeallocate(record)
    memory.deallocate()
    buffer.deallocate()
  }

  func set(_ key: String, _ value: [UInt8]?) -> DNSServiceErrorType {
    guard let value else { return TXTRecordSetValue(record, key, 0, nil) }
    return value.isEmpty
      ? TXTRecordSetValue(record, key, 0, "")
      : TXTRecordSetValue(record, key, UInt8(value.count), value)
  }

  var bytes: [UInt8] {
    let count = Int(TXTRecordGetLength(record))
    return Array(UnsafeRawBufferPointer(start: TXTRecordGetBytesPtr(record), count: count))
  }

  var usesBuffer: Bool { TXTRecordGetBytesPtr(record) == UnsafeRawPointer(buffer) }
}

private func string(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + text.utf8 }

@Suite("TXT records of C callers")
struct TXTRecordFunctionTests {
  private let invalid = DNSServiceErrorType(kDNSServiceErr_Invalid)

  @Test("keys with values, empty values and none are written one after the other", arguments: 0..<8)
  func building(offset: Int) {
    let builder = Builder(bufferSize: 64, offset: offset)
    #expect(builder.bytes == [])
    #expect(builder.set("room", Array("study".utf8)) == 0)
    #expect(builder.set("dim", nil) == 0)
    #expect(builder.set("note", []) == 0)
    #expect(builder.bytes == string("room=study") + string("dim") + string("note="))
    #expect(builder.usesBuffer)
  }

  @Test("a key that is set again goes to the end; one that is removed leaves no gap")
  func changing() {
    let builder = Builder(bufferSize: 64)
    for key in ["a", "b", "c"] { #expect(builder.set(key, [0x31]) == 0) }
    #expect(builder.set("A", [0x32]) == 0)
    #expect(builder.bytes == string("b=1") + string("c=1") + string("A=2"))
    #expect(TXTRecordRemoveValue(builder.record, "C") == 0)
    #expect(builder.bytes == string("b=1") + string("A=2"))
    let noSuchKey = DNSServiceErrorType(kDNSServiceErr_NoSuchKey)
    #expect(TXTRecordRemoveValue(builder.record, "c") == noSuchKey)
    #expect(TXTRecordRemoveValue(builder.record, "") == noSuchKey)
  }

  @Test("the caller's buffer is used to its last byte and not beyond")
  func buffer() {
    let builder = Builder(bufferSize: 8)
    #expect(builder.set("a", [1, 2]) == 0)
    #expect(builder.set("b", [3]) != invalid)
    #expect(!builder.usesBuffer && builder.bytes == [4, 0x61, 0x3D, 1, 2, 3, 0x62, 0x3D, 3])
    let exact = Builder(bufferSize: 9)
    #expect(exact.set("a", [1, 2]) == 0 && exact.set("b", [3]) == 0)
    #expect(exact.usesBuffer)
    #expect(exact.buffer.load(fromByteOffset: 9, as: UInt8.self) == 0xEE)
  }

  @Test("a record without a buffer allocates memory itself, and may be used again once deallocated")
  func noBuffer() {
    let builder = Builder(bufferSize: 0)
    TXTRecordCreate(builder.record, 100, nil)
    for number in 0..<200 {
      #expect(builder.set("key\(number)", Array("value".utf8)) == 0)
    }
    #expect(TXTRecordGetCount(TXTRecordGetLength(builder.record), builder.bytes) == 200)
    TXTRecordDeallocate(builder.record)
    TXTRecordDeallocate(builder.record)
    #expect(builder.bytes == [] && builder.set("a", nil) == 0 && builder.bytes == string("a"))
  }

  @Test("a record takes no more than 65,535 bytes and stays as it was where more is wanted")
  func full() {
    let builder = Builder(bufferSize: 0)
    for number in 0..<255 {
      let key = "k" + String(number + 1_000)
      #expect(builder.set(key, [UInt8](repeating: 1, count: 249)) == 0)
    }
    #expect(builder.bytes.count == 65_535 - 255)
    let before = builder.bytes
    #expect(builder.set("x", [UInt8](repeating: 1, count: 253)) == invalid)
    #expect(builder.bytes == before)
    #expect(builder.set("x", [UInt8](repeating: 1, count: 252)) == 0)
    #expect(builder.bytes.count == 65_535)
  }

  @Test("invalid keys, and strings longer than 255 bytes, are refused")
  func invalidKeys() {
    let builder = Builder(bufferSize: 64)
    for key in ["", "a=b", "a\tb", "é", "\u{7F}"] { #expect(builder.set(key, [1]) == invalid) }
    #expect(builder.set("key", [UInt8](repeating: 1, count: 251)) == 0)
    #expect(builder.set("key", [UInt8](repeating: 1, count: 252)) == invalid)
    #expect(builder.set(String(repeating: "k", count: 255), nil) == 0)
    #expect(builder.set(String(repeating: "k", count: 256), nil) == invalid)
  }

  @Test("a value may be taken from the very record")
  func ownValue() {
    let builder = Builder(bufferSize: 64)
    #expect(builder.set("a", [7, 8, 9]) == 0 && builder.set("b", [1]) == 0)
    var count: UInt8 = 0
    let length = TXTRecordGetLength(builder.record)
    let start = TXTRecordGetBytesPtr(builder.record)
    let value = TXTRecordGetValuePtr(length, start, "a", &count)
    #expect(TXTRecordSetValue(builder.record, "a", count, value) == 0)
    #expect(builder.bytes == string("b=\u{1}") + [5, 0x61, 0x3D, 7, 8, 9])
  }

  @Test("a received record's keys are found in any case")
  func reading() {
    let bytes = string("Room=study") + string("dim") + string("note=") + string("room=hall") + [0]
    let length = UInt16(bytes.count)
    bytes.withUnsafeBytes { bytes in
      let start = bytes.baseAddress
      #expect(TXTRecordGetCount(length, start) == 5)
      #expect(TXTRecordContainsKey(length, start, "ROOM") == 1)
      #expect(TXTRecordContainsKey(length, start, "roo") == 0)
      var count: UInt8 = 99
      #expect(TXTRecordGetValuePtr(length, start, "dim", &count) == nil)
      let value = TXTRecordGetValuePtr(length, start, "room", &count)
      #expect(value == start.map { $0 + 6 } && count == 5)
      #expect(TXTRecordGetValuePtr(length, start, "note", &count) != nil && count == 0)
      #expect(TXTRecordGetValuePtr(length, start, "note", nil) != nil)
    }
  }

  @Test("items come by their number, where their key fits")
  func items() {
    let bytes = string("room=study") + string("dim")
    let length = UInt16(bytes.count)
    var key = [CChar](repeating: 1, count: 16)
    var count: UInt8 = 99
    var value: UnsafeRawPointer?
    let item = { (index: UInt16, keySize: UInt16) in
      TXTRecordGetItemAtIndex(length, bytes, index, keySize, &key, &count, &value)
    }
    #expect(item(0, 16) == 0 && count == 5 && value != nil)
    #expect(item(1, 4) == 0 && count == 0 && value == nil)
    #expect(item(1, 3) == DNSServiceErrorType(kDNSServiceErr_NoMemory))
    #expect(item(2, 16) == invalid)
    #expect(item(.max, 16) == invalid)
    let bad = DNSServiceErrorType(kDNSServiceErr_BadParam)
    #expect(TXTRecordGetItemAtIndex(length, bytes, 0, 16, nil, nil, nil) == bad)
  }

  @Test("nothing is read behind the end of a record that is cut short")
  func cutShort() {
    let bytes = string("room=study") + string("dim=1")
    for length in 0...bytes.count {
      // In memory of its own, so that a sanitizer sees what lies behind it.
      let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 1)
      defer { copy.deallocate() }
      copy.copyBytes(from: bytes.prefix(length))
      let size = UInt16(length)
      let isWhole = [0, 11, bytes.count].contains(length)
      #expect((TXTRecordGetCount(size, copy.baseAddress) > 0) == (isWhole && length > 0))
      #expect(TXTRecordContainsKey(size, copy.baseAddress, "room") == (length >= 11 ? 1 : 0))
      #expect(
        TXTRecordContainsKey(size, copy.baseAddress, "dim") == (length == bytes.count ? 1 : 0))
    }
    #expect(TXTRecordGetCount(9, nil) == 0 && TXTRecordContainsKey(9, nil, "a") == 0)
  }
}

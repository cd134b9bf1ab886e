public import CDNSServiceDiscovery
import Glibc

/// The parts of a `TXTRecordRef`, which lies wherever the caller has it. A program may have been
/// compiled with one library and hand it to another, so they lie where Apple's and Avahi's have the
/// buffer; only these functions look at the rest.
private struct TextBuilder {
  let start: UnsafeMutableRawPointer

  init?(_ record: UnsafeMutablePointer<TXTRecordRef>?) {
    guard let record else { return nil }
    start = UnsafeMutableRawPointer(record)
  }

  init?(_ record: UnsafePointer<TXTRecordRef>?) {
    self.init(UnsafeMutablePointer(mutating: record))
  }

  var buffer: UnsafeMutableRawPointer? {
    get { start.loadUnaligned(as: UnsafeMutableRawPointer?.self) }
    nonmutating set { start.storeBytes(of: newValue, as: UnsafeMutableRawPointer?.self) }
  }

  /// How many bytes the buffer has.
  var capacity: Int {
    get { field(0) }
    nonmutating set { setField(0, newValue) }
  }

  /// How many bytes of it are in use.
  var count: Int {
    get { field(1) }
    nonmutating set { setField(1, newValue) }
  }

  /// Whether the buffer is to be freed, rather than the caller's.
  var isAllocated: Bool {
    get { field(2) != 0 }
    nonmutating set { setField(2, newValue ? 1 : 0) }
  }

  private func field(_ number: Int) -> Int {
    let offset = MemoryLayout<UnsafeRawPointer>.size + 2 * number
    return Int(start.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
  }

  private func setField(_ number: Int, _ value: Int) {
    let offset = MemoryLayout<UnsafeRawPointer>.size + 2 * number
    start.storeBytes(of: UInt16(truncatingIfNeeded: value), toByteOffset: offset, as: UInt16.self)
  }

  /// The strings so far.
  var strings: TextStrings { TextStrings(buffer, count) }

  /// Makes room for `byteCount` more bytes.
  func reserve(_ byteCount: Int) throws(ServiceError) {
    let needed = count + byteCount
    guard needed > capacity else { return }
    guard needed <= Int(UInt16.max) else { throw .invalid }
    guard let new = malloc(needed) else { throw .noMemory }
    if let buffer {
      memcpy(new, buffer, count)
      if isAllocated { free(buffer) }
    }
    (buffer, capacity, isAllocated) = (new, needed, true)
  }

  func append(_ bytes: UnsafeRawBufferPointer) {
    guard let buffer, let first = bytes.baseAddress else { return }
    memcpy(buffer + count, first, bytes.count)
    count += bytes.count
  }
}

/// The strings of a TXT record in a caller's memory, each with its length before it.
private struct TextStrings: Sequence, IteratorProtocol {
  /// The bytes not read yet.
  private var rest: UnsafeRawBufferPointer

  init(_ start: UnsafeRawPointer?, _ count: Int) {
    rest = UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count)
  }

  /// The next string without its length; nil at the end, or if the length exceeds the remaining
  /// bytes.
  mutating func next() -> UnsafeRawBufferPointer? {
    guard let length = rest.first, Int(length) < rest.count else { return nil }
    let string = UnsafeRawBufferPointer(rebasing: rest[1..<1 + Int(length)])
    rest = UnsafeRawBufferPointer(rebasing: rest[(1 + Int(length))...])
    return string
  }

  /// Whether nothing is left.
  var isAtEnd: Bool { rest.isEmpty }

  /// The string with this key, which is compared without regard to case.
  func string(for key: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    first { string in
      guard string.count == key.count || string.count > key.count && string[key.count] == 0x3D,
        let a = string.baseAddress ?? key.baseAddress, let b = key.baseAddress
      else { return false }
      return strncasecmp(
        a.assumingMemoryBound(to: CChar.self), b.assumingMemoryBound(to: CChar.self),
        key.count) == 0
    }
  }
}

/// The bytes of a key; nil for null.
private func keyBytes(_ key: UnsafePointer<CChar>?) -> UnsafeRawBufferPointer? {
  key.map { UnsafeRawBufferPointer(start: $0, count: strlen($0)) }
}

/// See `dns_sd.h`.
@c @implementation
public func TXTRecordCreate(
  _ txtRecord: UnsafeMutablePointer<TXTRecordRef>?, _ bufferLen: UInt16,
  _ buffer: UnsafeMutableRawPointer?
) {
  guard let record = TextBuilder(txtRecord) else { return }
  record.buffer = buffer
  record.capacity = buffer == nil ? 0 : Int(bufferLen)
  record.count = 0
  record.isAllocated = false
}

/// See `dns_sd.h`.
@c @implementation
public func TXTRecordDeallocate(_ txtRecord: UnsafeMutablePointer<TXTRecordRef>?) {
  guard let record = TextBuilder(txtRecord), record.isAllocated else { return }
  free(record.buffer)
  // So that it may be done twice.
  TXTRecordCreate(txtRecord, 0, nil)
}

/// See `dns_sd.h`.
@c @implementation
public func TXTRecordSetValue(
  _ txtRecord: UnsafeMutablePointer<TXTRecordRef>?, _ key: UnsafePointer<CChar>?,
  _ valueSize: UInt8, _ value: UnsafeRawPointer?
) -> DNSServiceErrorType {
  status { () throws(ServiceError) in
    guard let record = TextBuilder(txtRecord), let key = keyBytes(key) else {
      throw .badParameter
    }
    let isValid = key.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x3D }
    let count = key.count + (value == nil ? 0 : 1 + Int(valueSize))
    guard isValid, !key.isEmpty, count <= 255 else { throw .invalid }
    // The caller may have the value from this very record.
    let copy = UnsafeRawBufferPointer(start: value, count: value == nil ? 0 : Int(valueSize))
      .map { $0 }
    remove(key, from: record)
    try record.reserve(1 + count)
    withUnsafeBytes(of: UInt8(count)) { record.append($0) }
    record.append(key)
    guard value != nil else { return }
    withUnsafeBytes(of: UInt8(ascii: "=")) { record.append($0) }
    copy.withUnsafeBytes { record.append($0) }
  }
}

/// Closes the gap of a key; false if there is no such key.
@discardableResult
private func remove(_ key: UnsafeRawBufferPointer, from record: TextBuilder) -> Bool {
  guard let string = record.strings.string(for: key), let first = string.baseAddress,
    let buffer = record.buffer
  else { return false }
  let offset = first - 1 - UnsafeRawPointer(buffer)
  let end = offset + 1 + string.count
  memmove(buffer + offset, buffer + end, record.count - end)
  record.count -= 1 + string.count
  return true
}

/// See `dns_sd.h`.
@c @implementation
public func TXTRecordRemoveValue(
  _ txtRecord: UnsafeMutablePointer<TXTRecordRef>?, _ key: UnsafePointer<CChar>?
) -> DNSServiceErrorType {
  status { () throws(ServiceError) in
    guard let record = TextBuilder(txtRecord), let key = keyBytes(key) else {
      throw .badParameter
    }
    guard remove(key, from: record) else { throw .noSuchKey }
  }
}

/// See `dns_sd.h`.
@c @implementation
public func TXTRecordGetLength(_ txtRecord: UnsafePointer<TXTRecordRef>?) -> UInt16 {
  TextBuilder(txtRecord).map { UInt16(truncatingIfNeeded: $0.count) } ?? 0
}

/// See `dns_sd.h`.
@c @implementation
public func TXTRecordGetBytesPtr(
  _ txtRecord: UnsafePointer<TXTRecordRef>?
) -> UnsafeRawPointer? {
  TextBuilder(txtRecord)?.buffer.map { UnsafeRawPointer($0) }
}

/// See `dns_sd.h`.
@c @implementation
public func TXTRecordContainsKey(
  _ txtLen: UInt16, _ txtRecord: UnsafeRawPointer?, _ key: UnsafePointer<CChar>?
) -> Int32 {
  guard let key = keyBytes(key) else { return 0 }
  return TextStrings(txtRecord, Int(txtLen)).string(for: key) == nil ? 0 : 1
}

/// See `dns_sd.h`.
@c @implementation
public func TXTRecordGetValuePtr(
  _ txtLen: UInt16, _ txtRecord: UnsafeRawPointer?, _ key: UnsafePointer<CChar>?,
  _ valueLen: UnsafeMutablePointer<UInt8>?
) -> UnsafeRawPointer? {
  guard let key = keyBytes(key),
    let string = TextStrings(txtRecord, Int(txtLen)).string(for: key), string.count > key.count,
    let first = string.baseAddress
  else { return nil }
  valueLen?.pointee = UInt8(string.count - key.count - 1)
  return first + key.count + 1
}

/// See `dns_sd.h`.
@c @implementation
public func TXTRecordGetCount(_ txtLen: UInt16, _ txtRecord: UnsafeRawPointer?) -> UInt16 {
  var strings = TextStrings(txtRecord, Int(txtLen))
  var count: UInt16 = 0
  while strings.next() != nil { count += 1 }
  return strings.isAtEnd ? count : 0
}

/// See `dns_sd.h`.
@c @implementation
public func TXTRecordGetItemAtIndex(
  _ txtLen: UInt16, _ txtRecord: UnsafeRawPointer?, _ itemIndex: UInt16, _ keyBufLen: UInt16,
  _ key: UnsafeMutablePointer<CChar>?, _ valueLen: UnsafeMutablePointer<UInt8>?,
  _ value: UnsafeMutablePointer<UnsafeRawPointer?>?
) -> DNSServiceErrorType {
  status { () throws(ServiceError) in
    guard let key, let valueLen, let value else { throw .badParameter }
    var strings = TextStrings(txtRecord, Int(txtLen))
    for _ in 0..<itemIndex where strings.next() == nil { throw .invalid }
    guard let string = strings.next() else { throw .invalid }
    let keyCount = string.firstIndex(of: 0x3D) ?? string.count
    guard keyCount < Int(keyBufLen) else { throw .noMemory }
    if let first = string.baseAddress { memcpy(key, first, keyCount) }
    key[keyCount] = 0
    guard keyCount < string.count, let first = string.baseAddress else {
      value.store(nil)
      valueLen.pointee = 0
      return
    }
    value.store(first + keyCount + 1)
    valueLen.pointee = UInt8(string.count - keyCount - 1)
  }
}

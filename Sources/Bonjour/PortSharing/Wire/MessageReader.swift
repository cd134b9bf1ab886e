import DNSWire
import DiscoveryMachines
import Essentials

/// Reads the values of messages, and nothing past their end.
struct MessageReader {
  private var bytes: ByteReader

  init(_ bytes: ArraySlice<UInt8>) { self.bytes = ByteReader(bytes) }

  /// Fails where there is more than the message has.
  func finish() throws(PortSharingError) {
    guard bytes.isAtEnd else { throw .bytesLeft(bytes.count) }
  }

  // MARK: Numbers

  private mutating func number(_ byteCount: Int) throws(PortSharingError) -> UInt64 {
    do { return try bytes.littleEndian(byteCount) } catch {
      throw .truncated(needed: error.needed, available: error.available)
    }
  }

  private mutating func slice(_ byteCount: Int) throws(PortSharingError) -> ArraySlice<UInt8> {
    do { return try bytes.slice(byteCount) } catch {
      throw .truncated(needed: error.needed, available: error.available)
    }
  }

  mutating func uint8() throws(PortSharingError) -> UInt8 {
    UInt8(truncatingIfNeeded: try number(1))
  }
  mutating func uint16() throws(PortSharingError) -> UInt16 {
    UInt16(truncatingIfNeeded: try number(2))
  }
  mutating func uint32() throws(PortSharingError) -> UInt32 {
    UInt32(truncatingIfNeeded: try number(4))
  }
  mutating func uint64() throws(PortSharingError) -> UInt64 { try number(8) }

  mutating func bool() throws(PortSharingError) -> Bool {
    switch try uint8() {
    case 0: return false
    case 1: return true
    case let other: throw .unknownValue(other)
    }
  }

  mutating func queryID() throws(PortSharingError) -> QueryID { QueryID(rawValue: try uint64()) }
  mutating func registrationID() throws(PortSharingError) -> RegistrationID {
    RegistrationID(rawValue: try uint64())
  }

  /// No interface has the number 0.
  mutating func interface() throws(PortSharingError) -> InterfaceIndex? {
    let number = try uint32()
    return number == 0 ? nil : InterfaceIndex(rawValue: number)
  }

  // MARK: Texts and names

  /// Bytes after the number of them.
  mutating func string() throws(PortSharingError) -> ArraySlice<UInt8> {
    try slice(Int(try uint32()))
  }

  mutating func text() throws(PortSharingError) -> String {
    guard let text = String(validating: try string(), as: UTF8.self) else { throw .notUTF8 }
    return text
  }

  mutating func name() throws(PortSharingError) -> DNSName {
    let bytes = try string()
    do throws(DNSWireError) { return try DNSName(decoding: bytes) } catch { throw .invalid(error) }
  }

  mutating func label() throws(PortSharingError) -> DNSLabel {
    let bytes = try string()
    do throws(DNSWireError) { return try DNSLabel(bytes) } catch { throw .invalid(error) }
  }

  mutating func serviceName() throws(PortSharingError) -> ServiceName {
    let name = try name()
    guard let service = ServiceName(name) else { throw .notAService(name) }
    return service
  }

  mutating func serviceType() throws(PortSharingError) -> ServiceType {
    let transport: ServiceType.Transport = try bool() ? .udp : .tcp
    let name = try string()
    do throws(DNSWireError) {
      return try ServiceType(name: name, transport: transport)
    } catch { throw .invalid(error) }
  }

  mutating func txtRecord() throws(PortSharingError) -> TXTRecord {
    let bytes = try string()
    do throws(DNSWireError) { return try TXTRecord(decoding: bytes) } catch {
      throw .invalid(error)
    }
  }

  /// A value, if there is one.
  mutating func optional<Value>(
    _ read: (inout MessageReader) throws(PortSharingError) -> Value
  ) throws(PortSharingError) -> Value? {
    try bool() ? try read(&self) : nil
  }

  /// Values after the number of them; room is made as they come, since the number may lie.
  mutating func list<Value>(
    _ read: (inout MessageReader) throws(PortSharingError) -> Value
  ) throws(PortSharingError) -> [Value] {
    var values: [Value] = []
    for _ in 0..<(try uint16()) { values.append(try read(&self)) }
    return values
  }

  // MARK: Records

  mutating func record() throws(PortSharingError) -> DNSRecord {
    DNSRecord(
      name: try name(), recordClass: DNSClass(rawValue: try uint16()), flushesCache: try bool(),
      ttlSeconds: try uint32(), data: try recordData())
  }

  mutating func recordData() throws(PortSharingError) -> DNSRecordData {
    let type = DNSType(rawValue: try uint16())
    let bytes = try string()
    guard bytes.count <= 65_535 else { throw .invalid(.invalidLength(bytes.count)) }
    return DNSRecordData(type: type, decoding: bytes)
  }

  mutating func address() throws(PortSharingError) -> InetAddress {
    let bytes = try string()
    guard let address = InetAddress(bytes: bytes) else {
      throw .invalid(.invalidLength(bytes.count))
    }
    return address
  }

  mutating func version() throws(PortSharingError) -> IPVersion { try bool() ? .v6 : .v4 }
}

extension ByteWriter {
  mutating func bool(_ value: Bool) { uint8(value ? 1 : 0) }

  mutating func interface(_ index: InterfaceIndex?) { uint32(index?.rawValue ?? 0) }

  mutating func string(_ bytes: some Collection<UInt8>) {
    uint32(UInt32(clamping: bytes.count))
    append(bytes)
  }

  mutating func text(_ text: String) { string(Array(text.utf8)) }

  mutating func name(_ name: DNSName) { string(name.wireBytes) }

  mutating func serviceType(_ type: ServiceType) {
    bool(type.transport == .udp)
    string(type.name)
  }

  mutating func optional<Value>(_ value: Value?, _ write: (inout ByteWriter, Value) -> Void) {
    bool(value != nil)
    if let value { write(&self, value) }
  }

  /// A list that is longer than its count can express makes a message that is too long in any case.
  mutating func list<Values: Collection>(
    _ values: Values, _ write: (inout ByteWriter, Values.Element) -> Void
  ) {
    uint16(UInt16(clamping: values.count))
    for value in values { write(&self, value) }
  }

  mutating func record(_ record: DNSRecord) {
    name(record.name)
    uint16(record.recordClass.rawValue)
    bool(record.flushesCache)
    uint32(record.ttlSeconds)
    recordData(record.data)
  }

  mutating func recordData(_ data: DNSRecordData) {
    uint16(data.type.rawValue)
    string(data.wireBytes)
  }

  mutating func version(_ version: IPVersion) { bool(version == .v6) }
}

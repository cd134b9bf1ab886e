import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials

/// A field of a bond's line. The value may be a key.
struct BondField: Sendable {
  var name: String
  var value: String
}

/// A bond, or this host's identity, as a line of text: fields `name=value` separated by blanks.
enum BondLine {
  /// Fields of a line at most.
  private static let fieldCountMax = 64

  /// The fields of this host's line.
  static func fields(of identity: HostIdentity) -> [BondField] {
    fields(of: identity.address, "local-")
      + [BondField(name: "local-irk", value: Hexadecimal.string(identity.resolvingKey.bytes))]
  }

  private static func fields(of address: DeviceAddress, _ prefix: String) -> [BondField] {
    [
      BondField(name: prefix + "address", value: address.description),
      BondField(name: prefix + "kind", value: address.kind == .public ? "public" : "random"),
    ]
  }

  /// The fields that this version writes.
  static func fields(of bond: Bond) -> [BondField] {
    var fields = fields(of: bond.identity, "")
    if bond.knownAddress != bond.identity {
      fields += self.fields(of: bond.knownAddress, "known-")
    }
    if let local = bond.localIdentity { fields += self.fields(of: local, "local-") }
    fields += [
      BondField(name: "key-bytes", value: String(bond.keyByteCount)),
      BondField(name: "authenticated", value: text(bond.isAuthenticated)),
      BondField(name: "secure-connections", value: text(bond.isSecureConnections)),
    ]
    fields += self.fields(of: bond.centralKey, "central")
    fields += self.fields(of: bond.peripheralKey, "peripheral")
    if let key = bond.identityResolvingKey {
      fields.append(BondField(name: "irk", value: Hexadecimal.string(key.bytes)))
    }
    fields += self.fields(of: bond.peerSigning, "peer") + self.fields(of: bond.localSigning, "own")
    if bond.isEvictable { fields.append(BondField(name: "evictable", value: text(true))) }
    if let configuration = bond.clientConfiguration { fields += self.fields(of: configuration) }
    return fields
  }

  private static func fields(of key: LongTermKey?, _ role: String) -> [BondField] {
    guard let key else { return [] }
    let value = BondField(name: role + "-ltk", value: Hexadecimal.string(key.value.bytes))
    guard key.encryptedDiversifier != 0 || key.random != 0 else { return [value] }
    return [
      value,
      BondField(name: role + "-ediv", value: text(UInt64(key.encryptedDiversifier), byteCount: 2)),
      BondField(name: role + "-rand", value: text(key.random, byteCount: 8)),
    ]
  }

  private static func fields(of key: SigningKey?, _ owner: String) -> [BondField] {
    guard let key else { return [] }
    return [
      BondField(name: owner + "-csrk", value: Hexadecimal.string(key.value.bytes)),
      BondField(name: owner + "-sign-counter", value: String(key.nextCounter)),
    ]
  }

  private static func fields(of configuration: ClientConfiguration) -> [BondField] {
    var fields = [
      BondField(name: "database", value: Hexadecimal.string(configuration.databaseHash)),
      BondField(name: "aware", value: text(configuration.isAware)),
      BondField(name: "features", value: text(UInt64(configuration.features), byteCount: 1)),
    ]
    let descriptors = configuration.descriptors.sorted { $0.key < $1.key }
    if !descriptors.isEmpty {
      let value = descriptors.map {
        text(UInt64($0.key), byteCount: 2) + text(UInt64($0.value), byteCount: 2)
      }
      fields.append(BondField(name: "descriptors", value: value.joined(separator: ",")))
    }
    return fields
  }

  private static func text(_ value: Bool) -> String { value ? "yes" : "no" }

  /// Hexadecimal, the most significant byte first.
  private static func text(_ value: UInt64, byteCount: Int) -> String {
    Hexadecimal.string(
      (1...byteCount).map { UInt8(truncatingIfNeeded: value >> (8 * (byteCount - $0))) })
  }

  // MARK: Reading

  /// This host's identity, and the fields that this version doesn't know; nil for any other line.
  static func decodeIdentity(
    _ line: ArraySlice<UInt8>
  ) -> (identity: HostIdentity, others: [BondField])? {
    guard var fields = Fields(line), let address = fields.address("local-")?.key,
      address.isIdentityAddress, let key = fields.value("local-irk")?.key
    else { return nil }
    return (HostIdentity(address: address, resolvingKey: key), fields.rest)
  }

  /// The bond of a line, and the fields that this version doesn't know; nil for any other line.
  static func decode(_ line: ArraySlice<UInt8>) -> (bond: Bond, others: [BondField])? {
    guard var fields = Fields(line) else { return nil }
    guard let identity = fields.address("")?.key, let known = fields.address("known-"),
      let local = fields.address("local-"), let keyByteCount = fields.keyByteCount(),
      let isAuthenticated = fields.flag("authenticated"),
      let isSecureConnections = fields.flag("secure-connections"),
      let centralKey = fields.longTermKey("central"),
      let peripheralKey = fields.longTermKey("peripheral"),
      let identityResolvingKey = fields.value("irk"),
      let peerSigning = fields.signingKey("peer"), let localSigning = fields.signingKey("own"),
      let isEvictable = fields.optionalFlag("evictable"),
      let configuration = fields.clientConfiguration()
    else { return nil }
    var bond = Bond(
      identity: identity, knownAddress: known.key, localIdentity: local.key,
      centralKey: centralKey.key, peripheralKey: peripheralKey.key,
      identityResolvingKey: identityResolvingKey.key, keyByteCount: keyByteCount,
      isAuthenticated: isAuthenticated, isSecureConnections: isSecureConnections)
    bond.peerSigning = peerSigning.key
    bond.localSigning = localSigning.key
    bond.clientConfiguration = configuration.key
    bond.isEvictable = isEvictable.key ?? false
    return (bond, fields.rest)
  }

  /// Something that a line may lack.
  private struct Optionally<Key> {
    var key: Key?
  }

  /// The fields of a line that have not been read yet.
  private struct Fields {
    private(set) var rest: [BondField] = []

    /// Nil if the line is malformed or has a name twice.
    init?(_ line: ArraySlice<UInt8>) {
      for text in line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false) {
        guard rest.count < fieldCountMax, let equals = text.firstIndex(of: UInt8(ascii: "=")),
          let name = Self.name(text[..<equals]), let value = Self.value(text[(equals + 1)...]),
          !rest.contains(where: { $0.name == name })
        else { return nil }
        rest.append(BondField(name: name, value: value))
      }
    }

    private static func name(_ bytes: ArraySlice<UInt8>) -> String? {
      let isName = bytes.allSatisfy {
        (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-")
      }
      return isName && (1...32).contains(bytes.count) ? String(decoding: bytes, as: UTF8.self) : nil
    }

    private static func value(_ bytes: ArraySlice<UInt8>) -> String? {
      let isPrintable = bytes.allSatisfy { (0x21...0x7E).contains($0) }
      return isPrintable && !bytes.isEmpty ? String(decoding: bytes, as: UTF8.self) : nil
    }

    private mutating func take(_ name: String) -> String? {
      guard let index = rest.firstIndex(where: { $0.name == name }) else { return nil }
      return rest.remove(at: index).value
    }

    /// Nil where it is there and no address.
    mutating func address(_ prefix: String) -> Optionally<DeviceAddress>? {
      let text = take(prefix + "address")
      let kind = take(prefix + "kind")
      guard let text else { return kind == nil ? Optionally(key: nil) : nil }
      guard kind == "public" || kind == "random",
        let address = DeviceAddress(text, kind: kind == "public" ? .public : .random),
        address.description == text
      else { return nil }
      return Optionally(key: address)
    }

    mutating func keyByteCount() -> Int? {
      guard let text = take("key-bytes"), let count = Int(text), String(count) == text,
        (7...16).contains(count)
      else { return nil }
      return count
    }

    mutating func flag(_ name: String) -> Bool? {
      switch take(name) {
      case "yes": true
      case "no": false
      default: nil
      }
    }

    /// Nil where it is there and no flag.
    mutating func optionalFlag(_ name: String) -> Optionally<Bool>? {
      guard rest.contains(where: { $0.name == name }) else { return Optionally(key: nil) }
      return flag(name).map { Optionally(key: $0) }
    }

    /// Nil where it is there and no key.
    mutating func value(_ name: String) -> Optionally<SMPValue>? {
      guard let text = take(name) else { return Optionally(key: nil) }
      guard let bytes = Self.bytes(text, count: 16), let value = SMPValue(bytes) else { return nil }
      return Optionally(key: value)
    }

    /// Nil where it is there and no key, or what belongs to it is there alone.
    mutating func longTermKey(_ role: String) -> Optionally<LongTermKey>? {
      guard let key = value(role + "-ltk") else { return nil }
      let diversifier = take(role + "-ediv")
      let random = take(role + "-rand")
      guard let value = key.key else {
        return diversifier == nil && random == nil ? Optionally(key: nil) : nil
      }
      guard diversifier != nil || random != nil else {
        return Optionally(key: LongTermKey(value))
      }
      guard let diversifier = diversifier.flatMap({ Self.number($0, byteCount: 2) }),
        let random = random.flatMap({ Self.number($0, byteCount: 8) })
      else { return nil }
      return Optionally(
        key: LongTermKey(
          value, encryptedDiversifier: UInt16(truncatingIfNeeded: diversifier), random: random))
    }

    /// Nil where it is there and no key, or its counter is missing or wrong.
    mutating func signingKey(_ owner: String) -> Optionally<SigningKey>? {
      guard let key = value(owner + "-csrk") else { return nil }
      let text = take(owner + "-sign-counter")
      guard let value = key.key else { return text == nil ? Optionally(key: nil) : nil }
      guard let text, let counter = UInt64(text), String(counter) == text, counter <= 1 << 32
      else { return nil }
      return Optionally(key: SigningKey(value, nextCounter: counter))
    }

    /// Nil where part of it is missing or wrong.
    mutating func clientConfiguration() -> Optionally<ClientConfiguration>? {
      let database = take("database")
      let isAware = flag("aware")
      let features = take("features")
      let descriptors = take("descriptors")
      guard let database else {
        return features == nil && descriptors == nil ? Optionally(key: nil) : nil
      }
      guard let hash = Self.bytes(database, count: 16), let isAware,
        let features = features.flatMap({ Self.number($0, byteCount: 1) })
      else { return nil }
      var configuration = ClientConfiguration(
        databaseHash: hash, isAware: isAware, features: UInt8(truncatingIfNeeded: features),
        descriptors: [:])
      for text in descriptors?.split(separator: ",", omittingEmptySubsequences: false) ?? [] {
        guard let number = Self.number(String(text), byteCount: 4),
          configuration.descriptors.count < ClientConfiguration.descriptorCountMax
        else { return nil }
        configuration.descriptors[UInt16(truncatingIfNeeded: number >> 16)] =
          UInt16(truncatingIfNeeded: number)
      }
      return Optionally(key: configuration)
    }

    /// Exactly this number of bytes, in hexadecimal digits only.
    private static func bytes(_ text: String, count: Int) -> [UInt8]? {
      guard text.utf8.count == 2 * count, let bytes = Hexadecimal.bytes(text),
        bytes.count == count
      else { return nil }
      return bytes
    }

    private static func number(_ text: String, byteCount: Int) -> UInt64? {
      bytes(text, count: byteCount)?.reduce(0) { $0 << 8 | UInt64($1) }
    }
  }
}

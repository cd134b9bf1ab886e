package import BluetoothMachines
package import BluetoothWire
package import StateFiles

/// The bonds of a store in the format of its file: a line that names the format, one line for each
/// identity that this host has had, one for each bond, and a line with the checksum of the
/// preceding lines.
///
///     ambit bonds 1
///     local-address=D0:12:34:56:78:9A local-kind=random local-irk=…
///     address=C0:12:34:56:78:9A kind=random key-bytes=16 authenticated=yes …
///     end 5a17c0de
///
/// Fields that this version doesn't know are kept with their line, those of a bond until it is
/// replaced or removed.
package struct BondFile: Sendable {
  /// The maximum number of bonds. Each costs a line, and time when an address is resolved.
  package static let bondCountMax = 1_024
  /// The maximum number of identities: one for each controller that bonds were made with.
  package static let identityCountMax = 16
  /// A line's bytes at most, several times of what this version writes.
  static let lineByteCountMax = 4_096
  /// A file's bytes at most.
  static let byteCountMax = (bondCountMax + identityCountMax) * lineByteCountMax

  private static let form = ChecksummedText(
    name: "ambit bonds", version: 1, byteCountMax: byteCountMax)
  private static let lineFeed = UInt8(ascii: "\n")

  /// A bond, and the fields of its line that this version doesn't know.
  private struct Entry: Sendable {
    var bond: Bond
    var otherFields: [BondField] = []
  }

  /// An identity of this host, and the fields of its line that this version doesn't know.
  private struct IdentityEntry: Sendable {
    var identity: HostIdentity
    var otherFields: [BondField] = []
  }

  private var identityEntries: [IdentityEntry] = []
  private var entries: [Entry] = []

  /// A file without bonds.
  package init() {}

  /// This host's identities towards its peers; beyond the limit, the latest ones.
  package var identities: [HostIdentity] { identityEntries.map(\.identity) }

  /// The bonds, in the order in which they were stored.
  package var bonds: [Bond] { entries.map(\.bond) }

  /// Adds a bond, or replaces the one with the same peer. Returns false if the limit is reached.
  package mutating func store(_ bond: Bond) -> Bool {
    if let index = index(of: bond) {
      entries[index] = Entry(bond: bond)
      return true
    }
    guard entries.count < Self.bondCountMax else { return false }
    entries.append(Entry(bond: bond))
    return true
  }

  /// Adds an identity of this host. Returns false if there is already one with its address.
  package mutating func store(_ identity: HostIdentity) -> Bool {
    guard !identities.contains(where: { $0.address == identity.address }) else { return false }
    if identityEntries.count >= Self.identityCountMax { identityEntries.removeFirst() }
    identityEntries.append(IdentityEntry(identity: identity))
    return true
  }

  /// Updates a stored bond: the peer's configuration, the signature counters of both sides, and
  /// that the peer has reconnected. Returns false if nothing changes, or if the bond was removed or
  /// has other keys now.
  package mutating func update(_ bond: Bond) -> Bool {
    guard let index = index(of: bond), entries[index].bond.hasSameKeys(as: bond) else {
      return false
    }
    var new = entries[index].bond
    new.clientConfiguration = bond.clientConfiguration
    new.peerSigning?.count(asFarAs: bond.peerSigning)
    new.localSigning?.count(asFarAs: bond.localSigning)
    new.isEvictable = new.isEvictable && bond.isEvictable
    guard new != entries[index].bond else { return false }
    entries[index].bond = new
    return true
  }

  /// The stored bond that this one would replace.
  package func predecessor(of bond: Bond) -> Bond? { index(of: bond).map { entries[$0].bond } }

  /// Removes the bonds of a peer with all identities of this host. The address is the peer's
  /// identity address or the one that clients know. Returns false if there are none.
  package mutating func remove(_ address: DeviceAddress) -> Bool {
    let count = entries.count
    entries.removeAll { $0.bond.identity == address || $0.bond.knownAddress == address }
    return entries.count < count
  }

  /// Removes one bond, even if its keys have changed. Returns false if it doesn't exist.
  package mutating func remove(_ bond: Bond) -> Bool {
    guard let index = index(of: bond) else { return false }
    entries.remove(at: index)
    return true
  }

  private func index(of bond: Bond) -> Int? {
    entries.firstIndex {
      $0.bond.identity == bond.identity
        && ($0.bond.localIdentity == bond.localIdentity || $0.bond.localIdentity == nil)
    }
  }

  // MARK: Text

  /// The content of the file.
  package var bytes: [UInt8] {
    var body: [UInt8] = []
    let lines =
      identityEntries.map { BondLine.fields(of: $0.identity) + $0.otherFields }
      + entries.map { BondLine.fields(of: $0.bond) + $0.otherFields }
    for fields in lines {
      body += Array(fields.map { "\($0.name)=\($0.value)" }.joined(separator: " ").utf8)
      body.append(Self.lineFeed)
    }
    return Self.sealed(body)
  }

  /// Adds the first and the last line of the file format.
  package static func sealed(_ body: [UInt8]) -> [UInt8] { form.file(of: body) }

  /// Parses the content of a file.
  package init(decoding bytes: [UInt8]) throws(StateFileDecodingError) {
    var known: Set<[DeviceAddress?]> = []
    for line in try Self.form.lines(of: bytes) {
      let number = identities.count + entries.count + 2
      if entries.isEmpty, line.count <= Self.lineByteCountMax,
        let (identity, others) = BondLine.decodeIdentity(line)
      {
        guard identityEntries.count < Self.identityCountMax,
          !identities.contains(where: { $0.address == identity.address })
        else { throw .damaged("line \(number) is one identity too many") }
        identityEntries.append(IdentityEntry(identity: identity, otherFields: others))
        continue
      }
      guard entries.count < Self.bondCountMax else { throw .damaged("it has too many bonds") }
      guard line.count <= Self.lineByteCountMax else {
        throw .damaged("line \(number) is too long")
      }
      guard let (bond, others) = BondLine.decode(line) else {
        throw .damaged("line \(number) is no bond")
      }
      guard known.insert([bond.identity, bond.localIdentity]).inserted else {
        throw .damaged("line \(number) is a second bond of one peer")
      }
      entries.append(Entry(bond: bond, otherFields: others))
    }
  }
}

extension Bond {
  /// Whether both encrypt with the same keys: they are from one pairing.
  func hasSameKeys(as other: Bond?) -> Bool {
    other.map { centralKey == $0.centralKey && peripheralKey == $0.peripheralKey } ?? false
  }
}

extension SigningKey {
  /// Takes over how far another process, or an earlier moment, has counted with this key: never back.
  fileprivate mutating func count(asFarAs other: SigningKey?) {
    guard let other, other.value == value else { return }
    nextCounter = max(nextCounter, other.nextCounter)
  }
}

extension BondFile: CustomStringConvertible, CustomReflectable {
  /// The number of bonds; the bonds themselves are secret.
  package var description: String { "a file of \(entries.count) bonds" }

  /// No children: the bonds are secret.
  package var customMirror: Mirror { Mirror(self, children: []) }
}

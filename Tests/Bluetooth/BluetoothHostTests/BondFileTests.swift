import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import StateFiles
import Testing

@testable import BluetoothHost

@Suite("The file of bonds")
struct BondFileTests {
  private static func file(_ bonds: [Bond]) -> BondFile {
    var file = BondFile()
    let isStored = bonds.map { file.store($0) }
    #expect(!isStored.contains(false))
    return file
  }

  private static let text = """
    ambit bonds 1
    address=C0:12:34:56:78:9A kind=random key-bytes=7 authenticated=no secure-connections=no \
    central-ltk=0123456789abcdeffedcba9876543211 central-ediv=1234 central-rand=0102030405060708 \
    peripheral-ltk=02468acf13579bdffdb97530eca86422 peripheral-ediv=ffff \
    peripheral-rand=ffffffffffffffff irk=0369d0369d0369cffc962fc962fc9633
    address=00:12:34:56:78:9A kind=public key-bytes=16 authenticated=yes secure-connections=yes \
    central-ltk=048d159e26af37bffb72ea61d950c844 peripheral-ltk=048d159e26af37bffb72ea61d950c844
    end 
    """

  /// Lines as a file whose checksum is right.
  private static func decoding(_ lines: String...) throws(StateFileDecodingError) -> BondFile {
    try BondFile(decoding: BondFile.sealed(lines.flatMap { Array(($0 + "\n").utf8) }))
  }

  private static let line =
    "address=C0:12:34:56:78:9A kind=random key-bytes=16 authenticated=no secure-connections=yes"

  @Test("the file of bonds is lines of text that a person can read")
  func text() {
    let text = String(decoding: Self.file([Bonds.legacy, Bonds.secure]).bytes, as: UTF8.self)
    #expect(text.hasPrefix(Self.text))
    #expect(text.dropFirst(Self.text.count).count == 9)
    // CRC-32 of the first line, by another implementation.
    let empty = "ambit bonds 1\nend cd26d380\n"
    #expect(String(decoding: BondFile().bytes, as: UTF8.self) == empty)
  }

  @Test("the file of bonds gives back the bonds that were put into it, in their order")
  func roundTrip() throws {
    let many = (0..<1_024).map(Bonds.numbered)
    for bonds in [[], [Bonds.legacy], [Bonds.secure, Bonds.legacy], many] {
      let file = Self.file(bonds)
      #expect(try BondFile(decoding: file.bytes).bonds == bonds)
      #expect(file.bytes.count < 400 * (bonds.count + 1))
    }
  }

  @Test(
    "the file of bonds keeps the host's identity, known addresses, and a bond for each identity")
  func identities() throws {
    var known = Bonds.secure
    known.knownAddress = DeviceAddress(bits: 0x4012_3456_789A, kind: .random)
    known.localIdentity = DeviceAddress(bits: 0xD000_0000_0001, kind: .random)
    known.clientConfiguration = ClientConfiguration(
      databaseHash: Bonds.key(5).bytes, isAware: true, features: 1, descriptors: [9: 2, 0xFFFF: 3])
    var other = known
    other.clientConfiguration?.descriptors = [:]
    other.localIdentity = DeviceAddress(bits: 5, kind: .public)
    var file = Self.file([known, other, Bonds.legacy])
    let identities = (1...3).map { number in
      HostIdentity(
        address: DeviceAddress(bits: 0xD000_0000_0000 + UInt64(number), kind: .random),
        resolvingKey: Bonds.key(number))
    }
    for identity in identities { _ = file.store(identity) }
    var again = identities[0]
    again.resolvingKey = Bonds.key(9)
    let isReplaced = file.store(again)
    #expect(!isReplaced, "the first one is what peers have")
    let read = try BondFile(decoding: file.bytes)
    #expect(read.identities == identities && read.bonds == [known, other, Bonds.legacy])
    for number in 4...40 {
      let address = DeviceAddress(bits: 0xD000_0000_0000 + UInt64(number), kind: .random)
      _ = file.store(HostIdentity(address: address, resolvingKey: Bonds.key(number)))
    }
    #expect(file.identities.count == BondFile.identityCountMax)
    #expect(try BondFile(decoding: file.bytes).identities == file.identities)
    let isRemoved = [file.remove(other), file.remove(other)]
    #expect(isRemoved == [true, false] && file.bonds == [known, Bonds.legacy])
    _ = file.remove(known.identity)
    #expect(file.bonds == [Bonds.legacy])
    let key = "local-irk=0123456789abcdeffedcba9876543211"
    for line in [
      "local-address=40:00:00:00:00:01 local-kind=random \(key)",
      "local-address=D0:00:00:00:00:01 local-kind=random",
    ] {
      #expect(throws: StateFileDecodingError.damaged("line 2 is no bond")) {
        try Self.decoding(line)
      }
    }
    let line = "local-address=D0:00:00:00:00:01 local-kind=random \(key)"
    #expect(throws: StateFileDecodingError.damaged("line 3 is one identity too many")) {
      try Self.decoding(line, line)
    }
  }

  @Test("the file of bonds takes as many bonds as a store may have, and replaces one beyond that")
  func full() {
    var file = Self.file((0..<1_024).map(Bonds.numbered))
    var changed = Bonds.numbered(7)
    changed.centralKey = LongTermKey(Bonds.key(77))
    let isStored = [file.store(Bonds.secure), file.store(changed)]
    #expect(isStored == [false, true])
    #expect(file.bonds[7] == changed && file.bonds.count == 1_024)
    let isRemoved = [file.remove(changed.identity), file.remove(changed.identity)]
    #expect(isRemoved == [true, false])
    let isStoredNow = file.store(Bonds.secure)
    #expect(isStoredNow && file.bonds.last == Bonds.secure)
  }

  @Test("the file of bonds distinguishes a public address from a random one with the same bits")
  func kinds() throws {
    var other = Bonds.secure
    other.identity = DeviceAddress(bits: other.identity.bits, kind: .random)
    let bonds = try BondFile(decoding: Self.file([Bonds.secure, other]).bytes).bonds
    #expect(bonds == [Bonds.secure, other])
  }

  @Test("the file of bonds is refused wherever it is cut")
  func cut() {
    let bytes = Self.file([Bonds.legacy, Bonds.secure]).bytes
    for count in 0..<bytes.count {
      let cut = Array(bytes.prefix(count))
      let reason =
        if count < 14 {
          "its first line is truncated"
        } else if cut.last != 10 {
          "its last line is truncated"
        } else {
          "its end is missing"
        }
      #expect(throws: StateFileDecodingError.damaged(reason), "\(count) bytes") {
        try BondFile(decoding: cut)
      }
    }
  }

  @Test("the file of bonds is refused whichever bit is wrong")
  func mutated() {
    let bytes = Self.file([Bonds.secure]).bytes
    for index in bytes.indices {
      for bit in 0..<8 {
        var bytes = bytes
        bytes[index] ^= 1 << bit
        #expect("bit \(bit) of byte \(index)") {
          try BondFile(decoding: bytes)
        } throws: { error in
          switch error as? StateFileDecodingError {
          case .foreign: index < "ambit bonds ".utf8.count
          case .laterForm: index == "ambit bonds ".utf8.count
          case .damaged: index >= "ambit bonds ".utf8.count
          case nil: false
          }
        }
      }
    }
  }

  @Test("the file of bonds is refused with anything added behind or before it, or left out of it")
  func glued() {
    let one = Self.file([Bonds.legacy]).bytes
    let two = Self.file([Bonds.secure]).bytes
    for (bytes, error) in [
      (one + two, StateFileDecodingError.damaged("its checksum is wrong")),
      (one + one, .damaged("its checksum is wrong")), (one + [10], .damaged("its end is missing")),
      (one + [0], .damaged("its last line is truncated")), ([10] + one, .foreign),
      (one + Array("x".utf8), .damaged("its last line is truncated")),
    ] {
      #expect(throws: error) { try BondFile(decoding: bytes) }
    }
    let lines = one.split(separator: 10, omittingEmptySubsequences: false)
    for index in lines.indices {
      var lines = lines
      lines.remove(at: index)
      let error = [
        .foreign, .damaged("its checksum is wrong"), .damaged("its end is missing"),
        StateFileDecodingError.damaged("its last line is truncated"),
      ][index]
      #expect(throws: error) { try BondFile(decoding: Array(lines.joined(separator: [10]))) }
    }
  }

  @Test("the file of bonds is damaged if it has line ends of another system")
  func lineEnds() {
    let bytes = Self.file([Bonds.legacy]).bytes.flatMap { $0 == 10 ? [13, 10] : [$0] }
    #expect(throws: StateFileDecodingError.damaged("its first line is wrong")) {
      try BondFile(decoding: bytes)
    }
  }

  @Test("the file of bonds is distinguished from other files, and from those of later versions")
  func forms() {
    for text in ["x", "hello\n", "{}", "ambit", "ambit bondsss", "\u{0}", "# ambit bonds 1\n"] {
      let expected: StateFileDecodingError =
        "ambit bonds 1\n".hasPrefix(text) ? .damaged("its first line is truncated") : .foreign
      #expect(throws: expected, "\(text)") { try BondFile(decoding: Array(text.utf8)) }
    }
    for text in ["ambit bonds 2\n", "ambit bonds 10\nanything", "ambit bonds 3"] {
      #expect(throws: StateFileDecodingError.laterForm, "\(text)") {
        try BondFile(decoding: Array(text.utf8))
      }
    }
    for text in ["ambit bonds 01\n", "ambit bonds x\n", "ambit bonds 1 \n", "ambit bonds \n"] {
      #expect(throws: StateFileDecodingError.damaged("its first line is wrong"), "\(text)") {
        try BondFile(decoding: Array(text.utf8))
      }
    }
    #expect(throws: StateFileDecodingError.damaged("its first line is truncated")) {
      try BondFile(decoding: [])
    }
  }

  @Test(
    "the file of bonds may contain only valid bonds, whatever its checksum",
    arguments: [
      "", " ", "x", "=", "a=", "=a", line + " ", " " + line, line + " irk=00", line + " A=b",
      line + " irk=0x0369d0369d0369cffc962fc962fc96", line + " note=\u{7F}", line + " é=1",
      line + " central-ediv=0000", line + " peripheral-rand=0000000000000000", line + " " + line,
      line + " central-ltk=0369d0369d0369cffc962fc962fc9633 central-ediv=1234",
      line + " central-ltk=0369d0369d0369cffc962fc962fc9633 central-rand=0000000000000001",
      String(line.dropFirst(8)), line.replacing("random", with: "secret"),
      line.replacing("16", with: "17"), line.replacing("16", with: "6"),
      line.replacing("16", with: "+16"), line.replacing("16", with: "016"),
      line.replacing("16", with: "99999999999999999999"), line.replacing("yes", with: "true"),
      line.replacing("C0:", with: "c0:a"), line.replacing("9A ", with: "9a "),
      line.replacing("9A ", with: "9A:00 "), line.replacing(" kind=random", with: ""),
    ])
  func lines(_ line: String) throws {
    #expect(throws: StateFileDecodingError.damaged("line 2 is no bond")) { try Self.decoding(line) }
    #expect(throws: StateFileDecodingError.damaged("line 3 is no bond")) {
      try Self.decoding(Self.line, line)
    }
    #expect(try Self.decoding(Self.line).bonds.count == 1)
  }

  @Test("the file of bonds has one bond of a peer")
  func duplicates() {
    #expect(throws: StateFileDecodingError.damaged("line 3 is a second bond of one peer")) {
      try Self.decoding(Self.line, Self.line)
    }
  }

  @Test("the file of bonds limits its lines, their fields and their number")
  func bounds() throws {
    let long = Self.line + " note="
    let fits = long + String(repeating: "x", count: 4_096 - long.count)
    #expect(try Self.decoding(fits).bonds.count == 1)
    #expect(throws: StateFileDecodingError.damaged("line 2 is too long")) {
      try Self.decoding(fits + "x")
    }
    #expect(throws: StateFileDecodingError.damaged("line 2 is no bond")) {
      try Self.decoding(Self.line + (0..<60).map { " f\($0)=1" }.joined())
    }
    let many = (0..<1_024).map(Bonds.numbered)
    var body = Array(Self.file(many).bytes.dropFirst("ambit bonds 1\n".utf8.count))
    body.removeLast("end 00000000\n".utf8.count)
    #expect(try BondFile(decoding: BondFile.sealed(body)).bonds == many)
    #expect(throws: StateFileDecodingError.damaged("it has too many bonds")) {
      try BondFile(decoding: BondFile.sealed(body + Array((Self.line + "\n").utf8)))
    }
    let huge =
      Array("ambit bonds 1\n".utf8) + [UInt8](repeating: 0x61, count: BondFile.byteCountMax)
    #expect(throws: StateFileDecodingError.damaged("it is too large")) {
      try BondFile(decoding: huge)
    }
  }

  @Test("the file of bonds keeps a later version's additions to a bond until the bond is replaced")
  func laterFields() throws {
    let added = "csrk=000102030405060708090a0b0c0d0e0f x-1=a=b"
    var file = try Self.decoding(
      "note=1 " + Self.line.replacing("kind=", with: "seen=yesterday kind=") + " " + added)
    let isStored = file.store(Bonds.secure)
    #expect(isStored)
    let text = String(decoding: file.bytes, as: UTF8.self)
    #expect(text.contains(Self.line + " note=1 seen=yesterday " + added + "\n"))
    #expect(try BondFile(decoding: file.bytes).bytes == file.bytes)
    let isReplaced = file.store(file.bonds[0])
    #expect(isReplaced)
    #expect(!String(decoding: file.bytes, as: UTF8.self).contains("csrk"))
  }

  @Test("the decoder takes noise without harm, also when the checksum is right")
  func noise() {
    var generator = SeededGenerator(seed: 7)
    let valid = Self.file([Bonds.legacy, Bonds.secure]).bytes
    let body = Array(valid.dropFirst(14).dropLast(13))
    for _ in 0..<2_000 {
      let noise = (0..<Int(generator.next() % 200)).map { _ in
        UInt8(truncatingIfNeeded: generator.next())
      }
      let error = StateFileDecodingError.damaged("its first line is truncated")
      #expect(throws: noise.isEmpty ? error : .foreign) { try BondFile(decoding: noise) }
      var changed = body
      for _ in 0...(generator.next() % 4) {
        let index = Int(generator.next() % UInt64(changed.count))
        switch generator.next() % 3 {
        case 0: changed[index] = UInt8(truncatingIfNeeded: generator.next())
        case 1: changed.remove(at: index)
        default: changed.insert(contentsOf: noise.prefix(3), at: index)
        }
      }
      guard let file = try? BondFile(decoding: BondFile.sealed(changed)) else { continue }
      #expect((try? BondFile(decoding: file.bytes))?.bytes == file.bytes)
    }
  }

  @Test(
    "a bond that may make room is marked so until its peer comes back, and never again after that")
  func evictable() throws {
    var bond = Bonds.secure
    bond.isEvictable = true
    var file = Self.file([bond, Bonds.legacy])
    #expect(String(decoding: file.bytes, as: UTF8.self).contains(" evictable=yes\n"))
    #expect(try BondFile(decoding: file.bytes).bonds == [bond, Bonds.legacy])
    #expect(file.update(Bonds.secure) && file.bonds.first == Bonds.secure)
    #expect(!file.update(bond) && file.bonds.first == Bonds.secure)
    #expect(!String(decoding: file.bytes, as: UTF8.self).contains("evictable"))
    let line = "address=00:12:34:56:78:9A kind=public key-bytes=16 authenticated=yes"
    #expect(throws: StateFileDecodingError.damaged("line 2 is no bond")) {
      try Self.decoding(line + " secure-connections=yes evictable=perhaps")
    }
  }

  @Test("a bond shows no key where it is printed")
  func description() {
    let file = Self.file([Bonds.legacy, Bonds.secure])
    var dumped = ""
    dump(file, to: &dumped)
    let printed = "\(file) \(String(reflecting: file)) \(dumped)"
    for secret in Bonds.secrets(Bonds.legacy) + Bonds.secrets(Bonds.secure) {
      #expect(!printed.contains(secret))
    }
    #expect("\(file)" == "a file of 2 bonds")
  }
}

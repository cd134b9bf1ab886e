import BluetoothInterface
import BluetoothWire
import Essentials
import Glibc
import Testing

@testable import BluetoothMachines

/// This process's memory, including freed memory. The kernel reads it, so that the test itself
/// doesn't use memory after it was freed.
private final class ProcessMemory {
  private let descriptor = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// The number at an address; nil where there is no memory any more.
  func number(at address: UInt) -> UInt128? {
    var number: UInt128 = 0
    let count = withUnsafeMutableBytes(of: &number) {
      pread(descriptor, $0.baseAddress, $0.count, off_t(address))
    }
    return count == MemoryLayout<UInt128>.size ? number : nil
  }
}

/// Where a secret is in memory, and what it is. The number isn't overwritten, so it isn't kept itself.
private struct Place {
  private static let mask: UInt128 = 0x5A5A_C3C3_0FF0_9669_1234_8765_FEDC_0BA9
  /// What an object begins with: its type and its count of references.
  private static let headerByteCount: UInt = 16

  let name: String
  private let address: UInt
  private let masked: UInt128

  private init(_ name: String, _ address: UInt, _ number: UInt128) {
    self.name = name
    self.address = address
    masked = number ^ Self.mask
  }

  /// The object in a value that has nothing else.
  private static func object<Value>(in value: borrowing Value) -> UInt {
    withUnsafeBytes(of: value) { $0.load(as: UInt.self) }
  }

  static func of(_ value: borrowing SMPValue, _ name: String) -> Place {
    // The lower half is the second of two.
    Place(name, object(in: value) + headerByteCount + 16, value.number)
  }

  static func of(_ value: borrowing SMPCoordinate, _ name: String) -> [Place] {
    let halves = [value.bytes.prefix(16), value.bytes.suffix(16)]
      .map { $0.reduce(UInt128(0)) { $0 << 8 | UInt128($1) } }
    // One that is zero looks as if it had been overwritten.
    return (0..<2).filter { halves[$0] != 0 }.map {
      Place("\(name), half \($0)", object(in: value) + headerByteCount + UInt($0) * 16, halves[$0])
    }
  }

  func isThere(in memory: ProcessMemory) -> Bool {
    memory.number(at: address).map { $0 ^ Self.mask } == masked
  }
}

/// Secrets are looked for where they were (docs/decisions/0108-secrets-are-overwritten.md).
@Suite("Secrets in memory that was freed", .serialized)
struct OverwrittenSecretsTests {
  private let memory = ProcessMemory()

  @Test("a value is there as long as a copy is, and overwritten then")
  func value() throws {
    var secret: SMPValue? = SMPValue(number: 0x0F1E_2D3C_4B5A_6978_8796_A5B4_C3D2_E1F0)
    var copy = secret
    let place = Place.of(try #require(secret), "value")
    #expect(place.isThere(in: memory))
    secret = nil
    #expect(place.isThere(in: memory) && copy != nil)
    copy = nil
    #expect(!place.isThere(in: memory))
  }

  @Test("a coordinate, such as the Diffie-Hellman key, is overwritten")
  func coordinate() throws {
    var secret = SMPCoordinate((1...32).map { $0 &* 37 })
    let places = Place.of(try #require(secret), "coordinate")
    #expect(places.allSatisfy { $0.isThere(in: memory) })
    secret = nil
    #expect(!places.contains { $0.isThere(in: memory) })
  }

  @Test("a cipher's expanded key is overwritten")
  func cipher() throws {
    let key: UInt128 = 0x2B7E_1516_28AE_D2A6_ABF7_1588_09CF_4F3C
    var cipher: AES128? = AES128(key: key)
    // The object has an array, whose words come after 32 bytes; four are the key itself (FIPS 197, §5.2).
    let object = try #require(cipher.map { withUnsafeBytes(of: $0) { $0.load(as: UInt.self) } })
    let array = UInt(truncatingIfNeeded: try #require(memory.number(at: object + 16)))
    let first = try #require(memory.number(at: array + 32))
    let words = (0..<4).map { UInt32(truncatingIfNeeded: first >> UInt128(32 * $0)) }
    #expect(words == [0x2B7E_1516, 0x28AE_D2A6, 0xABF7_1588, 0x09CF_4F3C])
    cipher = nil
    #expect(memory.number(at: array + 32) != first)
  }

  @Test(
    "no private key and no Diffie-Hellman key is left of a pairing that has ended", arguments: 0..<3
  )
  func ephemeralKeys(_ kind: Int) {
    var pair = PairingPair(
      centralIO: kind == 0 ? .noInputNoOutput : .keyboardDisplay,
      peripheralIO: kind == 0 ? .noInputNoOutput : .keyboardDisplay)
    var places: [Place] = []
    pair.onComputation = { [memory] operation, result in
      switch operation {
      case .publicKey(let key): places += Place.of(key, "private key")
      case .sharedSecret(let key, _): places += Place.of(key, "private key")
      }
      if case .sharedSecret(let key) = result { places += Place.of(key, "Diffie-Hellman key") }
      #expect(places.last?.isThere(in: memory) == true)
    }
    // It ends well, or because a person finds that the numbers differ.
    if kind == 2 { pair.answer = { _, _, _ in .reject } }
    pair.securesCentral()
    #expect(pair.central.ends.count == 1 && (pair.central.ends == [nil]) == (kind < 2))
    #expect(places.count == 10)
    // The links, and the hosts, go on.
    for place in places { #expect(!place.isThere(in: memory), "\(place.name)") }
  }

  @Test("a bond that is removed leaves no key at either side")
  func bondKeys() {
    var pair = PairingPair()
    pair.securesCentral()
    var places: [Place] = []
    for bond in pair.central.host.bonds.bonds + pair.peripheral.host.bonds.bonds {
      if let key = bond.centralKey { places.append(.of(key.value, "long term key")) }
      if let key = bond.identityResolvingKey { places.append(.of(key, "identity resolving key")) }
      if let key = bond.peerSigning { places.append(.of(key.value, "signing key")) }
    }
    #expect(places.count >= 2 && places.allSatisfy { $0.isThere(in: memory) })
    pair.central.stored = []
    pair.peripheral.stored = []
    #expect(pair.central.host.bonds.remove(PairingPair.peripheralAddress) != nil)
    #expect(pair.peripheral.host.bonds.remove(PairingPair.centralAddress) != nil)
    for place in places { #expect(!place.isThere(in: memory), "\(place.name)") }
  }
}

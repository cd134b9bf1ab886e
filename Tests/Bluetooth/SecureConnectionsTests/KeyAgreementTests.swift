import BluetoothHost
import BluetoothMachines
import BluetoothWire
import Essentials
import Testing

@testable import SecureConnections

/// Checked against the sample data of the Core Specification (5.4, Vol 2, Part G, §7.1.2).
@Suite("Key agreement on the curve P-256")
struct KeyAgreementTests {
  private let agreement = P256KeyAgreement()

  private static let privateA = coordinate(
    "3f49f6d4a3c55f3874c9b3e3d2103f504aff607beb40b7995899b8a6cd3c1abd")
  private static let privateB = coordinate(
    "55188b3d32f6bb9a900afcfbeed4e72a59cb9ac2f19d7cfb6b4fdd49f47fc5fd")
  private static let publicA = PublicKey(
    x: coordinate("20b003d2f297be2c5e2c83a7e9f9a5b9eff49111acf4fddbcc0301480e359de6"),
    y: coordinate("dc809c49652aeb6d63329abf5a52155c766345c28fed3024741c8ed01589d28b"))
  private static let publicB = PublicKey(
    x: coordinate("1ea1f0f01faf1d9609592284f19e4c0047b58afd8615a69f559077b22faaa190"),
    y: coordinate("4c55f33e429dad377356703a9ab85160472d1130e28e36765f89aff915b1214a"))
  private static let secret = coordinate(
    "ec0234a357c8ad05341010a60a397d9b99796b13b4f866f1868d34f373bfa698")

  private static let order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"
  private static let fieldOrder =
    "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff"
  private static let generator = PublicKey(
    x: coordinate("6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"),
    y: coordinate("4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"))

  private static func coordinate(_ text: String) -> SMPCoordinate {
    let bytes = Hexadecimal.bytes(text) ?? []
    guard let coordinate = SMPCoordinate(bytes) else {
      preconditionFailure("a coordinate has 64 digits")
    }
    return coordinate
  }

  @Test("the public keys of the sample data's private keys are the sample data's")
  func publicKeys() {
    #expect(agreement.perform(.publicKey(privateKey: Self.privateA)) == .publicKey(Self.publicA))
    #expect(agreement.perform(.publicKey(privateKey: Self.privateB)) == .publicKey(Self.publicB))
  }

  @Test("both sides compute the sample data's Diffie-Hellman key")
  func sharedSecret() {
    let a = agreement.perform(.sharedSecret(privateKey: Self.privateA, peer: Self.publicB))
    let b = agreement.perform(.sharedSecret(privateKey: Self.privateB, peer: Self.publicA))
    #expect(a == .sharedSecret(Self.secret))
    #expect(b == .sharedSecret(Self.secret))
  }

  @Test("the smallest and the greatest private key have public keys")
  func bounds() {
    let one = Self.coordinate(String(repeating: "0", count: 63) + "1")
    #expect(agreement.perform(.publicKey(privateKey: one)) == .publicKey(Self.generator))
    let greatest = Self.coordinate(String(Self.order.dropLast()) + "0")
    guard case .publicKey(let key) = agreement.perform(.publicKey(privateKey: greatest)) else {
      Issue.record("the greatest private key is none")
      return
    }
    // The generator's mirror image.
    #expect(key.x == Self.generator.x && key.y != Self.generator.y)
  }

  @Test(
    "an invalid private key is refused: zero, and the group's order and above",
    arguments: [
      String(repeating: "0", count: 64), order, String(order.dropLast()) + "2", fieldOrder,
      String(repeating: "f", count: 64),
    ])
  func invalidPrivateKey(_ text: String) {
    let key = Self.coordinate(text)
    #expect(agreement.perform(.publicKey(privateKey: key)) == .invalidKey)
    #expect(
      agreement.perform(.sharedSecret(privateKey: key, peer: Self.publicA)) == .invalidKey)
  }

  @Test("a point that is not on the curve is refused, whichever bit is wrong")
  func invalidPoint() {
    for index in 0..<64 {
      for bit in [0, 7] {
        var bytes = Self.publicB.x.bytes + Self.publicB.y.bytes
        bytes[index] ^= 1 << bit
        expectInvalid(bytes)
      }
    }
  }

  @Test("points of other curves, at the field's order and at zero are refused")
  func specialPoints() {
    let zero = [UInt8](repeating: 0, count: 32)
    let order = Self.coordinate(Self.fieldOrder).bytes
    let (x, y) = (Self.publicB.x.bytes, Self.publicB.y.bytes)
    // (x, 0) is the point of the fixed coordinate attack (CVE-2018-5383).
    for bytes in [
      zero + zero, x + zero, zero + y, order + y, x + order, order + order, y + x,
      [UInt8](repeating: 0xFF, count: 64),
    ] { expectInvalid(bytes) }
  }

  @Test("a coordinate is below the field's order: there is one way to write a point")
  func canonical() {
    let zero = [UInt8](repeating: 0, count: 32)
    // The point of the curve whose x is 0.
    let y = Self.coordinate("66485c780e2f83d72433bd5d84a06bb6541c2af31dae871728bf856a174f93f4")
    let point = PublicKey(x: Self.coordinate(String(repeating: "0", count: 64)), y: y)
    let result = agreement.perform(.sharedSecret(privateKey: Self.privateA, peer: point))
    #expect(result != .invalidKey && point.x.bytes == zero)
    expectInvalid(Self.coordinate(Self.fieldOrder).bytes + y.bytes)
  }

  private func expectInvalid(
    _ bytes: [UInt8], sourceLocation: SourceLocation = #_sourceLocation
  ) {
    guard let x = SMPCoordinate(bytes.prefix(32)), let y = SMPCoordinate(bytes.dropFirst(32)) else {
      Issue.record("\(bytes.count) bytes", sourceLocation: sourceLocation)
      return
    }
    let result = agreement.perform(
      .sharedSecret(privateKey: Self.privateA, peer: PublicKey(x: x, y: y)))
    #expect(result == .invalidKey, sourceLocation: sourceLocation)
  }

  @Test("any two private keys agree")
  func agree() throws {
    var random = SeededGenerator(seed: 11)
    for _ in 0..<20 {
      let keys = try (0..<2).map { _ in
        try #require(SMPCoordinate((0..<32).map { _ in UInt8(truncatingIfNeeded: random.next()) }))
      }
      let points = try keys.map { key in
        guard case .publicKey(let point) = agreement.perform(.publicKey(privateKey: key)) else {
          throw CancellationError()
        }
        return point
      }
      let one = agreement.perform(.sharedSecret(privateKey: keys[0], peer: points[1]))
      #expect(one == agreement.perform(.sharedSecret(privateKey: keys[1], peer: points[0])))
      #expect(one != .invalidKey)
    }
  }

  @Test("the installed key agreement is used by hosts")
  func installed() {
    SecureConnections.install()
    SecureConnections.install()
    #expect(KeyAgreementPlugIn.current is P256KeyAgreement)
  }

  @Test("no result shows its bytes where it is printed")
  func description() {
    let result = agreement.perform(.sharedSecret(privateKey: Self.privateA, peer: Self.publicB))
    var dumped = ""
    dump(result, to: &dumped)
    let text = "\(result) \(String(reflecting: result)) \(dumped)"
    #expect(!text.contains("ec02") && !text.contains("236"))
  }
}

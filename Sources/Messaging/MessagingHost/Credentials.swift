#if Messaging
  internal import Essentials
  internal import Glibc
  internal import XMPPMachines
  internal import XMPPWire

  /// Answers requests for proofs that need the password.
  enum Credentials {
    /// The answer. Takes milliseconds to seconds.
    static func answer(_ request: CredentialRequest, _ password: String) -> CredentialAnswer {
      switch request {
      case .password: .password(password)
      case .scram(let input):
        LibcryptoSCRAM().proof(of: input, password: password).map(CredentialAnswer.scram)
          ?? .unavailable
      }
    }
  }

  /// The functions of SCRAM by libcrypto.
  struct LibcryptoSCRAM: SCRAMFunctions {
    func derivedKey(
      _ hash: SCRAMHash, password: [UInt8], salt: [UInt8], iterations: Int
    ) -> [UInt8]? {
      Digest(hash).saltedPassword(password, salt: salt, iterationCount: iterations)
    }

    func authenticationCode(_ hash: SCRAMHash, key: [UInt8], _ message: [UInt8]) -> [UInt8]? {
      Digest(hash).authenticationCode(of: message, key: key)
    }

    func digest(_ hash: SCRAMHash, _ message: [UInt8]) -> [UInt8]? {
      Digest(hash).digest(of: message)
    }
  }

  extension Digest {
    init(_ hash: SCRAMHash) {
      self =
        switch hash {
        case .sha1: .sha1
        case .sha256: .sha256
        case .sha512: .sha512
        }
    }
  }

  /// Texts that can't be predicted.
  enum RandomText {
    /// A UUID of version 7 (RFC 9562, §5.7): the time in milliseconds, then 74 random bits.
    ///
    /// Ids in the order of time are neighbours in an index; random ones change a page of it each.
    static func id(at time: WallTime) -> String {
      var generator = SystemRandomNumberGenerator()
      var bytes = bytes(UInt64(truncatingIfNeeded: time) << 16 | generator.next() & 0xFFFF)
      bytes += Self.bytes(generator.next())
      bytes[6] = 0x70 | bytes[6] & 0x0F
      bytes[8] = 0x80 | bytes[8] & 0x3F
      let digits = Array(Hexadecimal.string(bytes).utf8)
      var text: [UInt8] = []
      text.reserveCapacity(36)
      for (place, digit) in digits.enumerated() {
        if [8, 12, 16, 20].contains(place) { text.append(UInt8(ascii: "-")) }
        text.append(digit)
      }
      return String(decoding: text, as: UTF8.self)
    }

    /// For an exchange of SCRAM: 128 bits in hexadecimal.
    static func nonce() -> String {
      var generator = SystemRandomNumberGenerator()
      return Hexadecimal.string(bytes(generator.next()) + bytes(generator.next()))
    }

    private static func bytes(_ number: UInt64) -> [UInt8] {
      (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }
  }

  /// The system's clock for calendars, which may jump.
  enum WallClock {
    /// Milliseconds since 1970.
    static var now: WallTime {
      var time = timespec()
      clock_gettime(CLOCK_REALTIME, &time)
      return WallTime(time.tv_sec) * 1_000 + WallTime(time.tv_nsec) / 1_000_000
    }
  }
#endif

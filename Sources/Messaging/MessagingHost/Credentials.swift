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
      case .token(let input):
        LibcryptoSCRAM().proof(of: input).map(CredentialAnswer.token) ?? .unavailable
      case .scram(let input):
        LibcryptoSCRAM().confirmsOffer(of: input)
          ? LibcryptoSCRAM().proof(of: input, password: password).map(CredentialAnswer.scram)
            ?? .unavailable
          : .offerChanged
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
    static func id(at time: WallTime) -> String { ids(1, at: time).first ?? "" }

    /// The same for a list: the random bits are those of one number and of those after it (§6.2).
    static func ids(_ count: Int, at time: WallTime) -> [String] {
      var generator = SystemRandomNumberGenerator()
      let high = UInt64(truncatingIfNeeded: time) << 16 | 0x7000 | generator.next() & 0x0FFF
      let first = generator.next()
      return (0..<count).map { place in
        text(high, 0x8000_0000_0000_0000 | (first &+ UInt64(place)) & 0x3FFF_FFFF_FFFF_FFFF)
      }
    }

    private static func text(_ high: UInt64, _ low: UInt64) -> String {
      var text: [UInt8] = []
      text.reserveCapacity(36)
      for place in 0..<32 {
        if place == 8 || place == 12 || place == 16 || place == 20 {
          text.append(UInt8(ascii: "-"))
        }
        let half = place < 16 ? high : low
        let digit = UInt8(half >> UInt64(60 - 4 * (place & 15)) & 15)
        text.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit)
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

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
    /// 128 bits in hexadecimal.
    static func id() -> String {
      var generator = SystemRandomNumberGenerator()
      return Hexadecimal.string((0..<16).map { _ in generator.next() as UInt8 })
    }

    /// For an exchange of SCRAM: 32 characters.
    static func nonce() -> String { id() }
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

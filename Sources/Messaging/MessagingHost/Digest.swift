#if Messaging
  internal import CLibcrypto

  /// Hash functions, and codes and keys made with them, by libcrypto.
  enum Digest: CaseIterable, Sendable {
    case sha1, sha256, sha384, sha512

    /// The size of a digest in bytes.
    var byteCount: Int {
      switch self {
      case .sha1: 20
      case .sha256: 32
      case .sha384: 48
      case .sha512: 64
      }
    }

    private var function: OpaquePointer? {
      switch self {
      case .sha1: unsafe EVP_sha1()
      case .sha256: unsafe EVP_sha256()
      case .sha384: unsafe EVP_sha384()
      case .sha512: unsafe EVP_sha512()
      }
    }

    /// The digest (FIPS 180-4).
    func digest(of bytes: [UInt8]) -> [UInt8] {
      var digest = [UInt8](repeating: 0, count: byteCount)
      let status = unsafe EVP_Digest(bytes, bytes.count, &digest, nil, function, nil)
      precondition(status == 1, "libcrypto computes no digest")
      return digest
    }

    /// The message authentication code (RFC 2104).
    func authenticationCode(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
      var code = [UInt8](repeating: 0, count: byteCount)
      var count: CUnsignedInt = 0
      // A null pointer would be the key of the call before.
      let key = key.isEmpty ? [0] : key
      let result = unsafe HMAC(
        function, key, CInt(key.count), bytes, bytes.count, &code, &count)
      precondition(unsafe result != nil, "libcrypto computes no HMAC")
      return code
    }

    /// The salted password (PBKDF2, RFC 8018, §5.2), as long as a digest. Takes milliseconds.
    func saltedPassword(_ password: [UInt8], salt: [UInt8], iterationCount: Int) -> [UInt8] {
      var key = [UInt8](repeating: 0, count: byteCount)
      let status = password.withUnsafeBytes { bytes in
        unsafe PKCS5_PBKDF2_HMAC(
          bytes.baseAddress?.assumingMemoryBound(to: CChar.self), CInt(bytes.count), salt,
          CInt(salt.count), CInt(clamping: iterationCount), function, CInt(byteCount), &key)
      }
      precondition(status == 1, "libcrypto derives no key")
      return key
    }

    /// `HKDF-Expand-Label` (RFC 8446, §7.1), for not more than a digest's length.
    func expandedLabel(
      _ label: String, secret: [UInt8], context: [UInt8], byteCount: Int
    ) -> [UInt8] {
      let name = Array("tls13 \(label)".utf8)
      let info =
        [UInt8(truncatingIfNeeded: byteCount >> 8), UInt8(truncatingIfNeeded: byteCount)]
        + [UInt8(truncatingIfNeeded: name.count)] + name
        + [UInt8(truncatingIfNeeded: context.count)] + context
      return Array(authenticationCode(of: info + [1], key: secret).prefix(byteCount))
    }
  }
#endif

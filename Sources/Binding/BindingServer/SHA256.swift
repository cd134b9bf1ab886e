#if BindingServer
  internal import CLibcrypto

  /// The hash function SHA-256, by libcrypto.
  enum SHA256 {
    private static let byteCount = 32

    /// The digest (FIPS 180-4, §6.2), 32 bytes.
    static func digest(of bytes: [UInt8]) -> [UInt8] {
      var digest = [UInt8](repeating: 0, count: byteCount)
      let result = CLibcrypto.SHA256(bytes, bytes.count, &digest)
      precondition(result != nil, "libcrypto computes no SHA-256")
      return digest
    }

    /// The message authentication code (RFC 2104), 32 bytes.
    static func authenticationCode(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
      var code = [UInt8](repeating: 0, count: byteCount)
      var count: CUnsignedInt = 0
      let result = HMAC(
        EVP_sha256(), key, CInt(key.count), bytes, bytes.count, &code, &count)
      precondition(result != nil && count == byteCount, "libcrypto computes no HMAC with SHA-256")
      return code
    }
  }
#endif

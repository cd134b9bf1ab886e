#if Messaging
  internal import CLibcrypto

  /// The SHA-256 digest of bytes that come in parts. Not thread-safe.
  @safe final class DigestStream {
    private let context: OpaquePointer?

    init() {
      unsafe context = EVP_MD_CTX_new()
      let status = unsafe EVP_DigestInit_ex(context, EVP_sha256(), nil)
      precondition(status == 1, "libcrypto computes no digest")
    }

    deinit { unsafe EVP_MD_CTX_free(context) }

    func append(_ bytes: UnsafeRawBufferPointer) {
      guard let base = bytes.baseAddress else { return }
      let status = unsafe EVP_DigestUpdate(context, base, bytes.count)
      precondition(status == 1, "libcrypto computes no digest")
    }

    /// The digest of all bytes. Nothing can be appended after that.
    func finish() -> [UInt8] {
      var digest = [UInt8](repeating: 0, count: Digest.sha256.byteCount)
      let status = unsafe EVP_DigestFinal_ex(context, &digest, nil)
      precondition(status == 1, "libcrypto computes no digest")
      return digest
    }
  }
#endif

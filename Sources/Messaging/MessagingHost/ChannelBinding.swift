#if Messaging
  internal import CLibcrypto
  internal import Essentials
  internal import NIOCore
  internal import Synchronization
  internal import XMPPWire

  /// The secret of one TLS connection from which applications derive keys (RFC 8446, §7.5).
  ///
  /// swift-nio-ssl exports no keying material. It hands the lines of a key log to a callback, and one of them has the
  /// secret; the others are ignored, and none is kept or logged.
  final class ExporterSecret: Sendable {
    private let secret = Mutex<[UInt8]?>(nil)

    /// Takes a line of a key log: a label, the client's random bytes and a secret, both in hexadecimal. Called on any thread.
    func take(line: ByteBuffer) {
      let parts = String(decoding: line.readableBytesView, as: UTF8.self)
        .split(whereSeparator: \.isWhitespace)
      guard parts.count == 3, parts[0] == "EXPORTER_SECRET",
        let bytes = Hexadecimal.bytes(parts[2])
      else { return }
      secret.withLock { $0 = bytes }
    }

    /// The data of `tls-exporter` (RFC 9266, §2), and the secret is forgotten; nil before TLS 1.3.
    func takeBinding() -> [UInt8]? {
      let secret = secret.withLock { secret in
        defer { secret = nil }
        return secret
      }
      return secret.flatMap(ChannelBindings.exported(from:))
    }
  }

  extension ChannelBindings {
    /// The keying material that both ends export; nil for a secret of another length than a digest's.
    static func exported(from secret: [UInt8]) -> [UInt8]? {
      guard let digest = [Digest.sha256, .sha384].first(where: { $0.byteCount == secret.count })
      else { return nil }
      let empty = digest.digest(of: [])
      let derived = digest.expandedLabel(
        "EXPORTER-Channel-Binding", secret: secret, context: empty, byteCount: digest.byteCount)
      return digest.expandedLabel("exporter", secret: derived, context: empty, byteCount: 32)
    }

    /// The data of `tls-server-end-point` (RFC 5929, §4.1) for a certificate in DER: its digest by the hash function of its
    /// signature, or SHA-256 in place of MD5 and SHA-1. Nil where the signature has none, such as that of Ed25519.
    static func endPoint(of certificate: [UInt8]) -> [UInt8]? {
      signatureDigest(of: certificate)?.digest(of: certificate)
    }

    private static func signatureDigest(of certificate: [UInt8]) -> Digest? {
      certificate.withUnsafeBufferPointer { bytes in
        var next = bytes.baseAddress
        guard let parsed = unsafe d2i_X509(nil, &next, bytes.count) else {
          ERR_clear_error()
          return nil
        }
        defer { unsafe X509_free(parsed) }
        var function: CInt = 0
        guard unsafe X509_get_signature_info(parsed, &function, nil, nil, nil) == 1 else {
          return nil
        }
        // The numbers of OpenSSL's obj_mac.h: MD5, SHA-1, SHA-256, SHA-384 and SHA-512.
        switch function {
        case 4, 64, 672: return .sha256
        case 673: return .sha384
        case 674: return .sha512
        default: return nil
        }
      }
    }
  }
#endif

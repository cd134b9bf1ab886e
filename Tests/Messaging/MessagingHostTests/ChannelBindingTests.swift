#if Messaging
  import Essentials
  import NIOCore
  import Testing
  import XMPPMachines
  import XMPPWire

  @testable import MessagingHost

  @Suite("Channel bindings")
  struct ChannelBindingTests {
    @Test("a secret is expanded with a label as RFC 8448 has it")
    func expandedLabel() throws {
      // §3: the secret for the handshake, from the early secret.
      let secret = try #require(
        Hexadecimal.bytes("33ad0a1c607ec03b09e6cd9893680ce210adf300aa1f2660e1b22e10f170f92a"))
      let derived = Digest.sha256.expandedLabel(
        "derived", secret: secret, context: Digest.sha256.digest(of: []), byteCount: 32)
      #expect(
        Hexadecimal.string(derived)
          == "6f2615a108c702c5678f54fc9dbab69716c076189c48250cebeac3576c3611ba")
    }

    /// From `openssl s_client -keymatexport EXPORTER-Channel-Binding -keylogfile`, version 3.0.19.
    static let exports = [
      (
        "12a0cc85c9ce687df3b81d699e2c8fc0f48a205d1505f1fcf9ffe7b9bd1e34e7",
        "d65b3ec5f1adcdf386fa6cadd8ac6812632e59fd71c12603f55b165bfd70231e"
      ),
      (
        "19fdd5d19ef1b3cc579c4b69d203092ff8fd72addfadfcbf933052906fc5cce6"
          + "38d5f17fd1869514141ef2e045d46092",
        "9d8173873ec85bb74208561f3e08c17e2924e5b00fa2494b392ccd8e806dff9b"
      ),
    ]

    @Test("a line of the key log gives the material that OpenSSL exports", arguments: exports)
    func exporter(secret: String, binding: String) {
      let log = ExporterSecret()
      let random = String(repeating: "0f", count: 32)
      log.take(line: ByteBuffer(string: "SERVER_TRAFFIC_SECRET_0 \(random) \(random)\n"))
      #expect(log.takeBinding() == nil)
      log.take(line: ByteBuffer(string: "EXPORTER_SECRET \(random) \(secret)\n"))
      log.take(line: ByteBuffer(string: "CLIENT_TRAFFIC_SECRET_0 \(random) \(random)\n"))
      #expect(log.takeBinding().map { Hexadecimal.string($0) } == binding)
      #expect(log.takeBinding() == nil, "The secret is kept longer than it is needed.")
    }

    @Test(
      "a line without a secret of a known length gives no binding",
      arguments: [
        "", "EXPORTER_SECRET", "EXPORTER_SECRET 00 ", "EXPORTER_SECRET 00 zz",
        "EXPORTER_SECRET 00 0011", "exporter_secret 00 00",
      ])
    func badLine(line: String) {
      let log = ExporterSecret()
      log.take(line: ByteBuffer(string: line))
      #expect(log.takeBinding() == nil)
    }

    @Test("the end point of a server is its certificate's digest by the signature's hash function")
    func endPoint() throws {
      let certificate = try #require(Base64.bytes(Self.certificate))
      let binding = try #require(ChannelBindings.endPoint(of: certificate))
      #expect(
        Hexadecimal.string(binding)
          == "ac0c0ad42508d2a9eae89acf9320d93bd5671f6a4c22f408e1b2e894868561e5"
          + "dc0cff2b8cbbe9c9bc57ce3cbf273624")
      #expect(ChannelBindings.endPoint(of: Array(certificate.dropLast(80))) == nil)
      #expect(ChannelBindings.endPoint(of: []) == nil)
    }

    /// Signed with ECDSA and SHA-384; the digest above is that of `sha384sum`.
    private static let certificate =
      "MIIBgzCCASmgAwIBAgIUQgHk4bBNwY++3cJm7hAYNuX08JUwCgYIKoZIzj0EAwMwFzEVMBMGA1UEAwwM"
      + "Y2hhdC5leGFtcGxlMB4XDTI2MTEzMDA5MTA0OVoXDTI2MTIzMDA5MTA0OVowFzEVMBMGA1UEAwwMY2hh"
      + "dC5leGFtcGxlMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEthWFeyPvB8KQdUjfCraQlsCA0RNeNoZw"
      + "19pnSw3d8SKWnhgjUYqI7DQxTrfYwH714icl/Gg1IK9dp/q+2LQh0KNTMFEwHQYDVR0OBBYEFLKaKqTP"
      + "/pI+ya5CcPMoEMvzBHhHMB8GA1UdIwQYMBaAFLKaKqTP/pI+ya5CcPMoEMvzBHhHMA8GA1UdEwEB/wQF"
      + "MAMBAf8wCgYIKoZIzj0EAwMDSAAwRQIgZOHPgJzNltO7KmZ3J4WFJvYsRhvbOVlscjnhxtXkKskCIQC2"
      + "XzGXG+G7rUYuvR6Hwrh9aSi7586RscsPv/QVOwKVZw=="

    @Test("a changed offer is found before a proof is computed")
    func changedOffer() throws {
      let first = SCRAM.ClientFirst(user: "user", nonce: "n", binding: .unsupported)
      // The digest of XEP-0474, §5.3.
      let answer = try SCRAM.ServerFirst(
        Array("r=nx,s=QSXCR+Q6sek8bf92,i=4096,h=G6k/rBLDqgOhRRaCuuatSDFkJ08=".utf8),
        answering: first, iterations: 4_096...10_000)
      func answers(_ offer: SASLOffer) -> CredentialAnswer {
        Credentials.answer(.scram(SCRAM.input(.sha1, first, answer, offer: offer)), "pencil")
      }
      let names = ["SCRAM-SHA-1-PLUS", "SCRAM-SHA-1"]
      let types = ["tls-server-end-point", "tls-exporter"]
      guard case .scram = answers(SASLOffer(mechanisms: names, channelBindings: types)) else {
        Issue.record("The offer of the specification's example is refused.")
        return
      }
      for changed in [
        SASLOffer(mechanisms: ["SCRAM-SHA-1"], channelBindings: types),
        SASLOffer(mechanisms: names, channelBindings: ["tls-server-end-point"]),
        SASLOffer(mechanisms: names), SASLOffer(mechanisms: names + ["X"], channelBindings: types),
      ] {
        #expect(answers(changed) == .offerChanged)
      }
    }
  }
#endif

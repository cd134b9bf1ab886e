#if Messaging
  import Essentials
  import Testing
  import XMPPWire

  @testable import MessagingHost

  @Suite("Cryptography of authentication")
  struct DigestTests {
    @Test("the proof of SCRAM-SHA-256 is that of RFC 7677")
    func proofSHA256() throws {
      let first = SCRAM.ClientFirst(
        user: "user", nonce: "rOprNGfwEbeRWgbNEkqO", binding: .unsupported)
      let answer = try SCRAM.ServerFirst(
        Array(
          "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
            .utf8
        ), answering: first, iterations: 4_096...10_000)
      let proof = try #require(
        LibcryptoSCRAM().proof(of: SCRAM.input(.sha256, first, answer), password: "pencil"))
      #expect(
        String(decoding: SCRAM.clientFinal(first, answer, proof), as: UTF8.self).hasSuffix(
          "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="))
      try SCRAM.check(Array("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=".utf8), proof)
    }

    @Test("a password is salted as RFC 6070 has it, also an empty one")
    func saltedPassword() {
      let salted = Digest.sha1.saltedPassword(
        Array("password".utf8), salt: Array("salt".utf8), iterationCount: 2)
      #expect(Hexadecimal.string(salted) == "ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957")
      #expect(Digest.sha512.saltedPassword([], salt: [1], iterationCount: 1).count == 64)
    }

    @Test("a digest of SHA-256 is that of FIPS 180-4")
    func digest() {
      #expect(
        Hexadecimal.string(Digest.sha256.digest(of: Array("abc".utf8)))
          == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    }
  }
#endif

#if Messaging
  import Testing

  @testable import XMPPWire

  @Suite("SASL and SCRAM")
  struct AuthenticationTests {
    /// An exchange of a specification, with the password "pencil".
    struct Vector: Sendable {
      var hash: SCRAMHash
      var clientNonce: String
      var serverFirst: String
      var clientFinal: String
      var serverFinal: String
    }

    static let vectors = [
      // RFC 5802, §5.
      Vector(
        hash: .sha1, clientNonce: "fyko+d2lbbFgONRv9qkxdawL",
        serverFirst: "r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096",
        clientFinal:
          "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
        serverFinal: "v=rmF9pqV8S7suAoZWja4dJRkFsKQ="),
      // RFC 7677, §3.
      Vector(
        hash: .sha256, clientNonce: "rOprNGfwEbeRWgbNEkqO",
        serverFirst:
          "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        clientFinal:
          "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
          + "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
        serverFinal: "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="),
    ]

    @Test("the exchanges of the specifications come out byte for byte", arguments: vectors)
    func exchange(vector: Vector) throws {
      let first = SCRAM.ClientFirst(user: "user", nonce: vector.clientNonce, binding: .unsupported)
      #expect(first.bytes == Array("n,,n=user,r=\(vector.clientNonce)".utf8))
      let answer = try SCRAM.ServerFirst(
        Array(vector.serverFirst.utf8), answering: first, iterations: 4_096...10_000)
      let input = SCRAM.input(vector.hash, first, answer)
      let proof = try #require(PlainFunctions().proof(of: input, password: "pencil"))
      #expect(SCRAM.clientFinal(first, answer, proof) == Array(vector.clientFinal.utf8))
      try SCRAM.check(Array(vector.serverFinal.utf8), proof)
      let wrong = try #require(PlainFunctions().proof(of: input, password: "pencil2"))
      #expect(throws: SCRAMError.wrongSignature) {
        try SCRAM.check(Array(vector.serverFinal.utf8), wrong)
      }
    }

    private let first = SCRAM.ClientFirst(user: "a=b,c", nonce: "abc", binding: .unsupported)

    private func answer(_ text: String) throws(SCRAMError) -> SCRAM.ServerFirst {
      try SCRAM.ServerFirst(Array(text.utf8), answering: first, iterations: 4_096...1_000_000)
    }

    @Test("a name's special characters are escaped")
    func escaping() {
      #expect(String(decoding: first.bytes, as: UTF8.self) == "n,,n=a=3Db=2Cc,r=abc")
    }

    @Test("a binding is named in the header, and its data are part of the last message")
    func binding() {
      let bound = SCRAM.ClientFirst(
        user: "u", nonce: "n", binding: .bound(name: "tls-exporter", data: [1, 2, 3]))
      #expect(String(decoding: bound.bytes, as: UTF8.self) == "p=tls-exporter,,n=u,r=n")
      let data = Array("p=tls-exporter,,".utf8) + [1, 2, 3]
      #expect(SCRAM.withoutProof(bound, nonce: "nm") == "c=\(Base64.text(data)),r=nm")
      let unused = SCRAM.ClientFirst(user: "u", nonce: "n", binding: .unused)
      #expect(unused.bytes.starts(with: Array("y,,".utf8)))
    }

    @Test("a server's iterations outside the bounds are refused, with the number")
    func iterations() {
      for count in [1, 4_095, 1_000_001, 2_147_483_647] {
        #expect(throws: SCRAMError.iterations(count, allowed: 4_096...1_000_000)) {
          try answer("r=abcd,s=QQ==,i=\(count)")
        }
      }
      #expect(throws: Never.self) { try answer("r=abcd,s=QQ==,i=4096,x=later") }
    }

    @Test("a nonce that doesn't continue the client's is refused")
    func nonces() {
      for nonce in ["abc", "ab", "xabc", ""] {
        #expect(throws: SCRAMError.wrongNonce) { try answer("r=\(nonce),s=QQ==,i=4096") }
      }
    }

    @Test(
      "malformed messages of a server are refused",
      arguments: [
        "", "r=abcd", "s=QQ==,r=abcd,i=4096", "r=abcd,s=,i=4096", "r=abcd,s=%,i=4096",
        "r=abcd,s=QQ==,i=x", "r=abcd,s=QQ==,i=99999999999999999999", "r=abcd,,i=4096", "rabcd",
        "r=abcd,s=QQ==,i=-1",
      ])
    func malformed(text: String) {
      #expect(throws: SCRAMError.self) { try answer(text) }
    }

    @Test("a mandatory extension is refused as one")
    func mandatoryExtension() {
      #expect(throws: SCRAMError.unknownExtension) { try answer("m=x,r=abcd,s=QQ==,i=4096") }
    }

    @Test("a server's error in the last message has the server's word")
    func serverError() {
      let proof = SCRAMProof(clientProof: [1], serverSignature: [2])
      #expect(throws: SCRAMError.server("other-error")) {
        try SCRAM.check(Array("e=other-error".utf8), proof)
      }
      #expect(throws: SCRAMError.malformed) { try SCRAM.check(Array("x=1".utf8), proof) }
      #expect(throws: SCRAMError.malformed) { try SCRAM.check([], proof) }
      #expect(throws: SCRAMError.wrongSignature) { try SCRAM.check(Array("v=".utf8), proof) }
    }

    @Test("elements of the negotiation come back as they were written")
    func elements() {
      let all: [SASLElement] = [
        .auth(mechanism: "PLAIN", [0, 1, 2]), .auth(mechanism: "X", []), .challenge([]),
        .challenge([1]), .response([]), .success([]), .success([255]), .abort,
        .failure(SASLFailure(.notAuthorized, text: "no")),
      ]
      for value in all { #expect(SASLElement(value.element) == value) }
      #expect(SASLElement(XMLElement("challenge", Namespace.sasl, text: "%")) == nil)
      let unknown = XMLElement(
        "failure", Namespace.sasl, children: [XMLElement("odd", Namespace.sasl)])
      #expect(SASLElement(unknown) == .failure(SASLFailure(.notAuthorized)))
    }

    @Test("the text of an offer has the names in the order of their bytes")
    func offer() {
      // XEP-0474, §5.3.
      let offer = SASLOffer(
        mechanisms: ["SCRAM-SHA-1-PLUS", "SCRAM-SHA-1"],
        channelBindings: ["tls-server-end-point", "tls-exporter"])
      let text = "SCRAM-SHA-1\u{1E}SCRAM-SHA-1-PLUS\u{1F}tls-exporter\u{1E}tls-server-end-point"
      #expect(offer.text == Array(text.utf8))
      #expect(SASLOffer(mechanisms: ["B", "A"]).text == Array("A\u{1E}B".utf8))
      #expect(SASLOffer(mechanisms: ["B"], channelBindings: []).text == Array("B\u{1F}".utf8))
    }

    @Test("a mechanism is weaker by its hash function or without its binding")
    func strength() {
      #expect(SASLMechanism.plain.isWeaker(than: .scramSHA1))
      #expect(SASLMechanism.scramSHA512.isWeaker(than: .scramSHA256Plus))
      #expect(!SASLMechanism.scramSHA256Plus.isWeaker(than: .scramSHA256))
      #expect(SASLMechanism.scramSHA256Plus.isWeaker(than: .scramSHA512))
      for mechanism in SASLMechanism.allCases { #expect(!mechanism.isWeaker(than: mechanism)) }
    }

    @Test("bytes in base64 come back, and other spellings of them are refused")
    func base64() {
      for count in 0..<70 {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 37) }
        #expect(Base64.bytes(Base64.text(bytes)) == bytes)
      }
      #expect(Base64.text(Array("foobar".utf8)) == "Zm9vYmFy" && Base64.text([0xFB]) == "+w==")
      for text in ["A", "AA", "AAA", "A===", "AB==", "AAB=", "AA=A", "AAAA====", "AA-A", "AA\n="] {
        #expect(Base64.bytes(text) == nil, "\(text)")
      }
    }
  }
#endif

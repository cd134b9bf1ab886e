#if Messaging
  /// The messages of SCRAM (RFC 5802, §7), and the computation of the client's proof.
  package enum SCRAM {
    /// The first message of the client, which it later proves that it sent.
    package struct ClientFirst: Hashable, Sendable {
      /// Whether the exchange is bound to a TLS connection, and which data are.
      package enum Binding: Hashable, Sendable {
        /// The client has no binding.
        case unsupported
        /// The client has one, and believes that the server has none.
        case unused
        case bound(name: String, data: [UInt8])
      }

      package var user: String
      package var nonce: String
      package var binding: Binding

      /// - Parameter nonce: Printable characters without commas, new for each exchange and not predictable.
      package init(user: String, nonce: String, binding: Binding) {
        self.user = user
        self.nonce = nonce
        self.binding = binding
      }

      /// The header of GS2: no identity to act as (RFC 5801, §4).
      var header: String {
        switch binding {
        case .unsupported: "n,,"
        case .unused: "y,,"
        case .bound(let name, _): "p=\(name),,"
        }
      }

      var bare: String { "n=\(Self.escaped(user)),r=\(nonce)" }

      package var bytes: [UInt8] { Array((header + bare).utf8) }

      private static func escaped(_ name: String) -> String {
        var text = ""
        for character in name.unicodeScalars {
          switch character {
          case "=": text += "=3D"
          case ",": text += "=2C"
          default: text.unicodeScalars.append(character)
          }
        }
        return text
      }
    }

    /// The first message of the server.
    package struct ServerFirst: Hashable, Sendable {
      /// The client's nonce, continued by the server.
      package var nonce: String
      package var salt: [UInt8]
      package var iterations: Int
      /// The digest of what the server offered (XEP-0474, §5.1); nil if it sends none, empty if it is not base64.
      package var offerDigest: [UInt8]?
      /// The message itself, which is authenticated.
      let text: String

      /// Reads the server's answer to the first message of a client.
      package init(
        _ bytes: [UInt8], answering first: ClientFirst, iterations range: ClosedRange<Int>
      ) throws(SCRAMError) {
        let fields = try SCRAM.fields(bytes)
        text = String(decoding: bytes, as: UTF8.self)
        // A mandatory extension, which this client doesn't know, comes first (§5.1).
        guard fields.first?.name != "m" else { throw .unknownExtension }
        guard fields.count >= 3, fields[0].name == "r", fields[1].name == "s",
          fields[2].name == "i", let salt = Base64.bytes(fields[1].value), !salt.isEmpty,
          let iterations = Int(fields[2].value)
        else { throw .malformed }
        nonce = String(fields[0].value)
        guard nonce.utf8.starts(with: first.nonce.utf8), nonce.utf8.count > first.nonce.utf8.count
        else { throw .wrongNonce }
        guard range.contains(iterations) else { throw .iterations(iterations, allowed: range) }
        self.salt = salt
        self.iterations = iterations
        offerDigest = fields.first { $0.name == "h" }.map { Base64.bytes($0.value) ?? [] }
      }
    }

    /// The last message of the client, without the proof: the text that both ends authenticate.
    static func withoutProof(_ first: ClientFirst, nonce: String) -> String {
      var binding = Array(first.header.utf8)
      if case .bound(_, let data) = first.binding { binding += data }
      return "c=\(Base64.text(binding)),r=\(nonce)"
    }

    /// What the proof is computed from.
    ///
    /// - Parameter offer: What the server has offered on this connection, as it arrived.
    package static func input(
      _ hash: SCRAMHash, _ first: ClientFirst, _ answer: ServerFirst, offer: SASLOffer = SASLOffer()
    ) -> SCRAMInput {
      let withoutProof = withoutProof(first, nonce: answer.nonce)
      return SCRAMInput(
        hash: hash, salt: answer.salt, iterations: answer.iterations,
        message: Array("\(first.bare),\(answer.text),\(withoutProof)".utf8),
        offer: answer.offerDigest.map { (offer.text, $0) }.map(SCRAMInput.Offer.init))
    }

    /// The last message of the client.
    package static func clientFinal(
      _ first: ClientFirst, _ answer: ServerFirst, _ proof: SCRAMProof
    ) -> [UInt8] {
      let withoutProof = withoutProof(first, nonce: answer.nonce)
      return Array("\(withoutProof),p=\(Base64.text(proof.clientProof))".utf8)
    }

    /// Checks the last message of the server: only a server that knows the password's derivation can have signed it.
    package static func check(_ serverFinal: [UInt8], _ proof: SCRAMProof) throws(SCRAMError) {
      let fields = try fields(serverFinal)
      if let error = fields.first, error.name == "e" {
        throw .server(String(error.value.prefix(256)))
      }
      guard let first = fields.first, first.name == "v", let signature = Base64.bytes(first.value)
      else { throw .malformed }
      guard signature == proof.serverSignature else { throw .wrongSignature }
    }

    /// The attributes of a message: a letter, "=" and a value each (§5.1).
    private static func fields(
      _ bytes: [UInt8]
    ) throws(SCRAMError) -> [(name: Character, value: Substring)] {
      // Servers' messages have some hundred bytes.
      guard bytes.count <= 4_096, let text = String(validating: bytes, as: UTF8.self) else {
        throw .malformed
      }
      var fields: [(name: Character, value: Substring)] = []
      for part in text.split(separator: ",", omittingEmptySubsequences: false) {
        guard let name = part.first, name.isASCII, name.isLetter, part.dropFirst().first == "="
        else {
          throw .malformed
        }
        fields.append((name, part.dropFirst(2)))
      }
      return fields
    }
  }

  /// What a proof of SCRAM is computed from, with the password.
  package struct SCRAMInput: Hashable, Sendable {
    package var hash: SCRAMHash
    package var salt: [UInt8]
    /// Within the bounds that the machine was given.
    package var iterations: Int
    /// `AuthMessage` of RFC 5802, §3.
    package var message: [UInt8]
    /// What has to be compared before the proof is computed; nil if the server protects its offer by no digest.
    package var offer: Offer?

    /// The offer as it arrived, and the digest of the offer as the server sent it (XEP-0474).
    package struct Offer: Hashable, Sendable {
      package var text: [UInt8]
      package var digest: [UInt8]
    }
  }

  /// The result: what the client sends, and what a server that knows the password's derivation answers.
  package struct SCRAMProof: Hashable, Sendable {
    package var clientProof: [UInt8]
    package var serverSignature: [UInt8]

    package init(clientProof: [UInt8], serverSignature: [UInt8]) {
      self.clientProof = clientProof
      self.serverSignature = serverSignature
    }
  }

  /// The functions that SCRAM needs of a library for cryptography. Called by a host, off its event loop: deriving a key
  /// takes milliseconds to seconds.
  package protocol SCRAMFunctions {
    /// PBKDF2 with HMAC, for a key as long as the digest (RFC 5802, §2.2: `Hi`); nil if the library fails.
    func derivedKey(
      _ hash: SCRAMHash, password: [UInt8], salt: [UInt8], iterations: Int
    ) -> [UInt8]?
    func authenticationCode(_ hash: SCRAMHash, key: [UInt8], _ message: [UInt8]) -> [UInt8]?
    func digest(_ hash: SCRAMHash, _ message: [UInt8]) -> [UInt8]?
  }

  extension SCRAMFunctions {
    /// Whether the offer arrived as the server sent it; true if the server sends no digest of it.
    ///
    /// The digest is a part of the message that the proof authenticates: an attacker who changes it as well makes the
    /// server refuse the proof.
    package func confirmsOffer(of input: SCRAMInput) -> Bool {
      input.offer.map { digest(input.hash, $0.text) == $0.digest } ?? true
    }

    /// The proof that a client knows a password (RFC 5802, §3); nil if a function of the library fails.
    package func proof(of input: SCRAMInput, password: String) -> SCRAMProof? {
      let hash = input.hash
      guard
        let salted = derivedKey(
          hash, password: Array(password.utf8), salt: input.salt, iterations: input.iterations),
        let clientKey = authenticationCode(hash, key: salted, Array("Client Key".utf8)),
        let storedKey = digest(hash, clientKey),
        let clientSignature = authenticationCode(hash, key: storedKey, input.message),
        let serverKey = authenticationCode(hash, key: salted, Array("Server Key".utf8)),
        let serverSignature = authenticationCode(hash, key: serverKey, input.message),
        clientKey.count == clientSignature.count
      else { return nil }
      return SCRAMProof(
        clientProof: zip(clientKey, clientSignature).map { $0 ^ $1 },
        serverSignature: serverSignature)
    }
  }

  /// The reason why an exchange of SCRAM failed.
  package enum SCRAMError: Error, Hashable, Sendable {
    case malformed
    /// The server demands an extension.
    case unknownExtension
    /// The server's nonce doesn't continue the client's.
    case wrongNonce
    case iterations(Int, allowed: ClosedRange<Int>)
    /// The server doesn't know the password's derivation.
    case wrongSignature
    /// The server's own word for the error (§7).
    case server(String)
  }
#endif

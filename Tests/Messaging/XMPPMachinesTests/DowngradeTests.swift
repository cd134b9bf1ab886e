#if Messaging
  import Essentials
  import Testing
  import XMPPWire

  @testable import XMPPMachines

  @Suite("A man in the middle of an authentication")
  struct DowngradeTests {
    private static let bindings = ChannelBindings(exporter: [1, 2], serverEndPoint: [3])
    private static let names = ["SCRAM-SHA-256", "SCRAM-SHA-256-PLUS"]

    /// A stream that has authenticated once, bound to TLS.
    private static func bound() throws -> ScriptedStream {
      var stream = try ScriptedStream()
      stream.open(bindings)
      stream.sendFeatures([
        ScriptedStream.mechanisms(names), ScriptedStream.bindings(["tls-exporter"]),
      ])
      stream.challenge()
      stream.answerComputation()
      stream.receive(SASLElement.success(Array("v=\(Base64.text([7]))".utf8)).element)
      #expect(stream.records == [.proven(.scramSHA256Plus)])
      return stream
    }

    @Test("the binding of the exporter is preferred to that of the certificate")
    func preferred() throws {
      var stream = try ScriptedStream()
      stream.open(Self.bindings)
      stream.sendFeatures([
        ScriptedStream.mechanisms(Self.names),
        ScriptedStream.bindings(["tls-server-end-point", "tls-exporter", "tls-unique"]),
      ])
      let auth = try #require(stream.written.first.flatMap { SASLElement($0) })
      guard case .auth("SCRAM-SHA-256-PLUS", let data) = auth else {
        Issue.record("\(auth)")
        return
      }
      #expect(data.starts(with: Array("p=tls-exporter,,".utf8)))
      stream.challenge()
      stream.answerComputation()
      guard case .response(let response)? = stream.written.first.flatMap({ SASLElement($0) }) else {
        Issue.record("No response was sent.")
        return
      }
      let header = Base64.text(Array("p=tls-exporter,,".utf8) + [1, 2])
      #expect(
        String(decoding: response, as: UTF8.self).hasPrefix("c=\(header),r=noncex,p="))
    }

    @Test(
      "an account that was bound to TLS once is never authenticated without that",
      arguments: [
        ["SCRAM-SHA-256"], ["SCRAM-SHA-512"], ["SCRAM-SHA-1-PLUS"],
      ])
    func removedMechanism(offered: [String]) throws {
      var stream = try Self.bound()
      stream.handle(.closed(.transport("reset")))
      stream.handle(.start)
      stream.handle(.opened(isEncrypted: true, Self.bindings, nonce: "nonce2"))
      stream.sendFeatures([
        ScriptedStream.mechanisms(offered), ScriptedStream.bindings(["tls-exporter"]),
      ])
      #expect(stream.failure == .downgrade(offered: offered, proven: .scramSHA256Plus))
      #expect(stream.written.isEmpty, "Something of the account was shown.")
    }

    @Test(
      "an account that was bound to TLS once refuses an offer without a usable type of binding",
      arguments: [nil, [], ["tls-unique"]] as [[String]?])
    func removedBindings(types: [String]?) throws {
      var stream = try Self.bound()
      stream.handle(.closed(.transport("reset")))
      stream.handle(.start)
      stream.handle(.opened(isEncrypted: true, Self.bindings, nonce: "nonce2"))
      stream.sendFeatures(
        [ScriptedStream.mechanisms(Self.names)]
          + (types.map { [ScriptedStream.bindings($0)] } ?? []))
      #expect(stream.failure == .downgrade(offered: Self.names, proven: .scramSHA256Plus))
    }

    @Test("the offer that arrived is compared with the server's digest of it")
    func offer() throws {
      var stream = try ScriptedStream()
      stream.open(Self.bindings)
      stream.sendFeatures([
        ScriptedStream.mechanisms(["SCRAM-SHA-256"]), ScriptedStream.bindings(["tls-unique"]),
      ])
      stream.challenge("r=noncex,s=QQ==,i=4096,h=QUJD")
      guard case .compute(.scram(let input)) = try #require(stream.actions.last) else {
        Issue.record("\(stream.actions)")
        return
      }
      let offer = try #require(input.offer)
      #expect(offer.digest == Array("ABC".utf8))
      #expect(offer.text == Array("SCRAM-SHA-256\u{1F}tls-unique".utf8))
      stream.handle(.credentials(.offerChanged, for: .scram(input)))
      #expect(stream.failure == .offerChanged)
      #expect(stream.written.isEmpty && stream.records.isEmpty)
      #expect(try #require(stream.retryAt) >= stream.now + .seconds(60))
    }

    @Test("a digest that is no base64 is another digest than the offer's")
    func badDigest() throws {
      var stream = try ScriptedStream()
      stream.open()
      stream.sendFeatures([ScriptedStream.mechanisms(["SCRAM-SHA-256"])])
      stream.challenge("r=noncex,s=QQ==,i=4096,h=%")
      guard case .compute(.scram(let input)) = try #require(stream.actions.last) else {
        Issue.record("\(stream.actions)")
        return
      }
      #expect(input.offer?.digest.isEmpty == true)
    }
  }
#endif

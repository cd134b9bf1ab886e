#if Messaging
  import Testing

  @testable import XMPPWire

  @Suite("Elements of the extensible SASL profile")
  struct ExtensibleElementTests {
    private static func element(_ text: String) throws -> XMLElement {
      let parser = XMLStreamParser()
      parser.append(XMLWriter.opening(StreamHeader()) + Array(text.utf8))
      _ = try parser.next()
      guard case .element(let element)? = try parser.next() else {
        throw XMLStreamError.notAStream
      }
      return element
    }

    @Test func `Features of XEP-0386 and XEP-0484 are read, and come back as written`() throws {
      let features = try Self.element(
        """
        <stream:features>
          <authentication xmlns='urn:xmpp:sasl:2'>
            <mechanism>SCRAM-SHA-1</mechanism><mechanism>SCRAM-SHA-1-PLUS</mechanism>
            <inline>
              <bind xmlns='urn:xmpp:bind:0'><inline>
                <feature var="urn:xmpp:carbons:2" /><feature var="urn:xmpp:csi:0" />
                <feature var="urn:xmpp:sm:3" /></inline></bind>
              <sm xmlns='urn:xmpp:sm:3'/>
              <fast xmlns='urn:xmpp:fast:0' tls-0rtt='true'>
                <mechanism>HT-SHA-256-ENDP</mechanism><mechanism>HT-SHA-256-NONE</mechanism></fast>
            </inline>
          </authentication>
        </stream:features>
        """)
      let feature = try #require(StreamFeatures(features)?.extensible)
      #expect(feature.mechanisms == ["SCRAM-SHA-1", "SCRAM-SHA-1-PLUS"])
      #expect(feature.offersResumption)
      #expect(
        feature.sessionFeatures == [
          Namespace.carbons, Namespace.clientState, Namespace.streamManagement,
        ])
      #expect(feature.tokenMechanisms == ["HT-SHA-256-ENDP", "HT-SHA-256-NONE"])
      #expect(ExtensibleFeature(feature.element) == feature)
      let plain = ExtensibleFeature(XMLElement("authentication", Namespace.extensibleSASL))
      #expect(plain == ExtensibleFeature(mechanisms: []))
    }

    @Test func `A success of XEP-0484 has its token and its session`() throws {
      let success = try #require(
        ExtensibleSuccess(
          try Self.element(
            """
            <success xmlns='urn:xmpp:sasl:2'>
              <additional-data> dj1tc1ZIcy9CeklPSERxWGVWSDdFbW1EdTlpZDg9
              </additional-data>
              <authorization-identifier>user@example.com/AwesomeXMPP.4232f4d4</authorization-identifier>
              <bound xmlns='urn:xmpp:bind:0'>
                <enabled xmlns='urn:xmpp:sm:3' id='s1' resume='1' max='300'/></bound>
              <token xmlns='urn:xmpp:fast:0' expiry='2020-03-12T14:36:15Z' token='WXZzciBw' />
            </success>
            """)))
      // The text of XEP-0388, §2.6.1.
      #expect(success.data == Array("v=msVHs/BzIOHDqXeVH7EmmDu9id8=".utf8))
      #expect(success.token == "WXZzciBw" && success.resumption == nil)
      let binding = try #require(success.binding)
      #expect(binding.jid.resource == "AwesomeXMPP.4232f4d4")
      guard case .enabled(let values)? = binding.management else {
        Issue.record("\(success)")
        return
      }
      #expect(values.id == "s1" && values.secondsMax == 300)
      #expect(ExtensibleSuccess(success.element) == success)
    }

    @Test(
      "A malformed success is no success, or lacks what is malformed",
      arguments: [
        "<additional-data>%</additional-data>", "<additional-data>QQ</additional-data>",
      ])
    func badData(content: String) throws {
      let text = "<success xmlns='urn:xmpp:sasl:2'>\(content)</success>"
      #expect(ExtensibleSuccess(try Self.element(text)) == nil)
    }

    @Test func `A session needs a full address, and a token some text`() throws {
      for content in [
        "<authorization-identifier>a@b</authorization-identifier><bound xmlns='urn:xmpp:bind:0'/>",
        "<authorization-identifier>@</authorization-identifier><bound xmlns='urn:xmpp:bind:0'/>",
        "<bound xmlns='urn:xmpp:bind:0'/>", "<token xmlns='urn:xmpp:fast:0'/>",
        "<token xmlns='urn:xmpp:fast:0' token=''/>",
        "<authorization-identifier>a@b/c</authorization-identifier><bound xmlns='urn:x'/>",
      ] {
        let text = "<success xmlns='urn:xmpp:sasl:2'>\(content)</success>"
        let success = try #require(ExtensibleSuccess(try Self.element(text)))
        #expect(success.binding == nil && success.token == nil, "\(content)")
      }
    }

    @Test func `A failure has its condition in the namespace of RFC 6120`() throws {
      let element = try Self.element(
        """
        <failure xmlns='urn:xmpp:sasl:2'><aborted xmlns='urn:ietf:params:xml:ns:xmpp-sasl'/>
        <text>This is a terrible example.</text></failure>
        """)
      let failure = SASLFailure(.aborted, text: "This is a terrible example.")
      #expect(SASLElement(element, profile: .extensible) == .failure(failure))
      #expect(SASLElement(element) == nil)
      #expect(
        SASLElement(SASLElement.failure(failure).element(.extensible), profile: .extensible)
          == .failure(failure))
      // A server's module writes conditions in its own namespace.
      let own = try Self.element("<failure xmlns='urn:xmpp:sasl:2'><malformed-request/></failure>")
      #expect(
        SASLElement(own, profile: .extensible) == .failure(SASLFailure(.malformedRequest)))
    }

    @Test func `A request comes back as it was written`() {
      let request = ExtensibleRequest(
        mechanism: "HT-SHA-256-EXPR", [1, 0, 2],
        client: .init(id: "d4565fa7-4d72-4749-b3d3-740edbf87770", software: "Ambit"),
        children: [
          StreamManagement.resume(previous: "s", handled: 7).element,
          InlineBinding(tag: "Ambit", children: [Carbon.enable]).element,
          TokenElement.request(.exporter), TokenElement.use,
        ])
      #expect(ExtensibleRequest(request.element) == request)
      #expect(ExtensibleRequest(XMLElement("authenticate", Namespace.extensibleSASL)) == nil)
    }

    @Test func `The codes of a token are those of the draft, and no description shows it`() throws {
      let token = SASLToken(.exporter, secret: "secret")
      let proof = try #require(PlainFunctions().proof(of: TokenInput(token, binding: [1, 2])))
      #expect(
        proof.initiator
          == PlainFunctions().authenticationCode(
            .sha256, key: Array("secret".utf8), Array("Initiator".utf8) + [1, 2]))
      #expect(proof.responder != proof.initiator && proof.responder.count == 32)
      #expect(!"\(token) \(TokenInput(token, binding: []))".contains("secret"))
    }
  }
#endif

#if Messaging
  import Testing

  @testable import XMPPWire

  @Suite("Extensions")
  struct ExtensionTests {
    private static func check<E: XMPPExtension>(_ values: [E]) {
      for value in values {
        let element = value.element
        #expect(E(element) == value, "\(value)")
        // Also through bytes.
        let result = parse(header + XMLWriter.bytes(of: element))
        #expect(result.items.last == .element(element))
        #expect(E(XMLElement(element.name, "urn:other")) == nil)
      }
    }

    @Test("values of all extensions come back as they were written")
    func roundTrips() throws {
      let id = try #require(StanzaID("i1"))
      let jid = try #require(JID("a@b"))
      let time = Timestamp(milliseconds: 1_764_442_800_123)
      var message = MessageStanza(.chat, id: id, from: jid, to: jid)
      message.body = "x"
      let forwarded = Forwarded(message, delay: Delay(time, from: jid))
      Self.check([Receipt.request, .received(id)])
      Self.check([Ping()])
      Self.check([Delay(time), Delay(time, from: jid)])
      Self.check(ProcessingHint.allCases)
      Self.check([ClientState.active, .inactive])
      Self.check([OriginID(id)])
      Self.check([ServerID(id, by: jid)])
      Self.check([EncryptionMark(scheme: "urn:x", name: "X"), EncryptionMark(scheme: "urn:x")])
      Self.check([FallbackMark(for: nil), FallbackMark(for: "urn:x", range: 0..<7)])
      Self.check([forwarded, Forwarded(message)])
      Self.check([Carbon.sent(forwarded), .received(forwarded)])
      Self.check([ResourceBinding.wish(resource: nil), .wish(resource: "r"), .assigned(jid)])
      var page = ResultSet(max: 50, after: "a")
      Self.check([page, ResultSet(max: 10, before: ""), ResultSet()])
      (page.first, page.firstIndex, page.last, page.count) = ("f", 0, "l", 3)
      Self.check([
        ArchiveEnd(isComplete: true, page: page),
        ArchiveEnd(isComplete: false, isStable: false, page: page),
      ])
      Self.check([
        ArchiveQuery(id: "q", page: page),
        ArchiveQuery(id: "q", with: jid, start: time, end: time, afterID: "z", page: page),
      ])
      Self.check([ArchiveResult(query: "q", id: id, forwarded)])
      Self.check([
        ArchiveMetadata(),
        ArchiveMetadata(first: .init(id: id, time: time), last: .init(id: id, time: time)),
      ])
      let form = DataForm(.result, type: "t", fields: [DataForm.Field("f", ["1", "2"])])
      Self.check([form])
      Self.check([
        DiscoInfo(),
        DiscoInfo(
          node: "n", identities: [.init(category: "client", type: "pc", name: "Ambit")],
          features: ["a", "b"], forms: [form]),
      ])
      Self.check([Capabilities(node: "n", verification: "v")])
      let stream = OrderStreamID(high: 1, low: .max)
      Self.check([
        OrderMark(stream: stream, number: 1),
        OrderMark(stream: stream, number: OrderMark.numberMax),
      ])
      Self.check([MissingRequest(stream: stream, numbers: 3...9)])
    }

    @Test("elements of stream management come back as they were written")
    func streamManagement() {
      Self.check([
        StreamManagement.enable(resumes: true), .enable(resumes: false),
        .enabled(.init(id: "s", location: "h:1", secondsMax: 600)), .enabled(.init(id: nil)),
        .resume(previous: "s", handled: .max), .resumed(previous: "s", handled: 0),
        .failed(.itemNotFound, handled: 7), .failed(.unexpectedRequest, handled: nil), .request,
        .answer(handled: 4_294_967_295),
      ])
      for text in ["-1", "4294967296", "x", ""] {
        #expect(StreamManagement(XMLElement("a", Namespace.streamManagement, ["h": text])) == nil)
      }
      // An identifier without resumption is dropped.
      let element = XMLElement("enabled", Namespace.streamManagement, ["id": "s"])
      #expect(StreamManagement(element) == .enabled(.init(id: nil)))
    }

    @Test(
      "malformed marks of order are refused",
      arguments: [
        "stream='x' n='1'", "stream='00000000000000000000000000000001' n='0'",
        "stream='00000000000000000000000000000001' n='-1'",
        "stream='00000000000000000000000000000001' n='9223372036854775808'",
        "stream='0000000000000000000000000000000A' n='1'", "n='1'",
        "stream='00000000000000000000000000000001'",
      ])
    func orderMarks(attributes: String) throws {
      let element = try #require(parsedElement("<order xmlns='\(Namespace.order)' \(attributes)/>"))
      #expect(OrderMark(element) == nil)
    }

    @Test("an identifier of the server counts only if there is one, by the right entity")
    func serverIDs() throws {
      let (own, other) = (try #require(JID("me@a")), try #require(JID("other@a")))
      let (one, two) = (try #require(StanzaID("1")), try #require(StanzaID("2")))
      let forged = ServerID(two, by: other).element
      #expect(ServerID.only(by: own, in: [forged, ServerID(one, by: own).element]) == one)
      #expect(ServerID.only(by: own, in: [forged]) == nil)
      let both = [ServerID(one, by: own).element, ServerID(two, by: own).element]
      #expect(ServerID.only(by: own, in: both) == nil)
    }

    @Test("the text of a client's abilities is the one of XEP-0115, §5.2")
    func capabilities() {
      let info = DiscoInfo(
        identities: [.init(category: "client", type: "pc", name: "Exodus 0.9.1")],
        features: [
          "http://jabber.org/protocol/muc", "http://jabber.org/protocol/disco#items",
          "http://jabber.org/protocol/caps", "http://jabber.org/protocol/disco#info",
        ])
      let digest = PlainFunctions().digest(.sha1, Array(info.verificationText.utf8)) ?? []
      #expect(Base64.text(digest) == "QgayPKawpkPSDYmwT/WM94uAlu0=")
    }

    @Test(
      "times are read in every zone and written in UTC",
      arguments: [
        ("1970-01-01T00:00:00Z", 0), ("2026-11-29T18:20:00.5Z", 1_795_976_400_500),
        ("2000-02-29T12:00:00+02:30", 951_816_600_000), ("1969-07-21T02:56:15Z", -14_159_025_000),
        ("2026-11-29T18:20:00.123456-01:00", 1_795_980_000_123),
        ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
        ("0001-01-01T00:00:00Z", -62_135_596_800_000),
      ] as [(String, Int64)])
    func times(text: String, milliseconds: Int64) throws {
      let time = try #require(Timestamp(text))
      #expect(time.milliseconds == milliseconds)
      #expect(Timestamp(time.description) == time)
    }

    @Test(
      "texts that are no times are refused",
      arguments: [
        "", "2026-11-29", "2026-13-01T00:00:00Z", "2026-11-29T24:00:00Z", "2026-11-29T18:20:00",
        "2026-11-29T18:20:00.Z", "2026-11-29T18:20:00Zx", "2026-11-29 18:20:00Z",
        "20261129T18:20:00",
      ])
    func noTimes(text: String) { #expect(Timestamp(text) == nil) }
  }
#endif

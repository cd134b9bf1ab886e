#if Messaging
  import Testing

  @testable import XMPPWire

  @Suite("Changes of earlier messages")
  struct RevisionTests {
    private static func read(_ text: String) throws -> XMLElement {
      let result = parse(header + Array(text.utf8))
      guard case .element(let element)? = result.items.last else { throw XMLStreamError.restricted }
      return element
    }

    @Test func `Corrections, retractions, reactions and replies come back as written`() throws {
      let id = try #require(StanzaID("m1"))
      let values: [Revision] = [
        .correction(id), .retraction(id), .reactions(id, ["👍", "❤️"]), .reactions(id, []),
      ]
      for value in values { #expect(Revision(value.element) == value) }
      let replies = [Reply(to: id), Reply(to: id, by: JID("bob@x/a"))]
      for value in replies { #expect(Reply(value.element) == value) }
    }

    @Test func `The retraction of earlier versions of XEP-0424 is one, too`() throws {
      let element = try Self.read(
        "<message><apply-to xmlns='urn:xmpp:fasten:0' id='m1'>"
          + "<retract xmlns='urn:xmpp:message-retract:0'/></apply-to></message>")
      #expect(Revision.first(in: element.children) == .retraction(try #require(StanzaID("m1"))))
    }

    @Test(
      arguments: [
        "<replace xmlns='urn:xmpp:message-correct:0'/>", "<replace xmlns='urn:other' id='1'/>",
        "<reactions xmlns='urn:xmpp:reactions:0' id=''/>",
        "<apply-to xmlns='urn:xmpp:fasten:0' id='1'/>", "<reply xmlns='urn:xmpp:reply:0'/>",
      ])
    func `Without an id or a change there is none`(text: String) throws {
      let children = try Self.read("<message>\(text)</message>").children
      #expect(Revision.first(in: children) == nil && Reply.first(in: children) == nil)
    }

    @Test func `Reactions are bounded in number and length`() throws {
      let long = String(repeating: "x", count: 129)
      let all = [long, ""] + (0..<100).map { "\($0)" }
      let children = all.map { "<reaction>\($0)</reaction>" }.joined()
      let element = try Self.read(
        "<reactions xmlns='urn:xmpp:reactions:0' id='1'>\(children)</reactions>")
      let id = try #require(StanzaID("1"))
      #expect(Revision(element) == .reactions(id, (0..<32).map { "\($0)" }))
    }
  }
#endif

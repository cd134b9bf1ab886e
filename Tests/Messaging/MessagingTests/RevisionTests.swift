#if Messaging
  import Testing

  @testable import Messaging

  @Suite("Entries of the inbox that change earlier messages")
  struct RevisionTests {
    private static func item(_ elements: String, body: String = "") -> InboxItem {
      InboxItem(
        row: 1, kind: .message, peer: "bob@chat.example", body: body, elements: elements,
        originID: "2", arrival: .inOrder, time: 0)
    }

    @Test func `A correction has the new text, and others what they change`() {
      let correction = Self.item(
        "<body>half past &lt;six</body><replace xmlns='urn:xmpp:message-correct:0' id='1'/>")
      #expect(correction.revision == .correction(of: "1", text: "half past <six"))
      #expect(correction.text.isEmpty)
      #expect(
        Self.item("<retract xmlns='urn:xmpp:message-retract:1' id='1'/>").revision
          == .retraction(of: "1"))
      let reactions =
        "<reactions xmlns='urn:xmpp:reactions:0' id='1'><reaction>👍</reaction></reactions>"
      #expect(Self.item(reactions).revision == .reactions(to: "1", ["👍"]))
      #expect(Self.item("", body: "of its own").revision == nil)
      let encrypted =
        "<encrypted xmlns='eu.siacs.conversations.axolotl'/><body>It is encrypted.</body>"
      #expect(
        Self.item(encrypted + "<replace xmlns='urn:xmpp:message-correct:0' id='1'/>").revision
          == nil)
    }

    @Test func `An answer names its message, and its text has no quotation`() {
      let reply = "<reply xmlns='urn:xmpp:reply:0' to='ann@x/a' id='1'/>"
      let mark =
        "<fallback xmlns='urn:xmpp:fallback:0' for='urn:xmpp:reply:0'><body start='0' end='9'/></fallback>"
      let answer = Self.item(reply + mark, body: "> Lunch?\nYes 👍")
      #expect(answer.repliedID == "1" && answer.text == "Yes 👍" && answer.revision == nil)
      let beyond = Self.item(reply + mark.replacing("'9'", with: "'900'"), body: "> Lunch?")
      #expect(beyond.text == "")
      #expect(Self.item(reply, body: "Yes").text == "Yes")
      #expect(Self.item(mark, body: "> Lunch?\nYes").repliedID == nil)
    }
  }
#endif

#if Messaging
  import Essentials
  import Testing
  import XMPPMachines
  import XMPPWire

  @testable import MessagingHost

  @Suite("Messages for which the store is searched")
  struct LookupNeedTests {
    private let row = OutgoingRow(
      id: RowID(rawValue: 1), peer: "bob@x", originID: "a",
      order: OrderElement(stream: OrderStreamID(high: 1, low: 2), number: 1),
      content: MessageContent(body: "text"), date: 0)

    private func message(_ kind: InboundMessage.Kind) -> InboundMessage {
      InboundMessage(
        sender: "bob@x", recipient: "ann@x", id: "c", archiveID: "entry", kind: kind, date: 0)
    }

    @Test(
      "A receipt, marker or error of a row in memory needs no search, and one of another row does")
    func receipts() {
      var stored = StoredMessages()
      stored.outgoing = [row]
      let machine = MessageMachine(account: "ann@x", stored: stored, seed: 1, now: .zero, wall: 0)
      func kinds(_ name: String) -> [InboundMessage.Kind] {
        [.receipt(name), .displayed(name), .error("gone", of: name)]
      }
      for kind in kinds("a") { #expect(machine.knowsAll(about: message(kind)), "\(kind)") }
      for kind in kinds("b") { #expect(!machine.knowsAll(about: message(kind)), "\(kind)") }
    }

    @Test("Content is always searched for, and a void of a blocked sender")
    func content() {
      let machine = MessageMachine(
        account: "ann@x", stored: StoredMessages(), seed: 1, now: .zero, wall: 0)
      #expect(!machine.knowsAll(about: message(.content(MessageContent(body: "text")))))
      var void = message(.void)
      #expect(machine.knowsAll(about: void))
      void.isBlocked = true
      #expect(!machine.knowsAll(about: void))
      #expect(MessageMachine.keys(of: void, account: "ann@x") == [.archive("entry")])
    }
  }
#endif

#if Messaging
  import Testing
  import XMPPMachines
  import XMPPWire

  @testable import MessagingHost

  @Suite("Transactions that may wait for others")
  struct BatchTests {
    private let row = RowID(rawValue: 1)
    private let session = StoredSession(
      id: "id", jid: "ann@x/desk", location: nil, inboundCount: 1, outboundCount: 2)

    @Test("The server's acknowledgement of messages and receipts may wait for the next transaction")
    func acknowledgement() {
      var batch = Batch()
      batch.changes = [
        .setFate(row, .acknowledged), .settleReceipt(row), .setSession(session),
        .setInboundCount(1),
      ]
      batch.later = [
        .messages(.fate(row, .acknowledged), session: 1), .messages(.confirm(count: 1), session: 1),
      ]
      #expect(batch.mayWait)
    }

    @Test("A recipient's receipt waits for the next ones, unless it is the last")
    func receipts() {
      var batch = Batch()
      batch.changes = [
        .setFate(row, .received),
        .setOutgoingStream(
          OutgoingStream(peer: "bob@x", stream: OrderStreamID(high: 1, low: 2), peerHasOrder: true)),
        .setInboundCount(1),
      ]
      batch.later = [.messages(.fate(row, .received), session: 1)]
      #expect(batch.mayWait)
      batch.hasLastReceipt = true
      #expect(!batch.mayWait)
    }

    @Test("The app's acknowledgement of a row waits for the next transaction, unless the app waits")
    func acknowledgedRow() {
      var batch = Batch()
      batch.changes = [.acknowledgeIncoming(sequence: 1)]
      #expect(batch.mayWait)
      batch.later = [.call { _ in }]
      #expect(!batch.mayWait)
    }

    @Test("A reader's marker, a message of the app and the end of a session don't wait")
    func others() {
      for change in [
        .setFate(row, .displayed), .setFate(row, .failed(.deadline)), .setPosition(row, 1),
        .setSession(nil),
      ] as [MessageChange] {
        var batch = Batch()
        batch.changes = [.settleReceipt(row), change]
        #expect(!batch.mayWait, "\(change)")
      }
      var batch = Batch()
      batch.changes = [.settleReceipt(row)]
      batch.accepted = [.accepted(ticket: 1, row)]
      #expect(!batch.mayWait)
    }

    @Test("Nothing waits with bytes for the server or an answer for the app, nor do many changes")
    func bounds() {
      let later: [Batch.Later] = [
        .stream(.write([])), .call { _ in }, .messages(.caughtUp(isWhole: true), session: 1),
      ]
      for action in later {
        var batch = Batch()
        batch.changes = [.settleReceipt(row)]
        batch.later = [action]
        #expect(!batch.mayWait)
      }
      var batch = Batch()
      batch.changes = (1...65).map { .settleReceipt(RowID(rawValue: $0)) }
      #expect(!batch.mayWait)
    }
  }
#endif

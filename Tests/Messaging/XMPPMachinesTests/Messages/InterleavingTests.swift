#if Messaging
  import Essentials
  import Foundation
  import Testing
  @testable import XMPPMachines
  import XMPPWire

  /// One sender, a server that loses nothing, and a network that ends at any moment.
  private struct SenderModel {
    enum Step: CaseIterable { case send, arrive, confirm, cut, resume, renew, restart }

    var bench = MachineBench()
    /// Messages that the server has, in the order of their arrival.
    var archive: [InboundMessage] = []
    /// Stanzas of the session that have not arrived.
    var network: [OutboundStanza] = []
    /// Rows that have arrived in the session and are not confirmed.
    var arrived: [RowID] = []
    var isConnected = false
    var hasSession = false
    var sentCount = 0

    func mayDo(_ step: Step) -> Bool {
      switch step {
      case .send: sentCount < 3
      case .arrive: isConnected && !network.isEmpty
      case .confirm: isConnected && !arrived.isEmpty
      case .cut: isConnected
      case .resume: !isConnected && hasSession
      case .renew: !isConnected
      case .restart: true
      }
    }

    mutating func perform(_ step: Step) {
      switch step {
      case .send:
        sentCount += 1
        bench.send("\(sentCount)")
        take()
      case .arrive: arrive()
      case .confirm:
        bench.handle(.handled(arrived))
        arrived = []
        take()
      case .cut:
        isConnected = false
        network = []
        bench.handle(.disconnected(streamError: nil))
      case .resume:
        isConnected = true
        bench.handle(.handled(arrived))
        arrived = []
        bench.connect(isResumed: true, hasArchive: true)
        let new = bench.sent
        // The stream sends again by itself.
        network = bench.machine.underWay.subtracting(new.compactMap(\.row)).sorted().compactMap {
          guard let row = bench.store.outgoing[$0], let content = row.content else { return nil }
          return OutboundStanza(
            recipient: row.peer, kind: .message(originID: row.originID, row.order, content),
            row: row.id)
        }
        network += new
        answer()
      case .renew:
        isConnected = true
        hasSession = true
        network = []
        arrived = []
        bench.handle(
          .session(
            StoredSession(
              id: "\(archive.count) \(bench.now)", jid: "a@x/1", location: nil, inboundCount: 0,
              outboundCount: 0)))
        bench.connect(hasArchive: true)
        take()
        answer()
      case .restart:
        isConnected = false
        network = []
        bench.restart()
      }
    }

    private mutating func arrive() {
      let stanza = network.removeFirst()
      guard case .message(let id, let order, let content) = stanza.kind else { return }
      archive.append(
        InboundMessage(
          sender: "a@x", recipient: "b@x", id: id, order: order, kind: .content(content), date: 1))
      if let row = stanza.row { arrived.append(row) }
    }

    /// Takes what the machine sends.
    private mutating func take() {
      network += bench.sent
      // The driver stores the position before the bytes leave.
      for stanza in bench.sent {
        if let row = stanza.row { bench.store.apply([.setPosition(row, 1)]) }
      }
    }

    private mutating func answer() {
      guard bench.machine.archive.isRunning else { return }
      bench.page(archive.enumerated().map { ("\($0.offset)", $0.element) })
      take()
    }

    /// Everything goes well from now on.
    mutating func finish() {
      if isConnected { perform(.cut) }
      perform(.renew)
      while !network.isEmpty {
        perform(.arrive)
        perform(.confirm)
      }
    }
  }

  @Suite("Interleavings of sending, sessions and processes")
  struct InterleavingTests {
    /// With optimized machines (`./test`), two steps more take the same time.
    private static let depth =
      ProcessInfo.processInfo.environment["AMBIT_OPTIMIZED_MACHINES"] == nil ? 5 : 7

    @Test("the server has each message once and in order after any steps")
    func interleavings() {
      var runCount = 0
      var findings: [String] = []
      var path: [SenderModel.Step] = []
      func follow(_ model: SenderModel, _ depth: Int) {
        if findings.count > 5 { return }
        if depth == 0 {
          runCount += 1
          var end = model
          end.finish()
          let texts = end.archive.compactMap { message -> String? in
            if case .content(let content) = message.kind { content.body } else { nil }
          }
          let violations = end.bench.machine.violations() + end.bench.store.violations
          if texts != (0..<end.sentCount).map({ "\($0 + 1)" }) || !violations.isEmpty {
            findings.append("\(path): \(texts) \(violations)")
          }
          return
        }
        for step in SenderModel.Step.allCases where model.mayDo(step) {
          var next = model
          next.perform(step)
          path.append(step)
          follow(next, depth - 1)
          path.removeLast()
        }
      }
      follow(SenderModel(), Self.depth)
      #expect(findings.isEmpty, "\(findings.joined(separator: "\n"))")
      #expect(runCount > 100, "\(runCount) runs")
    }

    private static func third(_ stream: OrderStreamID) -> InboundMessage {
      InboundMessage(
        sender: "b@x", recipient: "a@x", id: nil,
        order: OrderElement(stream: stream, number: 3, since: 1), kind: .void, date: 1)
    }

    @Test("six messages of a stream reach the app in order, in any order of arrival")
    func permutations() {
      let stream = OrderStreamID(high: 1, low: 1)
      var count = 0
      func permute(_ rest: [UInt64], _ bench: MachineBench) {
        let isVoidKnown = !rest.contains(3)
        if rest.isEmpty {
          count += 1
          #expect(bench.texts == ["1", "2", "4", "5", "6"])
          return
        }
        for number in rest {
          var next = bench
          var message = message(
            "\(number)", order: OrderElement(stream: stream, number: number, since: 1))
          // The third one has failed.
          if number == 3 { message = Self.third(stream) }
          next.receive(message)
          // The process ends after every other message.
          if rest.count % 2 == 0 {
            next.restart()
            next.connect()
            // A number without a row is forgotten, and is sent again on request.
            if number == 3 || isVoidKnown { next.receive(Self.third(stream)) }
          }
          permute(rest.filter { $0 != number }, next)
        }
      }
      var bench = MachineBench()
      bench.connect()
      permute([1, 2, 3, 4, 5, 6], bench)
      #expect(count == 720)
    }
  }
#endif

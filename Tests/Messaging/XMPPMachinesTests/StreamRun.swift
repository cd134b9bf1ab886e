#if Messaging
  import Essentials
  import XMPPWire

  @testable import XMPPMachines

  /// A client with its store against a model of a server, over a network that cuts anywhere; the client and the server
  /// crash at any action. All from one seed.
  struct StreamRun {
    /// The client's disk.
    private struct Store {
      enum Row: Equatable {
        case waiting
        case sent(session: UInt64, position: UInt64)
        /// A session ended with the row's fate unknown.
        case unknown
        case done
      }

      /// The rows by their numbers, from 1.
      var rows: [Row] = []
      var session: StreamSession?
      var lastSession: UInt64 = 0
      var token: SASLToken?
      /// The deliveries of each session that were committed.
      var committed: [String: [XMPPWire.XMLElement]] = [:]
    }

    private struct Delivery {
      var session: String
      var number: UInt64
      var count: UInt64
      var element: XMPPWire.XMLElement
    }

    private var machine: StreamMachine
    private var store = Store()
    private(set) var server = ModelServer()
    private(set) var violations: [String] = []
    private(set) var counts = (resumed: 0, began: 0, crashed: 0, resent: 0)
    private var chance: SeededGenerator
    private var now = Instant.zero
    private let parser = XMLStreamParser()
    private let isManaged: Bool
    private var isConnected = false
    private var isOpening = false
    private var toServer: [UInt8] = []
    private var toClient: [UInt8] = []
    private var deliveries: [Delivery] = []
    private var online: StreamOnline?
    /// The action before which the process is killed; nil for none.
    private var crashIn: Int?

    init(seed: UInt64, isManaged: Bool = true, allowsResumption: Bool = true) {
      chance = SeededGenerator(seed: seed)
      if seed % 3 != 0 { server.extensible = Self.feature(seed, isManaged: isManaged) }
      server.sendsFeaturesLast = seed % 5 == 0
      machine = StreamMachine(Self.configuration(seed))
      self.isManaged = isManaged
      server.offersStreamManagement = isManaged
      server.allowsResumption = allowsResumption
    }

    private static func configuration(_ seed: UInt64) -> StreamConfiguration {
      guard let account = JID("me@a") else { preconditionFailure("the address is invalid") }
      var configuration = StreamConfiguration(account: account, seed: seed)
      configuration.unacknowledgedMax = 8
      configuration.times.longestPause = .seconds(4)
      configuration.client = .init(id: "d4565fa7-4d72-4749-b3d3-740edbf87770", software: "Ambit")
      return configuration
    }

    /// The extensible profile with all, some or none of what can be negotiated with it.
    private static func feature(_ seed: UInt64, isManaged: Bool) -> ExtensibleFeature {
      var feature = ExtensibleFeature(mechanisms: ["SCRAM-SHA-256", "SCRAM-SHA-1"])
      feature.offersResumption = isManaged && seed % 2 == 0
      if seed % 4 != 1 {
        feature.sessionFeatures =
          [Namespace.carbons] + (isManaged ? [Namespace.streamManagement] : [])
      }
      if seed % 5 != 2 { feature.tokenMechanisms = ["HT-SHA-256-NONE", "HT-SHA-256-EXPR"] }
      return feature
    }

    /// Runs with faults, and then without until all is at rest.
    mutating func perform(stepCount: Int = 150) {
      handle(.start)
      for _ in 0..<stepCount where violations.isEmpty { step() }
      crashIn = nil
      for _ in 0..<600 where violations.isEmpty && !isAtRest { settle() }
      check()
    }

    private func roll(_ percent: Int, _ chance: inout SeededGenerator) -> Bool {
      Int.random(in: 0..<100, using: &chance) < percent
    }

    private mutating func step() {
      switch Int.random(in: 0..<100, using: &chance) {
      case 0..<18: store.rows.append(.waiting)
      case 18..<40: carryToServer(isWhole: roll(70, &chance))
      case 40..<62: carryToClient(isWhole: roll(70, &chance))
      case 62..<68: if server.connection?.session != nil || !isConnected { server.push() }
      case 68..<76: commit(Int.random(in: 1...4, using: &chance))
      case 76..<84: advance(.milliseconds(Int64.random(in: 1...2_000, using: &chance)))
      case 84..<88: server.requestAcknowledgement()
      case 88..<91: cut()
      case 91..<92: advance(.seconds(Int64.random(in: 20...90, using: &chance)))
      case 92..<94: crashIn = Int.random(in: 0...6, using: &chance)
      case 94: server.expire(remembersCounts: Bool.random(using: &chance))
      case 95:
        if roll(40, &chance) { crashServer() }
        if roll(30, &chance) { server.forgetTokens() }
      case 96: handle(.networkChanged)
      case 97:
        handle(.stop(keepsSession: Bool.random(using: &chance)))
        handle(.start)
      case 98: handle(.clientState(Bool.random(using: &chance) ? .active : .inactive))
      default: handle(.start)
      }
      openIfAsked(fails: roll(20, &chance))
      if roll(70, &chance) { sendWaiting() }
    }

    private mutating func settle() {
      handle(.start)
      openIfAsked(fails: false)
      carryToServer(isWhole: true)
      carryToClient(isWhole: true)
      commit(.max)
      sendWaiting()
      advance(.milliseconds(700))
    }

    private var isAtRest: Bool {
      online != nil && store.rows.allSatisfy { $0 == .done } && toServer.isEmpty && toClient.isEmpty
        && deliveries.isEmpty && server.output.isEmpty
    }

    private mutating func check() {
      violations += server.violations + machine.violations()
      if !isAtRest { violations.append("no rest: \(store.rows), \(String(describing: online))") }
      let expected = store.rows.indices.map { "\($0 + 1)" }
      if server.archive != expected { violations.append("the archive has \(server.archive)") }
      if isManaged, let id = store.session?.id, let log = server.sessions[id]?.log {
        if store.committed[id] ?? [] != log { violations.append("not all of \(id) was delivered") }
      }
    }

    // MARK: The network

    private mutating func openIfAsked(fails: Bool) {
      guard isOpening else { return }
      isOpening = false
      guard !fails else { return handle(.closed(.transport("refused"))) }
      isConnected = true
      let isEncrypted = Bool.random(using: &chance)
      server.open(isEncrypted: isEncrypted)
      (toServer, toClient) = ([], [])
      parser.restart()
      handle(.opened(isEncrypted: isEncrypted, ChannelBindings(), nonce: "nonce"))
      // Most negotiations succeed: faults are to meet sessions.
      guard roll(85, &chance) else { return }
      for _ in 0..<Int.random(in: 6...20, using: &chance) {
        carryToServer(isWhole: true)
        carryToClient(isWhole: true)
      }
    }

    private mutating func carryToServer(isWhole: Bool) {
      guard isConnected else { return }
      let count = isWhole ? toServer.count : Int.random(in: 0...toServer.count, using: &chance)
      server.receive(Array(toServer.prefix(count)))
      toServer.removeFirst(count)
      toClient += server.takeOutput()
    }

    private mutating func carryToClient(isWhole: Bool) {
      guard isConnected else { return }
      toClient += server.takeOutput()
      let count = isWhole ? toClient.count : Int.random(in: 0...toClient.count, using: &chance)
      parser.append(toClient.prefix(count))
      toClient.removeFirst(count)
      do throws(XMLStreamError) {
        while isConnected, let item = try parser.next() { handle(.received(item)) }
      } catch {
        violations.append("the server sent \(error)")
      }
    }

    /// The connection breaks; some of the sent bytes have arrived.
    private mutating func cut() {
      guard isConnected else { return }
      if Bool.random(using: &chance) { carryToServer(isWhole: false) }
      disconnect()
      handle(.closed(.transport("reset")))
    }

    private mutating func disconnect() {
      isConnected = false
      isOpening = false
      (toServer, toClient) = ([], [])
      server.close()
    }

    private mutating func crashServer() {
      server.restart()
      guard isConnected else { return }
      disconnect()
      handle(.closed(.transport("reset")))
    }

    private mutating func advance(_ span: TimeSpan) {
      now = now + span
      guard let due = machine.nextWake, due <= now else { return }
      var actions: [StreamMachine.Action] = []
      machine.wake(now: now, into: &actions)
      perform(actions)
    }

    // MARK: The process

    private mutating func handle(_ event: StreamMachine.Event) {
      var actions: [StreamMachine.Action] = []
      machine.handle(event, now: now, into: &actions)
      perform(actions)
    }

    private mutating func perform(_ actions: [StreamMachine.Action]) {
      for action in actions {
        if let count = crashIn {
          guard count > 0 else { return crash() }
          crashIn = count - 1
        }
        perform(action)
      }
    }

    /// The process is killed, and starts again with the content of its disk.
    private mutating func crash() {
      counts.crashed += 1
      crashIn = nil
      disconnect()
      deliveries = []
      online = nil
      var sent: [SentStanza] = []
      for (index, row) in store.rows.enumerated() {
        guard case .sent(let session, let position) = row else { continue }
        if session == store.session?.number {
          sent.append(SentStanza(position: position, stanza(UInt64(index + 1))))
        } else {
          store.rows[index] = .unknown
        }
      }
      var configuration = Self.configuration(chance.next())
      configuration.token = store.token
      machine = StreamMachine(
        configuration, session: store.session, unacknowledged: sent,
        lastSession: store.lastSession)
      handle(.start)
    }

    private mutating func perform(_ action: StreamMachine.Action) {
      switch action {
      case .open: isOpening = true
      case .startTLS:
        parser.restart()
        server.encrypt()
        handle(.encrypted(ChannelBindings()))
      case .restartParser: parser.restart()
      case .write(let bytes): if isConnected { toServer += bytes }
      case .close:
        // Written bytes leave before the end.
        if isConnected, Bool.random(using: &chance) { server.receive(toServer) }
        disconnect()
      case .compute(let request):
        if case .token(let input) = request {
          let proof = TokenProof(initiator: Array(input.token.secret.utf8), responder: [9])
          return handle(.credentials(.token(proof), for: request))
        }
        let proof = SCRAMProof(clientProof: [1], serverSignature: [7])
        handle(.credentials(.scram(proof), for: request))
      case .record(let record): commit(record)
      case .deliver(let element, let count): deliver(element, count)
      case .acknowledged(let rows):
        for row in rows {
          if store.rows[Int(row) - 1] == .done {
            violations.append("row \(row) was acknowledged twice")
          }
          store.rows[Int(row) - 1] = .done
        }
      case .online(let online):
        self.online = online
        if online.isResumed { counts.resumed += 1 } else { counts.began += 1 }
      case .lost(let rows): for row in rows { store.rows[Int(row) - 1] = .unknown }
      case .offline: online = nil
      }
    }

    private mutating func commit(_ record: StreamRecord) {
      switch record {
      case .began(let session):
        if session.number <= store.lastSession {
          violations.append("session \(session.number) again")
        }
        store.session = session
        store.lastSession = session.number
        for (index, row) in store.rows.enumerated() {
          if case .sent = row { store.rows[index] = .unknown }
        }
      case .sent(let row, let position):
        let index = Int(row) - 1
        if case .sent = store.rows[index] { counts.resent += 1 }
        if store.rows[index] == .done {
          violations.append("row \(row) was sent after its acknowledgement")
        }
        store.rows[index] = .sent(session: store.session?.number ?? 0, position: position)
      case .acknowledged(let position): store.session?.acknowledged = position
      case .ended: store.session = nil
      case .token(let token): store.token = token
      case .proven(let mechanism):
        if mechanism != .scramSHA256 { violations.append("\(mechanism) was chosen") }
      }
    }

    private mutating func deliver(_ element: XMPPWire.XMLElement, _ count: UInt64) {
      guard let session = store.session, count > 0 else { return }
      deliveries.append(
        Delivery(
          session: session.id ?? "none\(session.number)", number: session.number, count: count,
          element: element))
    }

    /// Commits the first deliveries, with what the machine is to acknowledge.
    private mutating func commit(_ count: Int) {
      for delivery in deliveries.prefix(count) {
        store.committed[delivery.session, default: []].append(delivery.element)
        let committed = store.committed[delivery.session]?.count ?? 0
        if committed != Int(delivery.count) {
          violations.append("\(delivery.session): \(committed) deliveries, count \(delivery.count)")
        }
        if let log = server.sessions[delivery.session]?.log,
          log[safe: committed - 1] != delivery.element
        {
          violations.append("\(delivery.session): delivery \(committed) is another one")
        }
        if store.session?.number == delivery.number { store.session?.handled = delivery.count }
      }
      let last = deliveries.prefix(count).last
      deliveries.removeFirst(min(count, deliveries.count))
      if let last { handle(.handled(through: last.count, session: last.number)) }
    }

    private func stanza(_ row: UInt64) -> OutgoingStanza {
      var message = MessageStanza(.chat, id: StanzaID("\(row)"), to: JID("peer@b"))
      message.body = "row \(row)"
      return OutgoingStanza(row: row, message.element)
    }

    /// Sends what waits, in order. The fate of rows of an ended session is read from the archive.
    private mutating func sendWaiting() {
      guard online != nil else { return }
      for (index, row) in store.rows.enumerated() where row == .unknown {
        store.rows[index] = server.archive.contains("\(index + 1)") ? .done : .waiting
      }
      let waiting = store.rows.indices.filter { store.rows[$0] == .waiting }.prefix(machine.room)
      if !waiting.isEmpty { handle(.send(waiting.map { stanza(UInt64($0 + 1)) })) }
    }
  }
#endif

#if Messaging
  import XMPPWire

  /// A server of XMPP as far as streams go: it authenticates anybody, counts as XEP-0198 demands, keeps sessions of
  /// clients that are gone, and archives messages in the order in which they come.
  struct ModelServer {
    struct Session {
      /// The client's stanzas that were handled.
      var handledCount: UInt32 = 0
      /// All stanzas for the client, in their order.
      var log: [XMLElement] = []
      var acknowledgedCount = 0
    }

    struct Connection {
      var isEncrypted: Bool
      var isAuthenticated = false
      var hasHeader = false
      var isEnded = false
      var session: String?
    }

    private(set) var sessions: [String: Session] = [:]
    private(set) var archive: [String] = []
    private(set) var violations: [String] = []
    /// The errors with which the client has ended streams.
    private(set) var clientErrors: [StreamError.Condition] = []
    /// The handled counts of sessions that have expired, if the server remembers them.
    private var expiredCounts: [String: UInt32] = [:]
    private(set) var connection: Connection?
    private let parser = XMLStreamParser()
    private var sessionCount = 0
    private var messageCount = 0
    /// The bytes for the client.
    private(set) var output: [UInt8] = []
    var offersStreamManagement = true
    var allowsResumption = true

    mutating func open(isEncrypted: Bool) {
      connection = Connection(isEncrypted: isEncrypted)
      parser.restart()
      output = []
    }

    mutating func close() {
      connection = nil
      output = []
    }

    mutating func encrypt() {
      parser.restart()
      output = []
      connection?.isEncrypted = true
      connection?.hasHeader = false
    }

    mutating func takeOutput() -> [UInt8] {
      defer { output = [] }
      return output
    }

    /// The server crashes: connection and sessions are gone.
    mutating func restart() {
      close()
      sessions = [:]
      expiredCounts = [:]
    }

    /// Sessions without a connection expire.
    mutating func expire(remembersCounts: Bool) {
      for (id, session) in sessions where id != connection?.session {
        sessions[id] = nil
        expiredCounts[id] = remembersCounts ? session.handledCount : nil
      }
    }

    mutating func receive(_ bytes: [UInt8]) {
      guard connection?.isEnded == false else { return }
      parser.append(bytes)
      do throws(XMLStreamError) {
        while connection?.isEnded == false, let item = try parser.next() {
          switch item {
          case .header:
            connection?.hasHeader = true
            writeHeader()
          case .element(let element): take(element)
          case .end:
            output += XMLWriter.closing
            connection?.isEnded = true
            if let id = connection?.session { sessions[id] = nil }
          }
        }
      } catch {
        // A client may end its old stream while the server expects a new one.
        if connection?.hasHeader == true { violations.append("the client sent \(error)") }
        connection?.isEnded = true
      }
    }

    /// A message for the client, to the session that is connected or else to one that waits.
    mutating func push() {
      messageCount += 1
      var message = MessageStanza(.chat, id: StanzaID("m\(messageCount)"), from: JID("peer@b/x"))
      message.body = "\(messageCount)"
      if let id = connection?.session ?? sessions.keys.sorted().first {
        send(message.element, to: id)
      }
    }

    mutating func requestAcknowledgement() {
      if connection?.session != nil { write(StreamManagement.request.element) }
    }

    private mutating func send(_ element: XMLElement, to id: String) {
      sessions[id]?.log.append(element)
      if connection?.session == id { write(element) }
    }

    private mutating func write(_ element: XMLElement) { output += XMLWriter.bytes(of: element) }

    private mutating func writeHeader() {
      output += XMLWriter.opening(StreamHeader(from: "a", id: "s"))
      guard let connection else { return }
      var features: [XMLElement] = []
      if !connection.isEncrypted {
        features = [XMLElement("starttls", Namespace.tls)]
      } else if !connection.isAuthenticated {
        let names = ["PLAIN", "SCRAM-SHA-1", "SCRAM-SHA-256"]
        features = [
          XMLElement(
            "mechanisms", Namespace.sasl,
            children: names.map { XMLElement("mechanism", Namespace.sasl, text: $0) })
        ]
      } else {
        features = [XMLElement("bind", Namespace.bind)]
        if offersStreamManagement { features.append(XMLElement("sm", Namespace.streamManagement)) }
      }
      write(XMLElement("features", Namespace.stream, children: features))
    }

    private mutating func take(_ element: XMLElement) {
      if element.has("starttls", Namespace.tls) {
        return write(XMLElement("proceed", Namespace.tls))
      }
      if let message = SASLElement(element) { return take(message) }
      if let error = StreamError(element) {
        clientErrors.append(error.condition)
        return
      }
      guard connection?.isAuthenticated == true else {
        violations.append("\(element.name) came before the authentication")
        return
      }
      if let management = StreamManagement(element) { return take(management) }
      guard let stanza = Stanza(element) else {
        violations.append("\(element.name) is no stanza")
        return
      }
      take(stanza)
    }

    private mutating func take(_ message: SASLElement) {
      if connection?.isEncrypted != true { violations.append("authentication without TLS") }
      switch message {
      case .auth(_, let data):
        let text = String(decoding: data, as: UTF8.self)
        let nonce = text.split(separator: ",").last.map { $0.dropFirst(2) } ?? ""
        write(SASLElement.challenge(Array("r=\(nonce)x,s=QQ==,i=4096".utf8)).element)
      case .response:
        connection?.isAuthenticated = true
        connection?.hasHeader = false
        write(SASLElement.success(Array("v=\(Base64.text([7]))".utf8)).element)
        parser.restart()
      default: violations.append("\(message)")
      }
    }

    private mutating func take(_ management: StreamManagement) {
      switch management {
      case .enable:
        sessionCount += 1
        let id = "session\(sessionCount)"
        sessions[id] = Session()
        connection?.session = id
        write(StreamManagement.enabled(.init(id: allowsResumption ? id : nil)).element)
      case .resume(let id, let handled):
        guard let session = sessions[id] else {
          return write(
            StreamManagement.failed(.itemNotFound, handled: expiredCounts[id]).element)
        }
        connection?.session = id
        acknowledge(handled)
        write(StreamManagement.resumed(previous: id, handled: session.handledCount).element)
        for element in sessions[id]?.log.dropFirst(sessions[id]?.acknowledgedCount ?? 0) ?? [] {
          write(element)
        }
      case .request:
        guard let id = connection?.session, let session = sessions[id] else { return }
        write(StreamManagement.answer(handled: session.handledCount).element)
      case .answer(let handled): acknowledge(handled)
      default: violations.append("\(management)")
      }
    }

    private mutating func acknowledge(_ h: UInt32) {
      guard let id = connection?.session, let session = sessions[id] else { return }
      if Int(h) > session.log.count || Int(h) < session.acknowledgedCount {
        violations.append("h \(h) of \(session.log.count) after \(session.acknowledgedCount)")
      }
      sessions[id]?.acknowledgedCount = Int(h)
    }

    private mutating func take(_ stanza: Stanza) {
      let id = connection?.session
      if let id { sessions[id]?.handledCount &+= 1 }
      switch stanza {
      case .message(let message):
        if id == nil, offersStreamManagement { violations.append("a message without a session") }
        archive.append(message.id?.text ?? "")
      case .presence: break
      case .iq(let iq):
        guard iq.isRequest else { return }
        var answer = iq.result()
        if let binding = iq[ResourceBinding.self], let jid = JID("me@a/r") {
          _ = binding
          answer = iq.result(ResourceBinding.assigned(jid).element)
        }
        if let id { send(answer.element, to: id) } else { write(answer.element) }
      }
    }
  }
#endif

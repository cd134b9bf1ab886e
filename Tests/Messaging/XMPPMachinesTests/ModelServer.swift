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
      var request: ExtensibleRequest?
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
    /// What the server offers of the extensible profile; nil for nothing.
    var extensible: ExtensibleFeature?
    /// Whether stanzas may come between a success and the features, and features may lack after a resumption.
    var sendsFeaturesLast = false
    /// The tokens that are valid, and what has happened to the others.
    private var tokens: [String] = []
    private(set) var tokenCounts = (issued: 0, used: 0, refused: 0)
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
        if let extensible { features.append(extensible.element) }
      } else {
        features = sessionFeatures
      }
      write(XMLElement("features", Namespace.stream, children: features))
    }

    private var sessionFeatures: [XMLElement] {
      [XMLElement("bind", Namespace.bind)]
        + (offersStreamManagement ? [XMLElement("sm", Namespace.streamManagement)] : [])
    }

    private mutating func take(_ element: XMLElement) {
      if element.has("starttls", Namespace.tls) {
        return write(XMLElement("proceed", Namespace.tls))
      }
      if let message = SASLElement(element) { return take(message) }
      if let request = ExtensibleRequest(element) { return take(request) }
      if case .response? = SASLElement(element, profile: .extensible) {
        return succeed(Array("v=\(Base64.text([7]))".utf8))
      }
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

    private mutating func take(_ request: ExtensibleRequest) {
      connection?.request = request
      if connection?.isEncrypted != true { violations.append("authentication without TLS") }
      guard request.mechanism.hasPrefix("HT-") else {
        let text = String(decoding: request.response, as: UTF8.self)
        let nonce = text.split(separator: ",").last.map { $0.dropFirst(2) } ?? ""
        return write(
          SASLElement.challenge(Array("r=\(nonce)x,s=QQ==,i=4096".utf8)).element(.extensible))
      }
      let secret = request.response.split(separator: 0).last.map {
        String(decoding: $0, as: UTF8.self)
      }
      guard let secret, tokens.contains(secret) else {
        tokenCounts.refused += 1
        return write(
          SASLElement.failure(SASLFailure(.credentialsExpired)).element(.extensible))
      }
      tokenCounts.used += 1
      // Earlier tokens end with the use of a later one.
      if let index = tokens.firstIndex(of: secret) { tokens.removeFirst(index) }
      succeed([9])
    }

    /// All tokens are withdrawn.
    mutating func forgetTokens() { tokens = [] }

    private mutating func succeed(_ data: [UInt8]) {
      guard let request = connection?.request else {
        violations.append("a response without a request")
        return
      }
      connection?.isAuthenticated = true
      var success = ExtensibleSuccess(data: data, address: JID("me@a"))
      var repeated: [XMLElement] = []
      let wish = request.children.compactMap { StreamManagement($0) }.first
      if case .resume(let id, let handled)? = wish {
        success.children.append(resume(id, handled, repeated: &repeated).element)
      }
      if connection?.session == nil,
        let binding = request.children.compactMap({ InlineBinding($0) }).first
      {
        success.address = JID("me@a/r")
        let enabled =
          binding.children.contains { StreamManagement($0) != nil } ? [enable().element] : []
        success.children.append(XMLElement("bound", Namespace.inlineBinding, children: enabled))
      }
      let isTokenDue = tokenCounts.used % 3 == 2
      if request.children.contains(where: { $0.name == "request-token" }) || isTokenDue {
        tokenCounts.issued += 1
        tokens.append("token\(tokenCounts.issued)")
        success.children.append(
          XMLElement(
            "token", Namespace.tokens, ["token": tokens.last, "expiry": "2026-12-01T00:00:00Z"]))
      }
      write(success.element)
      let features = XMLElement("features", Namespace.stream, children: sessionFeatures)
      if !sendsFeaturesLast { write(features) }
      for element in repeated { write(element) }
      if sendsFeaturesLast, repeated.isEmpty { write(features) }
    }

    private mutating func enable() -> StreamManagement {
      sessionCount += 1
      let id = "session\(sessionCount)"
      sessions[id] = Session()
      connection?.session = id
      return .enabled(.init(id: allowsResumption ? id : nil))
    }

    private mutating func resume(
      _ id: String, _ handled: UInt32, repeated: inout [XMLElement]
    ) -> StreamManagement {
      guard let session = sessions[id] else {
        return .failed(.itemNotFound, handled: expiredCounts[id])
      }
      connection?.session = id
      acknowledge(handled)
      repeated = Array(sessions[id]?.log.dropFirst(sessions[id]?.acknowledgedCount ?? 0) ?? [])
      return .resumed(previous: id, handled: session.handledCount)
    }

    private mutating func take(_ management: StreamManagement) {
      switch management {
      case .enable: write(enable().element)
      case .resume(let id, let handled):
        var repeated: [XMLElement] = []
        write(resume(id, handled, repeated: &repeated).element)
        for element in repeated { write(element) }
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

#if Messaging
  import Essentials
  import Testing
  import XMPPWire

  @testable import XMPPMachines

  /// A machine whose server is the test: it reads the last actions and chooses the next event.
  struct ScriptedStream {
    private(set) var machine: StreamMachine
    var now = Instant.zero
    /// The actions of the last event.
    private(set) var actions: [StreamMachine.Action] = []

    static func configuration(
      _ change: (inout StreamConfiguration) -> Void = { _ in }
    ) throws -> StreamConfiguration {
      var configuration = StreamConfiguration(account: try #require(JID("me@a")), seed: 1)
      configuration.enablesCarbons = false
      configuration.presence = nil
      change(&configuration)
      return configuration
    }

    init(_ change: (inout StreamConfiguration) -> Void = { _ in }) throws {
      machine = StreamMachine(try Self.configuration(change))
    }

    init(_ machine: StreamMachine) { self.machine = machine }

    mutating func handle(_ event: StreamMachine.Event) {
      actions = []
      machine.handle(event, now: now, into: &actions)
    }

    mutating func wait(_ span: TimeSpan) {
      now = now + span
      actions = []
      while let due = machine.nextWake, due <= now {
        machine.wake(now: now, into: &actions)
      }
    }

    mutating func receive(_ element: XMPPWire.XMLElement) { handle(.received(.element(element))) }

    mutating func receive(_ management: StreamManagement) { receive(management.element) }

    /// The elements that the last event wrote; headers and ends of streams are left out.
    var written: [XMPPWire.XMLElement] {
      var elements: [XMPPWire.XMLElement] = []
      for case .write(let bytes) in actions {
        let parser = XMLStreamParser()
        let isHeader = bytes.starts(with: Array("<?xml".utf8))
        parser.append(isHeader ? bytes : XMLWriter.opening(StreamHeader()) + bytes)
        while let item = try? parser.next() {
          if case .element(let element) = item { elements.append(element) }
        }
      }
      return elements
    }

    var text: String {
      actions.map { action in
        if case .write(let bytes) = action { String(decoding: bytes, as: UTF8.self) } else { "" }
      }.joined()
    }

    var failure: StreamFailure? {
      for case .offline(let failure, _) in actions { return failure }
      return nil
    }

    var retryAt: Instant? {
      for case .offline(_, let time) in actions { return time }
      return nil
    }

    var online: StreamOnline? {
      for case .online(let online) in actions { return online }
      return nil
    }

    var records: [StreamRecord] {
      actions.compactMap { action in
        if case .record(let record) = action { record } else { nil }
      }
    }

    mutating func sendFeatures(_ children: [XMPPWire.XMLElement]) {
      handle(.received(.header(StreamHeader(from: "a", id: "s"))))
      receive(XMLElement("features", Namespace.stream, children: children))
    }

    static func mechanisms(_ names: [String]) -> XMPPWire.XMLElement {
      XMLElement(
        "mechanisms", Namespace.sasl,
        children: names.map { XMLElement("mechanism", Namespace.sasl, text: $0) })
    }

    static func bindings(_ types: [String]) -> XMPPWire.XMLElement {
      XMLElement(
        "sasl-channel-binding", Namespace.channelBindings,
        children: types.map {
          XMLElement("channel-binding", Namespace.channelBindings, ["type": $0])
        })
    }

    static let proof = SCRAMProof(clientProof: [1], serverSignature: [7])

    /// A connection with TLS.
    mutating func open(_ bindings: ChannelBindings = ChannelBindings()) {
      handle(.start)
      handle(.opened(isEncrypted: true, bindings, nonce: "nonce"))
    }

    /// The exchange of SCRAM up to the host's proof.
    mutating func challenge(_ text: String = "r=noncex,s=QQ==,i=4096") {
      receive(SASLElement.challenge(Array(text.utf8)).element)
    }

    mutating func answerComputation() {
      for case .compute(let request) in actions {
        return handle(.credentials(.scram(Self.proof), for: request))
      }
    }

    mutating func authenticate(_ names: [String] = ["SCRAM-SHA-256"]) {
      sendFeatures([Self.mechanisms(names)])
      challenge()
      answerComputation()
      receive(SASLElement.success(Array("v=\(Base64.text([7]))".utf8)).element)
    }

    static let features = [
      XMLElement("bind", Namespace.bind), XMLElement("sm", Namespace.streamManagement),
      XMLElement("csi", Namespace.clientState),
    ]

    mutating func bind() {
      for element in written {
        guard let iq = IQStanza(element), iq[ResourceBinding.self] != nil, let jid = JID("me@a/r")
        else { continue }
        receive(iq.result(ResourceBinding.assigned(jid).element).element)
        return
      }
    }

    /// A session that can be resumed.
    mutating func goOnline() {
      open()
      authenticate()
      sendFeatures(Self.features)
      bind()
      receive(.enabled(.init(id: "id1")))
    }

    /// Connects again, up to the features after the authentication.
    mutating func reconnect() {
      if actions.contains(.open(.domain)) == false { handle(.start) }
      handle(.opened(isEncrypted: true, ChannelBindings(), nonce: "nonce"))
      authenticate()
      sendFeatures(Self.features)
    }

    static func message(_ row: UInt64) -> OutgoingStanza {
      OutgoingStanza(
        row: row, MessageStanza(.chat, id: StanzaID("\(row)"), to: JID("b@c")).element)
    }

    mutating func send(_ rows: ClosedRange<UInt64>) { handle(.send(rows.map(Self.message))) }

    static func incoming(_ id: String) -> XMPPWire.XMLElement {
      MessageStanza(.chat, id: StanzaID(id), from: JID("b@c/d")).element
    }
  }
#endif

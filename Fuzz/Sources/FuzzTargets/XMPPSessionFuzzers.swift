#if Messaging
  import Essentials
  import XMPPMachines
  import XMPPWire

  extension FuzzTarget {
    static let xmppSessions: [FuzzTarget] = [
      // A server of the extensible profile of SASL, of the core profile where it offers that, and of the session after them.
      // Its first byte tells what the account's store has.
      FuzzTarget(name: "ExtensibleSASL") { bytes in
        guard let first = bytes.first, var client = SASLClient(first) else { return }
        client.take(bytes.dropFirst())
      },
      // The address of a picture, and the data of a `cid`. What is read must be sent as what it was.
      FuzzTarget(name: "Thumbnail") { bytes in
        let parts = bytes.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
        let address = String(decoding: parts.first ?? [], as: UTF8.self)
        let data = String(decoding: parts.dropFirst().first ?? [], as: UTF8.self)
        let link = XMLElement(
          "thumbnail", Namespace.thumbnails, ["uri": address, "width": "1", "height": "65536"])
        let binary = XMLElement("data", Namespace.bitsOfBinary, ["cid": "a"], text: data)
        guard let read = ThumbnailLink(link) else { return }
        precondition(read.width == 1 && read.height == nil)
        guard let picture = Thumbnail(read, in: [binary]) else { return }
        precondition(picture.bytes.count <= Thumbnail.byteCountMax)
        guard let sent = ThumbnailLink(picture.link.element) else {
          preconditionFailure("a picture that was read can't be sent")
        }
        precondition(Thumbnail(sent, in: []) == picture)
      },
    ]
  }

  /// The machine of a stream whose host answers everything at once.
  private struct SASLClient {
    private var machine: StreamMachine
    private let parser: XMLStreamParser
    private var now = Instant.zero
    private var hasProof = false

    init?(_ choices: UInt8) {
      guard let account = JID("me@a"), let bound = JID("me@a/r") else { return nil }
      var configuration = StreamConfiguration(account: account, seed: 1)
      configuration.client = ExtensibleRequest.Client(
        id: "d4565fa7-4d72-4749-b3d3-740edbf87770", software: "Ambit")
      if choices & 1 != 0 { configuration.token = SASLToken(.unbound, secret: "secret") }
      if choices & 2 != 0 { configuration.provenMechanism = .scramSHA256 }
      configuration.withdrawsToken = choices & 4 != 0
      var session: StreamSession?
      if choices & 8 != 0 { session = StreamSession(number: 1, id: "s", jid: bound) }
      machine = StreamMachine(configuration, session: session)
      var limits = XMLLimits()
      limits.stanzaByteCountMax = 4_096
      parser = XMLStreamParser(limits: limits)
      handle(.start)
      handle(.opened(isEncrypted: true, ChannelBindings(), nonce: "nonce"))
    }

    mutating func take(_ bytes: ArraySlice<UInt8>) {
      for chunk in bytes.split(separator: 0, omittingEmptySubsequences: true) {
        // Pauses before connections, and silence.
        now = now + .seconds(200)
        wake()
        parser.append(XMLWriter.opening(StreamHeader(from: "a", id: "s")))
        parser.append(chunk)
        do throws(XMLStreamError) {
          while let item = try parser.next() { handle(.received(item)) }
        } catch {
          parser.restart()
          handle(.invalid(error))
        }
        parser.restart()
      }
    }

    private mutating func wake() {
      var actions: [StreamMachine.Action] = []
      machine.wake(now: now, into: &actions)
      perform(actions)
    }

    private mutating func handle(_ event: StreamMachine.Event) {
      var actions: [StreamMachine.Action] = []
      machine.handle(event, now: now, into: &actions)
      perform(actions)
    }

    private mutating func perform(_ actions: [StreamMachine.Action]) {
      let found = machine.violations()
      precondition(found.isEmpty, "\(found)")
      for action in actions {
        switch action {
        case .open:
          hasProof = false
          handle(.opened(isEncrypted: true, ChannelBindings(), nonce: "nonce"))
        case .compute(let request): answer(request)
        case .online, .record(.proven), .record(.token(.some)):
          precondition(hasProof, "a server has shown no proof")
        default: break
        }
      }
    }

    private mutating func answer(_ request: CredentialRequest) {
      hasProof = true
      switch request {
      case .password: handle(.credentials(.password("p"), for: request))
      case .scram:
        let proof = SCRAMProof(clientProof: [1], serverSignature: [7])
        handle(.credentials(.scram(proof), for: request))
      case .token:
        handle(
          .credentials(.token(TokenProof(initiator: [5], responder: [6])), for: request))
      }
    }
  }
#else
  extension FuzzTarget {
    /// The same names without the trait `Messaging`, so that inputs belong to one.
    static let xmppSessions = ["ExtensibleSASL", "Thumbnail"].map {
      FuzzTarget(name: $0) { _ in }
    }
  }
#endif

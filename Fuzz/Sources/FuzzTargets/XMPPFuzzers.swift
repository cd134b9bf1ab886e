#if Messaging
  import Essentials
  import XMPPWire

  extension FuzzTarget {
    /// A stream of XML, and what its elements are.
    static let xmpp: [FuzzTarget] = [
      // In chunks of the size in its first byte a stream must give the same as in one piece, and its elements must be
      // written as what they were read from.
      FuzzTarget(name: "XMPPStream") { bytes in
        guard let first = bytes.first else { return }
        let stream = XMLWriter.opening(StreamHeader()) + bytes[1...]
        let whole = streamItems(stream, chunkByteCount: stream.count)
        let cut = streamItems(stream, chunkByteCount: Int(first) % 16 + 1)
        precondition(
          whole.items == cut.items && whole.error == cut.error, "chunks changed the stream")
        for case .element(let element) in whole.items { checkWriting(element) }
      },
      FuzzTarget(name: "MediaHeader") { bytes in
        var header = MediaHeader(byteCount: Int64(bytes.count))
        var partCount = 0
        while let part = header.request {
          partCount += 1
          precondition(partCount <= 64 && part.offset < bytes.count, "parts have no end")
          header.take(Array(bytes.dropFirst(Int(part.offset)).prefix(part.count)))
        }
        precondition((header.duration ?? 0) >= 0 && (header.width ?? 1) > 0)
      },
      FuzzTarget(name: "HTTPSAddress") { bytes in
        guard let address = HTTPSAddress(String(decoding: bytes, as: UTF8.self)) else { return }
        precondition(HTTPSAddress(address.description) == address, "an address changed")
        let other = address.resolving("é" + address.target)
        precondition(other.map { HTTPSAddress($0.description) == $0 } ?? true)
        precondition(
          (address.authority + address.target).utf8.allSatisfy { (0x21...0x7E).contains($0) })
      },
      FuzzTarget(name: "SCRAM") { bytes in
        let first = SCRAM.ClientFirst(user: "user", nonce: "n", binding: .unsupported)
        let answer = try? SCRAM.ServerFirst(bytes, answering: first, iterations: 4_096...10_000)
        precondition(answer.map { $0.nonce.utf8.count > 1 && !$0.salt.isEmpty } ?? true)
        try? SCRAM.check(bytes, SCRAMProof(clientProof: [], serverSignature: [1]))
      },
    ]

    private static func streamItems(
      _ stream: [UInt8], chunkByteCount: Int
    ) -> (items: [StreamItem], error: XMLStreamError?) {
      var limits = XMLLimits()
      limits.nameCountMax = 20
      limits.stanzaByteCountMax = 4_096
      let parser = XMLStreamParser(limits: limits)
      var items: [StreamItem] = []
      var rest = stream[...]
      while !rest.isEmpty {
        parser.append(rest.prefix(chunkByteCount))
        rest = rest.dropFirst(chunkByteCount)
        do throws(XMLStreamError) {
          while let item = try parser.next() { items.append(item) }
        } catch {
          return (items, error)
        }
      }
      return (items, nil)
    }

    private static func checkWriting(_ element: XMLElement) {
      let parser = XMLStreamParser()
      parser.append(XMLWriter.opening(StreamHeader()) + XMLWriter.bytes(of: element))
      _ = try? parser.next()
      let again = try? parser.next()
      precondition(
        again == .element(element), "\(element) came back as \(String(describing: again))")
      guard let stanza = Stanza(element) else { return }
      precondition(Stanza(stanza.element) == stanza, "\(stanza) is not written as it was read")
      checkContacts(stanza)
      checkRooms(stanza)
      checkComponents(stanza)
      guard case .message(let message) = stanza else { return }
      _ = (message[Carbon.self], message[ArchiveResult.self], message[Delay.self], message.body)
      for file in SharedFile.files(in: message.payload) {
        precondition(!file.sources.isEmpty)
        _ = file.metadata.name.flatMap(SharedFile.fileName)
      }
      if let mark = message[OrderMark.self] { precondition(OrderMark(mark.element) == mark) }
    }

    /// Values about contacts come back as they were read, as far as nothing was left out.
    private static func checkContacts(_ stanza: Stanza) {
      switch stanza {
      case .iq(let iq):
        if let query = iq[RosterQuery.self], query.unreadableCount == 0,
          !query.items.contains(where: \.isCut)
        {
          precondition(RosterQuery(query.element) == query, "\(query)")
        }
        if let command = iq[BlockingCommand.self], command.unreadableCount == 0 {
          precondition(BlockingCommand(command.element) == command, "\(command)")
        }
      case .presence(let presence):
        let availability = Availability(in: presence.payload)
        precondition(Availability(in: availability.elements) == availability, "\(availability)")
      case .message(let message):
        _ = message[ChatState.self]
        if let marker = message[ChatMarker.self] {
          precondition(ChatMarker(marker.element) == marker, "\(marker)")
        }
      }
    }

    /// A stanza is the same behind a component's stream, unless it has elements of that stream's namespace.
    private static func checkComponents(_ stanza: Stanza) {
      if case .iq(let iq) = stanza, let publication = iq[PushPublication.self] {
        precondition(PushPublication(publication.element) == publication, "\(publication)")
      }
      let bytes = ComponentStream.bytes(of: stanza.element)
      let parser = XMLStreamParser()
      parser.append(ComponentStream.opening(domain: "push.example") + bytes)
      _ = try? parser.next()
      guard case .element(let element)? = try? parser.next() else {
        preconditionFailure("\(stanza) can't be read by a component")
      }
      let moved = ComponentStream.clientElement(element)
      precondition(ComponentStream.bytes(of: moved) == bytes, "\(stanza) has changed")
    }

    private static func checkRooms(_ stanza: Stanza) {
      func check<E: XMPPExtension>(_: E.Type, _ payload: [XMLElement]) {
        guard let value = E.first(in: payload) else { return }
        precondition(E(value.element) == value, "\(value)")
      }
      let payload = stanza.element.children
      check(RoomUser.self, payload)
      check(RoomEntry.self, payload)
      check(DirectInvitation.self, payload)
      check(OccupantID.self, payload)
      if case .message(let message) = stanza { _ = RoomSubject.text(in: message) }
      for bookmark in payload.first.flatMap({ RoomBookmark.list(in: $0) }) ?? [] {
        _ = bookmark.publication
      }
    }
  }
#else
  extension FuzzTarget {
    /// The same names without the trait `Messaging`, so that inputs belong to one.
    static let xmpp = ["XMPPStream", "MediaHeader", "HTTPSAddress", "SCRAM"].map {
      FuzzTarget(name: $0) { _ in }
    }
  }
#endif

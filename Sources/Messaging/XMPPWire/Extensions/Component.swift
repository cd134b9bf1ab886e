#if Messaging
  /// The stream of an external component (XEP-0114). Its stanzas have a namespace of their own; outside of this type they
  /// are those of a client.
  package enum ComponentStream {
    /// The opening tag. It has no version, so that the server offers no features.
    package static func opening(domain: String) -> [UInt8] {
      XMLWriter.opening(
        StreamHeader(to: domain, version: nil), content: Namespace.component)
    }

    /// The text whose SHA-1 digest is the handshake.
    package static func handshakeText(streamID: String, secret: String) -> [UInt8] {
      Array(streamID.utf8) + Array(secret.utf8)
    }

    /// The handshake with a digest, in lower-case hexadecimal.
    package static func handshake(_ digest: [UInt8]) -> [UInt8] {
      let digits = Array("0123456789abcdef")
      let text = digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
      return bytes(of: XMLElement("handshake", Namespace.client, text: String(text)))
    }

    /// Whether the server has accepted the handshake with an element.
    package static func isAcceptance(_ element: XMLElement) -> Bool {
      element.has("handshake", Namespace.component)
    }

    /// An element of a component's stream as a client's.
    package static func clientElement(_ element: XMLElement) -> XMLElement {
      element.moved(from: Namespace.component, to: Namespace.client)
    }

    /// The bytes of a client's element within a component's stream.
    package static func bytes(of element: XMLElement) -> [UInt8] {
      var writer = XMLWriter()
      writer.write(
        element.moved(from: Namespace.client, to: Namespace.component), inside: Namespace.component)
      return writer.bytes
    }
  }

  extension XMLElement {
    /// The element with another namespace instead of one, its children likewise. Recursion is bounded by the depth.
    fileprivate func moved(from old: String, to new: String) -> XMLElement {
      var element = self
      if namespace == old { element.namespace = new }
      element.content = content.map { part in
        if case .element(let child) = part {
          .element(child.moved(from: old, to: new))
        } else {
          part
        }
      }
      return element
    }
  }
#endif

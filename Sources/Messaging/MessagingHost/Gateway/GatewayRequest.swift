#if Messaging
  internal import JSONWire
  internal import XMPPMachines
  internal import XMPPWire

  /// A request of an app's server that is refused, with the status of HTTP.
  struct GatewayRequestError: Error, Hashable, Sendable {
    var status = 400
    var reason: String
  }

  /// Reads and writes the JSON of the endpoint.
  enum GatewayRequest {
    /// The maximum length of a request's body: its text may be written in escapes.
    static let byteCountMax = 512 << 10
    /// The bytes of an id, which is that of the notification, too.
    private static let idByteCountMax = 64
    private static let titleByteCountMax = 256
    private static let expirationMax = 30 * 86_400
    private static let defaultExpiration = 86_400
    private static let keys = [
      "id", "from", "to", "title", "body", "app", "token", "collapse-id", "silent", "expires",
    ]

    /// Reads a message.
    static func message(
      _ bytes: [UInt8], domain: JID, now: WallTime
    ) throws(GatewayRequestError) -> GatewayMessage {
      do throws(FileFault) {
        let object = try JSONField(parsing: bytes).object(keys: keys)
        let recipient = try object.required("to", "an address").string()
        guard let to = JID(typed: recipient), to.local != nil else {
          throw object["to"]?.fault("must be the address of an account") ?? unreadable
        }
        let local = try object["from"]?.string() ?? "news"
        // Prepared as the server prepares it, so that notification and stanza have one sender.
        guard let from = JID(typed: "\(local)@\(domain.domain)"), from.isBare,
          from.domain == domain.domain
        else {
          throw object["from"]?.fault("must be the part of an address before the @") ?? unreadable
        }
        let body = try object.required("body", "a text").string()
        guard body.isXMLText, (1...GatewayMessage.bodyByteCountMax).contains(body.utf8.count) else {
          throw object["body"]?.fault("must have 1 to 65,536 bytes, without control characters")
            ?? unreadable
        }
        let expires = try object["expires"]?.integer(1...expirationMax) ?? defaultExpiration
        return GatewayMessage(
          id: try id(object, now), from: from, to: to.bare,
          title: try title(object),
          body: body, target: try target(object),
          collapseIdentifier: try collapseIdentifier(object),
          isSilent: try object.flag("silent"), expiration: now + WallTime(expires) * 1_000)
      } catch {
        let place = error.path.isEmpty ? "" : "\(error.path): "
        throw GatewayRequestError(reason: place + error.reason)
      }
    }

    private static let unreadable = FileFault(offset: nil, path: "", reason: "is no message")

    private static func title(_ object: JSONObject) throws(FileFault) -> String {
      guard let field = object["title"] else { return "" }
      let title = try field.string()
      guard title.isXMLText, title.utf8.count <= titleByteCountMax else {
        throw field.fault(
          "must have at most \(titleByteCountMax) bytes, without control characters")
      }
      return title
    }

    /// The characters of an id that are the same in the path of a request (RFC 3986, §2.3).
    private static func isUnreserved(_ byte: UInt8) -> Bool {
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
      case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
      default: false
      }
    }

    private static func id(_ object: JSONObject, _ now: WallTime) throws(FileFault) -> String {
      guard let field = object["id"] else { return RandomText.id(at: now) }
      let id = try field.string()
      guard (1...idByteCountMax).contains(id.utf8.count),
        id.utf8.allSatisfy(isUnreserved)
      else { throw field.fault("must have 1 to 64 letters, digits and -._~") }
      return id
    }

    private static func target(_ object: JSONObject) throws(FileFault) -> GatewayTarget? {
      if let field = object["token"] {
        let token = try field.string()
        guard GatewayTarget.isToken(token), object["app"] == nil else {
          throw field.fault("must be a device token of 64 hexadecimal digits, without an app")
        }
        return .token(token.lowercased())
      }
      guard let field = object["app"] else { return nil }
      let app = try field.string()
      guard app.isXMLText, (1...255).contains(app.utf8.count) else {
        throw field.fault("must be the identifier of an app")
      }
      return .app(app)
    }

    private static func collapseIdentifier(_ object: JSONObject) throws(FileFault) -> String? {
      guard let field = object["collapse-id"] else { return nil }
      let text = try field.string()
      guard text.isXMLText, (1...64).contains(text.utf8.count) else {
        throw field.fault("must have 1 to 64 bytes, without control characters")
      }
      return text
    }

    // MARK: Answers

    static func json(_ row: GatewayRow) -> JSON {
      .object([
        "id": .string(row.message.id), "stanza": json(row.stanza),
        "notification": json(row.notification),
      ])
    }

    private static func json(_ state: GatewayState) -> JSON {
      switch state {
      case .waiting: .object(["state": .string("waiting")])
      case .done(let word): .object(["state": .string("done"), "result": .string(word)])
      case .failed(let reason): .object(["state": .string("failed"), "reason": .string(reason)])
      }
    }
  }
#endif

#if Messaging
  package import Essentials
  package import XMPPWire

  /// The app of a device, as the manager of apps names it.
  package enum GatewayTarget: Hashable, Sendable {
    case app(String)
    /// A device token, in hexadecimal digits.
    case token(String)

    /// Whether a text can be a device token.
    package static func isToken(_ text: String) -> Bool {
      text.utf8.count == 64 && text.allSatisfy { $0.isASCII && $0.isHexDigit }
    }
  }

  /// A message that an app's server gives to the gateway.
  package struct GatewayMessage: Hashable, Sendable {
    /// The longest text, in bytes.
    package static let bodyByteCountMax = 65_536

    /// The id of the stanza, and of the notification.
    package var id: String
    package var sender: JID
    /// A bare address.
    package var recipient: JID
    package var title: String
    /// Empty in a row that is settled, after a while.
    package var body: String
    /// Recognises the text when it has been forgotten.
    package var digest: String
    /// Nil if only the stanza is sent.
    package var target: GatewayTarget?
    package var collapseIdentifier: String?
    /// Whether the notification shows no alert.
    package var isSilent: Bool
    /// After this time it is given up.
    package var expiration: WallTime

    /// - Parameter digest: That of a text that was forgotten; nil computes it.
    package init(
      id: String, from sender: JID, to recipient: JID, title: String = "", body: String,
      digest: String? = nil, target: GatewayTarget?, collapseIdentifier: String? = nil,
      isSilent: Bool = false, expiration: WallTime
    ) {
      self.id = id
      self.sender = sender
      self.recipient = recipient
      self.title = title
      self.body = body
      self.digest = digest ?? MessageContent(body: body).digest
      self.target = target
      self.collapseIdentifier = collapseIdentifier
      self.isSilent = isSilent
      self.expiration = expiration
    }

    private static let emptyDigest = MessageContent(body: "").digest

    /// Whether the text was forgotten, so that the stanza can't leave again. A message may have been without one.
    var isBodyForgotten: Bool { body.isEmpty && digest != Self.emptyDigest }

    /// Whether another one is the same, sent again.
    func isRepeated(by other: GatewayMessage) -> Bool {
      var other = other
      (other.expiration, other.body) = (expiration, body)
      return self == other
    }

    /// The size by which bounds are counted: that of texts of any length.
    var byteCount: Int { body.utf8.count + title.utf8.count }
  }

  /// The state of a stanza, or of a notification.
  package enum GatewayState: Hashable, Sendable {
    case waiting
    /// With a word for the result.
    case done(String)
    /// With a reason.
    case failed(String)
  }

  /// What a message becomes.
  package enum GatewayPart: Hashable, Sendable, CaseIterable { case stanza, notification }

  /// A message of the queue.
  package struct GatewayRow: Hashable, Sendable {
    package var number: Int64
    package var message: GatewayMessage
    package var stanza: GatewayState
    package var notification: GatewayState
    /// When it came.
    package var date: WallTime

    package init(
      number: Int64, message: GatewayMessage, stanza: GatewayState = .waiting,
      notification: GatewayState, date: WallTime
    ) {
      self.number = number
      self.message = message
      self.stanza = stanza
      self.notification = notification
      self.date = date
    }

    package subscript(part: GatewayPart) -> GatewayState {
      get {
        switch part {
        case .stanza: stanza
        case .notification: notification
        }
      }
      set {
        switch part {
        case .stanza: stanza = newValue
        case .notification: notification = newValue
        }
      }
    }

    package var isSettled: Bool { GatewayPart.allCases.allSatisfy { self[$0] != .waiting } }
  }

  /// What became of a notification at the manager of apps.
  package enum GatewayPushResult: Hashable, Sendable {
    /// The manager has it, with its word for the result.
    case taken(String)
    /// It is refused whenever it is sent.
    case refused(String)
    /// No such app is there.
    case notInstalled(String)
    /// The manager refuses it now.
    case busy(String)
    /// The manager doesn't answer.
    case unreachable(String)
  }

  /// A notification for the manager.
  package struct GatewayPush: Hashable, Sendable {
    package enum Content: Hashable, Sendable {
      /// With the number of its row.
      case message(Int64, GatewayMessage)
      /// A silent one, because a server has something for the account.
      case wake
    }
    package var target: GatewayTarget
    package var content: Content
  }

  package enum GatewayRefusal: Hashable, Sendable {
    /// Too many messages wait.
    case full
    /// Another message has the id.
    case otherContent
  }

  package enum GatewayEvent: Sendable {
    /// A message of an app's server, with the host's number for the answer.
    case submit(ticket: UInt64, GatewayMessage)
    /// Stanzas can be sent.
    case connected
    case disconnected
    case received(Stanza)
    case pushed(GatewayPush, GatewayPushResult)
  }

  package enum GatewayChange: Hashable, Sendable {
    case insert(GatewayRow)
    case setState(Int64, GatewayPart, GatewayState)
    /// The text of a settled message is needed no more, but its digest, which rows of earlier versions lack.
    case forgetBody(Int64, digest: String)
    case remove(Int64)
  }

  /// Something for the host to do when the changes before it are on disk.
  package enum GatewayAction: Hashable, Sendable {
    case accepted(ticket: UInt64, isNew: Bool)
    case refused(ticket: UInt64, GatewayRefusal)
    case send(XMLElement)
    /// Send a notification; its result is reported.
    case push(GatewayPush)
    /// End the connection: the server answers nothing.
    case drop
    /// End the connection for a longer time: another program has the domain, too.
    case yield
    /// A stanza or a notification was given up, with the message's id and the reason.
    case failed(id: String, String)
    /// The manager of apps doesn't answer, for this reason; it is tried again.
    case managerLost(String)
  }

  package struct GatewayCommit: Sendable {
    package var changes: [GatewayChange] = []
    package var then: [GatewayAction] = []

    package init() {}

    package var isEmpty: Bool { changes.isEmpty && then.isEmpty }
  }

  package struct GatewayLimits: Hashable, Sendable {
    /// Messages whose stanza or notification waits.
    package var openCountMax = 10_000
    /// Bytes of their texts.
    package var openByteCountMax = 96 << 20
    /// Messages that are kept afterwards, so that one that is sent again is known.
    package var settledCountMax = 10_000
    package var settledAge: WallTime = 86_400_000
    /// Bytes of texts that are kept after that, the latest ones, because a stanza may still come back.
    package var settledByteCountMax = 32 << 20
    /// Stanzas that are sent before the server has handled earlier ones.
    package var windowCountMax = 64
    package var answer: TimeSpan = .seconds(30)
    /// The pause before a stanza leaves again that a server could not take at the time; later ones double.
    package var bouncePause: TimeSpan = .seconds(5)
    /// Notifications that the manager has at a time.
    package var pushCountMax = 4
    package var firstPause: TimeSpan = .seconds(1)
    package var longestPause: TimeSpan = .seconds(300)
    /// Devices that a server wants to wake.
    package var wakeCountMax = 10_000
    /// Devices that are known to be gone.
    package var goneCountMax = 1_000
    /// How often old messages are looked for.
    package var sweepInterval: TimeSpan = .seconds(10)

    package init() {}
  }
#endif

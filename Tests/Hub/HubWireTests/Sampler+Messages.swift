import BluetoothInterface
import BluetoothWire
import Essentials

@testable import HubWire

// A message of every kind, with every request and event.
extension Sampler {
  mutating func appMessages() -> [AppMessage] {
    var messages: [AppMessage] = []
    for number in AppMessage.Number.allCases { messages.append(message(number)) }
    for request in requests() { messages.append(.request(session(), .known(request))) }
    return messages
  }

  mutating func hubMessages() -> [HubMessage] {
    var messages: [HubMessage] = []
    for number in HubMessage.Number.allCases { messages.append(message(number)) }
    for reason in HubRefusal.Reason.allCases {
      messages.append(.refusal(HubRefusal(reason, text())))
    }
    let all = events()
    for event in all { messages.append(.events(session(), HubEvents([event]))) }
    messages.append(.events(session(), HubEvents(all)))
    return messages
  }

  mutating func message(_ number: AppMessage.Number) -> AppMessage {
    switch number {
    case .greeting:
      let openings = list { $0.opening() }
      var greeting = HubGreeting(
        app: text(), abilities: HubAbilities(rawValue: self.number()), openings: openings)
      greeting.versions = interval()
      return .greeting(greeting)
    case .ping: return .ping(self.number())
    case .openSession: return .openSession(opening())
    case .request: return .request(session(), .known(.stopScan))
    case .eventsHandled: return .eventsHandled(session(), count: count())
    case .closeSession: return .closeSession(session())
    case .status: return .status(self.number())
    case .forget:
      return .forget(
        self.number(),
        KeptSessionFilter(app: optional { $0.text() }, userID: optional { $0.number() }))
    case .settled: return .settled(self.number(), wake: optional { .zero + $0.span() })
    case .hasWork: return .hasWork(session())
    }
  }

  mutating func message(_ number: HubMessage.Number) -> HubMessage {
    switch number {
    case .welcome:
      return .welcome(
        HubWelcome(
          version: self.number(), abilities: HubAbilities(rawValue: self.number()),
          isSimulated: bool()))
    case .refusal:
      return .refusal(HubRefusal(element(of: HubRefusal.Reason.allCases), text()))
    case .pong: return .pong(self.number())
    case .events: return .events(session(), HubEvents([]))
    case .status: return .status(self.number(), hubStatus())
    case .attached:
      return .attached(
        session(),
        SessionAttachment(
          holdsName: bool(), keptFor: span(), holdings: optional { $0.sessionHoldings() }))
    case .forgotten: return .forgotten(self.number(), count: optional { $0.count() })
    case .time: return .time(.zero + span())
    case .settle: return .settle(self.number())
    }
  }

  mutating func opening() -> SessionOpening {
    SessionOpening(
      id: session(), acknowledgesEvents: bool(), manager: text(),
      keptFor: element(of: [.zero, span()]), beginsAnew: bool())
  }

  mutating func sessionHoldings() -> SessionHoldings {
    var holdings = SessionHoldings()
    holdings.scan = optional { $0.scanOptions() }
    holdings.advertising = optional { $0.advertisingOptions() }
    holdings.links = list {
      SessionHoldings.Link(
        peer: $0.address(), options: $0.connectOptions(), isConnected: $0.bool(),
        name: $0.optional { $0.text() })
    }
    holdings.agent = optional { $0.element(of: SMPIOCapability.allCases) }
    holdings.attendsAllPairings = bool()
    holdings.services = list {
      SessionHoldings.Service(
        definition: $0.definition(),
        published: PublishedService(
          range: $0.range(),
          characteristics: $0.list {
            PublishedCharacteristic(
              valueHandle: $0.number(), configurationHandle: $0.optional { $0.number() })
          }))
    }
    holdings.listeners = list {
      SessionHoldings.Listener(psm: $0.number(), requiresEncryption: $0.bool())
    }
    holdings.subscriptions = list {
      SessionHoldings.Subscription(peer: $0.address(), target: $0.target())
    }
    holdings.subscribers = list {
      SessionHoldings.Subscriber(peer: $0.address(), handle: $0.number())
    }
    holdings.lastToken = number()
    holdings.unhandledCount = count()
    holdings.droppedCount = count()
    holdings.attributes = list { $0.peerAttributes() }
    return holdings
  }

  private mutating func peerAttributes() -> PeerAttributes {
    PeerAttributes(
      peer: address(),
      services: list {
        PeerAttributes.Service(
          service: RemoteService(uuid: $0.uuid(), range: $0.range(), isPrimary: $0.bool()),
          isListed: $0.bool(), includedServices: $0.optional { $0.list { $0.number() } },
          characteristics: $0.optional { $0.list { $0.peerCharacteristic() } })
      })
  }

  private mutating func peerCharacteristic() -> PeerAttributes.Characteristic {
    PeerAttributes.Characteristic(
      characteristic: RemoteCharacteristic(
        uuid: uuid(), declarationHandle: number(), valueHandle: number(), endHandle: number(),
        properties: CharacteristicProperties(rawValue: number())),
      descriptors: optional {
        $0.list { RemoteDescriptor(uuid: $0.uuid(), handle: $0.number()) }
      })
  }
}

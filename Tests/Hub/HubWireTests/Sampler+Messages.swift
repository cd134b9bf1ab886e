import BluetoothInterface
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
      return .attached(session(), SessionAttachment(holdsName: bool(), keptFor: span()))
    }
  }

  mutating func opening() -> SessionOpening {
    SessionOpening(
      id: session(), acknowledgesEvents: bool(), manager: text(),
      keptFor: element(of: [.zero, span()]))
  }
}

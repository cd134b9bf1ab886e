import BluetoothInterface
import Essentials

@testable import HubWire

// What the ability `identity` adds to version 1.
extension Version1 {
  static var namedOpenings: [String: AppMessage] {
    let central = SessionOpening(
      id: session, acknowledgesEvents: true, manager: "central:lock", keptFor: .seconds(30))
    let location = SessionOpening(
      id: HubSessionID(rawValue: 300), acknowledgesEvents: false, manager: "location",
      keptFor: .nanoseconds(1))
    return [
      "openSessionToKeep": .openSession(central),
      "greetingOfSessionsToKeep": .greeting(
        HubGreeting(
          app: "Lamp", abilities: [.bluetooth, .identity], openings: [central, location])),
    ]
  }

  static let attachments: [String: HubMessage] = [
    "attached": .attached(session, SessionAttachment(holdsName: true, keptFor: .seconds(30))),
    "attachedSecond": .attached(
      HubSessionID(rawValue: 300), SessionAttachment(holdsName: false, keptFor: .zero)),
  ]
}

import BluetoothInterface
import BluetoothWire
import Essentials

@testable import HubWire

// What kept sessions add to version 1.
extension Version1 {
  static let openingsAnew: [String: AppMessage] = [
    "openSessionAnew": .openSession(
      SessionOpening(
        id: session, acknowledgesEvents: true, manager: "central:lock", keptFor: .seconds(30),
        beginsAnew: true))
  ]

  static var keptAttachments: [String: HubMessage] {
    let central = DeviceAddress(bits: 0xC012_3456_789A, kind: .random)
    var holdings = SessionHoldings()
    holdings.scan = ScanOptions()
    holdings.links = [
      SessionHoldings.Link(peer: central, options: ConnectOptions(), isConnected: true)
    ]
    holdings.agent = .displayYesNo
    holdings.services = [
      SessionHoldings.Service(
        definition: ServiceDefinition(uuid: 0x180F),
        published: PublishedService(range: HandleRange(9, 9), characteristics: []))
    ]
    holdings.listeners = [SessionHoldings.Listener(psm: 0x80, requiresEncryption: true)]
    holdings.subscriptions = [
      SessionHoldings.Subscription(
        peer: central,
        target: SubscriptionTarget(valueHandle: 3, endHandle: 5, usesIndications: false))
    ]
    holdings.subscribers = [SessionHoldings.Subscriber(peer: central, handle: 9)]
    holdings.lastToken = 300
    holdings.unhandledCount = 2
    holdings.droppedCount = 1
    return [
      "attachedWithNothing": .attached(
        session,
        SessionAttachment(holdsName: true, keptFor: .seconds(30), holdings: SessionHoldings())),
      "attachedWithHoldings": .attached(
        session, SessionAttachment(holdsName: true, keptFor: .seconds(30), holdings: holdings)),
    ]
  }
}

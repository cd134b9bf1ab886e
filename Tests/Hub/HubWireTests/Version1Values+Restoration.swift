import BluetoothInterface
import BluetoothWire
import Essentials

@testable import HubWire

// What the restoration of Core Bluetooth's managers adds to version 1.
extension Version1 {
  static var alertingConnections: [String: AppMessage] {
    var options = ConnectOptions()
    options.alerts = [.connection, .notification]
    return ["connectWithAlerts": .request(session, .known(.connect(lock, options)))]
  }

  private static let lock = DeviceAddress(bits: 0xC012_3456_789A, kind: .random)

  static var restorations: [String: HubMessage] {
    var holdings = SessionHoldings()
    holdings.links = [
      SessionHoldings.Link(
        peer: lock, options: ConnectOptions(), isConnected: true, name: "Lock")
    ]
    let characteristic = RemoteCharacteristic(
      uuid: 0x2A37, declarationHandle: 2, valueHandle: 3, endHandle: 5, properties: .notify)
    holdings.attributes = [
      PeerAttributes(
        peer: lock,
        services: [
          PeerAttributes.Service(
            service: RemoteService(uuid: 0x180D, range: HandleRange(1, 9), isPrimary: true),
            isListed: true, includedServices: [12],
            characteristics: [
              PeerAttributes.Characteristic(
                characteristic: characteristic,
                descriptors: [RemoteDescriptor(uuid: 0x2902, handle: 4)])
            ])
        ])
    ]
    return [
      "attachedWithAttributes": .attached(
        session, SessionAttachment(holdsName: true, keptFor: .seconds(30), holdings: holdings)),
      "tooManyNotifications": .events(
        session,
        HubEvents([
          .disconnected(lock, .tooManyNotifications, reconnecting: false),
          .linkClosed(lock, .tooManyNotifications),
        ])),
    ]
  }
}

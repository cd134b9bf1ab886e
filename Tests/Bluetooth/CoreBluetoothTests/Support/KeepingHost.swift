import BluetoothInterface
import BluetoothWire
import Essentials
import Synchronization

@testable import CoreBluetooth

/// A scripted host that keeps sessions, and answers their openings when a test has it answer.
final class KeepingHost: KeepingSessionProvider {
  private struct State: Sendable {
    var keptFor: TimeSpan?
    var onAttached: (@Sendable (SessionAttachment) -> Void)?
  }

  let host = ScriptedHost()
  let backgroundModes: Set<String>?
  private let state = Mutex(State())

  init(backgroundModes: Set<String>? = ["bluetooth-central", "bluetooth-peripheral"]) {
    self.backgroundModes = backgroundModes
  }

  var isSimulated: Bool { true }
  /// For how long the session that was opened last shall be kept; nil for one that ends with the process.
  var keptFor: TimeSpan? { state.withLock { $0.keptFor } }

  func openSession(
    name: String, acknowledgesEvents: Bool, settle: (@Sendable () -> Void)?,
    onEvents: @escaping @Sendable ([HostEvent]) -> Void
  ) -> any HostSession {
    state.withLock { $0 = State() }
    return host.openSession(
      name: name, acknowledgesEvents: acknowledgesEvents, settle: settle, onEvents: onEvents)
  }

  func openSession(
    name: String, keptFor: TimeSpan, acknowledgesEvents: Bool, settle: (@Sendable () -> Void)?,
    onAttached: @escaping @Sendable (SessionAttachment) -> Void,
    onEvents: @escaping @Sendable ([HostEvent]) -> Void
  ) -> any HostSession {
    state.withLock { $0 = State(keptFor: keptFor, onAttached: onAttached) }
    return host.openSession(
      name: name, acknowledgesEvents: acknowledgesEvents, settle: settle, onEvents: onEvents)
  }

  /// Answers the opening.
  func attach(
    _ holdings: SessionHoldings?, holdsName: Bool = true, keptFor: TimeSpan = .seconds(60)
  ) {
    let attachment = SessionAttachment(holdsName: holdsName, keptFor: keptFor, holdings: holdings)
    state.withLock { $0.onAttached }?(attachment)
  }
}

extension SessionHoldings {
  /// A strap that is connected, discovered and subscribed to, and a phone with a pending connection.
  static func strap(reconnects: Bool = false) -> SessionHoldings {
    var holdings = SessionHoldings()
    var options = ConnectOptions()
    options.reconnectsAutomatically = reconnects
    holdings.links = [
      Link(peer: .strap, options: options, isConnected: true),
      Link(peer: .phone, options: options, isConnected: false, name: "Phone"),
    ]
    holdings.subscriptions = [
      Subscription(
        peer: .strap,
        target: SubscriptionTarget(valueHandle: 12, endHandle: 13, usesIndications: false))
    ]
    let measurement = RemoteCharacteristic(
      uuid: 0x2A37, declarationHandle: 11, valueHandle: 12, endHandle: 13, properties: .notify)
    let location = RemoteCharacteristic(
      uuid: 0x2A38, declarationHandle: 14, valueHandle: 15, endHandle: 15, properties: .read)
    let heartRate = PeerAttributes.Service(
      service: RemoteService(uuid: 0x180D, range: HandleRange(10, 15), isPrimary: true),
      isListed: true, includedServices: [20],
      characteristics: [
        PeerAttributes.Characteristic(
          characteristic: measurement, descriptors: [RemoteDescriptor(uuid: 0x2902, handle: 13)]),
        PeerAttributes.Characteristic(characteristic: location),
      ])
    let battery = PeerAttributes.Service(
      service: RemoteService(uuid: 0x180F, range: HandleRange(20, 22), isPrimary: false),
      isListed: false)
    let access = PeerAttributes.Service(
      service: RemoteService(uuid: 0x1800, range: HandleRange(1, 9), isPrimary: true),
      isListed: true)
    holdings.attributes = [PeerAttributes(peer: .strap, services: [access, heartRate, battery])]
    return holdings
  }
}

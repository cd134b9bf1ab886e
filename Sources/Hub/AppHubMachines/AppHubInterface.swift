package import AppMachines
package import BluetoothInterface
package import HubMachines

extension AppHubMachine {
  package enum Event: Sendable {
    /// An app, a process, the person or the system did something. Events of managers and their wishes come from
    /// the sessions, and are not reported here.
    case life(AppMachine.Event)
    /// A process has connected to the hub.
    case connected(AppProcessID)
    /// Bytes of a process arrived.
    case received(AppProcessID, [UInt8])
    /// A process has closed its connection.
    case disconnected(AppProcessID)
    /// A process has handled something that it was given.
    case handled(AppProcessID, AppDeliveryNumber)
    /// A manager of an app is preserved from before the system was started again. Without effect if the app has a
    /// process, or not the background mode. After `installed`.
    case preserved(PreservedManager)
    /// The regions of an app are preserved from before the system was started again. Without effect if the app has a
    /// process or regions. After `installed`.
    case preservedRegions(PreservedRegions)
    /// The tasks and notifications of an app, likewise.
    case preservedServices(AppID, AppServiceRecord)
    /// A session of the host has events.
    case delivered(HubSessionKey, [HostEvent])
  }

  /// An action of the host.
  package enum Action: Sendable {
    /// Start, freeze or end a process, show something, or end a held socket. Never a delivery, an end of a link, or an
    /// end of other wishes.
    case life(AppMachine.Action)
    /// Give a process something that isn't of Core Bluetooth, then report `handled`.
    case give(AppProcessID, AppDelivery, AppDeliveryNumber)
    /// Write bytes of the hub to a process.
    case write(AppProcessID, [UInt8])
    /// End the hub's connection with a process.
    case close(AppProcessID)
    /// Open a session with the host, which acknowledges events, for a session of this identity.
    case openSession(HubSessionKey, SessionIdentity)
    case send(HubSessionKey, HostRequest)
    case acknowledge(HubSessionKey, count: Int)
    case closeSession(HubSessionKey)
  }
}

/// A delivery to a process. Later ones have larger numbers.
package struct AppDeliveryNumber: Hashable, Comparable, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// What the system does for an app with the radio.
package struct AppRadioUse: Hashable, Sendable {
  /// Peers that it wants to connect to.
  package var pendingConnections: [AppPeer] = []
  /// Peers that it is connected to.
  package var connections: [AppPeer] = []
  package var scanCount = 0
  package var advertisementCount = 0
  /// Sessions that go on without a process.
  package var keptSessionCount = 0

  package init() {}
}

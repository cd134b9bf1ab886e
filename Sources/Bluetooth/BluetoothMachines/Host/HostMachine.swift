public import BluetoothWire
public import Essentials

/// A whole Bluetooth LE host as one machine: packets and requests go in, packets and events come
/// out, and it says when it wants to be woken.
public struct HostMachine: Sendable {
  /// What happens to the host.
  public enum Input: Sendable {
    /// The way to the controller is open: start it up.
    case transportOpened
    /// The way to the controller broke, or could not be opened; everything that hung on it is
    /// gone. The machine asks for `reopenTransport` when it is time to try again. The state
    /// becomes `.unauthorized` or `.unsupported` where the error says so, else `.poweredOff`.
    case transportClosed(HostError)
    /// The controller sent a packet.
    case packet(HCIPacket)
    /// A client came.
    case clientOpened(ClientID)
    /// A client went; what it had asked for ends.
    case clientClosed(ClientID)
    /// A client asks for something.
    case request(ClientID, HostRequest)
  }

  /// What the driver does for the machine.
  public enum Action: Sendable {
    /// Send a packet to the controller.
    case send(HCIPacket)
    /// Tell a client.
    case deliver(ClientID, HostEvent)
    /// Close the way to the controller, if it is open, and open it anew: the controller answered
    /// wrongly or not at all, or the way broke. The error says why.
    ///
    /// The machine itself waits between attempts (back-off), so a driver has no retry of its own:
    /// it opens at once and answers with `transportOpened`, or with `transportClosed` where that
    /// failed, and then waits for the next of these.
    case reopenTransport(HostError)
  }

  /// Makes a host. `chance` decides random addresses and the like.
  public init(configuration: HostConfiguration = HostConfiguration(), chance: SeededGenerator) {
    self.configuration = configuration
    self.chance = chance
  }

  var configuration: HostConfiguration
  var chance: SeededGenerator

  /// Takes an input and appends what is to be done to `actions`.
  public mutating func handle(_ input: Input, now: Instant, into actions: inout [Action]) {}

  /// Does what is due at `now`.
  public mutating func wake(now: Instant, into actions: inout [Action]) {}

  /// When `wake` should be called next; nil if nothing waits for time to pass.
  public var nextWake: Instant? { nil }
}

/// What distinguishes one host from another.
public struct HostConfiguration: Sendable, Hashable {
  /// The GAP device name that this host serves.
  public var name = "Ambit"
  /// The GAP appearance that this host serves.
  public var appearance: UInt16 = 0
  /// The largest ATT MTU offered.
  public var mtuMax = 517
  /// The address to use; nil for the controller's public one, or a random static one if it has
  /// none.
  public var address: DeviceAddress?

  /// The configuration of a host that nobody configured.
  public init() {}
}

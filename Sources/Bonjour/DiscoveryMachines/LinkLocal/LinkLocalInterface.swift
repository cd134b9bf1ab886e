public import ARPWire
public import Essentials

extension LinkLocalMachine {
  /// Input of the machine: events of an interface.
  public enum Event: Sendable, Hashable {
    /// The link is up, or may have changed: a cable was plugged in, a network was joined, or the
    /// host woke up (RFC 3927, §2.2).
    case linkUp
    /// The link went down.
    case linkDown
    /// Whether the interface has a working address that is routable beyond the link. While it has,
    /// no link-local address is kept (RFC 3927, §1.9).
    case routableAddress(Bool)
    /// An ARP packet was received on the interface. Includes the host's own packets.
    case received(ARPPacket)
    /// Stop configuring the interface.
    case shutDown
  }

  /// Output of the machine: work for the driver, to be performed in this order.
  public enum Action: Sendable, Hashable {
    /// Send this ARP packet to the broadcast address. Replies are broadcast, too (RFC 3927, §2.5).
    case broadcast(ARPPacket)
    /// Set the address, with prefix length 16 and a link-scope route to 169.254.0.0/16. Other
    /// protocols may use it from now on.
    case claim(Inet4Address)
    /// Store the address, and pass it to the next machine of this interface, which tries it first.
    case remember(Inet4Address)
    /// Report that another host has the probed address, or probes it, too.
    case conflicted(Inet4Address, with: MACAddress)
    /// Report that another host used the address, and that it was defended.
    case defended(Inet4Address, against: MACAddress)
    /// Reset the TCP connections of the address, which will be released because of a conflict.
    case resetConnections(Inet4Address)
    /// Remove the address and its route.
    case release(Inet4Address, ReleaseReason)
  }

  /// The reason why an address was released.
  public enum ReleaseReason: Sendable, Hashable {
    /// Another host uses it.
    case conflict(with: MACAddress)
    /// The link went down, or may have changed. The address will be probed again.
    case linkChanged
    /// The interface has a routable address.
    case routableAddress
    /// The machine was shut down.
    case shutDown
  }

  /// The current activity of the machine, for status displays.
  public enum Status: Sendable, Hashable {
    /// Waiting for the link to come up.
    case linkDown
    /// Idle, because the interface has a routable address.
    case routableAddress
    /// Probing this address.
    case probing(Inet4Address)
    /// Pausing after too many conflicts, before it tries another address.
    case pausing(until: Instant)
    /// The host has the address.
    case claimed(Inet4Address)
    /// The machine was shut down.
    case shutDown
  }
}

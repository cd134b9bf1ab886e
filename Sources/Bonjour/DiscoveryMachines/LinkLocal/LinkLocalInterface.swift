public import ARPWire
public import Essentials

extension LinkLocalMachine {
  /// Input of the machine: events of an interface.
  public enum Event: Sendable, Hashable {
    /// The link came up, or may be another one than before: a cable plugged in, a network joined,
    /// the host awake again (RFC 3927, §2.2).
    case linkUp
    /// The link went down.
    case linkDown
    /// An address that is valid beyond the link, and works, was set or taken away. While there is
    /// one, no link-local address is held (RFC 3927, §1.9).
    case routableAddress(Bool)
    /// An ARP packet arrived on the interface, the host's own echoed ones included.
    case received(ARPPacket)
    /// The interface is to be left alone from now on.
    case shutDown
  }

  /// Output of the machine: changes of an interface, in this order.
  public enum Action: Sendable, Hashable {
    /// Send this ARP packet to the hardware address of everybody. All are broadcast, replies too
    /// (RFC 3927, §2.5).
    case broadcast(ARPPacket)
    /// The address is the host's: set it, with prefix length 16 and a route to 169.254.0.0/16 that
    /// has the scope of the link. Only now may other protocols use it.
    case claim(Inet4Address)
    /// Store the address, and hand it to the next machine of this interface: it tries it first.
    case remember(Inet4Address)
    /// Report: another host has the address that is being probed, or probes it, too.
    case conflicted(Inet4Address, with: MACAddress)
    /// Report: another host used the address, which was then defended.
    case defended(Inet4Address, against: MACAddress)
    /// Reset the TCP connections of the address, which is about to be given up for a conflict.
    case resetConnections(Inet4Address)
    /// The address is no longer the host's: take it away, with its route.
    case release(Inet4Address, ReleaseReason)
  }

  /// Why an address was given up.
  public enum ReleaseReason: Sendable, Hashable {
    /// Another host uses it.
    case conflict(with: MACAddress)
    /// The link went down, or may be another: it will be probed for again.
    case linkChanged
    /// The interface has an address that is valid beyond the link.
    case routableAddress
    /// The interface is left alone.
    case shutDown
  }

  /// What the machine is doing, for status displays.
  public enum Status: Sendable, Hashable {
    /// There is nothing to do until the link comes up.
    case linkDown
    /// There is nothing to do while the interface has another address.
    case routableAddress
    /// It probes this address.
    case probing(Inet4Address)
    /// There were too many conflicts: it pauses before it tries another address.
    case pausing(until: Instant)
    /// The address is the host's.
    case claimed(Inet4Address)
    /// Shut down.
    case shutDown
  }
}

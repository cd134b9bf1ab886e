package import BluetoothHost
internal import BluetoothInterface

#if SecureConnections
  internal import SecureConnections
#endif
#if SimulatedRadio
  internal import SimulatedRadio
#endif

/// The way to a host; unit tests put a script in its place.
protocol HostLink: AnyObject, Sendable {
  /// The host's calendar time in seconds since 1 January 2001, UTC.
  var calendarTime: Double { get }
  /// Sends a request; returns at once.
  func send(_ request: HostRequest)
  /// Acknowledges that this number of delivered events has been handled.
  func eventsHandled(_ count: Int)
  /// Notifies the host of work on the queue that no event caused.
  func hasWork()
  /// Ends all requests of this client.
  func close()
}

extension HostClient: HostLink {}

/// Opens a way to a host.
///
/// - Parameters:
///   - settle: Returns when the events that were delivered have been dealt with.
///   - onEvents: Takes the host's events, in order.
typealias HostLinkMaker = (
  _ settle: @escaping @Sendable () -> Void,
  _ onEvents: @escaping @Sendable ([HostEvent]) -> Void
) -> any HostLink

extension BluetoothHost {
  /// Opens clients of the host that is current where a manager is made.
  static var currentLinkMaker: HostLinkMaker {
    let host = currentWithPlugIns
    return { host.makeClient(settle: $0, onEvents: $1) }
  }

  /// The host that is current in this task, with what this build has of plug-ins.
  package static var currentWithPlugIns: BluetoothHost {
    #if SecureConnections
      SecureConnections.install()
    #endif
    #if SimulatedRadio
      SimulatedRadio.install()
    #endif
    return current ?? shared
  }
}

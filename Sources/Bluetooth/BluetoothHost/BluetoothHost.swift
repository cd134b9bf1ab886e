public import BluetoothMachines

/// A running Bluetooth LE host: one radio, any number of clients.
///
/// It drives a `HostMachine` on an event loop of its own over a transport. All methods may be
/// called from any thread; events are delivered on the event loop, in order.
public final class BluetoothHost: Sendable {
  init() {}

  /// The host on the radio that `AMBIT_RADIO` names, made when first asked for; the populated
  /// simulated radio if it names none.
  public static var shared: BluetoothHost { preconditionFailure() }

  /// The host that managers made in this task use; `shared` unless a test says otherwise.
  @TaskLocal public static var current: BluetoothHost?

  /// Opens a client. `onEvent` is called on the host's event loop; first with the state.
  public func makeClient(
    onEvent: @escaping @Sendable (HostEvent) -> Void
  ) -> HostClient {
    preconditionFailure()
  }
}

/// One user of a host. Closing it ends everything it asked for.
public final class HostClient: Sendable {
  init() {}

  /// Asks for something; returns at once. Answers arrive as events.
  public func send(_ request: HostRequest) {}

  /// Ends the client. No event arrives after this returns... but those already on their way.
  public func close() {}
}

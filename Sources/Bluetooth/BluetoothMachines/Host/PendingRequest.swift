import BluetoothInterface

/// A client's request that has not been completed yet. It ends in exactly one
/// `HostEvent.completed` with its token.
struct PendingRequest: Sendable, Equatable {
  var client: ClientID
  var token: RequestToken
}

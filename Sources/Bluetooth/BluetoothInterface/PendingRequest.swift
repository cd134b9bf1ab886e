/// A client's request that has not been completed yet. It ends in exactly one
/// `HostEvent.completed` with its token.
package struct PendingRequest: Sendable, Equatable {
  package var client: ClientID
  package var token: RequestToken

  /// Creates a request.
  package init(client: ClientID, token: RequestToken) {
    self.client = client
    self.token = token
  }
}

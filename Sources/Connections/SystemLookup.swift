internal import Dispatch
internal import EventLoop

/// The system's resolver: `/etc/hosts`, unicast DNS and other configured sources.
package enum SystemLookup {
  /// Looks up a host. The result is empty if the host is unknown.
  ///
  /// - Parameter completion: Called on a system thread.
  package static func endpoints(
    of host: String, port: UInt16, _ completion: @escaping @Sendable ([SocketEndpoint]) -> Void
  ) {
    // It blocks for as long as servers take to answer.
    DispatchQueue.global().async {
      completion(NameLookup.addresses(of: host, port: port).compactMap { SocketEndpoint($0) })
    }
  }
}

import BluetoothInterface
import HubWire

extension HubLimits {
  /// The error of a request for which the programs of a user have no room left, all together.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - byteCount: The size of its message.
  ///   - share: What the request takes of the host's pools.
  ///   - taken: What the user's programs take already.
  ///   - others: What the programs of all other users take.
  func error(
    of request: HostRequest, byteCount: Int, _ share: SessionState.Load,
    takenByUser taken: SessionState.Load, byOthers others: SessionState.Load
  ) -> HostError? {
    if request.token != nil,
      taken.requestCount >= requestCountPerUserMax
        || taken.requestByteCount + byteCount > requestByteCountPerUserMax
    {
      return .limitReached("requests of a user's programs that are not completed")
    }
    func hasRoom(_ pool: Int, _ count: KeyPath<SessionState.Load, Int>) -> Bool {
      let needed = share[keyPath: count]
      guard needed > 0 else { return true }
      return taken[keyPath: count] + needed <= (pool - others[keyPath: count]) / 2
    }
    if !hasRoom(attributePool, \.attributeCount) {
      return .limitReached("attributes of a user's programs")
    }
    if !hasRoom(linkPool, \.linkCount) {
      return .limitReached("links that a user's programs want")
    }
    if !hasRoom(listenerPool, \.listenerCount) { return .limitReached("PSMs of a user's programs") }
    if !hasRoom(commandPool, \.commandCount) {
      return .limitReached("changes of links of a user's programs that are not completed")
    }
    return nil
  }
}

import EventLoop

/// A socket at which programs of a hub's Multicast DNS connect.
package struct BonjourSocket: Hashable, Sendable {
  /// The descriptor, which listens already.
  package var descriptor: Int32
  /// The name that rules know it by; nil if it has none.
  package var name: String?

  package init(descriptor: Int32, name: String? = nil) {
    self.descriptor = descriptor
    self.name = name
  }
}

/// What a hub's engine serves other programs with.
struct HubService: Sendable {
  /// How much the program at a connected socket may use of the hub, by the name of the socket that it connected to; nil
  /// if nothing.
  typealias Admits = @Sendable (Int32, String?) -> BonjourAdmission?

  /// The sockets that listen.
  let sockets: [BonjourSocket]
  let admits: Admits

  /// How many programs have room: each takes two descriptors, a quarter of all. The hub's radio needs the others.
  static var connectionsMax: Int { DescriptorLimit.freeMax / 8 }
}

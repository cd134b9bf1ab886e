import EventLoop

/// What a hub's engine serves other programs with.
struct HubService: Sendable {
  /// The socket that listens.
  let listener: Int32
  /// How much the program at a connected socket may use of the hub; nil if nothing.
  let admits: @Sendable (Int32) -> BonjourAdmission?

  /// How many programs have room: each takes two descriptors, a quarter of all. The hub's radio needs the others.
  static var connectionsMax: Int { DescriptorLimit.freeMax / 8 }
}

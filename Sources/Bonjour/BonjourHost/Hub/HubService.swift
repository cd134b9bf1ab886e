import EventLoop

/// What a hub's engine serves other programs with.
struct HubService: Sendable {
  /// The socket that listens.
  let listener: Int32
  /// Whether the program at a connected socket may use the hub.
  let admits: @Sendable (Int32) -> Bool

  /// How many programs there is room for: each takes two descriptors, and the hub's radio needs as many.
  static var connectionsMax: Int { DescriptorLimit.connectionsMax / 4 }
}

/// The configuration of a channel sounding session, which measures the distance to a peripheral.
/// Channel sounding is not supported.
open class CBChannelSoundingSessionConfiguration: NSObject, @unchecked Sendable {
  /// The role of the local device.
  public enum Role: Int, Sendable {
    /// The local device starts the procedure.
    case initiator = 0
  }

  /// The role of the local device.
  open var role: Role { roleStorage }
  private let roleStorage: Role

  /// Creates a configuration.
  public init(role: Role) {
    roleStorage = role
    super.init()
  }
}

/// A measured distance.
open class CBChannelSoundingProcedureResults: NSObject, @unchecked Sendable {
  /// The distance in metres; negative if it could not be measured.
  open var distance: Double { -1 }

  @available(*, unavailable)
  public override init() { super.init() }
}

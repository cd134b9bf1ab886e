/// How distances to a peripheral are measured. No radio that this host knows can do it.
open class CBChannelSoundingSessionConfiguration: NSObject, @unchecked Sendable {
  /// Which end starts.
  public enum Role: Int, Sendable {
    /// This end.
    case initiator = 0
  }

  /// Which end starts.
  open var role: Role { roleStorage }
  private let roleStorage: Role

  /// A configuration.
  public init(role: Role) {
    roleStorage = role
    super.init()
  }
}

/// A measured distance.
open class CBChannelSoundingProcedureResults: NSObject, @unchecked Sendable {
  /// In metres; negative if it could not be measured.
  open var distance: Double { -1 }

  @available(*, unavailable)
  public override init() { super.init() }
}

/// A beacon that ranging has detected. Programs can't create beacons with an identity.
open class CLBeacon: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
  // Unchecked: everything is constant.

  private let identity: CLBeaconIdentityConstraint

  /// The zone of its distance.
  public let proximity: CLProximity
  /// The uncertainty of the distance in metres, one standard deviation; negative if it is unknown.
  public let accuracy: CLLocationAccuracy
  /// The mean of the RSSI values in dBm since the last report; 0 without any.
  public let rssi: Int
  /// The time at which it was last received.
  public let timestamp: Date

  /// Creates a beacon with unknown values.
  public override convenience init() {
    let zero = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
    self.init(
      CLBeaconIdentityConstraint(uuid: zero, major: 0, minor: 0), proximity: .unknown,
      accuracy: -1, rssi: 0, timestamp: Date(timeIntervalSinceReferenceDate: 0))
  }

  init(
    _ identity: CLBeaconIdentityConstraint, proximity: CLProximity, accuracy: CLLocationAccuracy,
    rssi: Int, timestamp: Date
  ) {
    self.identity = identity
    self.proximity = proximity
    self.accuracy = accuracy
    self.rssi = rssi
    self.timestamp = timestamp
    super.init()
  }

  /// The UUID of the beacon.
  open var uuid: UUID { identity.uuid }
  /// The UUID of the beacon.
  @available(*, deprecated, renamed: "uuid")
  open var proximityUUID: UUID { identity.uuid }
  /// The major number: its group.
  open var major: NSNumber { NSNumber(value: identity.major ?? 0) }
  /// The minor number: the beacon within its group.
  open var minor: NSNumber { NSNumber(value: identity.minor ?? 0) }

  // MARK: Archives, copies

  /// Decodes a beacon; nil if the archive is invalid.
  public required init?(coder: NSCoder) {
    guard let identity = CLBeaconIdentityConstraint(coder: coder), identity.minor != nil,
      let proximity = CLProximity(rawValue: coder.decodeInteger(forKey: "proximity"))
    else { return nil }
    self.identity = identity
    self.proximity = proximity
    accuracy = coder.decodeDouble(forKey: "accuracy")
    rssi = coder.decodeInteger(forKey: "rssi")
    timestamp = Date(timeIntervalSinceReferenceDate: coder.decodeDouble(forKey: "timestamp"))
    super.init()
  }

  /// Encodes the beacon.
  open func encode(with coder: NSCoder) {
    identity.encode(with: coder)
    coder.encode(proximity.rawValue, forKey: "proximity")
    coder.encode(accuracy, forKey: "accuracy")
    coder.encode(rssi, forKey: "rssi")
    coder.encode(timestamp.timeIntervalSinceReferenceDate, forKey: "timestamp")
  }

  /// Always true: archives may come from untrusted sources.
  open class var supportsSecureCoding: Bool { true }

  /// Returns the same object, which is immutable.
  open func copy(with zone: NSZone? = nil) -> Any { self }

  /// Identity, proximity, accuracy and strength.
  open override var description: String {
    "CLBeacon (uuid:\(uuid), major:\(major), minor:\(minor), proximity:\(proximity.rawValue) "
      + "+/- \(accuracy)m, rssi:\(rssi))"
  }
}

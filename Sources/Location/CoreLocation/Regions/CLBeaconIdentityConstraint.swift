/// Identifies beacons by UUID, and optionally by major and minor.
///
/// Nil matches every value. A minor number requires a major number.
open class CLBeaconIdentityConstraint: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
  // Unchecked: everything is constant.

  /// The beacons' UUID.
  public let uuid: UUID
  /// The major number; nil for all.
  public let major: CLBeaconMajorValue?
  /// The minor number; nil for all.
  public let minor: CLBeaconMinorValue?

  /// Creates a constraint that matches all beacons with a UUID.
  public convenience init(uuid: UUID) { self.init(uuid, nil, nil) }

  /// Creates a constraint that matches a group of beacons.
  public convenience init(uuid: UUID, major: CLBeaconMajorValue) { self.init(uuid, major, nil) }

  /// Creates a constraint that matches one beacon.
  public convenience init(uuid: UUID, major: CLBeaconMajorValue, minor: CLBeaconMinorValue) {
    self.init(uuid, major, minor)
  }

  init(_ uuid: UUID, _ major: UInt16?, _ minor: UInt16?) {
    assert(major != nil || minor == nil, "a minor goes with a major")
    self.uuid = uuid
    self.major = major
    self.minor = minor
  }

  // MARK: Archives

  /// Decodes a constraint; nil if the archive is invalid.
  public required init?(coder: NSCoder) {
    guard let uuid = coder.uuid(forKey: "uuid"),
      let major = coder.optionalUInt16(forKey: "major"),
      let minor = coder.optionalUInt16(forKey: "minor"), major != nil || minor == nil
    else { return nil }
    self.uuid = uuid
    self.major = major
    self.minor = minor
  }

  /// Encodes the constraint.
  open func encode(with coder: NSCoder) {
    coder.encode(uuid.uuidString as NSString, forKey: "uuid")
    if let major { coder.encode(Int(major), forKey: "major") }
    if let minor { coder.encode(Int(minor), forKey: "minor") }
  }

  /// Always true: archives may come from untrusted sources.
  open class var supportsSecureCoding: Bool { true }

  // MARK: Copies and equality

  /// Returns the same object, which is immutable.
  open func copy(with zone: NSZone? = nil) -> Any { self }

  /// Two constraints are equal if all their values are.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CLBeaconIdentityConstraint else { return false }
    return uuid == other.uuid && major == other.major && minor == other.minor
  }

  /// Hashes all values.
  open override var hash: Int {
    var hasher = Hasher()
    hasher.combine(uuid)
    hasher.combine(major)
    hasher.combine(minor)
    return hasher.finalize()
  }

  /// The values.
  open override var description: String {
    func text(_ value: UInt16?) -> String { value.map { "\($0)" } ?? "*" }
    return "\(type(of: self)) (uuid:\(uuid), major:\(text(major)), minor:\(text(minor)))"
  }
}

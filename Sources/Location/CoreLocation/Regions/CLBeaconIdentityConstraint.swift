/// Identifies beacons: all of a UUID, a group of it, or one.
///
/// Nil matches every value; a minor needs a major.
open class CLBeaconIdentityConstraint: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
  // Unchecked: everything is constant.

  /// The beacons' UUID.
  public let uuid: UUID
  /// The group; nil for all.
  public let major: CLBeaconMajorValue?
  /// The beacon of the group; nil for all.
  public let minor: CLBeaconMinorValue?

  /// All beacons of a UUID.
  public convenience init(uuid: UUID) { self.init(uuid, nil, nil) }

  /// A group of beacons.
  public convenience init(uuid: UUID, major: CLBeaconMajorValue) { self.init(uuid, major, nil) }

  /// One beacon.
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

  /// A constraint from an archive; nil where that makes no sense.
  public required init?(coder: NSCoder) {
    guard let uuid = coder.uuid(forKey: "uuid"),
      let major = coder.optionalUInt16(forKey: "major"),
      let minor = coder.optionalUInt16(forKey: "minor"), major != nil || minor == nil
    else { return nil }
    self.uuid = uuid
    self.major = major
    self.minor = minor
  }

  /// Writes it to an archive.
  open func encode(with coder: NSCoder) {
    coder.encode(uuid.uuidString as NSString, forKey: "uuid")
    if let major { coder.encode(Int(major), forKey: "major") }
    if let minor { coder.encode(Int(minor), forKey: "minor") }
  }

  /// Archives may come from untrusted sources.
  open class var supportsSecureCoding: Bool { true }

  // MARK: Copies and equality

  /// Itself, as it doesn't change.
  open func copy(with zone: NSZone? = nil) -> Any { self }

  /// Whether the other means the same beacons.
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

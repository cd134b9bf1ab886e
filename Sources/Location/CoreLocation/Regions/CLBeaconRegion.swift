/// A region that is defined by beacons: this device is inside while it receives one of them.
open class CLBeaconRegion: CLRegion, @unchecked Sendable {
  // Unchecked: as its superclass; its own property is constant.

  /// The identity of the beacons.
  public let beaconIdentityConstraint: CLBeaconIdentityConstraint

  /// Creates a region of all beacons with a UUID.
  public convenience init(uuid: UUID, identifier: String) {
    self.init(
      beaconIdentityConstraint: CLBeaconIdentityConstraint(uuid: uuid), identifier: identifier)
  }

  /// Creates a region of a group of beacons.
  public convenience init(uuid: UUID, major: CLBeaconMajorValue, identifier: String) {
    self.init(
      beaconIdentityConstraint: CLBeaconIdentityConstraint(uuid: uuid, major: major),
      identifier: identifier)
  }

  /// Creates a region of one beacon.
  public convenience init(
    uuid: UUID, major: CLBeaconMajorValue, minor: CLBeaconMinorValue, identifier: String
  ) {
    self.init(
      beaconIdentityConstraint: CLBeaconIdentityConstraint(uuid: uuid, major: major, minor: minor),
      identifier: identifier)
  }

  /// Creates a region of the beacons that satisfy a constraint.
  public init(beaconIdentityConstraint: CLBeaconIdentityConstraint, identifier: String) {
    self.beaconIdentityConstraint = beaconIdentityConstraint
    super.init(identifier: identifier)
  }

  /// Where beacons of a UUID can be heard.
  @available(*, deprecated, renamed: "init(uuid:identifier:)")
  public convenience init(proximityUUID: UUID, identifier: String) {
    self.init(uuid: proximityUUID, identifier: identifier)
  }

  /// Where a group of beacons can be heard.
  @available(*, deprecated, renamed: "init(uuid:major:identifier:)")
  public convenience init(
    proximityUUID: UUID, major: CLBeaconMajorValue, identifier: String
  ) {
    self.init(uuid: proximityUUID, major: major, identifier: identifier)
  }

  /// Where one beacon can be heard.
  @available(*, deprecated, renamed: "init(uuid:major:minor:identifier:)")
  public convenience init(
    proximityUUID: UUID, major: CLBeaconMajorValue, minor: CLBeaconMinorValue, identifier: String
  ) {
    self.init(uuid: proximityUUID, major: major, minor: minor, identifier: identifier)
  }

  /// The beacons' UUID.
  open var uuid: UUID { beaconIdentityConstraint.uuid }

  /// The beacons' UUID.
  @available(*, deprecated, renamed: "uuid")
  open var proximityUUID: UUID { uuid }

  /// The major number; nil for all.
  open var major: NSNumber? { beaconIdentityConstraint.major.map { NSNumber(value: $0) } }

  /// The minor number; nil for all.
  open var minor: NSNumber? { beaconIdentityConstraint.minor.map { NSNumber(value: $0) } }

  /// Whether the state is reported when the display is switched on; false by default. Stored
  /// without effect: Linux doesn't report that event.
  open var notifyEntryStateOnDisplay: Bool {
    get { entryStateOnDisplay }
    set { entryStateOnDisplay = newValue }
  }

  // MARK: Being a beacon

  /// The data for `CBPeripheralManager.startAdvertising(_:)` that advertises this machine as a
  /// beacon of the region.
  ///
  /// - Parameter measuredPower: The signal strength in dBm that a receiver one metre away measures,
  ///   clamped to -128 ... 127; nil for -59.
  /// - Returns: One entry, `kCBAdvDataAppleBeaconKey`, with 21 bytes: UUID, major and minor, most
  ///   significant byte first (0 if the region has none), measured power.
  open func peripheralData(withMeasuredPower measuredPower: NSNumber?) -> NSMutableDictionary {
    let power = measuredPower.map { Int8(clamping: $0.intValue) } ?? Self.defaultMeasuredPower
    var bytes = withUnsafeBytes(of: uuid.uuid) { Array($0) }
    for value in [beaconIdentityConstraint.major, beaconIdentityConstraint.minor] {
      bytes.append(UInt8((value ?? 0) >> 8))
      bytes.append(UInt8(truncatingIfNeeded: value ?? 0))
    }
    bytes.append(UInt8(bitPattern: power))
    return NSMutableDictionary(
      dictionary: [Self.advertisementKey: NSData(data: Data(bytes))])
  }

  /// The default of Apple's framework on unknown hardware, in dBm at one metre.
  private static let defaultMeasuredPower: Int8 = -59
  private static let advertisementKey = "kCBAdvDataAppleBeaconKey"

  // MARK: Archives, copies

  /// Decodes a region; nil if the archive is invalid.
  public required init?(coder: NSCoder) {
    guard let constraint = CLBeaconIdentityConstraint(coder: coder) else { return nil }
    beaconIdentityConstraint = constraint
    super.init(coder: coder)
  }

  /// Encodes the region.
  open override func encode(with coder: NSCoder) {
    super.encode(with: coder)
    beaconIdentityConstraint.encode(with: coder)
  }

  override func makeCopy() -> CLRegion {
    CLBeaconRegion(beaconIdentityConstraint: beaconIdentityConstraint, identifier: identifier)
  }
}

/// Where beacons of an identity can be heard.
open class CLBeaconRegion: CLRegion, @unchecked Sendable {
  // Unchecked: as its superclass; its own property is constant.

  /// The beacons' identity.
  public let beaconIdentityConstraint: CLBeaconIdentityConstraint

  /// Where beacons of a UUID can be heard.
  public convenience init(uuid: UUID, identifier: String) {
    self.init(
      beaconIdentityConstraint: CLBeaconIdentityConstraint(uuid: uuid), identifier: identifier)
  }

  /// Where a group of beacons can be heard.
  public convenience init(uuid: UUID, major: CLBeaconMajorValue, identifier: String) {
    self.init(
      beaconIdentityConstraint: CLBeaconIdentityConstraint(uuid: uuid, major: major),
      identifier: identifier)
  }

  /// Where one beacon can be heard.
  public convenience init(
    uuid: UUID, major: CLBeaconMajorValue, minor: CLBeaconMinorValue, identifier: String
  ) {
    self.init(
      beaconIdentityConstraint: CLBeaconIdentityConstraint(uuid: uuid, major: major, minor: minor),
      identifier: identifier)
  }

  /// Where beacons of an identity can be heard.
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

  /// The group; nil for all.
  open var major: NSNumber? { beaconIdentityConstraint.major.map { NSNumber(value: $0) } }

  /// The beacon of the group; nil for all.
  open var minor: NSNumber? { beaconIdentityConstraint.minor.map { NSNumber(value: $0) } }

  /// Whether the state is reported when the display is switched on; false by default. Stored
  /// without effect: on Linux that event doesn't exist.
  open var notifyEntryStateOnDisplay: Bool {
    get { entryStateOnDisplay }
    set { entryStateOnDisplay = newValue }
  }

  // MARK: Being a beacon

  /// The data for `CBPeripheralManager.startAdvertising(_:)` that makes this machine such a beacon.
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

  /// A region from an archive; nil where that makes no sense.
  public required init?(coder: NSCoder) {
    guard let constraint = CLBeaconIdentityConstraint(coder: coder) else { return nil }
    beaconIdentityConstraint = constraint
    super.init(coder: coder)
  }

  /// Writes it to an archive.
  open override func encode(with coder: NSCoder) {
    super.encode(with: coder)
    beaconIdentityConstraint.encode(with: coder)
  }

  override func makeCopy() -> CLRegion {
    CLBeaconRegion(beaconIdentityConstraint: beaconIdentityConstraint, identifier: identifier)
  }
}

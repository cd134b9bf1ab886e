internal import BeaconMachines
internal import BluetoothInterface
internal import BluetoothWire

// Values of the machines as values of the API, and back.

extension BeaconSighting {
  /// The iBeacon that a report is of; nil for anything else.
  init?(_ report: AdvertisingReport) {
    for structure in AdvertisingData(report.data) where structure.type == .manufacturerData {
      guard case .iBeacon(let beacon)? = Beacon(manufacturerData: structure.data) else { continue }
      self.init(
        identity: BeaconIdentity(beacon), address: report.address, rssi: report.rssi,
        powerAtOneMetre: beacon.powerAtOneMetre)
      return
    }
    return nil
  }
}

extension BluetoothUUID {
  init(_ uuid: UUID) {
    let bytes = withUnsafeBytes(of: uuid.uuid) { Array($0) }
    func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    self.init(high: number(bytes.prefix(8)), low: number(bytes.suffix(8)))
  }
}

extension UUID {
  init(_ uuid: BluetoothUUID) {
    func byte(_ number: UInt64, _ index: UInt64) -> UInt8 {
      UInt8(truncatingIfNeeded: number >> (56 - 8 * index))
    }
    let (high, low) = (uuid.high, uuid.low)
    self.init(
      uuid: (
        byte(high, 0), byte(high, 1), byte(high, 2), byte(high, 3), byte(high, 4), byte(high, 5),
        byte(high, 6), byte(high, 7), byte(low, 0), byte(low, 1), byte(low, 2), byte(low, 3),
        byte(low, 4), byte(low, 5), byte(low, 6), byte(low, 7)
      ))
  }
}

extension BeaconConstraint {
  init(uuid: UUID, major: UInt16?, minor: UInt16?) {
    let uuid = BluetoothUUID(uuid)
    switch (major, minor) {
    case (let major?, let minor?): self.init(uuid: uuid, major: major, minor: minor)
    case (let major?, nil): self.init(uuid: uuid, major: major)
    case (nil, _): self.init(uuid: uuid)
    }
  }

  init(_ constraint: CLBeaconIdentityConstraint) {
    self.init(uuid: constraint.uuid, major: constraint.major, minor: constraint.minor)
  }
}

extension CLBeaconIdentityConstraint {
  convenience init(_ constraint: BeaconConstraint) {
    self.init(UUID(constraint.uuid), constraint.major, constraint.minor)
  }
}

extension BeaconRegion {
  init(_ region: CLBeaconRegion) {
    self.init(
      identifier: region.identifier, constraint: BeaconConstraint(region.beaconIdentityConstraint),
      notifiesOnEntry: region.notifyOnEntry, notifiesOnExit: region.notifyOnExit,
      notifiesStateOnDisplay: region.notifyEntryStateOnDisplay)
  }
}

extension CLRegionState {
  init(_ state: BeaconRegionState) {
    switch state {
    case .unknown: self = .unknown
    case .inside: self = .inside
    case .outside: self = .outside
    }
  }
}

extension CLProximity {
  init(_ proximity: BeaconProximity) {
    switch proximity {
    case .unknown: self = .unknown
    case .immediate: self = .immediate
    case .near: self = .near
    case .far: self = .far
    }
  }
}

extension CLBeacon {
  convenience init(_ beacon: RangedBeacon, at timestamp: Date) {
    let identity = beacon.identity
    self.init(
      CLBeaconIdentityConstraint(UUID(identity.uuid), identity.major, identity.minor),
      proximity: CLProximity(beacon.proximity), accuracy: beacon.accuracyMetres,
      rssi: beacon.rssi, timestamp: timestamp)
  }
}

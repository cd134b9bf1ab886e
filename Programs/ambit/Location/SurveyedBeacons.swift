import BeaconMachines

/// The windows of one beacon of a trace.
struct BeaconTrack: Sendable {
  var beacon: RecordedBeacon
  var windows: [ReadingWindow]
}

/// The beacons that surveys were made with, to which others are compared.
struct SurveyedBeacons: Sendable {
  private var identities: Set<String> = []
  /// The measured power of the first that has one, in dBm.
  private var power: Int8?

  /// The windows of a survey, as the first beacon would have made them.
  mutating func add(_ track: BeaconTrack) -> [ReadingWindow] {
    identities.insert(track.beacon.identity.lowercased())
    guard let own = track.beacon.power else { return track.windows }
    guard let power else {
      power = own
      return track.windows
    }
    let difference = BeaconOffset.advertised(power, surveyed: own).mean
    return track.windows.map { window in
      var window = window
      for index in window.heard.indices { window.heard[index].rssi += difference }
      return window
    }
  }

  /// How much louder a beacon is than the first of the surveys, to which the readings of the others
  /// were converted.
  func offset(of beacon: RecordedBeacon) -> BeaconOffset {
    // One of the others, and one whose power was changed since, is another beacon in this respect.
    if identities.contains(beacon.identity.lowercased()),
      beacon.power == nil || power == nil || beacon.power == power
    {
      return .surveyedBefore
    }
    guard let own = beacon.power else { return .unknown }
    // Without a survey the model has typical receivers, whose offsets are unknown as well.
    if identities.isEmpty {
      return BeaconOffset(
        mean: BeaconOffset.advertised(own, surveyed: Self.typicalPower).mean,
        spread: BeaconOffset.unknown.spread)
    }
    return power.map { .advertised(own, surveyed: $0) } ?? .unknown
  }

  /// What `PositionCalibration(plan:)` assumes, in dBm.
  private static let typicalPower: Int8 = -59
}

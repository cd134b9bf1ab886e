public import Essentials

/// A recording of advertisements as several receivers received them, to be replayed.
public struct AirRecording: Hashable, Sendable {
  /// The reception of one advertisement by one receiver.
  public struct Reception: Hashable, Sendable {
    /// The time since the beginning of the recording.
    public var time: TimeSpan
    /// An index of `receivers`.
    public var receiver: Int
    /// An index of `advertisements`.
    public var advertisement: Int
    /// Whether it is a scan response.
    public var isScanResponse: Bool
    /// The RSSI in dBm.
    public var rssi: Int8

    /// Creates a reception.
    public init(
      time: TimeSpan, receiver: Int, advertisement: Int, isScanResponse: Bool = false, rssi: Int8
    ) {
      self.time = time
      self.receiver = receiver
      self.advertisement = advertisement
      self.isScanResponse = isScanResponse
      self.rssi = rssi
    }
  }

  /// The receivers' names.
  public let receivers: [String]
  /// The recorded advertisements.
  public let advertisements: [Advertisement]
  /// The receptions, in order of time.
  public let receptions: [Reception]

  /// Creates a recording. Receptions may be in any order. Those with an invalid index, or before
  /// the beginning, are left out.
  public init(receivers: [String], advertisements: [Advertisement], receptions: [Reception]) {
    self.receivers = receivers
    self.advertisements = advertisements
    self.receptions =
      receptions.filter {
        receivers.indices.contains($0.receiver) && advertisements.indices.contains($0.advertisement)
          && $0.time >= .zero
      }
      .sorted { $0.time < $1.time }
  }
}

extension World {
  /// Replays a recording: its receivers become `hostPlaces`, and scanning controllers that are
  /// created at these places receive its advertisements with the recorded RSSI, independent of
  /// `radio`. Playback starts when the first host scans.
  ///
  /// - Parameter onEnd: Called after the last reception, while the world runs.
  public func replay(_ recording: AirRecording, onEnd: (() -> Void)? = nil) {
    hostPlaces += recording.receivers.map { HostPlace(name: $0, motion: .still(.origin)) }
    waitingReplays.append(Replay(recording, onEnd))
    if !listeners.isEmpty { startReplays() }
  }

  func startReplays() {
    let replays = waitingReplays
    waitingReplays = []
    for replay in replays { replay.start(in: self) }
  }
}

/// A recording that is being heard again.
final class Replay {
  private let recording: AirRecording
  private let onEnd: (() -> Void)?
  private var start = Instant.zero
  private var next = 0
  private var advertisers: [Advertiser] = []

  init(_ recording: AirRecording, _ onEnd: (() -> Void)?) {
    self.recording = recording
    self.onEnd = onEnd
  }

  func start(in world: World) {
    start = world.now
    // They are on no queue: what they send, and when, was decided on another day.
    let site = world.makeSite(seed: 0, motion: .still(.origin))
    advertisers = recording.advertisements.map { advertisement in
      let advertiser = Advertiser(index: -1, generation: 0, site: site, seed: 0)
      advertiser.take(advertisement)
      return advertiser
    }
    scheduleNext(in: world)
  }

  private func scheduleNext(in world: World) {
    guard let reception = recording.receptions[safe: next] else {
      onEnd?()
      return
    }
    world.schedule(at: start + reception.time) { [weak world] in
      if let world { self.perform(in: world) }
    }
  }

  private func perform(in world: World) {
    while let reception = recording.receptions[safe: next], start + reception.time <= world.now {
      next += 1
      let place = recording.receivers[reception.receiver]
      for controller in world.controllers where controller.site.placeName == place {
        controller.hearAgain(
          advertisers[reception.advertisement], rssi: Double(reception.rssi),
          isScanResponse: reception.isScanResponse)
      }
    }
    scheduleNext(in: world)
  }
}

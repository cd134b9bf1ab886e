/// What was received on links and thrown away.
struct LinkCounters: Sendable, Hashable {
  var attributes = GATTClientSession.Counters()
  var frames = L2CAPLink.Dropped()

  /// Adds what one link counted.
  mutating func add(_ link: Link) {
    attributes.unsolicitedValues += link.gatt.counters.unsolicitedValues
    attributes.ignoredPDUs += link.gatt.counters.ignoredPDUs
    let dropped = link.l2cap.dropped
    frames.strayContinuations += dropped.strayContinuations
    frames.interruptedFrames += dropped.interruptedFrames
    frames.overlongFrames += dropped.overlongFrames
    frames.oversizedFrames += dropped.oversizedFrames
    frames.unknownChannelFrames += dropped.unknownChannelFrames
    frames.pointlessSignals += dropped.pointlessSignals
  }
}

extension L2CAPLink.Dropped {
  /// All frames that were dropped, whatever the reason.
  var frameCount: Int {
    strayContinuations + interruptedFrames + overlongFrames + oversizedFrames
      + unknownChannelFrames
  }
}

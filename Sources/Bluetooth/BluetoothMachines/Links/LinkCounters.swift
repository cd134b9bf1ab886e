import GATTMachines
import L2CAPMachines

/// Received items on links that were discarded.
struct LinkCounters: Sendable, Hashable {
  var attributes = GATTClientSession.Counters()
  var frames = L2CAPLink.Dropped()

  /// Adds the counts of one link.
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
  /// All dropped frames, for any reason.
  var frameCount: Int {
    strayContinuations + interruptedFrames + overlongFrames + oversizedFrames
      + unknownChannelFrames
  }
}

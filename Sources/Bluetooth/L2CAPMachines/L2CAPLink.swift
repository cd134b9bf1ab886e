package import BluetoothInterface
import BluetoothWire
package import Essentials

/// The L2CAP state of one link: reassembly, signalling, and credit-based channels (Core 5.4, Vol 3,
/// Part A).
///
/// Frames of the fixed channels go to the scheduler as `OutgoingFrame`s without passing through
/// here. Channels are identified by local CIDs. These are unique on this link until `channelClosed`
/// or `channelRefused` was reported, and may be reused afterwards.
package struct L2CAPLink: Sendable {
  /// An action or a notification for the owner of the link.
  package enum Output: Sendable {
    /// Enqueue a frame in the scheduler.
    case sendFrame(OutgoingFrame)
    /// A complete frame was received on the attribute or the security channel.
    case fixedChannel(UInt16, ArraySlice<UInt8>)
    /// The peripheral requests other parameters, which are valid. Call `answerParameterUpdate`.
    case parameterUpdateRequested(ConnectionParameters, identifier: UInt8)
    /// Whether the central accepted the parameters that this side requested. Also false if it does
    /// not answer.
    case parameterUpdateAnswered(accepted: Bool)
    /// The peer requests a channel. Call `accept` or `refuse`.
    case channelRequested(L2CAPChannelRequest)
    /// A channel was opened, at the request of either side.
    case channelOpened(L2CAPChannelInfo)
    /// A channel that this side requested was not opened.
    case channelRefused(UInt16, HostError)
    /// An SDU was received on a channel.
    case channelReceived(UInt16, ArraySlice<UInt8>)
    /// The last byte was sent to the controller, or can't be sent because of the error.
    case sendCompleted(UInt16, RequestToken, HostError?)
    /// The peer increased the maximum SDU size of a channel.
    case channelReconfigured(UInt16, peerMTU: Int)
    /// A channel was closed; nil if this side closed it.
    case channelClosed(UInt16, HostError?)
  }

  /// Counts of dropped frames and signals, by reason.
  package struct Dropped: Sendable, Hashable {
    /// Continuation fragments without a frame.
    package var strayContinuations = 0
    /// Incomplete frames.
    package var interruptedFrames = 0
    /// Frames with more bytes than in their header's length.
    package var overlongFrames = 0
    /// Frames longer than their channel allows.
    package var oversizedFrames = 0
    /// Frames on channels that don't exist or are being closed.
    package var unknownChannelFrames = 0
    /// Signalling commands that were invalid or answered no request.
    package var pointlessSignals = 0

    /// Creates counters with the value 0.
    package init() {}
  }

  enum Reassembly: Sendable {
    case idle
    /// Fewer bytes than a header has.
    case header([UInt8])
    /// A frame that will be `total` bytes long with its header.
    case frame([UInt8], total: Int)
    /// The rest of a frame that is too long for its channel.
    case skipping(Int)
  }

  enum Purpose: Sendable, Hashable {
    case open(UInt16)
    /// An enhanced request for several channels.
    case openSeveral([UInt16])
    case close(UInt16)
    case parameterUpdate
  }

  struct Pending: Sendable {
    var identifier: UInt8
    var purpose: Purpose
    var deadline: Instant
  }

  /// The role of this host on the link.
  package let role: LinkInfo.Role
  /// The dropped frames and signals since the link was established.
  package internal(set) var dropped = Dropped()

  let attributeMTU: Int
  var reassembly = Reassembly.idle
  var pending: [Pending] = []
  var lastIdentifier: UInt8 = 0
  var channels: [CreditBasedChannel] = []
  var channelGeneration: UInt32 = 0

  /// Creates the state of a new link. Attribute PDUs longer than `attributeMTU` are dropped.
  package init(role: LinkInfo.Role, attributeMTU: Int = 517) {
    self.role = role
    self.attributeMTU = attributeMTU
  }

  /// Handles the payload of an ACL packet. `continuing` is true if its boundary flag is 0b01.
  ///
  /// A frame that was received in one packet is passed on as a slice of it.
  package mutating func receive(
    _ fragment: ArraySlice<UInt8>, continuing: Bool, now: Instant, into outputs: inout [Output]
  ) {
    if continuing { return resume(fragment, now: now, into: &outputs) }
    switch reassembly {
    case .idle: break
    case .skipping: reassembly = .idle
    case .header, .frame:
      dropped.interruptedFrames &+= 1
      reassembly = .idle
    }
    begin(fragment, now: now, into: &outputs)
  }

  private mutating func begin(
    _ bytes: ArraySlice<UInt8>, now: Instant, into outputs: inout [Output]
  ) {
    var reader = ByteReader(bytes)
    guard let header = try? L2CAPHeader(decoding: &reader) else {
      reassembly = .header(Array(bytes))
      return
    }
    let length = Int(header.length)
    if reader.count == length {
      deliver(reader.remaining, on: header.channel, now: now, into: &outputs)
    } else if reader.count > length {
      dropped.overlongFrames &+= 1
    } else if length > lengthLimit(of: header.channel) {
      reassembly = .skipping(length - reader.count)
      refuseOversized(reader.remaining, on: header.channel, now: now, into: &outputs)
    } else {
      var frame: [UInt8] = []
      frame.reserveCapacity(L2CAPHeader.byteCount + length)
      frame.append(contentsOf: bytes)
      reassembly = .frame(frame, total: L2CAPHeader.byteCount + length)
    }
  }

  private mutating func resume(
    _ fragment: ArraySlice<UInt8>, now: Instant, into outputs: inout [Output]
  ) {
    // Taken out and put back, so that the buffer has one owner and grows in place.
    let state = reassembly
    reassembly = .idle
    switch consume state {
    case .idle:
      dropped.strayContinuations &+= 1
    case .header(var bytes):
      bytes.append(contentsOf: fragment)
      begin(bytes[...], now: now, into: &outputs)
    case .frame(var frame, let total):
      guard frame.count + fragment.count <= total else {
        dropped.overlongFrames &+= 1
        return
      }
      frame.append(contentsOf: fragment)
      guard frame.count == total else {
        reassembly = .frame(frame, total: total)
        return
      }
      let channel = UInt16(frame[2]) | UInt16(frame[3]) << 8
      deliver(frame[L2CAPHeader.byteCount...], on: channel, now: now, into: &outputs)
    case .skipping(let rest):
      if fragment.count < rest { reassembly = .skipping(rest - fragment.count) }
    }
  }

  /// The longest payload worth collecting on a channel.
  private func lengthLimit(of channel: UInt16) -> Int {
    switch channel {
    case L2CAPChannelIdentifier.attribute: attributeMTU
    case L2CAPChannelIdentifier.signalling: L2CAPLimits.signallingMTU
    case L2CAPChannelIdentifier.security: L2CAPLimits.securityMTU
    default: index(ofLocal: channel).map { Int(channels[$0].local.mps) } ?? 0
    }
  }

  private mutating func deliver(
    _ payload: ArraySlice<UInt8>, on channel: UInt16, now: Instant, into outputs: inout [Output]
  ) {
    guard payload.count <= lengthLimit(of: channel) else {
      return refuseOversized(payload, on: channel, now: now, into: &outputs)
    }
    switch channel {
    case L2CAPChannelIdentifier.attribute, L2CAPChannelIdentifier.security:
      outputs.append(.fixedChannel(channel, payload))
    case L2CAPChannelIdentifier.signalling:
      receiveSignal(payload, now: now, into: &outputs)
    default:
      receiveChannelFrame(payload, on: channel, now: now, into: &outputs)
    }
  }

  /// Answers a frame longer than its channel allows, of which `beginning` was received.
  private mutating func refuseOversized(
    _ beginning: ArraySlice<UInt8>, on channel: UInt16, now: Instant, into outputs: inout [Output]
  ) {
    if channel == L2CAPChannelIdentifier.signalling {
      dropped.oversizedFrames &+= 1
      rejectOversizedSignal(beginning, into: &outputs)
    } else if let index = index(ofLocal: channel) {
      dropped.oversizedFrames &+= 1
      breakChannel(index, now: now, into: &outputs)
    } else if channel == L2CAPChannelIdentifier.attribute
      || channel == L2CAPChannelIdentifier.security
    {
      dropped.oversizedFrames &+= 1
    } else {
      dropped.unknownChannelFrames &+= 1
    }
  }

  /// The time to call `wake`; nil if no answer is awaited.
  package var nextWake: Instant? {
    pending.isEmpty ? nil : pending.lazy.map(\.deadline).min()
  }

  /// Gives the peer more time to respond to signals, because its answers are held back on their way
  /// here.
  package mutating func postponeTimeouts(until instant: Instant) {
    for index in pending.indices { pending[index].deadline = max(pending[index].deadline, instant) }
  }

  /// Fails requests whose answers are overdue.
  package mutating func wake(now: Instant, into outputs: inout [Output]) {
    while let index = pending.firstIndex(where: { $0.deadline <= now }) {
      let overdue = pending.remove(at: index)
      failed(overdue.purpose, .invalidResponse, into: &outputs)
    }
  }

  /// Ends all channels and pending requests with this error, because the link is down.
  package mutating func close(_ error: HostError, into outputs: inout [Output]) {
    if pending.contains(where: { $0.purpose == .parameterUpdate }) {
      outputs.append(.parameterUpdateAnswered(accepted: false))
    }
    pending.removeAll()
    reassembly = .idle
    while !channels.isEmpty { endChannel(channels.count - 1, error, into: &outputs) }
  }
}

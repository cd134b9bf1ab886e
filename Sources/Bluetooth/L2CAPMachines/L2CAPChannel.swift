import BluetoothInterface
import BluetoothWire

/// The parameters of one end of a credit-based channel (Core 5.4, Vol 3, Part A, §4.22).
package struct L2CAPChannelParameters: Sendable, Hashable {
  /// The maximum SDU size, 23 ... 65535.
  package var mtu: UInt16
  /// The maximum payload of a frame, 23 ... 65533.
  package var mps: UInt16
  /// The number of frames that the other end may send before the client consumes any.
  package var credits: UInt16

  /// Creates parameters.
  package init(mtu: UInt16, mps: UInt16, credits: UInt16) {
    self.mtu = mtu
    self.mps = mps
    self.credits = credits
  }

  /// The default parameters: a frame fills four link-layer packets of the maximum size (4 × 251
  /// bytes, less the header), an SDU four frames, and 16 kB may be in transit, which is more than
  /// the fastest LE link transfers in 50 ms.
  package static let `default` = L2CAPChannelParameters(mtu: 3998, mps: 1000, credits: 16)

  var isValid: Bool {
    mtu >= L2CAPLimits.channelMTUMin && mps >= L2CAPLimits.channelMTUMin && mps <= 65533
  }

  /// Whether several channels may be opened at once with this (§4.25).
  var isValidEnhanced: Bool {
    isValid && mtu >= L2CAPLimits.enhancedMTUMin && mps >= L2CAPLimits.enhancedMTUMin
      && credits > 0
  }
}

/// A peer's request for one channel, or for up to five at once. All fields but the PSM are
/// validated.
package struct L2CAPChannelRequest: Sendable, Hashable {
  /// The PSM of the requested service.
  package var psm: UInt16

  var identifier: UInt8
  var peerCIDs: [UInt16]
  var peer: L2CAPChannelParameters
  /// Whether it is an Enhanced Credit Based Connection Request.
  package var isEnhanced: Bool
}

/// An open channel.
package struct L2CAPChannelInfo: Sendable, Hashable {
  /// The local CID.
  package var localCID: UInt16
  /// The PSM that it was opened with.
  package var psm: UInt16
  /// Whether the peer opened it.
  package var isIncoming: Bool
  /// The maximum SDU size that the peer accepts.
  package var peerMTU: Int
}

/// One credit-based channel: its CIDs, its credits, and its partly sent and received SDUs.
struct CreditBasedChannel: Sendable {
  enum State: Sendable {
    /// This side requested it.
    case connecting
    /// This side requested it, and the client has cancelled since.
    case abandoned
    case open
    /// This side requested the disconnection. `isReported` if the client has been notified of it.
    case disconnecting(isReported: Bool)
  }

  /// Bytes that a client sends, cut into service data units as long as the peer takes them.
  struct Send: Sendable {
    var bytes: [UInt8]
    /// How many of them are in frames already.
    var offset = 0
    /// How many are left of the service data unit that was begun.
    var leftOfUnit = 0
    var token: RequestToken
  }

  /// A service data unit that the client has not consumed yet.
  struct Held: Sendable {
    var byteCount: Int
    /// How many credits are withheld for it.
    var credits: Int
  }

  var state = State.connecting
  var localCID: UInt16
  var peerCID: UInt16 = 0
  var psm: UInt16
  var isIncoming: Bool
  /// Whether it was opened by an enhanced request, so that its sizes may change.
  var isEnhanced = false
  /// Distinguishes frames of this channel from those of an earlier one with the same CID.
  var generation: UInt32

  var local: L2CAPChannelParameters
  /// How many frames the peer may send now.
  var granted: Int
  /// The service data unit being received, and its length once known.
  var unit: [UInt8] = []
  var unitLength: Int?
  var held = FIFO<Held>()
  var withheld = 0

  var peerMTU = 0
  var peerMPS = 0
  /// How many frames we may send now.
  var credits = 0
  var sends = FIFO<Send>()
  var waitingBytes = 0
  /// Frames that the scheduler has and the controller has not.
  var framesAhead = 0
  /// Sends whose last frame is with the scheduler.
  var nearlySent = FIFO<RequestToken>()

  var isOpen: Bool { if case .open = state { true } else { false } }

  /// Whether the peer has given its end a CID.
  var hasPeer: Bool {
    switch state {
    case .connecting, .abandoned: false
    case .open, .disconnecting: true
    }
  }

  var info: L2CAPChannelInfo {
    L2CAPChannelInfo(localCID: localCID, psm: psm, isIncoming: isIncoming, peerMTU: peerMTU)
  }

  mutating func opened(peerCID: UInt16, peer: L2CAPChannelParameters) {
    self.peerCID = peerCID
    peerMTU = Int(peer.mtu)
    peerMPS = Int(peer.mps)
    credits = Int(peer.credits)
    state = .open
  }

  // MARK: Receiving

  enum Received: Sendable {
    /// More frames are needed.
    case partial
    /// A whole service data unit.
    case unit(ArraySlice<UInt8>)
    /// Against the rules: the channel must be closed.
    case violation
  }

  /// Takes a frame's payload, which is no longer than our MPS (§3.4.3).
  mutating func receive(_ payload: ArraySlice<UInt8>) -> Received {
    guard granted > 0 else { return .violation }
    granted -= 1
    if let total = unitLength {
      guard unit.count + payload.count <= total else { return .violation }
      unit.append(contentsOf: payload)
      guard unit.count == total else { return .partial }
      unitLength = nil
      defer { unit = [] }
      return .unit(unit[...])
    }
    guard payload.count >= 2 else { return .violation }
    let start = payload.startIndex
    let total = Int(payload[start]) | Int(payload[start + 1]) << 8
    let data = payload[(start + 2)...]
    guard total <= local.mtu, data.count <= total else { return .violation }
    if data.count == total { return .unit(data) }
    unit.reserveCapacity(total)
    unit.append(contentsOf: data)
    unitLength = total
    return .partial
  }

  /// Withholds credits for a unit that goes to the client: as many as it takes full frames. While a
  /// unit was incomplete its frames cost nothing, else short frames could stop it for ever.
  mutating func hold(_ byteCount: Int) {
    guard byteCount > 0 else { return }
    let credits = (byteCount + 2 + Int(local.mps) - 1) / Int(local.mps)
    held.append(Held(byteCount: byteCount, credits: credits))
    withheld += credits
  }

  /// The client has consumed this number of bytes.
  mutating func consumed(_ byteCount: Int) {
    var left = byteCount
    while left > 0, let first = held.first {
      guard first.byteCount <= left else {
        held.first?.byteCount -= left
        return
      }
      left -= first.byteCount
      withheld -= first.credits
      _ = held.popFirst()
    }
  }

  /// The credits to give to the peer now: none until half of them are due, so that credits cost
  /// few packets.
  mutating func creditsToGrant() -> UInt16? {
    let window = Int(local.credits)
    let due = window - withheld - granted
    guard due > 0, granted == 0 || due * 2 >= window else { return nil }
    granted += due
    return UInt16(due)
  }

  // MARK: Sending

  /// The next frame, if the credits and the bound of frames in the scheduler allow one.
  mutating func nextFrame() -> OutgoingFrame? {
    guard isOpen, credits > 0, framesAhead < L2CAPLimits.framesAhead, !sends.isEmpty else {
      return nil
    }
    return makeFrame()
  }

  private mutating func makeFrame() -> OutgoingFrame? {
    guard let send = sends.first else { return nil }
    let unitStarts = send.leftOfUnit == 0
    let unitLength = unitStarts ? min(send.bytes.count - send.offset, peerMTU) : send.leftOfUnit
    let prefix = unitStarts ? 2 : 0
    let length = min(unitLength, min(peerMPS, L2CAPLimits.outgoingMPS) - prefix)
    let end = send.offset + length
    let isLast = end == send.bytes.count
    var frame = OutgoingFrame(
      channel: peerCID, payloadCount: prefix + length, tag: tag(isLast: isLast))
    if unitStarts {
      frame.packet.append(UInt8(truncatingIfNeeded: unitLength))
      frame.packet.append(UInt8(truncatingIfNeeded: unitLength >> 8))
    }
    frame.packet.append(contentsOf: send.bytes[send.offset..<end])
    credits -= 1
    framesAhead += 1
    waitingBytes -= length
    if isLast {
      nearlySent.append(send.token)
      _ = sends.popFirst()
    } else {
      sends.first?.offset = end
      sends.first?.leftOfUnit = unitLength - length
    }
    return frame
  }

  private func tag(isLast: Bool) -> SendTag {
    SendTag(
      rawValue: 1 << 63 | UInt64(generation) << 17 | (isLast ? 1 << 16 : 0) | UInt64(localCID))
  }
}

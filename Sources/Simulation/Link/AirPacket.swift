public import BluetoothWire
public import Essentials

/// A packet of a connection on the air.
public struct AirPacket: Hashable, Sendable {
  /// The time at which it is sent.
  public var time: Instant
  /// The access address of the connection (Core 5.4, Vol 6, Part B, §2.1.2).
  public var accessAddress: UInt32
  /// The counter of the connection event in which it is sent.
  public var eventCounter: UInt16
  /// The direction of the packet.
  package var direction: LinkCipher.Direction
  /// The PHY.
  public var phy: PHY
  /// The PDU (Core 5.4, Vol 6, Part B, §2.4): two octets of header, the payload and, where it is
  /// encrypted, the MIC; without the CRC.
  public var bytes: [UInt8]

  /// Creates a packet.
  package init(
    time: Instant, accessAddress: UInt32, eventCounter: UInt16,
    direction: LinkCipher.Direction, phy: PHY, bytes: [UInt8]
  ) {
    self.time = time
    self.accessAddress = accessAddress
    self.eventCounter = eventCounter
    self.direction = direction
    self.phy = phy
    self.bytes = bytes
  }
}

/// What a packet of a connection carries, by the LLID of its header (Core 5.4, Vol 6, Part B, §2.4).
enum LinkPayloadKind: UInt8 {
  /// The rest of an L2CAP frame, or nothing at all.
  case continuing = 1
  /// The start of an L2CAP frame, or all of it.
  case start = 2
  case control = 3
}

extension Endpoint {
  /// The header's first octet: kind, sequence numbers (Core 5.4, Vol 6, Part B, §4.5.9), more data.
  func airHeader(_ kind: LinkPayloadKind) -> UInt8 {
    // A packet that the peer has already is repeated with its sequence number.
    let isRepeated = inFlight?.isDelivered == true
    var header = kind.rawValue
    if expectsOdd { header |= 0x04 }
    if peerEndpoint.expectsOdd != isRepeated { header |= 0x08 }
    if hasNext { header |= 0x10 }
    return header
  }

  /// The packet that is sent now, header included: the one in flight, or an empty one.
  var airBytes: [UInt8] {
    guard let inFlight else { return [airHeader(.continuing), 0] }
    let kind = kind(of: inFlight.content)
    var bytes = inFlight.air ?? unsealed(payload(of: inFlight.content), kind: kind).bytes
    bytes[0] = airHeader(kind)
    return bytes
  }

  /// Takes what an attacker sends over the peer's packet. Control PDUs that the peer didn't send are
  /// not understood.
  func takeForged(_ air: [UInt8], over flight: InFlight?) {
    guard air.count > 2 else { return }
    guard let payload = opened(air) else { return link.failIntegrity() }
    switch LinkPayloadKind(rawValue: air[0] & 3) {
    case .control?:
      guard case .control(let pdu)? = flight?.content,
        payload.elementsEqual(peerEndpoint.payload(of: .control(pdu)))
      else { return }
      handle(pdu)
    case .start?:
      takeForged(payload, .firstFlushable)
    case .continuing?:
      takeForged(payload, .continuing)
    case nil:
      break
    }
  }

  private func takeForged(_ payload: ArraySlice<UInt8>, _ boundary: ACLBoundary) {
    guard controller.hasHostBuffer else { return }
    controller.deliverData(
      ACLHeader.packet(handle: handle, boundary: boundary, payload: payload), for: self)
  }
}

import BluetoothWire
import Essentials

// What comes out of a link's L2CAP, and frames on their way in.

extension HostMachine {
  /// Lets a link's L2CAP put out something and acts on it. The link may be gone after this.
  mutating func withL2CAP(
    _ index: Int, now: Instant, into actions: inout [Action],
    _ body: (inout L2CAPLink, inout [L2CAPLink.Output]) -> Void
  ) {
    var outputs: [L2CAPLink.Output] = []
    swap(&outputs, &l2capOutputs)
    let handle = linkHandles[index]
    body(&links[index].l2cap, &outputs)
    due(links[index].l2cap.nextWake)
    for output in outputs {
      // An output may end the link; those after it have nothing to act on then.
      guard let index = linkIndex(handle: handle) else { break }
      take(output, from: index, now: now, into: &actions)
    }
    outputs.removeAll(keepingCapacity: true)
    swap(&outputs, &l2capOutputs)
  }

  private mutating func take(
    _ output: L2CAPLink.Output, from index: Int, now: Instant, into actions: inout [Action]
  ) {
    switch output {
    case .sendFrame(let frame):
      scheduler.enqueue(frame, handle: linkHandles[index])
    case .fixedChannel(L2CAPChannelIdentifier.attribute, let pdu):
      receiveAttributePDU(pdu, from: index, now: now, into: &actions)
    case .fixedChannel(_, let pdu):
      receiveSecurityPDU(pdu, from: index)
    case .parameterUpdateRequested(let parameters, let identifier):
      // One at a time: a peer can't fill the line of commands.
      let isAccepted = !links[index].isChangingTiming
      withL2CAP(index, now: now, into: &actions) { l2cap, outputs in
        l2cap.answerParameterUpdate(
          identifier: identifier, accepted: isAccepted, into: &outputs)
      }
      if isAccepted { updateTiming(of: index, parameters, now: now, into: &actions) }
    case .parameterUpdateAnswered(let accepted):
      // Accepted: done when the new timing is there, which LE Connection Update Complete tells; but
      // a central may keep the old one, so nobody is made to wait for that.
      let error = HostError.unsupported("The central keeps the connection parameters.")
      parametersUpdated(linkHandles[index], accepted ? nil : error, into: &actions)
    case .channelRequested, .channelOpened, .channelRefused, .channelReceived, .sendCompleted,
      .channelClosed:
      takeChannel(output, from: index, now: now, into: &actions)
    }
  }

  /// A frame was handed to the controller.
  mutating func handedOver(
    _ tag: SendTag, link index: Int, now: Instant, into actions: inout [Action]
  ) {
    switch tag.owner {
    case .gattClient:
      withGATT(index, now: now, into: &actions) { gatt, outputs in
        gatt.sent(tag, into: &outputs)
      }
    case .gattServer:
      let peer = linkPeers[index]
      withServer(now: now, into: &actions) { server, outputs in
        server.sent(tag, to: peer, into: &outputs)
      }
    case .channels:
      withL2CAP(index, now: now, into: &actions) { l2cap, outputs in
        l2cap.handedOver(tag, into: &outputs)
      }
    case .other: break
    }
  }

  /// Pairing is not there yet, and says so (Core 5.4, Vol 3, Part H, §3.5.5): to a central that
  /// wants to pair, and to a peripheral that wants us to.
  private mutating func receiveSecurityPDU(_ pdu: ArraySlice<UInt8>, from index: Int) {
    let pairingRequest: UInt8 = 0x01
    let securityRequest: UInt8 = 0x0B
    guard pdu.first == pairingRequest || pdu.first == securityRequest else { return }
    let pairingFailed: UInt8 = 0x05
    let pairingNotSupported: UInt8 = 0x05
    let frame = OutgoingFrame(
      channel: L2CAPChannelIdentifier.security, payload: [pairingFailed, pairingNotSupported])
    scheduler.enqueue(frame, handle: linkHandles[index])
  }
}

import BluetoothInterface
import BluetoothWire
import Essentials
import GATTMachines
import L2CAPMachines
import PairingMachines

// Frames of a link on their way in, and what its L2CAP puts out.

extension HostMachine {
  /// Lets a link's L2CAP put out something and acts on it. The link may be gone after this.
  mutating func withL2CAP(
    _ index: Int, now: Instant, into actions: inout [Action],
    _ body: (inout L2CAPLink, inout [L2CAPLink.Output]) -> Void
  ) {
    var produced: [L2CAPLink.Output] = []
    swap(&produced, &outputs.l2cap)
    let handle = links.handles[index]
    body(&links.entries[index].l2cap, &produced)
    due(links.entries[index].l2cap.nextWake)
    produced.takeEach { output in
      // An output may end the link; those after it have nothing to act on then.
      guard let index = links.index(handle: handle) else { return }
      take(output, from: index, now: now, into: &actions)
    }
    swap(&produced, &outputs.l2cap)
  }

  // Not inlined: the optimizer copies `withL2CAP` for each closure that is passed to it.
  @inline(never)
  private mutating func take(
    _ output: L2CAPLink.Output, from index: Int, now: Instant, into actions: inout [Action]
  ) {
    switch output {
    case .sendFrame(let frame):
      scheduler.enqueue(frame, handle: links.handles[index])
    case .fixedChannel(L2CAPChannelIdentifier.attribute, let pdu):
      receiveAttributePDU(pdu, over: .fixed, from: index, now: now, into: &actions)
    case .fixedChannel(_, let pdu):
      withSecurity(index, now: now, into: &actions) { link, host, outputs in
        link.receive(pdu, host: &host, now: now, into: &outputs)
      }
    case .parameterUpdateRequested(let parameters, let identifier):
      // One at a time: a peer can't fill the queue of commands.
      let isAccepted = links.entries[index].parameterUpdate.deadline == nil
      withL2CAP(index, now: now, into: &actions) { l2cap, outputs in
        l2cap.answerParameterUpdate(
          identifier: identifier, accepted: isAccepted, into: &outputs)
      }
      if isAccepted { updateTiming(of: index, parameters, now: now, into: &actions) }
    case .parameterUpdateAnswered(let accepted):
      // Accepted: done when the new timing is there, which LE Connection Update Complete reports;
      // but a central may keep the old one, so the request does not wait for that.
      let error = HostError.unsupported("The central rejected the connection parameters.")
      parametersUpdated(links.handles[index], accepted ? nil : error, into: &actions)
    case .channelRequested, .channelOpened, .channelRefused, .channelReceived, .sendCompleted,
      .channelReconfigured, .channelClosed:
      if !takeBearer(output, from: index, now: now, into: &actions) {
        takeChannel(output, from: index, now: now, into: &actions)
      }
    }
  }

  /// A frame was handed to the controller.
  mutating func handedOver(
    _ tag: SendTag, link index: Int, now: Instant, into actions: inout [Action]
  ) {
    switch tag.owner {
    case .gattClient:
      withGATT(index, now: now, into: &actions) { gatt, outputs in
        gatt.sent(tag, now: now, into: &outputs)
      }
    case .gattServer:
      let peer = links.peers[index]
      withServer(now: now, into: &actions) { server, outputs in
        server.sent(tag, to: peer, into: &outputs)
      }
    case .channels:
      withL2CAP(index, now: now, into: &actions) { l2cap, outputs in
        l2cap.handedOver(tag, into: &outputs)
      }
    // Reported when it is acknowledged.
    case .security: break
    }
  }
}

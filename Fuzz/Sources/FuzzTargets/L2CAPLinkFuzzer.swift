import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials

extension FuzzTarget {
  /// One link with one channel open. The lowest bit of a packet's first byte marks a continuation,
  /// the other bits let the owner consume, send, close, open or wait.
  static let l2capLink = FuzzTarget(name: "L2CAPLink") { bytes in
    var victim = L2CAPVictim()
    for packet in packets(bytes) {
      guard let choice = packet.first else { continue }
      victim.receive(packet.dropFirst(), continuing: choice & 1 == 1)
      victim.act(choice >> 1)
    }
    victim.finish()
  }
}

/// A link and its owner, which accepts every channel.
private struct L2CAPVictim {
  var link = L2CAPLink(role: .central)
  var scheduler = ACLScheduler()
  var now = Instant.zero
  var channels: [UInt16] = []
  var tokens = 0
  var completions = 0

  init() {
    scheduler.configure(packetLength: 27, packetCount: 3)
    scheduler.open(handle: 1)
    receive(
      [14, 0, 5, 0, 0x14, 1, 10, 0, 0x80, 0, 0x50, 0, 100, 0, 50, 0, 3, 0][...],
      continuing: false)
  }

  mutating func receive(_ packet: ArraySlice<UInt8>, continuing: Bool) {
    let now = now
    perform { $0.receive(packet, continuing: continuing, now: now, into: &$1) }
  }

  mutating func act(_ choice: UInt8) {
    let now = now
    let cid = channels.last ?? 0x40
    switch choice & 7 {
    case 1: perform { $0.consumed(Int(choice), from: cid, into: &$1) }
    case 2:
      tokens += 1
      let token = RequestToken(rawValue: UInt64(tokens))
      let bytes = [UInt8](repeating: choice, count: Int(choice) * 9)
      perform { $0.send(bytes, on: cid, token: token, into: &$1) }
    case 3: perform { $0.closeChannel(cid, now: now, into: &$1) }
    case 4 where choice & 8 != 0:
      let parameters = L2CAPChannelParameters(mtu: 100, mps: 100, credits: 4)
      perform {
        _ = try? $0.openChannels(
          Int(choice >> 4) % 6, psm: 0x27, parameters: parameters, now: now, into: &$1)
      }
    case 4: perform { _ = try? $0.openChannel(psm: 0x80, now: now, into: &$1) }
    case 5:
      self.now = now + .seconds(Int64(choice))
      let later = self.now
      perform { $0.wake(now: later, into: &$1) }
    case 6: scheduler.completed(handle: 1, count: Int(choice))
    default: break
    }
    drain()
  }

  /// Ends the link: every send must have been completed once, and nothing must be awaited.
  mutating func finish() {
    perform { $0.close(.notConnected, into: &$1) }
    precondition(completions == tokens, "\(tokens) sends, but \(completions) completions")
    precondition(channels.isEmpty && link.nextWake == nil, "something is left of a closed link")
  }

  private mutating func drain() {
    var outputs: [ACLScheduler.Output] = []
    repeat {
      outputs.removeAll()
      scheduler.drain(into: &outputs)
      for case .handedOver(_, let tag) in outputs {
        perform { $0.handedOver(tag, into: &$1) }
      }
    } while !outputs.isEmpty
    precondition(scheduler.buffersInUse(handle: 1) <= 3, "more buffers than there are")
  }

  private mutating func perform(_ body: (inout L2CAPLink, inout [L2CAPLink.Output]) -> Void) {
    var outputs: [L2CAPLink.Output] = []
    body(&link, &outputs)
    while !outputs.isEmpty {
      let batch = outputs
      outputs.removeAll()
      for output in batch {
        switch output {
        case .sendFrame(let frame): scheduler.enqueue(frame, handle: 1)
        case .parameterUpdateRequested(_, let identifier):
          link.answerParameterUpdate(identifier: identifier, accepted: true, into: &outputs)
        case .channelRequested(let request): link.accept(request, into: &outputs)
        case .channelOpened(let info):
          precondition(!channels.contains(info.localCID), "one CID names two channels")
          channels.append(info.localCID)
        case .channelClosed(let cid, _): channels.removeAll { $0 == cid }
        case .sendCompleted: completions += 1
        case .channelReceived(let cid, _):
          precondition(channels.contains(cid), "data on a channel that isn't open")
        case .fixedChannel, .parameterUpdateAnswered, .channelRefused, .channelReconfigured: break
        }
      }
    }
  }
}

import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials

/// One end of a link: the machine, the scheduler, and what its owner would see.
struct L2CAPStation {
  var link: L2CAPLink
  var scheduler = ACLScheduler()
  var outputs: [L2CAPLink.Output] = []

  /// How an owner answers the peer.
  var answer: L2CAPResult = .success
  var parameters = L2CAPChannelParameters.default
  var acceptsTiming = true
  /// Whether what arrives is consumed at once.
  var consumes = true

  var fixed: [(UInt16, [UInt8])] = []
  var opened: [L2CAPChannelInfo] = []
  var refused: [HostError] = []
  var received: [[UInt8]] = []
  var receivedBytes = 0
  var keepsReceived = true
  var completed: [(RequestToken, HostError?)] = []
  var closed: [(UInt16, HostError?)] = []
  var timingAnswers: [Bool] = []
  var timingsAsked: [ConnectionParameters] = []
  /// Signals that this end sent.
  var signals: [L2CAPSignal] = []

  init(role: LinkInfo.Role, aclLength: Int = 27, aclCount: Int = 8) {
    link = L2CAPLink(role: role)
    scheduler.configure(packetLength: aclLength, packetCount: aclCount)
    scheduler.open(handle: 1)
  }

  /// Acts on the link's outputs as an owner does, until there are none.
  mutating func settle(now: Instant) {
    while !outputs.isEmpty {
      let batch = outputs
      outputs.removeAll()
      for output in batch { act(on: output, now: now) }
    }
  }

  private mutating func act(on output: L2CAPLink.Output, now: Instant) {
    switch output {
    case .sendFrame(let frame):
      scheduler.enqueue(frame, handle: 1)
      if frame.bytes.dropFirst(2).first == 5,
        let pdu = try? L2CAPSignalPDU(decoding: frame.bytes.dropFirst(4))
      {
        signals.append(pdu.signal)
      }
    case .fixedChannel(let channel, let payload):
      fixed.append((channel, Array(payload)))
    case .parameterUpdateRequested(let parameters, let identifier):
      timingsAsked.append(parameters)
      link.answerParameterUpdate(
        identifier: identifier, accepted: acceptsTiming, into: &outputs)
    case .parameterUpdateAnswered(let accepted):
      timingAnswers.append(accepted)
    case .channelRequested(let request):
      if answer == .success {
        link.accept(request, parameters: parameters, into: &outputs)
      } else {
        link.refuse(request, answer, into: &outputs)
      }
    case .channelOpened(let info): opened.append(info)
    case .channelRefused(_, let error): refused.append(error)
    case .channelReceived(let channel, let unit):
      if keepsReceived { received.append(Array(unit)) }
      receivedBytes += unit.count
      if consumes { link.consumed(unit.count, from: channel, into: &outputs) }
    case .sendCompleted(_, let token, let error): completed.append((token, error))
    case .channelReconfigured: break
    case .channelClosed(let channel, let error): closed.append((channel, error))
    }
  }

  /// The packets that the controller takes now; it is done with each at once.
  mutating func transmit(now: Instant) -> [HCIPacket] {
    var packets: [HCIPacket] = []
    settle(now: now)
    var scheduled: [ACLScheduler.Output] = []
    scheduler.drain(into: &scheduled)
    for output in scheduled {
      switch output {
      case .send(let packet): packets.append(packet)
      case .handedOver(_, let tag): link.handedOver(tag, into: &outputs)
      case .overflowed: break
      }
    }
    scheduler.completed(handle: 1, count: packets.count)
    settle(now: now)
    return packets
  }

  mutating func receive(_ packet: HCIPacket, now: Instant) {
    var reader = ByteReader(packet.bytes)
    guard let handle = try? reader.uint16(), (try? reader.uint16()) != nil else { return }
    link.receive(
      reader.remaining, continuing: handle & 0x3000 == 0x1000, now: now, into: &outputs)
    settle(now: now)
  }
}

/// Two ends back to back.
struct L2CAPPair {
  var central: L2CAPStation
  var peripheral: L2CAPStation
  var now = Instant.zero

  init(aclLength: Int = 27, aclCount: Int = 8) {
    central = L2CAPStation(role: .central, aclLength: aclLength, aclCount: aclCount)
    peripheral = L2CAPStation(role: .peripheral, aclLength: aclLength, aclCount: aclCount)
  }

  /// Carries packets until neither has any; false if that takes too long.
  @discardableResult
  mutating func run(rounds: Int = 100_000) -> Bool {
    for _ in 0..<rounds {
      let there = central.transmit(now: now)
      for packet in there { peripheral.receive(packet, now: now) }
      let back = peripheral.transmit(now: now)
      for packet in back { central.receive(packet, now: now) }
      if there.isEmpty, back.isEmpty { return true }
    }
    return false
  }

  /// Opens a channel from the central to the peripheral; its CIDs at both ends.
  mutating func open(psm: UInt16 = 0x80) throws -> (central: UInt16, peripheral: UInt16) {
    let cid = try central.link.openChannel(
      psm: psm, parameters: central.parameters, now: now, into: &central.outputs)
    run()
    return (cid, peripheral.opened.last?.localCID ?? 0)
  }

  mutating func send(_ bytes: [UInt8], on cid: UInt16, token: UInt64 = 0) {
    central.link.send(
      bytes, on: cid, token: RequestToken(rawValue: token), into: &central.outputs)
  }
}

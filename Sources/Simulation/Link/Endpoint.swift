import BluetoothWire
import Essentials

/// One controller's end of a connection.
final class Endpoint {
  unowned let controller: SimulatedController
  /// Set by the link when it is made; a link keeps its ends, not the other way round.
  unowned var owner: AirLink?
  let role: LinkRole
  let handle: UInt16
  let peer: PeerAddress

  /// Whether this controller still keeps the connection.
  private(set) var isAlive: Bool
  var lastHeard: Int64
  var hasHeard = false
  var rssi: Double?

  // Packets to send.
  private(set) var data: [HCIPacket] = []
  private var spare: [HCIPacket] = []
  /// Bytes of the first packet's payload that the peer has acknowledged.
  private var sentOfFirst = 0
  private(set) var control: [LinkControl] = []
  var inFlight: InFlight?
  private var completedCount = 0
  /// How many of the host's packets occupy buffers of the controller.
  var packetsTaken = 0
  /// How many buffers of the host hold data of this connection, where the host limits that.
  var hostBuffersUsed = 0

  // Negotiated parameters.
  var transmitPHY: PHY
  var phyPreference: PHYPreference
  var ownLength: LEMaximumDataLength
  var effectiveLength = LEMaximumDataLength(
    txOctets: 27, txTimeMicroseconds: 328, rxOctets: 27, rxTimeMicroseconds: 328)
  var remoteVersion: (version: UInt8, company: UInt16, subversion: UInt16)?
  var hasSentVersion = false
  var encryption = EncryptionState()
  /// Whether the number of the next new packet from the peer is odd (Core 5.4, Vol 6, Part B, §4.5.9).
  var expectsOdd = false

  // Procedures in progress.
  private(set) var procedure: LinkControl?
  private(set) var procedureDeadline: Int64 = .max
  private var waiting: [LinkControl] = []
  var awaitsParameterReply = false
  var awaitsLongTermKey = false
  private(set) var isTerminating = false

  /// A link-layer packet that was sent and perhaps not yet acknowledged.
  struct InFlight {
    enum Content {
      case control(LinkControl)
      case data(byteCount: Int)
    }
    var content: Content
    /// The peer has it, but the acknowledgement isn't back.
    var isDelivered = false
    var byteCount: Int
    /// The packet as it is on the air, where it is encrypted.
    var air: [UInt8]?
  }

  init(
    controller: SimulatedController, role: LinkRole, handle: UInt16,
    peer: PeerAddress, isAlive: Bool, phy: PHY
  ) {
    self.controller = controller
    self.role = role
    self.handle = handle
    self.peer = peer
    self.isAlive = isAlive
    lastHeard = controller.world.now.nanoseconds
    transmitPHY = phy
    phyPreference = controller.settings.phyPreference
    let supported = controller.capabilities.dataLengthMax
    let time: UInt16 = supported > 27 ? 17_040 : 328
    ownLength = LEMaximumDataLength(
      txOctets: min(supported, controller.settings.suggestedLength.txOctets),
      txTimeMicroseconds: min(time, controller.settings.suggestedLength.txTimeMicroseconds),
      rxOctets: supported, rxTimeMicroseconds: time)
  }

  var link: AirLink {
    guard let owner else { preconditionFailure("an end is used before its link is made") }
    return owner
  }

  var peerEndpoint: Endpoint { role == .central ? link.peripheral : link.central }
}

// Packets to send.
extension Endpoint {
  func append(_ packet: HCIPacket) {
    data.append(packet)
    link.wantsDelivery()
  }

  func enqueue(_ pdu: LinkControl) {
    guard isAlive else { return }
    control.append(pdu)
    link.wantsDelivery()
  }

  private var sendsData: Bool {
    link.isPaced && !link.isDataPaused && !data.isEmpty && peerEndpoint.controller.hasHostBuffer
  }

  /// Whether there is something that the peer doesn't have and would take.
  var hasMore: Bool { hasControl || sendsData }

  /// The same, but for data that was never sent.
  var hasControl: Bool {
    guard let inFlight, !inFlight.isDelivered else { return nextControl != nil }
    guard case .data = inFlight.content else { return true }
    return peerEndpoint.controller.hasHostBuffer
  }

  /// How many bytes the next packet carries, its message integrity check included.
  var nextByteCount: Int {
    if let inFlight, !inFlight.isDelivered { return inFlight.byteCount }
    if let next = nextControl {
      let count = control[next].byteCount
      return count + encryptionBytes(for: count)
    }
    guard sendsData else { return 0 }
    let count = nextDataByteCount
    return count + encryptionBytes(for: count)
  }

  private func encryptionBytes(for count: Int) -> Int {
    isEncrypted && count > 0 ? LinkCipher.integrityCheckByteCount : 0
  }

  /// Which control PDU is next.
  private var nextControl: Int? {
    guard !control.isEmpty else { return nil }
    guard link.isDataPaused else { return 0 }
    let isHalfway = encryption.isHalfway
    return control.firstIndex { $0.isAllowed(whileHalfway: isHalfway) }
  }

  /// Whether there is more to send than the packet in flight.
  var hasNext: Bool {
    guard let inFlight, case .data(let count) = inFlight.content, let first = data.first else {
      return nextControl != nil || sendsData
    }
    let rest = first.bytes.count - ACLHeader.byteCount - sentOfFirst - count
    return nextControl != nil || rest > 0 || data.count > 1
  }

  private var nextDataByteCount: Int {
    guard let packet = data.first else { return 0 }
    return min(packet.bytes.count - ACLHeader.byteCount - sentOfFirst, dataByteCountMax)
  }

  /// What the agreed octets and the agreed time on air allow.
  private var dataByteCountMax: Int {
    let overhead = AirTime.nanoseconds(payloadBytes: 4, phy: transmitPHY)
    let perByte: Int64 =
      switch transmitPHY {
      case .le1M: 8_000
      case .le2M: 4_000
      case .leCoded: 64_000
      }
    let time = Int64(effectiveLength.txTimeMicroseconds) * 1_000
    return max(27, min(Int(effectiveLength.txOctets), Int((time - overhead) / perByte)))
  }

  /// Puts the next packet in flight, if nothing is: control before data, data unless paused.
  func launch() {
    guard inFlight == nil else { return }
    let byteCount = nextByteCount
    if let next = nextControl {
      inFlight = InFlight(content: .control(control.remove(at: next)), byteCount: byteCount)
    } else if sendsData {
      inFlight = InFlight(content: .data(byteCount: nextDataByteCount), byteCount: byteCount)
    }
    if encryption.isSending, let content = inFlight?.content {
      inFlight?.air = sealed(payload(of: content), kind: kind(of: content))
    }
  }

  /// What a packet carries, not encrypted.
  func payload(of content: InFlight.Content) -> ArraySlice<UInt8> {
    switch content {
    case .control(let pdu):
      let instant = link.eventCounter &+ UInt16(Limits.instantEvents)
      return pdu.encoded(from: role, instant: instant)[...]
    case .data(let byteCount):
      let bytes = data[0].bytes
      let start = bytes.startIndex + ACLHeader.byteCount + sentOfFirst
      return bytes[start..<(start + byteCount)]
    }
  }

  func kind(of content: InFlight.Content) -> LinkPayloadKind {
    switch content {
    case .control: .control
    case .data: sentOfFirst > 0 || data[0].isContinuing ? .continuing : .start
    }
  }

  /// The peer received the packet in flight, or the forged one that an attacker sent over it.
  func land(forged: [UInt8]? = nil) {
    let receiver = peerEndpoint
    let flight = inFlight
    if let flight {
      // Sent again: the peer sees by its number that it has it.
      guard !flight.isDelivered else { return }
      // Not acknowledged: it is sent again.
      if case .data = flight.content, !receiver.controller.hasHostBuffer { return }
      inFlight?.isDelivered = true
    }
    receiver.expectsOdd.toggle()
    if let forged { return receiver.takeForged(forged, over: flight) }
    guard let flight else { return }
    if flight.air != nil || receiver.encryption.isReceiving {
      return landEncrypted(flight)
    }
    switch flight.content {
    case .control(let pdu):
      receiver.handle(pdu)
    case .data(let byteCount):
      receiver.controller.deliverData(fragment(byteCount, for: receiver), for: receiver)
    }
  }

  private func landEncrypted(_ flight: InFlight) {
    let receiver = peerEndpoint
    // What isn't encrypted on an encrypted link, and the other way round, fails, too.
    guard let air = flight.air, receiver.encryption.isReceiving,
      let payload = receiver.opened(air)
    else { return link.failIntegrity() }
    switch flight.content {
    case .control(let pdu):
      receiver.handle(pdu)
    case .data:
      let boundary: ACLBoundary =
        kind(of: flight.content) == .continuing ? .continuing : .firstFlushable
      receiver.controller.deliverData(
        ACLHeader.packet(handle: receiver.handle, boundary: boundary, payload: payload),
        for: receiver)
    }
  }

  private func fragment(_ byteCount: Int, for receiver: Endpoint) -> HCIPacket {
    let packet = data[0]
    let isContinuing = sentOfFirst > 0 || packet.isContinuing
    let start = packet.bytes.startIndex + ACLHeader.byteCount + sentOfFirst
    return ACLHeader.packet(
      handle: receiver.handle, boundary: isContinuing ? .continuing : .firstFlushable,
      payload: packet.bytes[start..<(start + byteCount)])
  }

  /// The peer acknowledged what it received.
  func acknowledge() {
    guard let flight = inFlight, flight.isDelivered else { return }
    inFlight = nil
    guard case .data(let byteCount) = flight.content, let packet = data.first else { return }
    sentOfFirst += byteCount
    guard sentOfFirst >= packet.bytes.count - ACLHeader.byteCount else { return }
    sentOfFirst = 0
    data.removeFirst()
    completedCount += 1
  }

  /// Reports to the host which of its packets were completed.
  func reportCompleted() {
    guard completedCount > 0, isAlive else { return }
    let count = completedCount
    completedCount = 0
    controller.complete(count, on: self)
  }

  /// Where the world was paced a moment ago, the peer may have a part of the first packet.
  private func deliverRestOfFirst(to receiver: Endpoint) {
    if let flight = inFlight, case .data(let byteCount) = flight.content {
      discardInFlight()
      if flight.isDelivered { sentOfFirst += byteCount }
    }
    guard sentOfFirst > 0, let first = data.first else { return }
    let rest = first.bytes.count - ACLHeader.byteCount - sentOfFirst
    if rest > 0, receiver.isAlive {
      guard receiver.controller.hasHostBuffer else { return }
      guard let packet = carried(fragment(rest, for: receiver), to: receiver) else {
        return link.failIntegrity()
      }
      receiver.controller.deliverData(packet, for: receiver)
    }
    sentOfFirst = 0
    data.removeFirst()
    completedCount += 1
  }

  /// What arrives of an ACL packet that goes over the air at once, in as many packets as it takes; nil
  /// if an integrity check fails.
  private func carried(_ packet: HCIPacket, to receiver: Endpoint) -> HCIPacket? {
    guard encryption.isSending || link.world.hasAirListener else { return packet }
    var rest = packet.bytes.dropFirst(ACLHeader.byteCount)
    var kind: LinkPayloadKind = packet.isContinuing ? .continuing : .start
    let boundary: ACLBoundary = packet.isContinuing ? .continuing : .firstFlushable
    var arrived: [UInt8] = []
    arrived.reserveCapacity(rest.count)
    while !rest.isEmpty {
      var air = sealed(rest.prefix(Limits.linkPayloadMax), kind: kind)
      if link.world.hasAirListener {
        air[0] = airHeader(kind)
        // Without pacing nothing is sent again, so nothing gets lost.
        if let forged = link.show(air, from: self, at: link.world.now), !forged.isEmpty {
          air = forged
        }
        receiver.expectsOdd.toggle()
      }
      guard let payload = receiver.opened(air) else { return nil }
      arrived += payload
      rest = rest.dropFirst(Limits.linkPayloadMax)
      kind = .continuing
    }
    return ACLHeader.packet(handle: receiver.handle, boundary: boundary, payload: arrived)
  }

  /// Hands all data that the peer's host has room for to the peer at once; in a world without
  /// pacing.
  func deliverAllData() {
    let receiver = peerEndpoint
    let host = receiver.controller
    guard isAlive, !data.isEmpty, host.hasHostBuffer else { return }
    deliverRestOfFirst(to: receiver)
    guard sentOfFirst == 0 else { return }
    var packets: [HCIPacket] = []
    swap(&packets, &spare)
    swap(&packets, &data)
    var takenCount = 0
    let isPlain = !encryption.isSending && !link.world.hasAirListener
    while takenCount < packets.count, !receiver.isAlive || host.hasHostBuffer {
      if receiver.isAlive, !isPlain {
        guard let packet = carried(packets[takenCount], to: receiver) else {
          return link.failIntegrity()
        }
        host.deliverData(packet, for: receiver)
      } else if receiver.isAlive {
        packets[takenCount].readdress(to: receiver.handle)
        host.deliverData(packets[takenCount], for: receiver)
      }
      takenCount += 1
    }
    completedCount += takenCount
    // Delivering may have appended data, which goes behind the packets that were not taken.
    if takenCount < packets.count { data.insert(contentsOf: packets[takenCount...], at: 0) }
    packets.removeAll(keepingCapacity: true)
    swap(&packets, &spare)
    // The peer's host gets a packet anyway; ours may soon.
    receiver.reportCompleted()
    let isFull = controller.aclPacketsHeld >= Int(controller.capabilities.aclPacketCount)
    if completedCount > 1 || isFull { reportCompleted() } else { link.reportCompletedSoon() }
  }
}

// Beginning and end.
extension Endpoint {
  func hear(rssi: Double) {
    self.rssi = rssi
    lastHeard = link.world.now.nanoseconds
    hasHeard = true
  }

  func terminate(_ reason: HCIStatus) {
    guard isAlive, !isTerminating else { return }
    isTerminating = true
    // Data that the peer's host has no room for must not hold up the end.
    if let inFlight, !inFlight.isDelivered, case .data = inFlight.content { discardInFlight() }
    control.insert(.terminate(reason), at: 0)
    link.wantsDelivery()
  }

  /// The connection is over for this controller; reports the reason to its host.
  func end(_ reason: HCIStatus) {
    guard isAlive else { return }
    let reason = isTerminating ? .localHostTerminatedConnection : reason
    vanish()
    controller.remove(self)
    controller.send(DisconnectionComplete(handle: handle, reason: reason))
  }

  /// The connection is over for this controller, without an event for its host.
  func vanish() {
    isAlive = false
    control = []
    inFlight = nil
    procedure = nil
    waiting = []
    data = []
  }
}

// One procedure after the other (Core 5.4, Vol 6, Part B, §5.2).
extension Endpoint {
  func requestProcedure(_ pdu: LinkControl) throws(Refusal) {
    let isSame = ([procedure].compactMap { $0 } + waiting).contains { $0.isSameKind(as: pdu) }
    guard !isSame else { throw Refusal(.commandDisallowed) }
    // After the command's answer.
    controller.afterAnswer { _ in self.startProcedure(pdu) }
  }

  func startProcedure(_ pdu: LinkControl) {
    guard isAlive else { return }
    guard procedure == nil else {
      waiting.append(pdu)
      return
    }
    procedure = pdu
    procedureDeadline = link.world.now.nanoseconds + Limits.procedureTimeoutNanoseconds
    if case .encryptionRequest = pdu { return startEncryptionProcedure(pdu) }
    if case .version = pdu { hasSentVersion = true }
    enqueue(pdu)
  }

  func finishProcedure() {
    procedure = nil
    procedureDeadline = .max
    if !waiting.isEmpty { startProcedure(waiting.removeFirst()) }
  }
}

extension HCIPacket {
  /// Whether an ACL packet continues the one before.
  var isContinuing: Bool { bytes[bytes.startIndex + 1] >> 4 & 3 == 1 }

  /// Makes an ACL packet from a host into one to a host, in place if it is not shared.
  mutating func readdress(to handle: UInt16) {
    let start = bytes.startIndex
    let boundary: UInt8 = isContinuing ? 1 : 2
    bytes[start] = UInt8(truncatingIfNeeded: handle)
    bytes[start + 1] = UInt8(truncatingIfNeeded: handle >> 8) | boundary << 4
  }
}

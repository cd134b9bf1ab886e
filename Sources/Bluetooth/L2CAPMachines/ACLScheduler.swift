package import BluetoothWire

/// Distributes the controller's ACL buffers fairly among links (Core 5.4, Vol 4, Part E, §4.1.1).
///
/// Links with pending frames take turns, with one fragment each. No link uses more than its share, which
/// is an equal one of all that send, and one more if others are idle: a link whose peer takes nothing
/// keeps the buffers that it has, so the others must have enough left for their rate. A link that already
/// uses buffers also leaves some for links without, and the only link leaves some for the next one.
///
/// The owner must process the outputs of `drain` and call it again: a frame that was reported as
/// handed over may cause new frames.
package struct ACLScheduler: Sendable {
  /// An action for the owner of the scheduler.
  package enum Output: Sendable {
    /// Send a packet to the controller.
    case send(HCIPacket)
    /// The last fragment of a tagged frame is among the packets before this output.
    case handedOver(handle: UInt16, SendTag)
    /// The link's queue is full, which a correct peer doesn't cause: disconnect it. Emitted once;
    /// frames that are enqueued later are dropped.
    case overflowed(handle: UInt16)
  }

  private struct Link {
    var handle: UInt16
    var isOpen = true
    var queue = FIFO<OutgoingFrame>()
    var queuedBytes = 0
    /// How many bytes of the first frame the controller has.
    var sentOfFirst = 0
    /// Buffers that the controller has not reported as free again.
    var inFlight = 0
    /// How many packets the controller was given, and how many of them it has reported as completed.
    var givenCount: UInt64 = 0
    var completedCount: UInt64 = 0
    /// Frames of which the peer's acknowledgement is to be reported, and the count of packets with which
    /// each was wholly with the controller.
    var unacknowledged = FIFO<(tag: SendTag, givenCount: UInt64)>()
    /// Whether it waits for its turn.
    var isInTurn = false
    var hasOverflowed = false
    var overflowIsReported = false
  }

  /// The number of completed packets that the controller reported but had not been sent.
  package private(set) var bogusCompletions = 0

  private var packetLength = 27
  private var packetCount = 0
  private var free = 0
  private var links: [Link] = []
  /// The index in `links` of a handle's link; -1 for none. Grows to the highest handle used.
  private var slotOfHandle: [Int16] = []
  /// Slots with something to send, the next to get a buffer first.
  private var turns = FIFO<Int16>()
  /// Open links that hold no buffer.
  private var linksWithoutBuffer = 0
  private var overflowsToReport = 0

  /// Creates a scheduler that sends nothing until it is configured.
  package init() {}

  /// Sets the results of LE Read Buffer Size after a reset. Removes all links.
  ///
  /// A length below 27, which the specification forbids, counts as 27.
  package mutating func configure(packetLength: Int, packetCount: Int) {
    let counted = bogusCompletions
    self = ACLScheduler()
    bogusCompletions = counted
    self.packetLength = min(max(packetLength, 27), Int(UInt16.max))
    self.packetCount = max(packetCount, 1)
    free = self.packetCount
  }

  /// Adds a link.
  package mutating func open(handle: UInt16) {
    guard handle <= 0x0FFF else { return }
    close(handle: handle)
    let wanted = Int(handle) + 1 - slotOfHandle.count
    if wanted > 0 { slotOfHandle.append(contentsOf: repeatElement(-1, count: wanted)) }
    let slot = links.firstIndex { !$0.isOpen } ?? links.count
    if slot == links.count { links.append(Link(handle: handle)) }
    // A link that is gone may have left its turn: the new one has it then.
    let isInTurn = links[slot].isInTurn
    links[slot] = Link(handle: handle)
    links[slot].isInTurn = isInTurn
    slotOfHandle[Int(handle)] = Int16(slot)
    linksWithoutBuffer += 1
  }

  /// Removes a link: drops its frames and frees its buffers, which the controller will not report
  /// any more (§4.3).
  package mutating func close(handle: UInt16) {
    guard let slot = slot(of: handle) else { return }
    free += links[slot].inFlight
    if links[slot].inFlight == 0 { linksWithoutBuffer -= 1 }
    if links[slot].hasOverflowed, !links[slot].overflowIsReported { overflowsToReport -= 1 }
    let isInTurn = links[slot].isInTurn
    links[slot] = Link(handle: handle)
    links[slot].isOpen = false
    links[slot].isInTurn = isInTurn
    slotOfHandle[Int(handle)] = -1
  }

  /// Drops the frames of a link whose end the controller has not reported yet. The buffers of the
  /// link remain in use until they are reported as free, or until `close`.
  package mutating func abandon(handle: UInt16) {
    guard let slot = slot(of: handle) else { return }
    links[slot].queue = FIFO()
    links[slot].queuedBytes = 0
    links[slot].sentOfFirst = 0
    links[slot].unacknowledged = FIFO()
  }

  /// Enqueues a frame of a link. Dropped if the link doesn't exist.
  package mutating func enqueue(_ frame: OutgoingFrame, handle: UInt16) {
    guard let slot = slot(of: handle), !links[slot].hasOverflowed else { return }
    guard links[slot].queuedBytes + frame.byteCount <= L2CAPLimits.queuedBytes else {
      links[slot].hasOverflowed = true
      overflowsToReport += 1
      return
    }
    links[slot].queuedBytes += frame.byteCount
    links[slot].queue.append(frame)
    if !links[slot].isInTurn {
      links[slot].isInTurn = true
      turns.append(Int16(slot))
    }
  }

  /// Frees buffers that the controller reported as completed. More than the link has used are
  /// ignored and counted.
  package mutating func completed(handle: UInt16, count: Int) {
    guard count > 0 else { return }
    guard let slot = slot(of: handle) else {
      bogusCompletions &+= count
      return
    }
    let used = links[slot].inFlight
    let freed = min(count, used)
    bogusCompletions &+= count - freed
    guard freed > 0 else { return }
    links[slot].inFlight = used - freed
    links[slot].completedCount += UInt64(freed)
    free += freed
    if used == freed { linksWithoutBuffer += 1 }
  }

  /// The tag of the next frame of the link's Security Manager that the peer's controller has
  /// acknowledged; nil without one.
  package mutating func takeAcknowledged(handle: UInt16) -> SendTag? {
    guard let slot = slot(of: handle), let first = links[slot].unacknowledged.first,
      first.givenCount <= links[slot].completedCount
    else { return nil }
    return links[slot].unacknowledged.popFirst()?.tag
  }

  /// Sends as many fragments as the controller has free buffers.
  package mutating func drain(into outputs: inout [Output]) {
    if overflowsToReport > 0 { reportOverflows(into: &outputs) }
    guard free > 0, !turns.isEmpty else { return }
    let share = self.share
    // A link that may not take a buffer now goes to the end; once all have, there is nothing to do.
    var passed = 0
    while free > 0, passed < turns.count, let turn = turns.popFirst() {
      let slot = Int(turn)
      guard !links[slot].queue.isEmpty else {
        links[slot].isInTurn = false
        continue
      }
      if mayTakeBuffer(slot, of: share) {
        passed = 0
        sendFragment(slot, into: &outputs)
      } else {
        passed += 1
      }
      if links[slot].queue.isEmpty {
        links[slot].isInTurn = false
      } else {
        turns.append(turn)
      }
    }
  }

  /// Whether frames of the link are sent.
  package func serves(handle: UInt16) -> Bool { slot(of: handle) != nil }

  /// The number of bytes of the link's frames that are not sent to the controller yet.
  package func queuedByteCount(handle: UInt16) -> Int {
    slot(of: handle).map { links[$0].queuedBytes } ?? 0
  }

  /// The number of the controller's buffers that the link uses.
  package func buffersInUse(handle: UInt16) -> Int {
    slot(of: handle).map { links[$0].inFlight } ?? 0
  }

  /// Whether a link has data that the peer's controller has not acknowledged yet.
  package func isBusy(handle: UInt16) -> Bool {
    slot(of: handle).map { links[$0].queuedBytes > 0 || links[$0].inFlight > 0 } ?? false
  }

  /// The number of the controller's buffers that are in use.
  package var buffersInUse: Int { packetCount - free }

  /// Whether the controller has packets that it hasn't completed.
  package var hasPacketsInController: Bool { buffersInUse > 0 }

  private func slot(of handle: UInt16) -> Int? {
    guard Int(handle) < slotOfHandle.count else { return nil }
    let slot = slotOfHandle[Int(handle)]
    return slot < 0 ? nil : Int(slot)
  }

  /// A link without a buffer takes any free one. Others leave one for each link that has none, but
  /// never more than half of all: else one busy link among many idle ones would crawl.
  private func mayTakeBuffer(_ slot: Int, of share: Int) -> Bool {
    let used = links[slot].inFlight
    return used == 0 || used < share && free > min(linksWithoutBuffer, packetCount / 2)
  }

  /// How many buffers one link may use; does not change while frames are handed over.
  private var share: Int {
    var (sendingCount, openCount) = (0, 0)
    for slot in links.indices where links[slot].isOpen {
      openCount += 1
      if links[slot].inFlight > 0 || !links[slot].queue.isEmpty { sendingCount += 1 }
    }
    if openCount == 1 { return packetCount - (packetCount < 4 ? 0 : max(packetCount / 8, 1)) }
    let shareCount = sendingCount < openCount ? sendingCount + 1 : sendingCount
    return max(packetCount / max(shareCount, 1), min(packetCount, 2))
  }

  private mutating func sendFragment(_ slot: Int, into outputs: inout [Output]) {
    if links[slot].inFlight == 0 { linksWithoutBuffer -= 1 }
    links[slot].inFlight += 1
    links[slot].givenCount += 1
    free -= 1
    let handle = links[slot].handle
    let sent = links[slot].sentOfFirst
    let frameLength = links[slot].queue.first?.byteCount ?? 0
    let length = min(packetLength, frameLength - sent)
    links[slot].queuedBytes -= length
    if sent + length < frameLength {
      links[slot].sentOfFirst = sent + length
      let frame = links[slot].queue.first?.packet ?? []
      outputs.append(.send(fragment(of: frame, from: sent, length: length, handle: handle)))
      return
    }
    guard var frame = links[slot].queue.popFirst() else { return }
    links[slot].sentOfFirst = 0
    if sent == 0 {
      writeHeader(into: &frame.packet, handle: handle, continuing: false, length: length)
      outputs.append(.send(HCIPacket(kind: .acl, bytes: frame.packet)))
    } else {
      outputs.append(.send(fragment(of: frame.packet, from: sent, length: length, handle: handle)))
    }
    guard let tag = frame.tag else { return }
    if tag.owner == .security {
      links[slot].unacknowledged.append((tag, links[slot].givenCount))
    } else {
      outputs.append(.handedOver(handle: handle, tag))
    }
  }

  private func fragment(of frame: [UInt8], from: Int, length: Int, handle: UInt16) -> HCIPacket {
    let header = OutgoingFrame.aclHeaderByteCount
    var packet: [UInt8] = []
    packet.reserveCapacity(header + length)
    for _ in 0..<header { packet.append(0) }
    packet.append(contentsOf: frame[(header + from)..<(header + from + length)])
    writeHeader(into: &packet, handle: handle, continuing: from > 0, length: length)
    return HCIPacket(kind: .acl, bytes: packet)
  }

  /// Writes the HCI ACL header (§5.4.2): the packet boundary flag is 0b00 for the first fragment of
  /// a frame on its way to the controller, 0b01 for the others.
  private func writeHeader(
    into packet: inout [UInt8], handle: UInt16, continuing: Bool, length: Int
  ) {
    packet[0] = UInt8(truncatingIfNeeded: handle)
    packet[1] = UInt8(truncatingIfNeeded: handle >> 8) | (continuing ? 0x10 : 0x00)
    packet[2] = UInt8(truncatingIfNeeded: length)
    packet[3] = UInt8(truncatingIfNeeded: length >> 8)
  }

  private mutating func reportOverflows(into outputs: inout [Output]) {
    for slot in links.indices where links[slot].hasOverflowed && !links[slot].overflowIsReported {
      links[slot].overflowIsReported = true
      outputs.append(.overflowed(handle: links[slot].handle))
    }
    overflowsToReport = 0
  }
}

extension ACLScheduler {
  /// How the scheduler contradicts itself; a sentence for each contradiction.
  package func violations() -> [String] {
    var found: [String] = []
    let open = links.filter(\.isOpen)
    if open.reduce(free, { $0 + $1.inFlight }) != packetCount {
      found.append("buffers are neither free nor in use")
    }
    if open.count(where: { $0.inFlight == 0 }) != linksWithoutBuffer {
      found.append("the links without a buffer are miscounted")
    }
    if links.count(where: \.isInTurn) != turns.count {
      found.append("a link has two turns, or none")
    }
    if open.count(where: { $0.hasOverflowed && !$0.overflowIsReported }) != overflowsToReport {
      found.append("the overflows are miscounted")
    }
    for (slot, link) in links.enumerated() where link.isOpen {
      found += violations(of: link)
      if self.slot(of: link.handle) != slot { found.append("a handle leads to another link") }
    }
    return found
  }

  private func violations(of link: Link) -> [String] {
    var found: [String] = []
    if !(0...L2CAPLimits.queuedBytes).contains(link.queuedBytes) {
      found.append("\(link.queuedBytes) bytes are queued")
    }
    if link.queue.isEmpty, link.queuedBytes != 0 || link.sentOfFirst != 0 {
      found.append("an empty queue has bytes")
    }
    if link.completedCount + UInt64(link.inFlight) != link.givenCount {
      found.append("packets are neither completed nor in flight")
    }
    if !link.queue.isEmpty, !link.isInTurn { found.append("a link with frames has no turn") }
    return found
  }
}

import BluetoothMachines
import BluetoothWire
import Essentials

extension FuzzTarget {
  /// Four links, whose frames, ends and completed packets the input decides.
  static let aclScheduler = FuzzTarget(name: "ACLScheduler") { bytes in
    var owner = SchedulerOwner()
    var reader = ByteReader(bytes)
    while let step = try? reader.uint8(), let amount = try? reader.uint8() {
      owner.act(step, amount)
    }
  }
}

/// Checks that enqueued frames leave whole, in order, and never in too many buffers.
private struct SchedulerOwner {
  private static let packetCount = 5
  private static let packetLength = 27
  private static let handles: [UInt16] = [1, 2, 0x0EFF, 7]

  var scheduler = ACLScheduler()
  var isOpen: [UInt16: Bool] = [:]
  /// Bytes that were enqueued and not seen yet.
  var expected: [UInt16: [UInt8]] = [:]
  var tags: [UInt16: [UInt64]] = [:]
  var held: [UInt16: Int] = [:]
  /// Frames whose acknowledgement is awaited.
  var unacknowledged: [UInt16: [UInt64]] = [:]
  var next: UInt8 = 0
  var tagCount: UInt64 = 0

  init() {
    scheduler.configure(packetLength: Self.packetLength, packetCount: Self.packetCount)
  }

  mutating func act(_ step: UInt8, _ amount: UInt8) {
    let handle = Self.handles[Int(step >> 4) % Self.handles.count]
    switch step & 0x0F {
    case 0...2 where isOpen[handle] != true:
      scheduler.open(handle: handle)
      isOpen[handle] = true
      expected[handle] = []
      tags[handle] = []
    case 3:
      scheduler.close(handle: handle)
      isOpen[handle] = false
      held[handle] = 0
      unacknowledged[handle] = []
    case 4...8:
      guard isOpen[handle] == true else { break }
      enqueue(handle, count: Int(amount) * (step & 0x0F == 8 ? 17 : 1))
    case 9...12:
      scheduler.completed(handle: handle, count: Int(amount & 3))
      held[handle] = max(0, (held[handle] ?? 0) - Int(amount & 3))
      takeAcknowledged(handle)
    default: break
    }
    drain()
  }

  private mutating func enqueue(_ handle: UInt16, count: Int) {
    tagCount += 1
    let payload = (0..<count).map { next &+ UInt8(truncatingIfNeeded: $0) }
    next &+= 31
    let isAcknowledged = tagCount % 3 == 0
    let frame = OutgoingFrame(
      channel: 4, payload: payload,
      tag: SendTag(isAcknowledged ? .security : .gattServer, tagCount))
    expected[handle, default: []] += frame.bytes
    if isAcknowledged {
      unacknowledged[handle, default: []].append(tagCount)
    } else {
      tags[handle, default: []].append(tagCount)
    }
    scheduler.enqueue(frame, handle: handle)
  }

  private mutating func takeAcknowledged(_ handle: UInt16) {
    while let tag = scheduler.takeAcknowledged(handle: handle) {
      precondition(unacknowledged[handle]?.first == tag.number, "acknowledged out of order")
      unacknowledged[handle]?.removeFirst()
    }
    guard isOpen[handle] == true, held[handle] == 0, scheduler.queuedByteCount(handle: handle) == 0
    else { return }
    precondition(unacknowledged[handle]?.isEmpty ?? true, "an acknowledgement was lost")
  }

  private mutating func drain() {
    var outputs: [ACLScheduler.Output] = []
    scheduler.drain(into: &outputs)
    for output in outputs {
      switch output {
      case .send(let packet): take(packet)
      case .handedOver(let handle, let tag):
        precondition(tags[handle]?.first == tag.number, "frames changed places")
        tags[handle]?.removeFirst()
      case .overflowed: break
      }
    }
    precondition(held.values.reduce(0, +) <= Self.packetCount, "more buffers than there are")
    for handle in Self.handles where isOpen[handle] == true {
      precondition(scheduler.queuedByteCount(handle: handle) <= expected[handle]?.count ?? 0)
    }
  }

  private mutating func take(_ packet: HCIPacket) {
    guard let (header, payload) = try? ACLHeader.decode(from: packet.bytes) else {
      preconditionFailure("an ACL packet that nobody can read")
    }
    precondition(isOpen[header.handle] == true, "a packet for a link that is closed")
    precondition(payload.count <= Self.packetLength, "a packet longer than a buffer")
    precondition(
      expected[header.handle]?.prefix(payload.count) == payload, "bytes were lost or mixed up")
    expected[header.handle]?.removeFirst(payload.count)
    held[header.handle, default: 0] += 1
  }
}

import BluetoothMachines
import BluetoothWire
import Essentials
import Testing

@Suite("Sharing the controller's ACL buffers")
struct ACLSchedulerTests {
  var scheduler = ACLScheduler()
  var outputs: [ACLScheduler.Output] = []

  init() {
    scheduler.configure(packetLength: 27, packetCount: 4)
  }

  /// The packets sent since the last call.
  mutating func drained() -> [[UInt8]] {
    outputs.removeAll()
    scheduler.drain(into: &outputs)
    return outputs.compactMap { output in
      if case .send(let packet) = output { Array(packet.bytes) } else { nil }
    }
  }

  mutating func enqueue(_ count: Int, handle: UInt16, tag: UInt64? = nil) {
    let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    scheduler.enqueue(
      OutgoingFrame(channel: 4, payload: payload, tag: tag.map(SendTag.init)), handle: handle)
  }

  @Test("a frame that fits becomes one packet with both headers before it")
  mutating func singleFragment() {
    scheduler.open(handle: 0x0E41)
    enqueue(3, handle: 0x0E41)
    #expect(drained() == [[0x41, 0x0E, 7, 0, 3, 0, 4, 0, 0, 1, 2]])
  }

  @Test("a longer frame is cut, the continuations marked, and the tag comes after the last")
  mutating func fragments() {
    scheduler.open(handle: 1)
    enqueue(50, handle: 1, tag: 9)
    let packets = drained()
    #expect(packets.map { $0[1] } == [0x00, 0x10])
    #expect(packets.map(\.count) == [31, 31])
    let header: [UInt8] = [50, 0, 4, 0]
    #expect(packets.flatMap { $0.dropFirst(4) } == header + [UInt8](0..<50))
    guard case .handedOver(handle: 1, SendTag(rawValue: 9))? = outputs.last else {
      Issue.record("no tag at the end: \(outputs)")
      return
    }
  }

  @Test("a frame of the Security Manager is reported when its last packet is acknowledged")
  mutating func acknowledgement() {
    scheduler.open(handle: 1)
    let frame = OutgoingFrame(
      channel: 6, payload: [UInt8](repeating: 0, count: 40), tag: SendTag(.security, 7))
    enqueue(1, handle: 1)
    scheduler.enqueue(frame, handle: 1)
    #expect(drained().count == 3 && outputs.count == 3)
    for _ in 0..<2 {
      scheduler.completed(handle: 1, count: 1)
      #expect(scheduler.takeAcknowledged(handle: 1) == nil)
    }
    scheduler.completed(handle: 1, count: 1)
    #expect(scheduler.takeAcknowledged(handle: 1) == SendTag(.security, 7))
    #expect(scheduler.takeAcknowledged(handle: 1) == nil)
  }

  @Test("no more packets are sent than the controller has buffers")
  mutating func flowControl() {
    scheduler.open(handle: 1)
    for _ in 0..<10 { enqueue(1, handle: 1) }
    scheduler.open(handle: 2)
    for _ in 0..<10 { enqueue(1, handle: 2) }
    #expect(drained().count == 4)
    #expect(drained().isEmpty)
    #expect(scheduler.queuedByteCount(handle: 1) == 8 * 5)
    scheduler.completed(handle: 1, count: 2)
    #expect(drained().count == 2)
    #expect(scheduler.buffersInUse == 4)
  }

  @Test("the only link leaves buffers for the next one, should its peer take nothing")
  mutating func onlyLink() {
    for (packetCount, share) in [(1, 1), (3, 3), (4, 3), (8, 7), (15, 14), (32, 28)] {
      scheduler.configure(packetLength: 27, packetCount: packetCount)
      scheduler.open(handle: 1)
      for _ in 0..<40 { enqueue(1, handle: 1) }
      #expect(drained().count == share)
      scheduler.open(handle: 2)
      for _ in 0..<40 {
        enqueue(1, handle: 2)
        guard packetCount > 3 else { continue }
        #expect(drained().map { $0[0] } == [2])
        scheduler.completed(handle: 2, count: 1)
      }
    }
  }

  @Test("a busy link leaves half the buffers for an idle one, which then takes turns with it")
  mutating func fairness() {
    scheduler.open(handle: 1)
    scheduler.open(handle: 2)
    for _ in 0..<20 { enqueue(1, handle: 1) }
    #expect(drained().map { $0[0] } == [1, 1])
    for _ in 0..<20 { enqueue(1, handle: 2) }
    #expect(drained().map { $0[0] } == [2, 2])
    scheduler.completed(handle: 1, count: 2)
    scheduler.completed(handle: 2, count: 2)
    #expect(drained().map { $0[0] }.sorted() == [1, 1, 2, 2])
  }

  @Test("a link that its peer has left does not stop the others")
  mutating func stalledLink() {
    for handle in 1...3 as ClosedRange<UInt16> { scheduler.open(handle: handle) }
    for _ in 0..<20 { enqueue(1, handle: 1) }
    _ = drained()
    for _ in 0..<20 {
      enqueue(1, handle: 2)
      #expect(drained().map { $0[0] } == [2])
      scheduler.completed(handle: 2, count: 1)
    }
  }

  /// How many packets of a link are sent in a round, after which the controller completes them all.
  private mutating func round(_ handle: UInt16) -> Int {
    for _ in 0..<40 { enqueue(1, handle: handle) }
    let count = drained().count { $0[0] == handle }
    scheduler.completed(handle: handle, count: count)
    return count
  }

  @Test("a link whose peer takes nothing any more leaves the others their rate", arguments: 2...8)
  mutating func rateBesideStalledLink(links: Int) {
    scheduler.configure(packetLength: 27, packetCount: 32)
    let handles = (1...UInt16(links)).map(\.self)
    for handle in handles { scheduler.open(handle: handle) }
    var before = 0
    for _ in 0..<20 {
      for handle in handles { for _ in 0..<40 { enqueue(1, handle: handle) } }
      let sent = drained().map { UInt16($0[0]) }
      before = sent.count { $0 == 2 }
      for handle in handles {
        scheduler.completed(handle: handle, count: sent.count { $0 == handle })
      }
    }
    // The first link's peer is frozen from here on, and its queue grows.
    for _ in 0..<20 {
      for handle in handles { for _ in 0..<40 { enqueue(1, handle: handle) } }
      let sent = drained().map { UInt16($0[0]) }
      #expect(sent.count { $0 == 2 } >= before)
      for handle in handles.dropFirst() {
        scheduler.completed(handle: handle, count: sent.count { $0 == handle })
      }
    }
    #expect(scheduler.buffersInUse(handle: 1) <= 32 / links)
  }

  @Test("a link that was alone in sending when its peer froze leaves others half the buffers")
  mutating func frozenAlone() {
    scheduler.configure(packetLength: 27, packetCount: 32)
    scheduler.open(handle: 1)
    scheduler.open(handle: 2)
    for _ in 0..<100 { enqueue(1, handle: 1) }
    #expect(drained().count == 16)
    for _ in 0..<10 { #expect(round(2) == 16) }
  }

  @Test("closing a link returns its buffers and drops its queue")
  mutating func closing() {
    scheduler.open(handle: 1)
    for _ in 0..<10 { enqueue(1, handle: 1) }
    #expect(drained().count == 3)
    scheduler.close(handle: 1)
    scheduler.open(handle: 2)
    for _ in 0..<10 { enqueue(1, handle: 2) }
    #expect(drained().map { $0[0] } == [2, 2, 2])
    scheduler.completed(handle: 1, count: 4)
    #expect(scheduler.bogusCompletions == 4)
    #expect(drained().isEmpty)
  }

  @Test("links that come and go while no buffer is free leave nothing behind")
  mutating func comingAndGoing() {
    scheduler.configure(packetLength: 27, packetCount: 1)
    scheduler.open(handle: 1)
    enqueue(10, handle: 1)
    #expect(drained().count == 1)
    for _ in 0..<40_000 {
      scheduler.open(handle: 2)
      enqueue(10, handle: 2)
      scheduler.close(handle: 2)
    }
    scheduler.open(handle: 2)
    enqueue(10, handle: 2)
    scheduler.completed(handle: 1, count: 1)
    #expect(drained().count == 1)
  }

  @Test("completions of packets never sent are ignored and counted")
  mutating func bogusCompletions() {
    scheduler.open(handle: 1)
    enqueue(1, handle: 1)
    #expect(drained().count == 1)
    scheduler.completed(handle: 1, count: 65535)
    scheduler.completed(handle: 0x0FFF, count: 3)
    scheduler.completed(handle: 1, count: 0)
    #expect(scheduler.bogusCompletions == 65537)
    for _ in 0..<10 { enqueue(1, handle: 1) }
    #expect(drained().count == 3)
  }

  @Test("frames for a link that isn't open go nowhere")
  mutating func unknownLink() {
    enqueue(1, handle: 7)
    scheduler.open(handle: 0x1000)
    enqueue(1, handle: 0x1000)
    scheduler.close(handle: 0xFFFF)
    #expect(drained().isEmpty)
  }

  @Test("a link with a mountain before it is reported once, and takes nothing more")
  mutating func overflow() {
    scheduler.open(handle: 1)
    scheduler.open(handle: 2)
    for _ in 0..<30 { enqueue(60_000, handle: 1) }
    _ = drained()
    let reports = outputs.filter { if case .overflowed(handle: 1) = $0 { true } else { false } }
    #expect(reports.count == 1)
    #expect(scheduler.queuedByteCount(handle: 1) <= 1 << 20)
    #expect(drained().isEmpty && outputs.isEmpty)
    enqueue(1, handle: 2)
    #expect(drained().count == 1)
  }

  @Test("whatever is opened, closed, sent and completed, no packet is lost or doubled")
  mutating func chaos() {
    for seed in 0..<300 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      let buffers = Int.random(in: 1...12, using: &random)
      scheduler.configure(packetLength: 27, packetCount: buffers)
      var inFlight: [UInt16: Int] = [:]
      for _ in 0..<400 {
        let handle = UInt16.random(in: 0..<6, using: &random)
        switch Int.random(in: 0..<8, using: &random) {
        case 0 where inFlight[handle] == nil:
          scheduler.open(handle: handle)
          inFlight[handle] = 0
        case 1 where Int.random(in: 0..<4, using: &random) == 0:
          scheduler.close(handle: handle)
          inFlight[handle] = nil
        case 2...4:
          enqueue(Int.random(in: 0...80, using: &random), handle: handle)
        case 5:
          let count = Int.random(in: 0...3, using: &random)
          scheduler.completed(handle: handle, count: count)
          if let used = inFlight[handle] { inFlight[handle] = max(used - count, 0) }
        default:
          for packet in drained() { inFlight[UInt16(packet[0]), default: 0] += 1 }
        }
        #expect(inFlight.values.reduce(0, +) <= buffers, "seed \(seed)")
        for (handle, used) in inFlight {
          #expect(scheduler.buffersInUse(handle: handle) == used, "seed \(seed)")
        }
      }
      // Once everything is completed, everything goes out.
      var rounds = 0
      while inFlight.keys.contains(where: { scheduler.queuedByteCount(handle: $0) > 0 }) {
        for (handle, used) in inFlight { scheduler.completed(handle: handle, count: used) }
        inFlight = inFlight.mapValues { _ in 0 }
        for packet in drained() { inFlight[UInt16(packet[0]), default: 0] += 1 }
        rounds += 1
        guard rounds < 10_000 else {
          Issue.record("stuck, seed \(seed)")
          return
        }
      }
    }
  }
}

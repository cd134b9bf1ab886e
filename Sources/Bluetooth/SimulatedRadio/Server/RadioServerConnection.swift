import BluetoothWire
import Essentials
import EventLoop

/// One host's connection to a radio server. Used on the server's loop only.
final class RadioServerConnection {
  private(set) var port: ControllerPort?
  private let loop: EpollLoop
  private let onEnd: (RadioServerConnection, _ reason: String) -> Void
  private var channel: ByteChannel?
  private var decoder = H4Decoder()
  /// Storage of packets that were received, used again.
  private var sparePackets: [HCIPacket] = []

  /// Owns a connected socket; nil where it cannot be watched.
  ///
  /// - Parameter onEnd: Called once when the connection ended, with the reason; not after ``close()``.
  init?(
    _ descriptor: Int32, on loop: EpollLoop,
    onEnd: @escaping (RadioServerConnection, _ reason: String) -> Void
  ) {
    self.loop = loop
    self.onEnd = onEnd
    do throws(SystemError) {
      channel = try ByteChannel(
        owning: descriptor, on: loop, expectsPromptEvents: true,
        onRead: { [weak self] in self?.received($0) },
        onEnd: { [weak self] error in
          self?.end(error == nil ? "the host closed the connection" : "the connection failed")
        })
    } catch { return nil }
    channel?.onDrain = { [weak self] in self?.channel?.isReading = true }
  }

  /// Connects the host with its controller.
  func attach(_ port: ControllerPort) {
    self.port = port
    port.onPackets = { [weak self] in self?.write($0) }
    port.onPowerLoss = { [weak self] in self?.end("the controller lost its power") }
  }

  /// Closes the connection.
  func close() {
    channel?.close()
    channel = nil
  }

  private func received(_ chunk: [UInt8]) {
    guard let port else { return }
    decoder.append(chunk)
    do throws(WireError) {
      var packets: [HCIPacket] = []
      swap(&packets, &sparePackets)
      try decoder.takePackets(into: &packets)
      port.send(packets)
      packets.removeAll(keepingCapacity: true)
      swap(&packets, &sparePackets)
      port.flush()
    } catch {
      end("the host sent bytes that are no HCI packet")
    }
  }

  private func end(_ reason: String) {
    close()
    onEnd(self, reason)
  }

  /// Writes what the controller sent. A host that doesn't read it gets no advertising reports until it
  /// does, and its own packets are not read; beyond a bound, the connection ends.
  private func write(_ packets: [HCIPacket]) {
    guard let channel, channel.isOpen else { return }
    let isSlow = channel.pendingByteCount > Limits.slowReaderByteCount
    if channel.pendingByteCount > Limits.pendingByteCount {
      // In a turn of its own: the world is in the middle of a step.
      channel.close()
      loop.schedule(in: .zero) { [weak self] in
        self?.end("the host does not read the events of its controller")
      }
      return
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(packets.reduce(0) { $0 + $1.bytes.count + 1 })
    for packet in packets where !(isSlow && packet.isAdvertisingReport) {
      bytes.append(packet.kind.rawValue)
      bytes.append(contentsOf: packet.bytes)
    }
    channel.write(bytes)
    if channel.pendingByteCount > Limits.slowReaderByteCount { channel.isReading = false }
  }
}

extension HCIPacket {
  /// Whether this is one of the reports that a controller may drop when its host is slow.
  fileprivate var isAdvertisingReport: Bool {
    // LE Meta event with the subevents of legacy, directed and extended reports
    // (Core 5.4, Vol 4, Part E, §7.7.65).
    let head = bytes.prefix(3)
    guard kind == .event, head.count == 3, head.first == 0x3E, let subevent = head.last else {
      return false
    }
    return [0x02, 0x0B, 0x0D].contains(subevent)
  }
}

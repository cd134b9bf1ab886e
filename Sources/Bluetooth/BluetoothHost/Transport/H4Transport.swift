import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import EventLoop

/// H4 (Core 5.4, Vol 4, Part A) over a descriptor: a socket, a serial line, a user channel.
final class H4Transport: HCITransport {
  /// How to open a descriptor, and how to describe its failures.
  struct Connector: Sendable {
    /// The radio, as people name it.
    var name: String
    /// A stream of bytes, or one packet in each write: where the kernel takes each write for a packet.
    var framing = ByteChannel.Framing.stream
    /// Whether the controller may be a process of the same machine, which answers within microseconds.
    var expectsPromptEvents = false
    /// Opens a descriptor, calls back once, and returns a closure that cancels the attempt.
    var open: @Sendable (EpollLoop, @escaping (Result<Int32, HostError>) -> Void) -> (() -> Void)
    /// Puts a failure of the open descriptor into words.
    var explain: @Sendable (SystemError) -> HostError
    /// What it means when the other end closes.
    var endOfStream: HostError
  }

  private let loop: EpollLoop
  private let connector: Connector
  private var receiver: (any TransportReceiver)?
  private var cancelOpening: (() -> Void)?
  private var channel: ByteChannel?
  private var decoder = H4Decoder()
  /// Storage of packets that were received, used again.
  private var sparePackets: [HCIPacket] = []
  private var outgoing: [UInt8] = []

  var isReceiving = true {
    didSet { channel?.isReading = isReceiving }
  }

  init(on loop: EpollLoop, _ connector: Connector) {
    self.loop = loop
    self.connector = connector
  }

  func open(_ receiver: any TransportReceiver) {
    self.receiver = receiver
    let cancel = connector.open(loop) { [weak self] result in self?.opened(result) }
    if self.receiver != nil, channel == nil { cancelOpening = cancel }
  }

  func send(_ packet: HCIPacket) {
    guard channel != nil else { return }
    outgoing.append(packet.kind.rawValue)
    outgoing.append(contentsOf: packet.bytes)
    if connector.framing == .packets { flush() }
  }

  func flush() {
    guard let channel, !outgoing.isEmpty else { return }
    guard channel.pendingByteCount <= Limits.pendingByteCount else {
      outgoing = []
      // A controller grants the host credits for what it has room for, so it never comes to this.
      return end(.transport("The radio \(connector.name) does not read the bytes sent to it."))
    }
    let bytes = outgoing
    outgoing.removeAll(keepingCapacity: true)
    channel.write(bytes)
  }

  func close() {
    receiver = nil
    cancelOpening?()
    cancelOpening = nil
    channel?.close()
    channel = nil
  }

  private func opened(_ result: Result<Int32, HostError>) {
    cancelOpening = nil
    switch result {
    case .success(let descriptor):
      do throws(SystemError) {
        channel = try ByteChannel(
          owning: descriptor, on: loop, framing: connector.framing,
          expectsPromptEvents: connector.expectsPromptEvents,
          onRead: { [weak self] in self?.received($0) },
          onEnd: { [weak self] in self?.ended($0) })
      } catch {
        return end(connector.explain(error))
      }
      receiver?.transportOpened(self)
    case .failure(let error):
      end(error)
    }
  }

  private func received(_ chunk: [UInt8]) {
    var failure: WireError?
    var packets: [HCIPacket] = []
    swap(&packets, &sparePackets)
    decoder.append(chunk)
    do throws(WireError) {
      try decoder.takePackets(into: &packets)
    } catch {
      failure = error
    }
    if !packets.isEmpty { receiver?.transport(self, received: packets) }
    packets.removeAll(keepingCapacity: true)
    swap(&packets, &sparePackets)
    if failure != nil {
      end(.transport("The radio \(connector.name) sent bytes that are no HCI packet."))
    }
  }

  private func ended(_ error: SystemError?) {
    end(error.map(connector.explain) ?? connector.endOfStream)
  }

  private func end(_ error: HostError) {
    let receiver = receiver
    close()
    receiver?.transport(self, closed: error)
  }
}

import BluetoothWire
import Essentials
import Simulation

/// A peer that breaks the rules: it speaks raw HCI to its controller, and sends whichever PDUs a
/// test needs.
///
/// By default it is an attribute server without any attributes.
final class HostilePeer {
  /// An L2CAP frame.
  struct Frame: Equatable {
    var channel: UInt16
    var payload: [UInt8]
  }

  let world: World
  let controller: SimulatedController
  /// The link, while there is one.
  private(set) var handle: UInt16?
  private(set) var linkCount = 0
  /// Why the last link ended.
  private(set) var endReason: HCIStatus?
  /// What came in since the link opened.
  private(set) var heard: [Frame] = []
  /// Its answers to an attribute request; nil leaves it to the server without attributes.
  var answer: (ATTPDU) -> [[UInt8]]? = { _ in nil }
  /// What it does about a frame of another channel than the attribute protocol's.
  var react: (Frame) -> Void = { _ in }
  /// What it does about an event of its controller, besides what every link needs.
  var onEvent: (HCIEvent) -> Void = { _ in }
  /// How long it thinks before each answer.
  var slowness = TimeSpan.zero
  /// Whether it takes connections.
  private let isPeripheral: Bool

  private var partial: [UInt8] = []
  private var outbox: [HCIPacket] = []
  private var outboxStart = 0
  private var inFlight = 0

  init(
    in world: World, named name: String = "hostile", address: UInt64 = 0xBAD,
    isPeripheral: Bool, at position: Position = .origin
  ) {
    self.world = world
    self.isPeripheral = isPeripheral
    var capabilities = ControllerCapabilities()
    capabilities.aclPacketLength = 0xFFFF
    capabilities.aclPacketCount = 255
    controller = world.makeController(
      name: name, address: DeviceAddress(bits: address, kind: .public), at: position,
      capabilities: capabilities)
    controller.onPacket = { [weak self] in self?.take($0) }
    send(Reset())
    send(SetEventMask(mask: EventMask(rawValue: .max)))
    send(LESetEventMask(mask: LEEventMask(rawValue: .max)))
    guard isPeripheral else { return }
    send(
      LESetAdvertisingParameters(
        intervalMinUnits625us: 0x20, intervalMaxUnits625us: 0x20, type: .connectable))
    send(LESetAdvertisingData(data: [2, 1, 6]))
    send(LESetAdvertisingEnable(isEnabled: true))
  }

  var address: DeviceAddress { controller.address }

  func send(_ command: some HCICommand) { controller.receive(command.packet) }

  // MARK: Links

  func connect(to peer: DeviceAddress) {
    send(
      LECreateConnection(
        peer: PeerAddress(peer),
        timing: .init(
          intervalMinUnits1250us: 24, intervalMaxUnits1250us: 24, latency: 0,
          timeoutUnits10ms: 100)))
  }

  func disconnect() {
    if let handle { send(Disconnect(handle: handle)) }
  }

  private func linkOpened(_ newHandle: UInt16) {
    handle = newHandle
    linkCount += 1
    endReason = nil
    heard = []
  }

  private func linkClosed(_ reason: HCIStatus) {
    handle = nil
    endReason = reason
    partial = []
    outbox = []
    outboxStart = 0
    inFlight = 0
    if isPeripheral { send(LESetAdvertisingEnable(isEnabled: true)) }
  }

  // MARK: Hearing

  private func take(_ packet: HCIPacket) {
    if packet.kind == .acl { return takeData(packet) }
    guard let event = try? HCIEvent(decoding: packet.bytes) else { return }
    defer { onEvent(event) }
    switch event {
    case .leConnectionComplete(let complete) where complete.status == .success:
      linkOpened(complete.handle)
    case .leEnhancedConnectionComplete(let complete) where complete.status == .success:
      linkOpened(complete.handle)
    case .disconnectionComplete(let complete): linkClosed(complete.reason)
    case .numberOfCompletedPackets(let list):
      for entry in list { inFlight -= Int(entry.count) }
      pump()
    default: break
    }
  }

  private func takeData(_ packet: HCIPacket) {
    guard let (header, payload) = try? ACLHeader.decode(from: packet.bytes) else { return }
    if header.boundary.isFirst { partial = [] }
    partial += payload
    guard partial.count >= 4, partial.count == 4 + Int(partial[0]) + Int(partial[1]) << 8 else {
      return
    }
    let frame = Frame(
      channel: UInt16(partial[2]) | UInt16(partial[3]) << 8, payload: Array(partial[4...]))
    heard.append(frame)
    guard frame.channel == L2CAPChannelIdentifier.attribute else { return react(frame) }
    guard let pdu = try? ATTPDU(decoding: frame.payload[...]), !pdu.opcode.isForClient,
      !pdu.opcode.isCommand, pdu != .handleValueConfirmation
    else { return }
    let answers = answer(pdu) ?? [Self.nothing(to: pdu)]
    guard slowness > .zero else {
      for answer in answers { attribute(answer) }
      return
    }
    let link = linkCount
    world.schedule(at: world.now + slowness) { [weak self] in
      guard let self, self.linkCount == link else { return }
      for answer in answers { self.attribute(answer) }
    }
  }

  /// The answer of a server without attributes.
  static func nothing(to request: ATTPDU) -> [UInt8] {
    if case .exchangeMTURequest = request {
      return ATTPDU.exchangeMTUResponse(mtu: UInt16(ATTPDU.mtuMin)).bytes
    }
    var handle: UInt16 = 1
    switch request {
    case .readRequest(let named), .readBlobRequest(let named, _), .writeRequest(let named, _),
      .prepareWriteRequest(let named, _, _):
      handle = named
    default: break
    }
    return ATTPDU.errorResponse(
      request: request.opcode, handle: handle, error: .attributeNotFound
    ).bytes
  }

  /// Attribute PDUs that came in.
  var attributes: [[UInt8]] {
    heard.filter { $0.channel == L2CAPChannelIdentifier.attribute }.map(\.payload)
  }

  /// Signalling commands that came in.
  var signals: [L2CAPSignalPDU] {
    heard.filter { $0.channel == L2CAPChannelIdentifier.signalling }.compactMap {
      try? L2CAPSignalPDU(decoding: $0.payload[...])
    }
  }

  func forgetHeard() { heard = [] }

  // MARK: Saying

  /// Puts bytes into an ACL packet, as they are.
  func raw(_ bytes: [UInt8], continuing: Bool = false) {
    guard let handle else { return }
    outbox.append(
      ACLHeader.packet(
        handle: handle, boundary: continuing ? .continuing : .firstNonFlushable, payload: bytes))
    pump()
  }

  /// Sends a frame; `length` replaces the true length in its header.
  func frame(_ payload: [UInt8], on channel: UInt16, length: Int? = nil) {
    var writer = ByteWriter()
    writer.uint16(UInt16(truncatingIfNeeded: length ?? payload.count))
    writer.uint16(channel)
    writer.append(payload)
    raw(writer.bytes)
  }

  func attribute(_ pdu: [UInt8]) { frame(pdu, on: L2CAPChannelIdentifier.attribute) }

  func attribute(_ pdu: ATTPDU) { attribute(pdu.bytes) }

  func signal(_ signal: L2CAPSignal, identifier: UInt8 = 1) {
    frame(
      L2CAPSignalPDU(identifier: identifier, signal: signal).bytes,
      on: L2CAPChannelIdentifier.signalling)
  }

  /// Sends no faster than its controller takes it: packets that a controller drops attack no host.
  private func pump() {
    while outboxStart < outbox.count, inFlight < Int(controller.capabilities.aclPacketCount) {
      controller.receive(outbox[outboxStart])
      outboxStart += 1
      inFlight += 1
    }
    guard outboxStart == outbox.count else { return }
    outbox.removeAll(keepingCapacity: true)
    outboxStart = 0
  }
}

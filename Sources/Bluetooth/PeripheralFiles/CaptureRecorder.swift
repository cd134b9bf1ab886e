public import BluetoothWire
import Essentials

/// Finds the devices in a capture of HCI traffic, and creates a peripheral file for each: from its
/// advertisements, and from the discovery, reads, writes and notifications over links in which this
/// host was the central.
public struct CaptureRecorder: Sendable {
  /// A device of the capture.
  public struct Device: Hashable, Sendable {
    /// Its address.
    public var address: DeviceAddress
    /// Its name, if it was advertised or read.
    public var name: String?
    /// Whether there was a connection to it.
    public var wasConnected: Bool
  }

  /// Bounds of what a capture can make this grow to.
  enum Limits {
    /// A crowded hall for a day.
    static let deviceCount = 4_096
    /// More links than a controller has.
    static let linkCount = 64
    /// An ATT PDU is at most 517 bytes, a frame of another channel is skipped.
    static let frameByteCount = 4 + 0xFFFF
  }

  private var recordings: [DeviceAddress: LinkRecorder] = [:]
  private var order: [DeviceAddress] = []
  private var links: [UInt16: Link] = [:]
  private var lastTime = Instant.zero
  /// The number of packets and PDUs that were skipped because they were invalid or exceeded a
  /// limit.
  public private(set) var skippedCount = 0

  private struct Link: Sendable {
    var peer: DeviceAddress
    var received = Frame()
    var sent = Frame()
  }

  /// An L2CAP frame that is being put together.
  private struct Frame: Sendable {
    var bytes: [UInt8] = []
    var isSkipped = true

    /// Takes a part; returns the attribute PDU that it completes.
    mutating func take(_ boundary: ACLBoundary, _ payload: ArraySlice<UInt8>) -> [UInt8]? {
      if boundary.isFirst {
        bytes = []
        isSkipped = false
      }
      guard !isSkipped, bytes.count + payload.count <= Limits.frameByteCount else {
        isSkipped = true
        return nil
      }
      bytes += payload
      guard bytes.count >= 4 else { return nil }
      let length = Int(bytes[0]) | Int(bytes[1]) << 8
      guard bytes.count >= 4 + length else { return nil }
      isSkipped = true
      // Channel 4 is the attribute protocol's (Core 5.4, Vol 3, Part A, §2.1).
      return bytes[2] == 4 && bytes[3] == 0 ? Array(bytes[4..<4 + length]) : nil
    }
  }

  /// Reads a whole capture.
  /// - Throws: `WireError` if the bytes aren't a btsnoop file of H4 packets. A file that was
  ///   truncated, because its writer was killed, is read up to its end.
  public init(_ capture: ArraySlice<UInt8>) throws(WireError) {
    var reader = try BTSnoop.Reader(capture)
    var start: Int64?
    while true {
      do throws(WireError) {
        guard let record = try reader.next() else { return }
        start = start ?? record.microseconds
        let elapsed = record.microseconds.subtractingReportingOverflow(start ?? 0)
        // After a clock that was set back, or damage, the time stays the last one.
        if !elapsed.overflow, 0..<(366 * 86_400 * 1_000_000) ~= elapsed.partialValue {
          lastTime = max(lastTime, .zero + .microseconds(elapsed.partialValue))
        }
        take(record)
      } catch {
        skippedCount += 1
        return
      }
    }
  }

  /// The devices: those with a connection first, then in the order in which they were received.
  public var devices: [Device] {
    let all = order.compactMap { address in
      recordings[address].map {
        Device(address: address, name: $0.name, wasConnected: $0.hasAttributes)
      }
    }
    return all.filter(\.wasConnected) + all.filter { !$0.wasConnected }
  }

  /// The recording of a device; nil if the device is not in the capture.
  public func recording(of address: DeviceAddress) -> PeripheralRecording? {
    recordings[address]?.recording(at: lastTime)
  }

  private mutating func take(_ record: BTSnoop.Record) {
    switch record.packet.kind {
    case .event:
      guard let event = try? HCIEvent(decoding: record.packet.bytes) else { return skip() }
      take(event)
    case .acl:
      guard let (header, payload) = try? ACLHeader.decode(from: record.packet.bytes) else {
        return skip()
      }
      take(header, payload, record.direction)
    default: break
    }
  }

  private mutating func skip() { skippedCount += 1 }

  private mutating func take(_ event: HCIEvent) {
    switch event {
    case .leConnectionComplete(let complete) where complete.status == .success:
      open(complete.handle, complete.role, complete.peer.address)
    case .leEnhancedConnectionComplete(let complete) where complete.status == .success:
      open(complete.handle, complete.role, complete.peer.address)
    case .disconnectionComplete(let complete):
      if let link = links.removeValue(forKey: complete.handle) {
        recordings[existing: link.peer].linkClosed(at: lastTime)
      }
    case .encryptionChange(let change) where change.status == .success:
      if let link = links[change.handle] {
        recordings[existing: link.peer].encryptionChanged(isOn: change.encryption != .off)
      }
    case .leAdvertisingReport(let reports): for report in reports { take(report) }
    case .leExtendedAdvertisingReport(let reports): for report in reports { take(report) }
    default: break
    }
  }

  private mutating func open(_ handle: UInt16, _ role: LinkRole, _ peer: DeviceAddress) {
    guard role == .central else { return }
    guard links[handle] != nil || links.count < Limits.linkCount else { return skip() }
    guard makeRoom(for: peer) else { return }
    links[handle] = Link(peer: peer)
    recordings[existing: peer].linkOpened()
  }

  /// Adds a device; returns false if the limit of devices is reached.
  private mutating func makeRoom(for address: DeviceAddress) -> Bool {
    if recordings[address] != nil { return true }
    guard order.count < Limits.deviceCount else {
      skip()
      return false
    }
    order.append(address)
    recordings[address] = LinkRecorder(address)
    return true
  }

  private mutating func take(_ report: LEAdvertisingReport) {
    let address = report.advertiser.address
    guard report.kind != .directed, makeRoom(for: address) else { return }
    recordings[existing: address].heard(
      report.data, isResponse: report.kind == .scanResponse,
      isConnectable: report.kind == .connectable, rssi: report.rssi, at: lastTime)
  }

  private mutating func take(_ report: LEExtendedAdvertisingReport) {
    guard let address = report.advertiser?.address, !report.type.contains(.directed),
      report.type.isDisjoint(with: [.moreToCome, .truncated]), makeRoom(for: address)
    else { return }
    recordings[existing: address].heard(
      report.data, isResponse: report.type.contains(.scanResponse),
      isConnectable: report.type.contains(.connectable), rssi: report.rssi, at: lastTime)
  }

  private mutating func take(
    _ header: ACLHeader, _ payload: ArraySlice<UInt8>, _ direction: BTSnoop.Direction
  ) {
    guard var link = links[header.handle] else { return }
    let isReceived = direction == .controllerToHost
    let bytes =
      isReceived
      ? link.received.take(header.boundary, payload) : link.sent.take(header.boundary, payload)
    links[header.handle] = link
    guard let bytes else { return }
    guard let pdu = try? ATTPDU(decoding: bytes[...]) else { return skip() }
    if isReceived {
      recordings[existing: link.peer].received(pdu, at: lastTime)
    } else {
      recordings[existing: link.peer].sent(pdu, at: lastTime)
    }
  }
}

import ArgumentParser
import BluetoothWire
import CoreBluetooth
import CoreBluetoothAsync
import Essentials
import Foundation
import Glibc

/// Pipes bytes through an L2CAP channel.
struct Channel: RadioCommand {
  static let configuration = CommandConfiguration(
    abstract:
      "Open an L2CAP channel to a device, as a pipe: standard input is sent, received data is written.",
    discussion: """
      With --listen, waits for a device to open a channel; the number to open (the PSM) is \
      printed on standard error. Ends when the other side closes. The side that opened the channel \
      also ends once its standard input has ended, all of it was sent, and nothing comes back.

      EXAMPLES:
        ambit channel gateway 0x0080 < firmware.bin
        ambit channel --listen --name Sink > received.bin
      """)

  @OptionGroup var options: GlobalOptions

  /// Standard input is the data to send.
  var pairingInput: PairingInput { .terminal }

  @Argument(help: "The device to connect to: identifier, start of it, address or name.")
  var id: String?

  @Argument(help: "The channel's PSM, as in 128 or 0x0080.")
  var psm: String?

  @Flag(help: "Wait for a device to connect instead.")
  var listen = false

  @Option(help: "With --listen: the name to advertise.")
  var name = "Ambit channel"

  var hostName: String? { listen ? name : nil }

  func validate() throws {
    if listen {
      guard id == nil else { throw ValidationError("--listen takes no device.") }
      return
    }
    guard id != nil, let psm else {
      throw ValidationError("Give a device and a PSM, or --listen.")
    }
    guard Self.number(psm) != nil else {
      throw ValidationError("\"\(psm)\" is not a PSM from 1 to 65535, as in 128 or 0x0080.")
    }
  }

  func run(_ session: Session) async throws {
    guard let id, let psm = psm.flatMap(Self.number) else {
      let role = PeripheralRole(session.host)
      // Not within the time of the listening, whose end is a success.
      try await role.ready(session)
      return try await session.untilTime { try await Self.serve(role, name: name, session) }
    }
    let isOpen = Guarded(false)
    try await session.checkRadio()
    try await session.untilTime {
      try await Device.with(DeviceName(text: id), session) { device in
        try await device.beSure()
        session.output.progress("Opening the channel …")
        let channel = try await session.explaining("channel \(psm) of \(device.title)") {
          () throws(BluetoothError) in try await device.connection.openChannel(psm: psm)
        }
        isOpen.update { $0 = true }
        session.output.clearProgress()
        // The host ends the link when the peer has the end of the channel.
        try await ChannelPump(channel, endsWithInput: true).run()
      }
    }
    try Task.checkCancellation()
    guard isOpen.value else {
      throw CommandFailure(.timedOut, "channel \(psm) of \(id) was not opened in time")
    }
  }

  /// Waits until a peer opens a channel, and pipes it.
  private static func serve(_ role: PeripheralRole, name: String, _ session: Session) async throws {
    let channel = try await accept(role, name: name, session)
    do {
      try await ChannelPump(channel, endsWithInput: false).run()
    } catch {
      // A radio that goes also ends channels.
      let state = role.manager.state
      throw state == .poweredOn || error is CancellationError ? error : role.radioFailure(state)
    }
    // The manager lives as long as its channel.
    role.manager.stopAdvertising()
  }

  private static func accept(
    _ role: PeripheralRole, name: String, _ session: Session
  ) async throws -> CBL2CAPChannel {
    let events = role.events()
    let psm = try await role.wait {
      role.manager.publishL2CAPChannel(withEncryption: false)
    } until: { event -> CBL2CAPPSM? in
      guard case .published(let psm, let error) = event else { return nil }
      guard let error else { return psm }
      throw CommandFailure(.failure, "no channel can be published" + RadioFailure.reason(error))
    }
    try await role.advertise(name: name, services: [])
    session.output.note("Listening on PSM \(psm) as \"\(name)\".")
    for await event in events {
      switch event {
      case .opened(let channel?, nil):
        role.manager.stopAdvertising()
        return channel
      case .stateChanged(let state) where state != .poweredOn: throw role.radioFailure(state)
      default: continue
      }
    }
    throw CancellationError()
  }

  static func number(_ text: String) -> CBL2CAPPSM? {
    let isHex = text.lowercased().hasPrefix("0x")
    let psm = isHex ? CBL2CAPPSM(text.dropFirst(2), radix: 16) : CBL2CAPPSM(text)
    return psm == 0 ? nil : psm
  }
}

/// Moves bytes between a channel and the standard streams, a thread for each way.
final class ChannelPump: Sendable {
  private static let chunk = 4_096
  /// After the end of standard input, answers may still be on their way.
  private static let lingering = Duration.seconds(1)

  private let channel: CBL2CAPChannel
  /// Whether the end of standard input ends the channel, once nothing comes any more.
  private let endsWithInput: Bool
  private let receivedCount = Guarded(0)

  init(_ channel: CBL2CAPChannel, endsWithInput: Bool) {
    self.channel = channel
    self.endsWithInput = endsWithInput
  }

  /// Returns when the other side closed, or everything was sent and nothing came for a while.
  func run() async throws {
    let channel = channel
    channel.inputStream.open()
    channel.outputStream.open()
    let (ends, continuation) = AsyncStream.makeStream(of: End.self)
    let receivedCount = receivedCount
    Thread.detachNewThread { continuation.yield(Self.receive(channel, receivedCount)) }
    Thread.detachNewThread { continuation.yield(Self.send(channel)) }
    defer {
      channel.inputStream.close()
      channel.outputStream.close()
    }
    for await end in ends {
      switch end {
      case .received: return
      case .failed(let sentence): throw CommandFailure(.failure, sentence)
      case .sent:
        guard endsWithInput else { continue }
        Task {
          try await untilQuiet()
          continuation.yield(.quiet)
        }
      case .quiet: return
      }
    }
    throw CancellationError()
  }

  /// Returns when everything written was sent and nothing was received for a while.
  private func untilQuiet() async throws {
    var seen = -1
    while unsentByteCount > 0 || receivedCount.value != seen {
      seen = receivedCount.value
      try await Task.sleep(for: Self.lingering)
    }
  }

  private var unsentByteCount: Int {
    (channel.outputStream.property(forKey: .unsentByteCountKey) as? NSNumber)?.intValue ?? 0
  }

  private enum End: Sendable {
    /// The other side closed.
    case received
    /// Standard input ended and all of it was taken.
    case sent
    /// All of it is on its way and nothing came back for a while.
    case quiet
    case failed(String)
  }

  private static func receive(
    _ channel: CBL2CAPChannel, _ receivedCount: Guarded<Int>
  ) -> End {
    var buffer = [UInt8](repeating: 0, count: chunk)
    while true {
      let count = channel.inputStream.read(&buffer, maxLength: buffer.count)
      if count == 0 { return .received }
      if count < 0 {
        return .failed("the channel broke" + RadioFailure.reason(channel.inputStream.streamError))
      }
      receivedCount.update { $0 += count }
      Output.write(Array(buffer.prefix(count)), to: STDOUT_FILENO)
    }
  }

  private static func send(_ channel: CBL2CAPChannel) -> End {
    var buffer = [UInt8](repeating: 0, count: chunk)
    while true {
      let count = read(STDIN_FILENO, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      if count <= 0 { return .sent }
      var sent = 0
      while sent < count {
        let slice = Array(buffer[sent..<count])
        let taken = channel.outputStream.write(slice, maxLength: slice.count)
        if taken <= 0 {
          return .failed(
            "the channel broke" + RadioFailure.reason(channel.outputStream.streamError))
        }
        sent += taken
      }
    }
  }
}

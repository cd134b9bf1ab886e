import BluetoothWire
import Essentials

/// What a command was sent for; comes back with its answer.
enum CommandPurpose: Sendable, Equatable {
  case startUp
  case scanning
  case advertising
  case connecting
  /// Ends the link with this handle.
  case disconnecting(UInt16)
  /// Changes the timing of the link with this handle.
  case updatingParameters(UInt16)
  case readingRSSI(UInt16, PendingRequest)
  /// Asks whether the controller is what it was.
  case watching
  /// Nobody waits for the answer.
  case routine

  /// Whether so few of these wait at a time that they need no bound: one for each part of the host,
  /// or for each link. What was never sent would leave that part waiting for ever.
  fileprivate var isBounded: Bool {
    switch self {
    case .startUp, .scanning, .advertising, .connecting, .disconnecting, .watching: true
    case .updatingParameters, .readingRSSI, .routine: false
    }
  }
}

/// The answer to a command: the parameters of Command Complete, or the status of Command Status.
struct CommandAnswer: Sendable {
  var status: HCIStatus
  /// What follows the status in Command Complete.
  var parameters: ArraySlice<UInt8>
}

/// The conversation with a controller: starts it, sends it one command after the other, and notices
/// when it doesn't answer.
struct ControllerSession: Sendable {
  enum Limits {
    /// How long an answer may take. The slowest command in the field, Reset of a controller that
    /// reloads its firmware, takes about one second.
    static let answerPatience = TimeSpan.seconds(2)
    /// Commands that wait, for clients or because a peer asks. A client that has so many unanswered
    /// gets an error instead; what the host itself steers the radio with is always taken.
    static let waitingMax = 1024
  }

  enum Output: Sendable {
    case send(HCIPacket)
    /// The controller is up.
    case started(ControllerAbilities)
    /// The controller cannot do Bluetooth LE.
    case unsupported
    /// The controller answers wrongly or not at all.
    case failed(HostError)
    case answered(CommandPurpose, CommandAnswer)
  }

  private struct Command: Sendable {
    var packet: HCIPacket
    var purpose: CommandPurpose
  }

  private enum Phase: Sendable {
    /// The way to the controller is closed, or the controller is given up.
    case closed
    case starting(StartUp)
    case ready
  }

  private var phase = Phase.closed
  private var waiting: [Command] = []
  private var inFlight: Command?
  /// How many commands the controller takes now.
  private var credits = 1
  private var deadline: Instant?
  /// Answers to nothing that was asked.
  private(set) var strayAnswerCount = 0

  /// How many commands wait to be sent.
  var waitingCount: Int { waiting.count }

  /// Whether the controller is up.
  var isReady: Bool { if case .ready = phase { true } else { false } }

  /// Whether events from the controller mean anything: not before it answered Reset, because what
  /// it sends until then belongs to somebody else's session.
  var isListening: Bool {
    switch phase {
    case .closed: false
    case .starting(let startUp): startUp.step != .reset
    case .ready: true
    }
  }

  /// When an answer is overdue.
  var nextWake: Instant? { deadline }

  /// Starts the controller, whatever was before.
  mutating func start(
    wantedAddress: DeviceAddress?, madeUpAddress: DeviceAddress, now: Instant,
    into outputs: inout [Output]
  ) {
    close()
    let startUp = StartUp(wantedAddress: wantedAddress, madeUpAddress: madeUpAddress)
    phase = .starting(startUp)
    waiting = [Command(packet: startUp.command, purpose: .startUp)]
    sendNext(now: now, into: &outputs)
  }

  /// Forgets everything; nothing more is sent. Returns what nobody will answer now.
  @discardableResult
  mutating func close() -> [CommandPurpose] {
    let unanswered = (inFlight.map { [$0.purpose] } ?? []) + waiting.map(\.purpose)
    phase = .closed
    waiting = []
    inFlight = nil
    credits = 1
    deadline = nil
    return unanswered
  }

  /// Queues a command; false if there is no controller or too many wait.
  mutating func send(
    _ packet: HCIPacket, for purpose: CommandPurpose, now: Instant, into outputs: inout [Output]
  ) -> Bool {
    guard isReady, purpose.isBounded || waiting.count < Limits.waitingMax else { return false }
    waiting.append(Command(packet: packet, purpose: purpose))
    sendNext(now: now, into: &outputs)
    return true
  }

  private mutating func sendNext(now: Instant, into outputs: inout [Output]) {
    guard inFlight == nil else { return }
    guard !waiting.isEmpty else {
      deadline = nil
      return
    }
    guard credits > 0 else {
      // The controller owes an event that gives some; one that gives none buys it no time.
      deadline = deadline ?? now + Limits.answerPatience
      return
    }
    deadline = now + Limits.answerPatience
    let next = waiting.removeFirst()
    credits -= 1
    inFlight = next
    outputs.append(.send(next.packet))
  }

  /// The controller completed a command, or only gives credit (opcode 0).
  mutating func receive(
    _ event: CommandComplete, now: Instant, into outputs: inout [Output]
  ) {
    var reader = ByteReader(event.returnParameters)
    let status = try? reader.uint8()
    answer(
      event.opcode, credits: event.numberOfCommandPackets,
      status.map { CommandAnswer(status: HCIStatus(rawValue: $0), parameters: reader.remaining) },
      now: now, into: &outputs)
  }

  /// The controller began or refused a command, or only gives credit (opcode 0).
  mutating func receive(
    _ event: CommandStatus, now: Instant, into outputs: inout [Output]
  ) {
    answer(
      event.opcode, credits: event.numberOfCommandPackets,
      CommandAnswer(status: event.status, parameters: []), now: now, into: &outputs)
  }

  private mutating func answer(
    _ opcode: HCIOpcode, credits: UInt8, _ answer: CommandAnswer?, now: Instant,
    into outputs: inout [Output]
  ) {
    if case .closed = phase { return }
    self.credits = Int(credits)
    guard let command = inFlight, opcode.rawValue == command.packet.opcodeNumber else {
      // An answer that came too late, or to a command of whoever was here before.
      if opcode.rawValue != 0 { strayAnswerCount += 1 }
      return sendNext(now: now, into: &outputs)
    }
    inFlight = nil
    deadline = nil
    let answer = answer ?? CommandAnswer(status: .unspecifiedError, parameters: [])
    if case .starting(let startUp) = phase {
      proceed(startUp, answer, now: now, into: &outputs)
    } else {
      outputs.append(.answered(command.purpose, answer))
    }
    sendNext(now: now, into: &outputs)
  }

  private mutating func proceed(
    _ startUp: StartUp, _ answer: CommandAnswer, now: Instant, into outputs: inout [Output]
  ) {
    var startUp = startUp
    do throws(StartUpFailure) {
      try startUp.take(answer)
    } catch {
      close()
      switch error {
      case .unsupported: outputs.append(.unsupported)
      case .wrong(let text): outputs.append(.failed(.transport(text)))
      }
      return
    }
    if startUp.advance() {
      phase = .starting(startUp)
      waiting.append(Command(packet: startUp.command, purpose: .startUp))
    } else {
      phase = .ready
      outputs.append(.started(startUp.abilities))
    }
  }

  /// Gives up on a controller that owes an answer.
  mutating func wake(now: Instant, into outputs: inout [Output]) {
    guard let deadline, deadline <= now else { return }
    let seconds = Int(Limits.answerPatience.seconds)
    let text: String
    if let inFlight {
      let name = HCIOpcode(rawValue: inFlight.packet.opcodeNumber).description
      text = "The controller did not answer \(name) within \(seconds) s."
    } else {
      text = "The controller took no command for \(seconds) s."
    }
    outputs.append(.failed(.transport(text)))
    // The owner closes the session and learns what else stays unanswered.
    self.deadline = nil
  }
}

extension HCIPacket {
  /// The opcode of a command packet that this host built.
  fileprivate var opcodeNumber: UInt16 {
    UInt16(bytes[bytes.startIndex]) | UInt16(bytes[bytes.startIndex + 1]) << 8
  }
}

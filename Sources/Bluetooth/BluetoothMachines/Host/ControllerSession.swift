import BluetoothInterface
import BluetoothWire
import Essentials

/// What a command was sent for; comes back with its answer.
enum CommandPurpose: Sendable, Equatable {
  case startUp
  case scanning
  case advertising
  case connecting
  /// Gives this host another address.
  case settingAddress
  /// Changes which peers the controller resolves.
  case listing
  /// Ends the link with this handle.
  case disconnecting(UInt16)
  /// Encrypts the link with this handle.
  case encrypting(UInt16)
  /// Changes the timing of the link with this handle.
  case updatingParameters(UInt16)
  case readingRSSI(UInt16, PendingRequest)
  /// Changes a link; an event reports the outcome.
  case changingLink(PendingRequest)
  /// Checks whether the controller still has the host's settings.
  case watching
  /// Improves a link, which also works without it.
  case optional
  /// Nothing waits for the answer.
  case routine

  /// Whether `waitingMax` does not apply, because few of these wait at a time: one for each part of
  /// the host, or for each link. If one were rejected, that part would wait forever.
  fileprivate var isBounded: Bool {
    switch self {
    case .startUp, .scanning, .advertising, .connecting, .settingAddress, .listing,
      .disconnecting, .encrypting, .watching:
      true
    case .updatingParameters, .readingRSSI, .changingLink, .optional, .routine: false
    }
  }

  /// Whether the host can do without the command: one that the controller left unanswered once is
  /// refused from then on, so that all the others need not wait for its timeout again.
  fileprivate var isDispensable: Bool {
    switch self {
    case .updatingParameters, .readingRSSI, .changingLink, .optional: true
    case .startUp, .scanning, .advertising, .connecting, .settingAddress, .listing,
      .disconnecting, .encrypting, .watching, .routine:
      false
    }
  }
}

/// The answer to a command: the parameters of Command Complete, or the status of Command Status.
struct CommandAnswer: Sendable {
  var status: HCIStatus
  /// What follows the status in Command Complete.
  var parameters: ArraySlice<UInt8>
}

/// The command side of a controller: starts it, sends it one command after the other, and notices
/// when it doesn't answer.
///
/// A command without an answer counts as refused if the controller still answers a probe: a command
/// that it must know. Some controllers list commands as supported and never answer them. Only a
/// controller that doesn't answer the probe either has failed. An answer that arrives after its
/// command was given up is counted and ignored, unless a command of the same kind is under way,
/// which it can't be distinguished from.
struct ControllerSession: Sendable {
  enum Limits {
    /// How long an answer may take. The slowest command in the field, Reset of a controller that
    /// reloads its firmware, takes about one second.
    static let answerTimeout = TimeSpan.seconds(2)
    /// Limit of waiting commands that clients or peers cause. Beyond it a client gets an error; the
    /// host's own commands are always accepted.
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
    /// The handle of the link that it is about, if it must not outlive that: another one may have the
    /// handle by the time that it is sent.
    var link: UInt16?
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
  /// The opcode of the probe that waits for an answer, after a timeout.
  private var probe: UInt16?
  /// How many commands the controller takes now.
  private var credits = 1
  /// Whether the controller took a command when it had allowed none: it never gives back the credit
  /// of a command that it doesn't answer. Its credits mean nothing from then on.
  private var hasLostCredit = false
  private var deadline: Instant?
  /// The commands that this controller left unanswered while it answered others.
  private var unanswered: Set<UInt16> = []
  /// Answers to no command that was under way.
  private(set) var strayAnswerCount = 0
  /// Commands that were given up because the controller didn't answer them.
  private(set) var unansweredCommandCount = 0

  /// How many commands wait to be sent.
  var waitingCount: Int { waiting.count }

  /// Whether the controller is up.
  var isReady: Bool { if case .ready = phase { true } else { false } }

  /// Whether no controller is started, or being started.
  var isClosed: Bool { if case .closed = phase { true } else { false } }

  /// Whether events from the controller mean anything: not before it answered Reset, because what
  /// it sends until then belongs to an earlier session.
  var isListening: Bool {
    switch phase {
    case .closed: false
    case .starting(let startUp): startUp.step != .reset
    case .ready: true
    }
  }

  /// When an answer is overdue.
  var nextWake: Instant? { deadline }

  /// Starts the controller, from any state.
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

  /// Forgets everything; nothing more is sent. Returns the purposes of commands that stay unanswered.
  @discardableResult
  mutating func close() -> [CommandPurpose] {
    let unanswered = (inFlight.map { [$0.purpose] } ?? []) + waiting.map(\.purpose)
    phase = .closed
    waiting = []
    inFlight = nil
    probe = nil
    credits = 1
    hasLostCredit = false
    deadline = nil
    self.unanswered = []
    return unanswered
  }

  /// Queues a command; false if there is no controller or too many wait. One about a link is withdrawn
  /// by `linkClosed`.
  mutating func send(
    _ packet: HCIPacket, for purpose: CommandPurpose, link: UInt16? = nil, now: Instant,
    into outputs: inout [Output]
  ) -> Bool {
    guard isReady, purpose.isBounded || waiting.count < Limits.waitingMax else { return false }
    waiting.append(Command(packet: packet, purpose: purpose, link: link))
    sendNext(now: now, into: &outputs)
    return true
  }

  /// A link is gone: removes its waiting commands and ignores the answer to the one in flight.
  mutating func linkClosed(_ handle: UInt16) {
    waiting.removeAll { $0.link == handle }
    guard var command = inFlight, command.link == handle else { return }
    command.purpose = .routine
    inFlight = command
  }

  private mutating func sendNext(now: Instant, into outputs: inout [Output]) {
    guard inFlight == nil, probe == nil else { return }
    while let next = waiting.first, next.purpose.isDispensable,
      unanswered.contains(next.packet.opcodeNumber)
    {
      waiting.removeFirst()
      outputs.append(.answered(next.purpose, Self.refusal))
    }
    guard !waiting.isEmpty else {
      deadline = nil
      return
    }
    guard credits > 0 || hasLostCredit else {
      // The controller owes an event that gives some; one that gives none buys it no time.
      deadline = deadline ?? now + Limits.answerTimeout
      return
    }
    deadline = now + Limits.answerTimeout
    let next = waiting.removeFirst()
    credits = max(credits - 1, 0)
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
    if opcode.rawValue == probe {
      probeAnswered(now: now, into: &outputs)
    } else if let command = inFlight, opcode.rawValue == command.packet.opcodeNumber {
      // Or a late answer, after the probe was sent: the answer to that is a stray one then.
      probe = nil
      complete(
        command, answer ?? CommandAnswer(status: .unspecifiedError, parameters: []), now: now,
        into: &outputs)
    } else if opcode.rawValue != 0 {
      // An answer that came too late, or to a command of an earlier session.
      strayAnswerCount += 1
    }
    sendNext(now: now, into: &outputs)
  }

  private mutating func complete(
    _ command: Command, _ answer: CommandAnswer, now: Instant, into outputs: inout [Output]
  ) {
    inFlight = nil
    deadline = nil
    if case .starting(let startUp) = phase {
      proceed(startUp, answer, now: now, into: &outputs)
    } else {
      outputs.append(.answered(command.purpose, answer))
    }
  }

  /// The controller is alive: the command before the probe counts as refused.
  private mutating func probeAnswered(now: Instant, into outputs: inout [Output]) {
    probe = nil
    deadline = nil
    if credits == 0 { hasLostCredit = true }
    guard let command = inFlight else { return }
    unanswered.insert(command.packet.opcodeNumber)
    unansweredCommandCount += 1
    complete(command, Self.refusal, now: now, into: &outputs)
  }

  /// The substitute for an answer that never came.
  private static let refusal = CommandAnswer(status: .unspecifiedError, parameters: [])

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

  /// Gives the controller more time, because its answers are not read for the moment.
  mutating func postponeTimeout(until instant: Instant) {
    deadline = deadline.map { max($0, instant) }
  }

  /// Sends a probe to a controller that owes an answer, and gives up on one that owes the answer to
  /// the probe.
  mutating func wake(now: Instant, into outputs: inout [Output]) {
    guard let deadline, deadline <= now else { return }
    if probe == nil, let packet = nextProbe {
      probe = packet.opcodeNumber
      self.deadline = now + Limits.answerTimeout
      // Without a credit, which a controller may not give back for a command that it ignores.
      outputs.append(.send(packet))
      return
    }
    outputs.append(.failed(.transport(timeoutText)))
    // The owner closes the session and learns what else stays unanswered.
    self.deadline = nil
  }

  private var timeoutText: String {
    let seconds = Int(Limits.answerTimeout.seconds)
    guard let inFlight else { return "The controller accepted no command for \(seconds) s." }
    let name = HCIOpcode(rawValue: inFlight.packet.opcodeNumber).description
    return "The controller did not answer \(name) within \(seconds) s."
  }

  /// A command that every LE controller answers (Core 5.4, Vol 4, Part E, §3.1) and that changes
  /// nothing; nil where no answer but that to Reset can be relied on. Another one where this
  /// controller is known not to answer the first.
  private var nextProbe: HCIPacket? {
    guard inFlight?.packet.opcodeNumber != HCIOpcode.reset.rawValue else { return nil }
    let candidates = [
      ReadLocalVersionInformation().packet, ReadBDADDR().packet,
      LEReadFilterAcceptListSize().packet,
    ]
    return candidates.first {
      $0.opcodeNumber != inFlight?.packet.opcodeNumber && !unanswered.contains($0.opcodeNumber)
    }
  }
}

extension HCIPacket {
  /// The opcode of a command packet that this host built.
  fileprivate var opcodeNumber: UInt16 {
    UInt16(bytes[bytes.startIndex]) | UInt16(bytes[bytes.startIndex + 1]) << 8
  }
}

extension ControllerSession {
  /// How the session contradicts itself; a sentence for each contradiction.
  func violations() -> [String] {
    var found: [String] = []
    if credits < 0 { found.append("the controller takes \(credits) commands") }
    if case .closed = phase, inFlight != nil || !waiting.isEmpty || probe != nil {
      found.append("a closed session has commands")
    }
    if inFlight == nil, probe == nil, !waiting.isEmpty, credits > 0 {
      found.append("a command waits although the controller takes it")
    }
    return found
  }
}

package import ArgumentParser
package import BluetoothHost
import BluetoothInterface
import BluetoothMachines
import BluetoothSessions
import BluetoothWire
package import Essentials
import Foundation
import JSONWire
import Logging

/// A command at work: its radio, its options, its output.
package struct Session: Sendable {
  package let host: CommandHost
  let timeout: Seconds?
  package var output: Output
  /// Whether the user named no radio, and it isn't the hub's.
  package var isDefaultRadio = false
  /// Why no hub is used, in a few words; nil if one is, or for a command that never uses one.
  var reasonForNoHub: String?
  /// Whether people may be asked about pairings.
  package var answersPairing = true
  /// What this host and its user contribute to the failures of pairings.
  package var decisions = PairingDecisions()
  /// The user's out-of-band data of the device to connect to, for pairing.
  var outOfBandData: OutOfBandData?
  /// When the command began; `timeout` counts from then.
  var start = ContinuousClock.now

  /// The time to look for a device without `--timeout`.
  static let searchTime = TimeSpan.seconds(10)
  /// The time to work with a device without `--timeout`.
  package static let workTime = TimeSpan.seconds(30)
  /// The time to inspect a device without `--timeout`: to find it and connect, and until a request that
  /// it leaves unanswered has failed, which takes 30 s (Core 5.4, Vol 3, Part F, §3.3.3).
  static let inspectionTime = TimeSpan.seconds(60)
  /// How long a radio may take to start.
  static let startTime = Duration.seconds(5)
  /// How long closing a link in good order may take at the end of `timeout`, which includes it.
  private static let closingTime = Duration.milliseconds(250)

  /// What the radio is called on a screen.
  package var radioTitle: String {
    host.title + (isDefaultRadio ? " (none was named)" : "")
  }

  /// The session without progress lines, for screens that show the progress themselves.
  package var silent: Session {
    var session = self
    session.output.showsProgress = false
    return session
  }

  /// The rest of `timeout`, without the time that closing takes; nil without a timeout.
  var remaining: Duration? {
    guard let limit = timeout?.duration else { return nil }
    let closing = min(Self.closingTime, limit / 10)
    return max(.zero, limit - closing - (ContinuousClock.now - start))
  }

  /// Runs `body`, which ends by itself and uses the radio; gives up when the time is over.
  func withinTime<Result: Sendable>(
    _ what: String, default limit: TimeSpan = Self.workTime,
    _ body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    try await checkRadio()
    if let result = try await raceToTheEnd(remaining ?? limit.duration, body) { return result }
    throw CommandFailure(
      .timedOut, "\(what) took longer than \(timeout ?? Seconds(span: limit))")
  }

  /// Runs `body`, which would go on for ever, until the time is over or Ctrl-C: then it returns, so that the
  /// command reports what it did.
  package func untilTime(
    default limit: Duration? = nil, _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    do {
      guard let limit = remaining ?? limit else { return try await body() }
      _ = try await race(limit, body)
    } catch is CancellationError where Task.isCancelled {
      // Some of the tasks that end then throw, others return; any of them may be first.
    }
  }
}

/// Runs `body`; nil if it took longer than `limit`.
package func race<Result: Sendable>(
  _ limit: Duration, _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result? {
  try await withThrowingTaskGroup(of: Result?.self) { group in
    group.addTask { try await body() }
    group.addTask {
      try await Task.sleep(for: limit)
      return nil
    }
    defer { group.cancelAll() }
    guard let first = try await group.next() else { return nil }
    return first
  }
}

/// Runs `body`, which is cancelled after `limit`; nil if it wasn't done then. It is done, too, where it ended at
/// that moment, and a device that was not found remains the reason, whichever of the two tasks runs first.
package func raceToTheEnd<Result: Sendable>(
  _ limit: Duration, _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result? {
  try await withThrowingTaskGroup(of: Result?.self) { group in
    group.addTask { try await body() }
    group.addTask {
      try await Task.sleep(for: limit)
      return nil
    }
    defer { group.cancelAll() }
    if let first = try await group.next() ?? nil { return first }
    group.cancelAll()
    do {
      return try await group.next() ?? nil
    } catch let failure as CommandFailure where failure.status == .notFound {
      throw failure
    } catch { return nil }
  }
}

/// A command that uses a radio.
package protocol RadioCommand: AsyncParsableCommand, Sendable {
  var options: GlobalOptions { get }
  /// The GAP device name of this host; nil for the default.
  var hostName: String? { get }
  /// Where all traffic is written to, if it is.
  var capturePath: String? { get }
  /// Where prompts of pairings are answered.
  var pairingInput: PairingInput { get }
  /// Whether nothing else may be written to the terminal while it runs.
  var ownsScreen: Bool { get }
  /// Whether it waits for readers of its output that take nothing.
  var waitsForReaders: Bool { get }
  /// Whether it uses the machine's hub where no radio is named.
  var usesHub: Bool { get }
  func run(_ session: Session) async throws
}

/// Where prompts of pairings are answered.
package enum PairingInput: Sendable {
  /// On standard input, which the command leaves alone.
  case standardInput
  /// On the terminal that the command was started from, because standard input is something else's.
  case terminal
  /// The command is the pairing agent.
  case command
}

extension RadioCommand {
  package var hostName: String? { nil }
  package var capturePath: String? { nil }
  package var pairingInput: PairingInput { .standardInput }
  package var ownsScreen: Bool { false }
  package var waitsForReaders: Bool { true }
  package var usesHub: Bool { true }

  package func run() async throws { try await runWithRadio() }

  /// Opens the radio, and runs the command on it.
  package func runWithRadio() async throws {
    if !waitsForReaders { Output(isJSON: options.json).goOnWithoutReaders() }
    try await options.withRadio(
      hostName: hostName, captureTo: capturePath, pairingInput: pairingInput,
      ownsScreen: ownsScreen, usesHub: usesHub
    ) { session in
      try await run(session)
    }
  }
}

extension GlobalOptions {
  /// Opens the radio, runs a command on it, closes the radio. The radio may be the one of a hub.
  ///
  /// - Parameters:
  ///   - hostName: The GAP device name; nil for the default.
  ///   - appearance: The GAP appearance.
  ///   - address: The host's own address if the user chose none: a random static one.
  ///   - capturePath: The file for all traffic; nil for the one of `AMBIT_CAPTURE`, if it is set.
  ///   - pairingInput: The input for answers to pairing prompts.
  ///   - ownsScreen: Whether warnings have to wait until the command is done.
  ///   - usesHub: Whether the hub is used where no radio is named.
  ///   - body: The command.
  /// - Throws: The errors of `body`, or that the capture cannot be written, or that the hub can't fulfil
  ///   an option.
  func withRadio(
    hostName: String? = nil, appearance: UInt16 = 0, address: DeviceAddress? = nil,
    captureTo capturePath: String? = nil, pairingInput: PairingInput = .standardInput,
    ownsScreen: Bool = false, usesHub: Bool = true,
    _ body: @escaping @Sendable (Session) async throws -> Void
  ) async throws {
    if let refusal = BluetoothAuthorization.refusal {
      throw CommandFailure(.notPermitted, refusal.trimmingSuffix("."))
    }
    let start = ContinuousClock.now
    let watchdog = timeout.map { Watchdog(after: $0.duration) }
    defer { watchdog?.cancel() }
    let warnings = Warnings(Output(isJSON: json), waits: ownsScreen)
    let attendance = Attendance(input: pairingInput, ownsScreen: ownsScreen, warnings: warnings)
    if usesHub, let path = try hubPath() {
      try checkHub(isCaptured: capturePath != nil)
      if let remark = Self.hubRemark(hostName, appearance, address) { warnings.warn(remark) }
      let host = CommandHost.hub(at: path) { warnings.warn($0) }
      let session = Session(
        host: host, timeout: timeout, output: Output(isJSON: json), outOfBandData: oob?.data,
        start: start)
      return try await perform(session, .automatic, attendance) { try await body(session) }
    }
    if let bluez = try bluezHost(
      isCaptured: capturePath != nil, onWarning: { warnings.warn($0) })
    {
      return try await perform(bluez, attendance, start, body)
    }
    let selection = try radioSelection()
    let reasonForNoBlueZ: String?
    switch await defaultBlueZ(
      insteadOf: selection, isCaptured: capturePath != nil, onWarning: { warnings.warn($0) })
    {
    case .used(let bluez): return try await perform(bluez, attendance, start, body)
    case .notUsed(let reason): reasonForNoBlueZ = reason
    }
    let configuration = try hostConfiguration(
      named: hostName, appearance, address, on: selection.radio)
    let policy = configuration.pairingPolicy
    let decisions = PairingDecisions(
      policy, requiresSecureConnections: configuration.requiresSecureConnections)
    reportSimulation(selection, reasonForNoBlueZ)
    let (host, troubles) = try ownHost(selection, configuration, captureTo: capturePath, warnings)
    let session = Session(
      host: .own(host), timeout: timeout, output: Output(isJSON: json),
      isDefaultRadio: namesNoRadio, reasonForNoHub: usesHub ? reasonForNoHub : nil,
      answersPairing: policy != .never, decisions: decisions, outOfBandData: oob?.data,
      start: start)
    try await perform(session, policy, attendance) {
      try await BluetoothHost.$current.withValue(host) {
        try await Self.whileCaptureWorks(host, troubles) { try await body(session) }
      }
    }
  }

  /// Opens the radio in this process.
  ///
  /// - Returns: The host on the radio, and the sentences about its failures.
  private func ownHost(
    _ selection: RadioSelection, _ configuration: HostConfiguration,
    captureTo capturePath: String?, _ warnings: Warnings
  ) throws -> (host: BluetoothHost, troubles: AsyncStream<String>) {
    let (troubles, trouble) = AsyncStream.makeStream(
      of: String.self, bufferingPolicy: .bufferingNewest(1))
    do throws(CaptureError) {
      let host = try BluetoothHost(
        selection, configuration: configuration,
        captureTo: capturePath ?? Self.environmentCapturePath,
        bondsIn: bondPath(for: selection.radio, warnings),
        logger: Logger(label: "ambit") { _ in
          SentenceLog { sentence, isAboutBonds in
            trouble.yield(sentence)
            if isAboutBonds { warnings.warn(sentence, event: "bondProblem") }
          }
        })
      return (host, troubles)
    } catch {
      throw CommandFailure(error)
    }
  }

  /// Runs `body` on bluetoothd's radio, then closes the host.
  private func perform(
    _ bluez: BlueZCommandHost, _ attendance: Attendance, _ start: ContinuousClock.Instant,
    _ body: @escaping @Sendable (Session) async throws -> Void
  ) async throws {
    let session = Session(
      host: .bluez(bluez), timeout: timeout, output: Output(isJSON: json),
      isDefaultRadio: namesNoRadio, reasonForNoHub: reasonForNoHub, start: start)
    try await perform(session, .automatic, attendance) {
      try await CurrentHost.$override.withValue(bluez.provider) { try await body(session) }
    }
  }

  /// Runs `body` while pairings are answered and reported, then closes the host.
  private func perform(
    _ session: Session, _ policy: PairingPolicy, _ attendance: Attendance,
    _ body: () async throws -> Void
  ) async throws {
    let attendants = Self.attendPairings(of: session, policy, attendance)
    defer { withExtendedLifetime(attendants) {} }
    let result: Result<Void, any Error>
    do {
      try await body()
      result = .success(())
    } catch {
      result = .failure(error)
      if json { RadioFailure.report(error, session.host) }
    }
    if attendants.reporter.hasPaired, let problem = await session.hubBondProblem() {
      attendance.warnings.warn(
        "the hub keeps the bond only as long as it runs: \(Fit.safe(problem).trimmingSuffix("."))",
        event: "bondProblem")
    }
    await session.host.close()
    attendance.warnings.release()
    try Self.check(result, session.host)
  }

  /// How pairings are answered and reported.
  private struct Attendance: Sendable {
    var input: PairingInput
    var ownsScreen: Bool
    var warnings: Warnings
  }

  /// Answers and reports the pairings of a session, as long as the result exists.
  private static func attendPairings(
    of session: Session, _ policy: PairingPolicy, _ attendance: Attendance
  ) -> (prompter: PairingPrompter?, reporter: PairingReporter) {
    let (host, output, decisions) = (session.host.provider, session.output, session.decisions)
    let input = attendance.input
    let prompter = policy == .never ? nil : PairingPrompter(host, output, input, decisions)
    decisions.setHasAgent(prompter != nil || input == .command)
    if policy == .ask, prompter == nil, input != .command {
      attendance.warnings.warn("pairing needs consent, but there is no terminal for the question")
    }
    let reporter = PairingReporter(
      host, output, decisions, isJSONOnly: attendance.ownsScreen || input == .command)
    return (prompter, reporter)
  }

  private func hostConfiguration(
    named name: String?, _ appearance: UInt16, _ address: DeviceAddress?, on radio: RadioChoice
  ) throws -> HostConfiguration {
    var configuration = HostConfiguration()
    if let name { configuration.name = name }
    configuration.appearance = appearance
    try chooseAddress(of: &configuration, orIn: address, on: radio)
    try choosePairing(of: &configuration)
    return configuration
  }

  /// Throws the error of a command, or the one of the capture or the bonds, the last of which were written
  /// when the host closed.
  private static func check(_ result: Result<Void, any Error>, _ host: CommandHost) throws {
    if case .failure(let error) = result, !(error is CancellationError) { throw error }
    if let failure = host.own?.captureFailure { throw CommandFailure(failure) }
    if let host = host.own, host.unwrittenNewBondCount > 0 {
      throw CommandFailure(
        .cannotCreate,
        "bonds are not kept for later runs; a device that keeps its own has to forget it before it pairs again"
      )
    }
    try result.get()
  }

  /// The file that `AMBIT_CAPTURE` names, if it does.
  private static var environmentCapturePath: String? {
    let path = ProcessInfo.processInfo.environment["AMBIT_CAPTURE"] ?? ""
    return path.isEmpty ? nil : path
  }

  /// Reports that all devices are simulated, where no radio was named.
  ///
  /// - Parameter reasonForNoBlueZ: Why bluetoothd's radio is not used, as a sentence, if that was looked for.
  func reportSimulation(_ selection: RadioSelection, _ reasonForNoBlueZ: String? = nil) {
    guard selection.isSimulatedByDefault, case .fallback(let reason) = selection.origin else {
      return
    }
    Output.isSimulated.update { $0 = true }
    let reasons = [reason, reasonForNoBlueZ].compactMap(\.self).joined(separator: " ")
    Output(isJSON: json).warn(
      "no radio was named, and all devices are simulated: \(reasons) --radio or AMBIT_RADIO names a "
        + "radio; with \"none\" nothing is simulated")
  }

  /// Where bonds are kept; without such a place they end with the command.
  private func bondPath(for radio: RadioChoice, _ warnings: Warnings) -> String? {
    do throws(BondStoreError) {
      return try BondStore.defaultPath(for: radio)
    } catch {
      warnings.warn(error.description)
      return nil
    }
  }

  /// Runs `body` as long as the capture, if there is one, can be written.
  ///
  /// Problems of the radio are left to `body`, which knows whether they matter.
  private static func whileCaptureWorks(
    _ host: BluetoothHost, _ troubles: AsyncStream<String>,
    _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await body() }
      group.addTask {
        for await _ in troubles {
          if let failure = host.captureFailure { throw CommandFailure(failure) }
        }
        throw CancellationError()
      }
      // The first to end ends the other.
      defer { group.cancelAll() }
      try await group.next()
    }
  }
}

/// Warns people of what doesn't end the command, at once or when the command is done with the screen.
private final class Warnings: Sendable {
  private let output: Output
  /// What waits; nil: nothing has to.
  private let waiting: Guarded<[String]?>

  init(_ output: Output, waits: Bool) {
    self.output = output
    waiting = Guarded(waits ? [] : nil)
  }

  /// From any thread.
  ///
  /// - Parameters:
  ///   - sentence: The warning.
  ///   - event: The name of the object that it is with `--json`; nil: it is a sentence there, too.
  func warn(_ sentence: String, event: String? = nil) {
    if output.isJSON, let event {
      return output.event(.object(["event": .string(event), "reason": .string(sentence)]))
    }
    if waiting.update({ $0?.append(sentence) }) == nil { output.warn(sentence) }
  }

  /// Writes what waited; nothing waits any more.
  func release() {
    for sentence in waiting.update({ $0.take() }) ?? [] { output.warn(sentence) }
  }
}

extension CommandFailure {
  /// A capture that cannot be written.
  package init(_ error: CaptureError) {
    self.init(.cannotCreate, error.description.trimmingSuffix("."))
  }
}

/// Ends the program where something does not heed the end of `--timeout`: a controller that does
/// not answer while its link is closed, for example.
final class Watchdog: Sendable {
  /// What a command that heeds it may take beyond, while the program runs.
  private static let grace = Duration.seconds(2)
  private let timer = WakeTimer()
  private let time = Guarded<RunningTime?>(nil)

  /// Ends the program this long from now, unless it was cancelled before. Readers are waited for not much
  /// longer in any case. To be created before anything that may wait, such as writing to a standard error
  /// that has a stuck reader.
  init(after limit: Duration) {
    Output.limitWaiting(after: limit)
    timer.start { [time, weak timer] in
      let pause = time.update { time in
        // It begins with the first call, so that a program that was stopped until now has it, too.
        var running = time ?? RunningTime(Self.grace)
        defer { time = running }
        return running.look()
      }
      if let pause { timer?.set(after: pause) } else { Self.endProgram() }
    }
    timer.set(after: limit)
  }

  private static func endProgram() {
    Output.waitNoMore()
    Terminal.restore()
    Output(isJSON: false).note("ambit: not done within the time limit.")
    exit(ExitStatus.timedOut.rawValue)
  }

  deinit { timer.stop() }

  func cancel() { timer.stop() }
}

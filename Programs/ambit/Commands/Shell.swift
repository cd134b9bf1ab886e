import ArgumentParser
import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import CoreBluetooth
import CoreBluetoothAsync
import Essentials
import Foundation
import Glibc
import JSONWire
import StateFiles

/// A session with a device.
struct Shell: RadioCommand {
  static let configuration = CommandConfiguration(
    abstract: "Connect to a device and keep the connection: a session of commands.",
    discussion: """
      Commands come from standard input, a line each; "help" lists them. On a terminal lines are \
      edited, Tab completes commands and characteristics, the arrow keys bring back the commands of \
      earlier sessions (shell-history beside the bonds, for this user only), Ctrl-C cancels a command \
      or a line and at an empty line ends the session, as Ctrl-D does, and errors are printed. Otherwise the first command that fails ends the session with \
      its status. A device that disconnects is connected again when it is back, and its subscriptions \
      continue.

      EXAMPLES:
        ambit shell "Pulse strap"
        printf 'read 2A19\\nsubscribe 2A37\\nwait 5\\n' | ambit shell strap --json
      """)

  @OptionGroup var options: GlobalOptions

  /// Typed lines are commands here.
  var pairingInput: PairingInput { Self.isInteractive ? .command : .terminal }

  /// Whether commands are typed, so that answers to questions can be typed between them.
  fileprivate static var isInteractive: Bool {
    Terminal.isTerminal(STDIN_FILENO) && Terminal.isTerminal(STDERR_FILENO)
  }

  @Argument(help: "The device: identifier or start of it, address, or name.")
  var id: String

  func run(_ session: Session) async throws {
    let id = id
    let central = try await session.central()
    let end: Void? = try await race(session.remaining ?? .seconds(366 * 24 * 3600)) {
      try await session.whileRadioWorks(central) {
        let sighting = try await Search(name: DeviceName(text: id), session: session.silent)
          .only(central)
        // By the identifier, which means this device also when it is connected again.
        let search = Search(
          name: DeviceName(text: sighting.identifier), session: session.silent)
        try await ShellSession(sighting, search, central).run()
      }
    }
    if end == nil, !Terminal.isTerminal(STDIN_FILENO) {
      throw CommandFailure(.timedOut, "the session exceeded its time limit")
    }
  }
}

/// Runs the commands of a session.
final class ShellSession: Sendable {
  private let device: KeptDevice
  private let output: Output
  private let running = Guarded<Task<Void, any Error>?>(nil)
  /// Edits the lines that are typed; nil if they come from elsewhere.
  private let terminal: LineTerminal?
  private let history: ShellHistory?
  private let lines: LineReader
  /// The open questions of pairings; the next line is an answer.
  private let questions = Guarded(PairingQuestions())
  private let answersPairing: Bool
  private let decisions: PairingDecisions
  private let host: CommandHost
  /// What answers questions of pairings.
  private let agent = Guarded<(any HostSession)?>(nil)

  init(_ sighting: Sighting, _ search: Search, _ central: Central) {
    let output = search.session.output
    self.output = output
    host = search.session.host
    answersPairing = search.session.answersPairing
    decisions = search.session.decisions
    let events = Guarded<(@Sendable (KeptDevice.Event) -> Void)?>(nil)
    let device = KeptDevice(sighting, search, central) { events.value?($0) }
    self.device = device
    history = Shell.isInteractive ? ShellHistory { ProcessInfo.processInfo.environment[$0] } : nil
    let title = Fit.safe(sighting.name ?? sighting.shortID)
    let terminal =
      Shell.isInteractive
      ? LineTerminal(
        prompt: output.errorStyle.bold(title) + "> ", promptWidth: Fit.width(title) + 2,
        history: history?.load() ?? [], complete: Self.completion(for: device)) : nil
    self.terminal = terminal
    lines = LineReader { terminal.map { $0.readLine() } ?? readLine() }
    events.update { $0 = { [weak self] in self?.handle($0) } }
  }

  func run() async throws {
    if let terminal {
      beginAnswering()
      // What libraries log goes above the line, too.
      Output.handNotes(to: { text in terminal.above { Output.write(text + "\n", to: STDERR_FILENO) }
      })
      Interrupts.shared.onRedraw { terminal.redraw() }
    }
    defer {
      agent.update { $0 = nil }
      Interrupts.shared.onRedraw {}
      Output.handNotes(to: nil)
      // What ends the session is reported on a line of its own.
      terminal?.finish()
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await self.device.run() }
      group.addTask { try await self.readCommands() }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  private func readCommands() async throws {
    if let terminal {
      Interrupts.shared.intercept { [running] in
        guard let task = running.value else { return terminal.interrupt() }
        task.cancel()
        return true
      }
    }
    defer { Interrupts.shared.intercept(nil) }
    _ = try await limited("connecting") { _ = try await self.device.device() }
    while let line = await lines.next() {
      if answer(line) { continue }
      do {
        remember(line)
        let command = try ShellCommand(line)
        if command == .quit { return }
        try await run(command)
      } catch let failure as CommandFailure where terminal != nil {
        note(output.errorStyle.red(Fit.safe(failure.sentence) + "."))
      }
    }
    try Task.checkCancellation()
  }

  /// Keeps a command for the arrow keys. Answers to questions of pairings are not kept.
  private func remember(_ line: String) {
    guard let terminal, line.contains(where: { !$0.isWhitespace }) else { return }
    terminal.remember(line)
    do throws(StateFileError) {
      try history?.add(line)
    } catch {
      reportHistory(error)
    }
  }

  private let historyFailure = Guarded<StateFileError?>(nil)

  /// Reports, once, why commands are not kept for the next session.
  private func reportHistory(_ error: StateFileError) {
    let isNew = historyFailure.update { known in
      defer { known = error }
      return known == nil
    }
    if isNew { note("Commands are not kept for the next session: \(error.reason).") }
  }

  /// Completes lines; the first time, discovers the characteristics for the next.
  private static func completion(
    for device: KeptDevice
  ) -> @Sendable (String) -> LineEditor.Completion {
    let isDiscovering = Guarded(false)
    return { start in
      let services = device.services
      if services.isEmpty,
        isDiscovering.update({ was in
          defer { was = true }
          return !was
        })
      {
        Task {
          _ = try? await device.discoverAll()
          isDiscovering.update { $0 = false }
        }
      }
      func characteristics(of service: CBService) -> [BluetoothUUID] {
        (service.characteristics ?? []).map { BluetoothUUID($0.uuid) }
      }
      func name(_ uuid: BluetoothUUID) -> String {
        AssignedNumbers.characteristicName(uuid) ?? uuid.description
      }
      let all = services.flatMap(characteristics(of:))
      return ShellCompletion.complete(
        start, names: all.map(name), uuids: all.map(\.description),
        services: services.map { service in
          let uuid = BluetoothUUID(service.uuid)
          let inside = characteristics(of: service)
          return .init(
            words: [AssignedNumbers.serviceName(uuid), uuid.description].compactMap(\.self),
            characteristics: inside.map(name) + inside.map(\.description))
        })
    }
  }

  /// Runs a command so that Ctrl-C can end it alone.
  private func run(_ command: ShellCommand) async throws {
    let task = Task { try await self.perform(command) }
    running.update { $0 = task }
    if command != .nothing, terminal?.takeInterrupt() == true { task.cancel() }
    defer {
      running.update { $0 = nil }
      // The line that a question waited for is the next command's.
      lines.stopWaiting()
    }
    do {
      try await withTaskCancellationHandler {
        try await task.value
      } onCancel: {
        task.cancel()
      }
    } catch is CancellationError {
      try Task.checkCancellation()
      note("Given up.")
    }
  }

  private func limited<Result: Sendable>(
    _ what: String, _ body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    if let result = try await race(Session.workTime.duration, body) { return result }
    throw CommandFailure(.timedOut, "\(what) took longer than \(Seconds(span: Session.workTime))")
  }

  private func perform(_ command: ShellCommand) async throws {
    switch command {
    case .nothing, .quit: return
    case .help(let name):
      guard let lines = ShellHelp.lines(of: name, columns: Terminal.errorColumns) else {
        throw CommandFailure(
          .usage, "unknown command \"\(name ?? "")\"; help lists the commands")
      }
      note(lines.joined(separator: "\n"))
    case .wait(let time): try await Task.sleep(for: time.duration)
    case .status: try await StatusReport(device.session).write()
    case .disconnect: await device.disconnect()
    case .reconnect:
      device.reconnect()
      _ = try await limited("connecting") { _ = try await self.device.device() }
    default: try await limited("the device") { try await self.use(command) }
    }
  }

  private func use(_ command: ShellCommand) async throws {
    switch command {
    case .services, .inspect:
      _ = try await device.discoverAll()
      try await Inspect.report(try await device.device(), readsValues: command == .inspect)
    case .read(let names):
      var keys: [KeptDevice.Key] = []
      for name in names { keys.append(try await device.key(CharacteristicName(name))) }
      let device = device
      try await keys.mapConcurrently(device.read) { key, bytes in
        try await report(bytes, of: key, showsName: names.count > 1, event: "value")
      }
    case .write(let name, let input, let withoutResponse):
      let name = try CharacteristicName(name)
      let bytes = try input.bytes(for: name.characteristic)
      let key = try await device.key(name)
      try await device.write(bytes, to: key, withoutResponse: withoutResponse)
      if output.isJSON {
        try await report(bytes, of: key, showsName: false, event: "written")
      } else {
        note("Wrote \(bytes.count) byte\(bytes.count == 1 ? "" : "s").")
      }
    case .subscribe(let names):
      for name in names {
        try await device.subscribe(try await device.key(CharacteristicName(name)))
      }
    case .unsubscribe(let names):
      for name in names { device.unsubscribe(try await device.key(CharacteristicName(name))) }
      if names.isEmpty { for key in device.subscriptions { device.unsubscribe(key) } }
    case .rssi:
      let connected = try await device.device()
      let rssi = try await connected.session.explaining("reading RSSI", of: connected.title) {
        () throws(BluetoothError) in try await connected.connection.readRSSI()
      }
      fact("rssi", .integer(Int64(rssi)), "\(rssi) dBm")
    case .mtu:
      let peripheral = try await device.device().connection.peripheral
      // Opcode and handle go before the value (Core 5.4, Vol 3, Part F, §3.4.5.3).
      let mtu = peripheral.maximumWriteValueLength(for: .withoutResponse) + 3
      fact("mtu", .integer(Int64(mtu)), "\(mtu) bytes")
    case .nothing, .help, .wait, .status, .disconnect, .reconnect, .quit: break
    }
  }

  // MARK: Pairing

  /// Shows how pairings end, and makes the shell the host's pairing agent if any are accepted, until
  /// `agent` is released.
  private func beginAnswering() {
    let session = host.openSession { [weak self] event in
      switch event {
      case .pairingPrompt(let peer, let prompt, let id):
        self?.decisions.asked(peer, id)
        self?.ask(PairingQuestion(peer: peer, prompt: prompt, id: id))
      case .pairingEnded(let peer, let failure): self?.pairingEnded(with: peer, failure)
      default: break
      }
    }
    agent.update { $0 = session }
    if answersPairing { session.send(.setPairingAgent(.keyboardDisplay)) }
  }

  private func ask(_ new: PairingQuestion) {
    if case .displayPasskey = new.prompt { return note("Pairing: " + new.text) }
    note(questions.update { $0.ask(new, new.text) })
    // While a command runs nothing else reads lines.
    guard running.value != nil else { return }
    readAnswer()
  }

  private func readAnswer() {
    Task {
      guard let line = await lines.next() else { return }
      _ = self.answer(line)
      if self.running.value != nil, !self.questions.value.isEmpty { self.readAnswer() }
    }
  }

  /// Uses a line as the answer to an open question; returns false if there is no question.
  private func answer(_ line: String) -> Bool {
    switch questions.update({ $0.take(line) }) {
    case .answered(let id, let reply):
      decisions.answered(id, reply)
      agent.value?.send(.answerPairing(id, reply))
    case .refused(let sentence): note(sentence)
    case .unneeded: return false
    }
    return true
  }

  private func pairingEnded(with peer: DeviceAddress, _ failure: SecurityFailure?) {
    let isLast = questions.update { $0.end(peer) && $0.isEmpty }
    if isLast { lines.stopWaiting() }
    let sentence = failure.map { decisions.sentence($0, of: peer) }
    note(sentence.map { "Pairing failed: \($0)" } ?? "Paired with \(peer).")
  }

  // MARK: Output

  private func report(
    _ bytes: [UInt8], of key: KeptDevice.Key, showsName: Bool, event: String, at time: Date? = nil
  ) async throws {
    let characteristic = try await device.characteristic(key)
    let report = ValueReport(device: try await device.device(), output: output)
    above { report.value(bytes, of: characteristic, showsName: showsName, event: event, at: time) }
  }

  private func fact(_ event: String, _ value: JSON, _ text: String) {
    above {
      guard output.isJSON else { return output.line(text) }
      output.object(
        .object([
          "event": .string(event), "id": .string(device.sighting.identifier), event: value,
        ]))
    }
  }

  private func handle(_ event: KeptDevice.Event) {
    switch event {
    case .connecting: break
    case .connected: if terminal != nil { note("Connected to \(Fit.safe(device.title)).") }
    case .lost(let reason, let reconnects):
      note(
        "\(Fit.safe(device.title)) disconnected: \(reason)"
          + (reconnects ? "; connecting again." : "."))
    case .lostBond(let reason):
      let address = device.sighting.address.map { " \($0)" } ?? ""
      note(
        "\(Fit.safe(device.title)) disconnected: \(reason). “connect” connects it again; "
          + "ambit bonds forget\(address) removes the bond.")
    case .subscriptionEnded(let key, let reason):
      note("\(name(of: key)) can no longer be followed: \(reason).")
    case .value(let key, let bytes): above { printValue(bytes, of: key) }
    }
  }

  private func name(of key: KeptDevice.Key) -> String {
    let services = device.services
    guard let list = services[safe: key.service]?.characteristics,
      let characteristic = list[safe: key.characteristic]
    else { return "a characteristic" }
    let uuid = BluetoothUUID(characteristic.uuid)
    return AssignedNumbers.characteristicName(uuid) ?? uuid.description
  }

  private func printValue(_ bytes: [UInt8], of key: KeptDevice.Key) {
    guard let list = device.services[safe: key.service]?.characteristics,
      let characteristic = list[safe: key.characteristic]
    else { return }
    ValueReport.write(
      bytes, of: ValueReport.Subject(characteristic), device.sighting.identifier, output,
      showsName: true,
      event: "value", at: Date())
  }

  /// Prints something, above the line that is being typed.
  private func above(_ body: () -> Void) {
    if let terminal { terminal.above(body) } else { body() }
  }

  private func note(_ text: String) { output.note(text) }
}

package import CoreBluetooth
package import CoreBluetoothAsync
import Essentials
import Foundation
import JSONWire

/// Why a radio cannot be used, for either role.
package enum RadioFailure {
  /// The end of a sentence with the reason, if there is an error.
  static func reason(_ error: (any Error)?) -> String {
    guard let error else { return "" }
    let text = error.localizedDescription.trimmingSuffix(".")
    // The text is the limit's name then.
    return isLimit(error) ? ": a limit is reached (\(text))" : ": " + text
  }

  /// Whether a limit of the host or of the hub is the reason, and not what the program asked for.
  static func isLimit(_ error: any Error) -> Bool { (error as? CBError)?.code == .outOfSpace }

  package static func failure(_ state: CBManagerState, _ host: CommandHost) -> CommandFailure {
    let status: ExitStatus = state == .unauthorized ? .notPermitted : .radioUnavailable
    if let problem = host.problem { return CommandFailure(status, problem.trimmingSuffix(".")) }
    switch state {
    case .unauthorized: return CommandFailure(status, "this user may not use \(host.subject)")
    case .unsupported:
      return CommandFailure(status, "\(host.subject) does not support Bluetooth LE")
    case .poweredOff: return CommandFailure(status, "\(host.subject) is off or unplugged")
    case .unknown, .resetting, .poweredOn:
      return CommandFailure(status, "\(host.subject) does not answer")
    }
  }
}

extension RadioFailure {
  /// Writes the object for a radio that ended the command, if one did.
  static func report(_ error: any Error, _ host: CommandHost) {
    guard let failure = error as? CommandFailure,
      [.radioUnavailable, .notPermitted].contains(failure.status)
    else { return }
    Output(isJSON: true).object(json(host, problem: failure.sentence))
  }

  /// The object for a radio that fails, or works again.
  /// - Parameter problem: Why it fails; nil where it works.
  static func json(_ host: CommandHost, problem: String?) -> JSON {
    .object([
      "event": .string("radio"), "time": .time(Date()), "radio": .string(host.radioText),
      "works": .bool(problem == nil), "problem": problem.map { .string($0) },
    ])
  }
}

extension BluetoothError {
  /// Whether the peer demands a link with another protection.
  fileprivate var lacksProtection: Bool {
    let codes: [CBATTError.Code] = [
      .insufficientAuthentication, .insufficientEncryption, .insufficientEncryptionKeySize,
    ]
    return codes.contains { $0.rawValue == attributeErrorCode }
  }
}

extension Session {
  /// Reports when the radio goes and when it is back, until the task is cancelled: as a remark, and
  /// as JSON in an object, too.
  ///
  /// - Parameter endsIfRefused: Whether the command ends where the radio may not be used any more, which is
  ///   reported then.
  package func reportRadioTroubles(_ central: Central, endsIfRefused: Bool = true) async {
    var reported: String?
    for await state in central.states() {
      guard !endsIfRefused || state != .unauthorized && state != .unsupported else { continue }
      let problem = state == .poweredOn ? nil : RadioFailure.failure(state, host).sentence
      guard problem != reported else { continue }
      reported = problem
      let sentence = problem.map { "\(Fit.safe($0)); waiting for it" } ?? "the radio is back"
      if output.isJSON { output.object(RadioFailure.json(host, problem: problem)) }
      output.warn(sentence)
    }
  }

  /// Reports the same for a command that goes on without a radio, also of one that doesn't work at its start.
  package func reportRadio() async {
    let central = Central(host: host.provider, showsSystemServices: true)
    _ = try? await race(Self.startTime) {
      for await state in central.states() where state != .unknown { return }
    }
    guard !Task.isCancelled else { return }
    host.reportSimulation(output)
    await reportRadioTroubles(central, endsIfRefused: false)
  }

  /// A central whose radio works.
  package func central() async throws -> Central {
    let central = Central(host: host.provider, showsSystemServices: true)
    try await waitForRadio({ central.state }) {
      do throws(BluetoothError) {
        try await central.waitUntilPoweredOn()
      } catch {
        throw failure(error, "the radio")
      }
    }
    return central
  }

  /// Fails if the radio doesn't work. Called before work with a device begins, because the end of the time
  /// for that would be blamed on the device.
  func checkRadio() async throws { _ = try await central() }

  /// Waits until the radio works: briefly if the host knows of a problem, else as long as a radio
  /// may take to start.
  func waitForRadio(
    _ state: @escaping @Sendable () -> CBManagerState,
    _ isReady: @escaping @Sendable () async throws -> Void
  ) async throws {
    let host = host
    let limit = min(remaining ?? Self.startTime, Self.startTime)
    let done: Void? = try await race(limit) {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await isReady() }
        group.addTask {
          await host.waitForProblem()
          // A second chance for a radio that is just being switched on.
          try await Task.sleep(for: .seconds(1))
          throw RadioFailure.failure(state(), host)
        }
        defer { group.cancelAll() }
        try await group.next()
      }
    }
    if done == nil { throw RadioFailure.failure(state(), host) }
    host.reportSimulation(output)
  }

  /// Runs `body` as long as the radio works.
  /// - Throws: What `body` throws, or why the radio went.
  func whileRadioWorks<Result: Sendable>(
    _ central: Central, _ body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    let host = host
    return try await withThrowingTaskGroup(of: Result?.self) { group in
      group.addTask {
        do {
          return try await body()
        } catch {
          guard central.state != .poweredOn, !(error is CancellationError) else { throw error }
          // A radio that goes also ends links. It is the reason, whichever task runs first.
          throw RadioFailure.failure(central.state, host)
        }
      }
      group.addTask {
        for await state in central.states() where state != .poweredOn {
          throw RadioFailure.failure(state, host)
        }
        // Cancelled: how `body` ends then is what counts.
        return nil
      }
      defer { group.cancelAll() }
      while let end = try await group.next() {
        if let result = end { return result }
      }
      throw CancellationError()
    }
  }

  /// To be called where a scan of `central` has ended by itself, as it does where the radio may not be used any
  /// more. The state of the central may change a moment later.
  /// - Throws: Why the radio can't be used, or that the task was cancelled.
  func scanEnded(_ central: Central) async throws -> Never {
    for await state in central.states() where state == .unauthorized || state == .unsupported {
      throw RadioFailure.failure(state, host)
    }
    throw CancellationError()
  }

  /// The failure of the command for an error of `what`: a device, or an operation.
  ///
  /// - Parameter device: The device of an operation, which may have been lost meanwhile.
  func failure(
    _ error: BluetoothError, _ what: String, of device: String? = nil
  ) -> any Error {
    let reason = error.description.trimmingSuffix(".")
    switch error.code {
    case .cancelled: return CancellationError()
    case .notAvailable: return RadioFailure.failure(error.state ?? .unknown, host)
    case .unknownPeripheral, .notFound: return CommandFailure(.notFound, reason)
    case .connectionFailed:
      return CommandFailure(.failure, "\(what) cannot be connected to: \(reason)")
    case .disconnected:
      let sentence = "\(device ?? what) disconnected: \(reason)"
      return CommandFailure(.failure, sentence + (device == nil ? "" : ", while \(what)"))
    case .attribute:
      var failure = CommandFailure(.failure, "\(what) was refused: \(reason)")
      failure.isRefusal = true
      failure.lacksProtection = error.lacksProtection
      return failure
    default: return CommandFailure(.failure, "\(what) failed: \(reason)")
    }
  }

  /// Runs `body`, turning the errors of Bluetooth into failures that name `what`.
  func explaining<Result: Sendable>(
    _ what: String, of device: String? = nil,
    _ body: () async throws(BluetoothError) -> Result
  ) async throws -> Result {
    do { return try await body() } catch { throw failure(error, what, of: device) }
  }
}

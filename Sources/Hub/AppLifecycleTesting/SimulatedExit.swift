import AppMachines
public import Essentials

/// How a process of an app ended by itself.
public struct SimulatedExit: Hashable, Sendable {
  /// The number of the signal, such as 6 for `SIGABRT`, which Swift's errors of programming raise; nil if the app called
  /// `exit`.
  public let signal: Int32?
  /// What the app gave to `exit`; nil after a signal.
  public let status: Int32?
  /// The launch of the process, from 1.
  public let launchNumber: Int

  init(_ exit: AppExit, launchNumber: Int) {
    switch exit {
    case .signal(let number): (signal, status) = (number, nil)
    case .status(let number): (signal, status) = (nil, number)
    case .notStarted: (signal, status) = (nil, nil)
    }
    self.launchNumber = launchNumber
  }
}

/// A line that an app has written to its standard output or error.
public struct SimulatedOutput: Hashable, Sendable {
  /// The text without the end of the line. Longer ones than 4,096 bytes are divided.
  public let line: String
  /// The virtual time.
  public let time: Instant
  /// The launch of the process, from 1.
  public let launchNumber: Int
  /// How many callbacks preceded it: those of `InstalledApp.callbacks`.
  public let callbackCount: Int
}

/// An app that can't be tested: its process doesn't answer, or has written to its phone itself.
public enum SimulatedAppFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// Its process did not return from something in this time of the computer, and was ended.
  case hangs(app: String, work: String, limit: TimeSpan)
  /// Its process has written something else than the library does to its socket, and was ended.
  case violatesProtocol(app: String, error: String)
  /// The system has not started its process.
  case notStarted(app: String, reason: String)

  /// A sentence.
  public var description: String {
    switch self {
    case .hangs(let app, let work, let limit):
      "\(app) did not return from \(work) within \(limit.seconds) s, and was ended."
    case .violatesProtocol(let app, let error):
      "\(app) wrote to the socket of its phone, and was ended: \(error)."
    case .notStarted(let app, let reason): "The process of \(app) could not be started: \(reason)."
    }
  }
}

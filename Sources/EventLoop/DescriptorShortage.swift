package import Essentials
import Glibc
import Synchronization

/// The reason why connections wait at a listening socket: the system gives this process no descriptor, or no memory,
/// for them.
///
/// All listeners of a process share its descriptors, so they share one count and one report of each shortage. All
/// methods may be called from any thread.
package enum DescriptorShortage: Hashable, Sendable {
  /// The process has as many as it may.
  case process(limit: UInt64)
  /// The system has as many as it may.
  case system
  /// The system has no memory for another one.
  case memory

  /// Nil for errors of another kind (accept(2)).
  package init?(errorNumber: Int32) {
    switch errorNumber {
    case EMFILE: self = .process(limit: DescriptorLimit.softLimit)
    case ENFILE: self = .system
    case ENOBUFS, ENOMEM: self = .memory
    default: return nil
    }
  }

  /// The reason with its remedy, in two sentences.
  package var text: String {
    switch self {
    case .process(let limit):
      "This process has \(limit) open files, its limit (ulimit -n, or LimitNOFILE= of its unit). "
        + "Connections wait until it has closed some."
    case .system:
      "This machine has as many open files as it may (sysctl fs.file-max). Connections wait until "
        + "programs have closed some."
    case .memory: "The system has no memory for more connections. They wait until it has some."
    }
  }

  // MARK: Reports

  /// Reports that a connection could not be accepted, or that a descriptor of a message was lost.
  ///
  /// - Parameters:
  ///   - errorNumber: The system's error. Errors of another kind are ignored.
  ///   - now: The time.
  package static func report(_ errorNumber: Int32, now: Instant = .now) {
    guard let shortage = Self(errorNumber: errorNumber) else { return }
    let observers = record.withLock { record in
      record.episodes.failed(now) ? Array(record.observers.values) : []
    }
    for observer in observers { observer(shortage) }
  }

  /// How many shortages this process has had.
  package static var count: Int { record.withLock { $0.episodes.count } }

  /// Calls a closure with each shortage when it begins, on the thread that meets it, until the result is released.
  package static func observe(
    _ body: @escaping @Sendable (DescriptorShortage) -> Void
  ) -> Observation {
    Observation(
      number: record.withLock { record in
        record.lastNumber += 1
        record.observers[record.lastNumber] = body
        return record.lastNumber
      })
  }

  /// Ends with its release.
  package final class Observation: Sendable {
    private let number: UInt64

    fileprivate init(number: UInt64) { self.number = number }

    deinit { _ = record.withLock { $0.observers.removeValue(forKey: number) } }
  }

  private struct Record {
    var episodes = Episodes()
    var observers: [UInt64: @Sendable (DescriptorShortage) -> Void] = [:]
    var lastNumber: UInt64 = 0
  }

  private static let record = Mutex(Record())

  /// Failures as shortages. A listener tries again within a second, and a process at its limit fails and succeeds in
  /// turn: failures with less than a minute in between are one shortage.
  struct Episodes {
    private(set) var count = 0
    private var lastFailure: Instant?

    static let span = TimeSpan.seconds(60)

    /// Returns whether a shortage begins with this failure.
    mutating func failed(_ now: Instant) -> Bool {
      defer { lastFailure = now }
      if let lastFailure, now - lastFailure < Self.span { return false }
      count += 1
      return true
    }
  }
}

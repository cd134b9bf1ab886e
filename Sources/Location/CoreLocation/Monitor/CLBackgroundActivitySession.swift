// Sessions declare how a program is going to use locations. On Linux they are accepted, but have no
// effect and nothing to report.

/// Allows a program to use location services in the background. On Linux that is always possible.
public final class CLBackgroundActivitySession: NSObject, Sendable {
  /// A diagnostic of the session. None is ever reported.
  public struct Diagnostic: Sendable {
    /// Always false.
    public let authorizationDenied: Bool
    /// Always false.
    public let authorizationDeniedGlobally: Bool
    /// Always false.
    public let authorizationRequestInProgress: Bool
    /// Always false.
    public let authorizationRestricted: Bool
    /// Always false.
    public let insufficientlyInUse: Bool
    /// Always false.
    public let serviceSessionRequired: Bool
  }

  /// The diagnostics of the session: a sequence without elements, which ends with the session.
  public final class Diagnostics: AsyncSequence, Sendable {
    /// A diagnostic of the session.
    public typealias Element = Diagnostic
    private let ending: SessionEnding

    init(_ ending: SessionEnding) { self.ending = ending }

    /// An iterator without elements.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
      let ending: SessionEnding
      /// Waits until the session was invalidated, and returns nil.
      public mutating func next() async throws -> Diagnostic? {
        await ending.wait()
        return nil
      }
    }

    /// Creates an iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(ending: ending) }
  }

  private let ending = SessionEnding()

  /// Starts a session.
  public override init() { super.init() }

  deinit { ending.end() }

  /// The diagnostics of the session.
  public var diagnostics: Diagnostics { Diagnostics(ending) }

  /// Ends the session.
  public func invalidate() { ending.end() }
}

/// A session that declares the authorization that a program needs, and requests it.
public final class CLServiceSession: Sendable {
  /// The required authorization.
  public enum AuthorizationRequirement: Int, Sendable {
    /// No authorization.
    case none = 0
    /// While the program is in use.
    case whenInUse = 1
    /// At all times.
    case always = 2
  }

  /// A diagnostic of the session. None is ever reported.
  public struct Diagnostic: Sendable {
    /// Always false.
    public let accuracyLimited: Bool
    /// Always false.
    public let alwaysAuthorizationDenied: Bool
    /// Always false.
    public let authorizationDenied: Bool
    /// Always false.
    public let authorizationDeniedGlobally: Bool
    /// Always false.
    public let authorizationRequestInProgress: Bool
    /// Always false.
    public let authorizationRestricted: Bool
    /// Always false.
    public let fullAccuracyDenied: Bool
    /// Always false.
    public let insufficientlyInUse: Bool
    /// Always false.
    public let serviceSessionRequired: Bool
  }

  /// The diagnostics of the session: a sequence without elements, which ends with the session.
  public final class Diagnostics: AsyncSequence, Sendable {
    /// A diagnostic of the session.
    public typealias Element = Diagnostic
    private let ending: SessionEnding

    init(_ ending: SessionEnding) { self.ending = ending }

    /// An iterator without elements.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
      let ending: SessionEnding
      /// Waits until the session was invalidated, and returns nil.
      public mutating func next() async throws -> Diagnostic? {
        await ending.wait()
        return nil
      }
    }

    /// Creates an iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(ending: ending) }
  }

  private let ending = SessionEnding()

  /// Starts a session: requests the authorization as a location manager does.
  public init(authorization: AuthorizationRequirement) {
    let services = LocationServices.current
    switch authorization {
    case .none: break
    case .whenInUse: services.perform { $0.request(.authorizedWhenInUse) }
    case .always: services.perform { $0.request(.authorizedAlways) }
    }
  }

  /// Starts a session. The purpose key has no effect, as accuracy is never reduced.
  public convenience init(authorization: AuthorizationRequirement, fullAccuracyPurposeKey: String) {
    self.init(authorization: authorization)
  }

  deinit { ending.end() }

  /// The diagnostics of the session.
  public var diagnostics: Diagnostics { Diagnostics(ending) }

  /// Ends the session.
  public func invalidate() { ending.end() }
}

/// The end of a session, to be waited for.
final class SessionEnding: Sendable {
  private let stream: AsyncStream<Never>
  private let continuation: AsyncStream<Never>.Continuation

  init() { (stream, continuation) = AsyncStream.makeStream() }

  func end() { continuation.finish() }

  /// Returns at the end, or when the task is cancelled.
  func wait() async { for await _ in stream {} }
}

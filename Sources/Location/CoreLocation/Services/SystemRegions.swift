internal import AppMachines
internal import AppSessions
internal import Logging
internal import Synchronization

/// The system of an app, as far as it monitors regions and conditions for it, whether the app runs or not
/// (docs/decisions/0236-regions-of-apps-are-the-systems.md).
///
/// Methods may be called from any thread, but with no lock of the services: a request waits for the system.
final class SystemRegions: Sendable {
  /// What the app's last processes left to it.
  let monitored: [AppRegion]
  let kept: [UInt8]
  private let session: AppSession
  private let keeping = DispatchQueue(label: "ambit.kept-conditions")
  private let state = Mutex(State())

  private struct State {
    var isOpen = false
    /// The contents that are to be kept next.
    var next: [UInt8]?
  }

  /// Nil where the system monitors no regions for apps, such as that of a program that nothing runs.
  init?(_ session: AppSession) {
    guard case .regions(.monitored(let regions, let kept)) = session.request(.regions(.read))
    else { return nil }
    self.session = session
    monitored = regions
    self.kept = kept
  }

  /// Begins to take events, once. `handler` calls `done` when the app has handled the event.
  func open(
    _ handler:
      @escaping @Sendable (_ event: AppRegionEvent, _ done: @escaping @Sendable () -> Void) -> Void
  ) {
    let isFirst = state.withLock { state in
      defer { state.isOpen = true }
      return !state.isOpen
    }
    guard isFirst else { return }
    session.open(.location) { delivery, done in
      guard case .event(_, let event) = delivery, let content = AppRegionEvent(event.payload)
      else { return done() }
      handler(content, done)
    }
  }

  /// Returns why it isn't monitored; nil if it is.
  func start(_ region: AppRegion, assuming state: AppRegion.State = .unknown) -> AppRegionRefusal? {
    switch session.request(.regions(.start(region, assuming: state))) {
    case .regions(.done): nil
    case .regions(.refused(let refusal)): refusal
    default: .unavailable
    }
  }

  func stop(_ name: AppRegion.Name) { _ = session.request(.regions(.stop(name))) }

  func state(of name: AppRegion.Name) -> AppRegion.State {
    guard case .regions(.state(let state)) = session.request(.regions(.state(name))) else {
      return .unknown
    }
    return state
  }

  // MARK: Conditions

  /// Keeps contents for the next process, soon. With any lock held.
  func keep(_ bytes: [UInt8]) {
    let isFirst = state.withLock { state in
      defer { state.next = bytes }
      return state.next == nil
    }
    guard isFirst else { return }
    keeping.async { [self] in
      guard let next = state.withLock({ $0.next.take() }) else { return }
      if session.request(.regions(.keep(next))) != .regions(.done) {
        Logger(label: "CoreLocation").error("The system doesn't keep the conditions of monitors.")
      }
    }
  }

  /// Returns when the contents up to now are kept.
  func settle() { keeping.sync {} }

  /// Calls back when the contents up to now are kept.
  func afterKeeping(_ completion: @escaping @Sendable () -> Void) {
    keeping.async(execute: completion)
  }
}

/// Calls back once, at the latest when nothing refers to it: a call of a delegate may be dropped.
final class Acknowledgement: Sendable {
  private let completion: Mutex<(@Sendable () -> Void)?>

  init(_ completion: @escaping @Sendable () -> Void) { self.completion = Mutex(completion) }

  deinit { complete() }

  func complete() { completion.withLock { $0.take() }?() }
}

extension CLRegionState {
  init(_ state: AppRegion.State) {
    switch state {
    case .unknown: self = .unknown
    case .inside: self = .inside
    case .outside: self = .outside
    }
  }
}

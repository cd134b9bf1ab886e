public import Reactive

extension SignalProducer where Value == Never, Error == Never {
  /// A producer that does something on the main actor, and completes.
  ///
  /// Started on the main actor, as by a page, it is done before `start()` returns, so that its effects
  /// reach pages together; started on another thread, it is done soon.
  public static func onMainActor(_ body: @escaping @MainActor @Sendable () -> Void) -> Self {
    let scheduler = UIScheduler()
    return Self { observer, lifetime in
      let work = scheduler.schedule {
        // The main queue is the main actor's.
        MainActor.assumeIsolated { body() }
        observer.sendCompleted()
      }
      lifetime.observeEnded { work?.dispose() }
    }
  }
}

extension Action where Output == Never, Error == Never, Input: Sendable {
  /// Creates an action that does something on the main actor, where view models are:
  ///
  ///     clear = Action(onMainActor: { text.value = "" })
  ///
  /// - Parameter body: Called with the argument, as `onMainActor` of producers does it.
  public convenience init(onMainActor body: @escaping @MainActor @Sendable (Input) -> Void) {
    self.init { input in .onMainActor { body(input) } }
  }

  /// Creates an action that does something on the main actor, and is enabled while a property is true.
  ///
  /// - Parameters:
  ///   - isEnabled: The property, which is retained.
  ///   - body: Called with the argument, as `onMainActor` of producers does it.
  public convenience init<P: PropertyProtocol>(
    enabledIf isEnabled: P, onMainActor body: @escaping @MainActor @Sendable (Input) -> Void
  ) where P.Value == Bool {
    self.init(enabledIf: isEnabled) { input in .onMainActor { body(input) } }
  }
}

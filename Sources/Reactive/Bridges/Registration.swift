// What modules are made of that bridge delegates, observers and feeds of other libraries.
extension SignalProducer {
  /// A producer of the events between a registration and its end.
  ///
  /// - Parameter register: Called at every start with a closure for the events, which may be called
  ///   on any thread; events after the end of the run are ignored. The returned disposable ends the
  ///   registration: it is disposed of after the run.
  package init(
    registering register:
      @escaping @Sendable (
        _ notify: @escaping @Sendable (Signal<Value, Error>.Event) -> Void
      ) -> (any Disposable)?
  ) {
    self.init { observer, lifetime in
      lifetime += register(observer.sender)
    }
  }
}

// What modules are made of that bridge delegates, observers and feeds of other libraries.
extension SignalProducer {
  /// A producer of what is reported between a registration and its end.
  ///
  /// - Parameter register: Called at every start with what takes the events, from any thread; what
  ///   comes after the end of the run is ignored. The disposable it returns ends the registration:
  ///   it is disposed of after the run.
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

// Interfaces that call back, as producers. Where none of these fits there is
// `SignalProducer { observer, lifetime in … }`, of which they are special cases.
extension SignalProducer {
  /// A producer for a function with a completion handler: sends the value and completes, or fails.
  ///
  /// ```swift
  /// SignalProducer<Image, LoadError>(callback: { done in
  ///   let task = loader.load(address, completion: done)
  ///   return AnyDisposable { task.cancel() }
  /// })
  /// ```
  ///
  /// - Parameter call: Called at every start with the completion handler, which may be called on
  ///   any thread; later calls of it are ignored. The returned disposable is disposed of after the
  ///   run.
  @available(swift 6)
  public init(
    callback call:
      @escaping @Sendable (
        _ done: @escaping @Sendable (Result<Value, Error>) -> Void
      ) -> (any Disposable)?
  ) {
    self.init(registering: { notify in
      call { result in
        switch result {
        case .success(let value):
          notify(.value(value))
          notify(.completed)
        case .failure(let error):
          notify(.failed(error))
        }
      }
    })
  }

  /// A producer of the values that a listener is called with. It is interrupted when the listener
  /// is released.
  ///
  /// - Parameter register: Called at every start with the listener, which may be called from any
  ///   thread. The disposable that it returns removes the listener after the run.
  @available(swift 6)
  public init(
    listener register:
      @escaping @Sendable (
        _ listener: @escaping @Sendable (Value) -> Void
      ) -> (any Disposable)?
  ) {
    self.init(registering: { notify in register { notify(.value($0)) } })
  }

  /// Creates a producer of the calls that a delegate receives. Each start creates its own delegate.
  ///
  /// Owners hold their delegates weakly; the run retains this one.
  ///
  /// ```swift
  /// SignalProducer<Location, Never>(
  ///   delegate: { LocationDelegate(reportingTo: $0) },
  ///   attach: { manager.delegate = $0 },
  ///   detach: { _ in manager.delegate = nil })
  /// ```
  ///
  /// - Parameters:
  ///   - makeDelegate: Creates a delegate that sends the calls it receives to the observer.
  ///   - attach: Gives the delegate to its owner, on the thread that starts the run.
  ///   - detach: Removes it after the run, on the thread on which that ends.
  @available(swift 6)
  public init<Delegate: AnyObject>(
    delegate makeDelegate: @escaping @Sendable (Signal<Value, Error>.Observer) -> Delegate,
    attach: @escaping @Sendable (Delegate) -> Void,
    detach: @escaping @Sendable (Delegate) -> Void
  ) {
    self.init { observer, lifetime in
      // Between threads as the owner has it: it is only held here, and handed to `detach`.
      let delegate = UncheckedTransfer(makeDelegate(observer))
      attach(delegate.value)
      lifetime.observeEnded { detach(delegate.value) }
    }
  }
}

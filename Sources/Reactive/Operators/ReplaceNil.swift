extension Signal where Value: OptionalProtocol {
  /// Replaces nil with `replacement`.
  ///
  /// The end is passed on as it is.
  ///
  /// - Parameter replacement: The value that is sent instead of nil.
  /// - Returns: A signal of values that aren't nil.
  public func replaceNil(with replacement: Value.Wrapped) -> Signal<Value.Wrapped, Error> {
    through(Map { $0.optional ?? replacement })
  }
}

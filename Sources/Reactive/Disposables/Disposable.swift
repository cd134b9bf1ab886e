/// Something that can be freed or cancelled, once.
///
/// Disposing is safe from any thread, from inside a callback, and more than once: only the first
/// call has an effect.
public protocol Disposable: AnyObject, Sendable {
  /// Whether ``dispose()`` has been called.
  var isDisposed: Bool { get }

  /// Frees the resource or cancels the work.
  func dispose()
}

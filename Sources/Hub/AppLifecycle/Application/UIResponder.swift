public import Foundation

/// An object that responds to events. There are no views here: it is the superclass of an app's delegate.
@preconcurrency @MainActor open class UIResponder: NSObject {
  /// The next responder; nil.
  open var next: UIResponder? { nil }
}

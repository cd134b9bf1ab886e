internal import Foundation

/// Makes an object of a class whose initializer Swift can't call, since it isn't `required`: that of a delegate which
/// only its class is known of.
func instance(of type: AnyClass) -> NSObject? {
  guard type is NSObject.Type else { return nil }
  // `init()` of any subclass of NSObject is in one slot of its table of methods, that of `NSObject.init()`, and
  // `required` only makes sure that a subclass has it. A class without `init()` has a function there which traps with
  // the text "Use of unimplemented initializer". Only the metatype's type changes, so that a call through the slot is
  // allowed; ClassInstanceTests has each kind of class, and the compiler's optimizer is kept from calling
  // `InitializableObject.init()` itself, as the class is open.
  return unsafeBitCast(type, to: InitializableObject.Type.self).init()
}

/// Only a type with which a call of `init()` is compiled. Open, so that the call goes through the table of methods.
@_documentation(visibility: internal)
open class InitializableObject: NSObject {
  /// Creates an object.
  public required override init() { super.init() }
}

/// Classes whose properties can be asked for by name.
///
/// There is no Objective-C runtime, so each class lists its properties.
protocol KeyValueCoding: NSObject {
  /// The value of a property; nil if the class has none of this name. A property without a value
  /// is `.some(nil)`.
  func property(_ key: String) -> Any??
  /// Called by `value(forKey:)` for a name that the class does not have.
  func value(forUndefinedKey key: String) -> Any?
}

extension KeyValueCoding {
  func lookUp(_ key: String) -> Any? {
    property(key) ?? value(forUndefinedKey: key)
  }

  /// Where Apple's framework raises `NSUnknownKeyException`.
  func reportUndefined(_ key: String) -> Any? {
    Misuse.report("\(type(of: self)) has no value for the key \(key)")
    return nil
  }
}

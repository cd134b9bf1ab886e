// Embedded Swift can't describe a key of any type.
#if !hasFeature(Embedded)
  extension Dictionary {
    /// The value of a key that must exist. Traps if it doesn't, where optional chaining would hide
    /// the programming error.
    package subscript(existing key: Key) -> Value {
      get {
        guard let value = self[key] else { preconditionFailure("there is no value for \(key)") }
        return value
      }
      _modify {
        guard let index = index(forKey: key) else {
          preconditionFailure("there is no value for \(key)")
        }
        yield &values[index]
      }
    }
  }
#endif

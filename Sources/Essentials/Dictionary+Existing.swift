extension Dictionary {
  /// The value of a key that must be there. That it isn't is a mistake of the code that reads or changes
  /// it, which optional chaining would hide.
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

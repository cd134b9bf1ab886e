public import JSONWire

/// A value that a page can show, and set if it is two-way.
///
/// Texts, numbers, booleans, optionals and enumerations with such raw values are bindable, and
/// arrays of them one-way. To bind a type of your own, define its JSON form:
///
///     extension Temperature: BindableValue {
///       var pageValue: JSON { .string("\(celsius) °C") }
///       init?(pageValue: JSON) { nil }  // Only shown, never set.
///     }
public protocol BindableValue: Sendable {
  /// The value in the form that is sent to the page.
  var pageValue: JSON { get }

  /// Makes a value from the JSON that the page sent. If it returns nil, a two-way property keeps
  /// its value, and the page shows that value again.
  init?(pageValue: JSON)
}

extension String: BindableValue {
  /// The text.
  public var pageValue: JSON { .string(self) }

  /// Accepts texts only, not numbers or booleans.
  public init?(pageValue: JSON) {
    guard case .string(let text) = pageValue else { return nil }
    self = text
  }
}

extension Bool: BindableValue {
  /// `true` or `false`.
  public var pageValue: JSON { .bool(self) }

  /// Accepts booleans only.
  public init?(pageValue: JSON) {
    guard case .bool(let value) = pageValue else { return nil }
    self = value
  }
}

extension FixedWidthInteger where Self: BindableValue {
  /// The number. JavaScript represents numbers below 2⁵³ exactly.
  public var pageValue: JSON { Int64(exactly: self).map { .integer($0) } ?? .number(Double(self)) }

  /// Accepts numbers, and texts that contain only a number, such as the value of a menu.
  public init?(pageValue: JSON) {
    switch pageValue {
    case .integer(let value): self.init(exactly: value)
    case .number(let value): self.init(exactly: value)
    case .string(let text): self.init(text)
    case .null, .bool, .array, .object: return nil
    }
  }
}

extension Int: BindableValue {}
extension Int8: BindableValue {}
extension Int16: BindableValue {}
extension Int32: BindableValue {}
extension Int64: BindableValue {}
extension UInt: BindableValue {}
extension UInt8: BindableValue {}
extension UInt16: BindableValue {}
extension UInt32: BindableValue {}
extension UInt64: BindableValue {}

extension Double: BindableValue {
  /// The number; `null` if it is infinite or not a number.
  public var pageValue: JSON { .number(self) }

  /// Accepts numbers, and texts that contain only a number.
  public init?(pageValue: JSON) {
    switch pageValue {
    case .integer(let value): self.init(value)
    case .number(let value): self = value
    case .string(let text): self.init(text)
    case .null, .bool, .array, .object: return nil
    }
  }
}

extension Float: BindableValue {
  /// The number in its shortest form that identifies it: 0.1, not 0.10000000149011612. `null` if it
  /// is infinite or not a number.
  public var pageValue: JSON { .number(Double(description) ?? Double(self)) }

  /// Accepts numbers, which are rounded to the nearest value, and texts that contain only a number.
  public init?(pageValue: JSON) {
    guard let value = Double(pageValue: pageValue) else { return nil }
    self.init(value)
  }
}

extension Optional: BindableValue where Wrapped: BindableValue {
  /// The value, or `null`.
  public var pageValue: JSON { self?.pageValue ?? .null }

  /// Accepts the wrapped type's values. `null` is nil, and so is an empty text, if the wrapped type
  /// doesn't accept that.
  public init?(pageValue: JSON) {
    if let value = Wrapped(pageValue: pageValue) {
      self = .some(value)
    } else if pageValue == .null || pageValue == .string("") {
      self = .none
    } else {
      return nil
    }
  }
}

extension Array: BindableValue where Element: BindableValue {
  /// The values in order.
  public var pageValue: JSON { .array(map(\.pageValue)) }

  /// Always nil: arrays are one-way, because controls of a page have one value each.
  public init?(pageValue: JSON) { nil }
}

extension BindableValue where Self: RawRepresentable, RawValue: BindableValue {
  /// The raw value.
  public var pageValue: JSON { rawValue.pageValue }

  /// Accepts the raw values of the cases.
  public init?(pageValue: JSON) {
    guard let rawValue = RawValue(pageValue: pageValue) else { return nil }
    self.init(rawValue: rawValue)
  }
}

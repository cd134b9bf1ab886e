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
  /// The value as the page has it.
  var pageValue: JSON { get }

  /// Makes a value from the JSON that the page sent. If it returns nil, a two-way property keeps
  /// its value, and the page shows that value again.
  init?(pageValue: JSON)
}

extension String: BindableValue {
  /// The text.
  public var pageValue: JSON { .string(self) }

  /// The text; numbers and booleans are no texts.
  public init?(pageValue: JSON) {
    guard case .string(let text) = pageValue else { return nil }
    self = text
  }
}

extension Bool: BindableValue {
  /// `true` or `false`.
  public var pageValue: JSON { .bool(self) }

  /// The state of a switch.
  public init?(pageValue: JSON) {
    guard case .bool(let value) = pageValue else { return nil }
    self = value
  }
}

extension FixedWidthInteger where Self: BindableValue {
  /// The number. JavaScript has all digits of those below 2⁵³.
  public var pageValue: JSON { Int64(exactly: self).map { .integer($0) } ?? .number(Double(self)) }

  /// The number, also from a text with nothing else in it: a choice of a menu is one.
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

  /// The number, also from a text with nothing else in it.
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
  /// The number, with as many digits as tell it from others: 0.1, and not 0.10000000149011612.
  /// `null` if it is infinite or not a number.
  public var pageValue: JSON { .number(Double(description) ?? Double(self)) }

  /// The nearest number, also from a text with nothing else in it.
  public init?(pageValue: JSON) {
    guard let value = Double(pageValue: pageValue) else { return nil }
    self.init(value)
  }
}

extension Optional: BindableValue where Wrapped: BindableValue {
  /// The value, or `null`.
  public var pageValue: JSON { self?.pageValue ?? .null }

  /// The value; nil for `null` and for the empty text of a field that takes something else.
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

  /// None: controls of a page hold one value each.
  public init?(pageValue: JSON) { nil }
}

extension BindableValue where Self: RawRepresentable, RawValue: BindableValue {
  /// The raw value.
  public var pageValue: JSON { rawValue.pageValue }

  /// The case with this raw value.
  public init?(pageValue: JSON) {
    guard let rawValue = RawValue(pageValue: pageValue) else { return nil }
    self.init(rawValue: rawValue)
  }
}

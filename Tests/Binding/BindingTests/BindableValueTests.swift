import Binding
import JSONWire
import Testing

@Suite("Values that pages show and set")
struct BindableValueTests {
  private enum Kind: String, BindableValue { case phone, lamp }
  private enum Level: Int, BindableValue { case low = 1, high = 2 }

  private static func expect<Value: BindableValue & Equatable>(
    _ value: Value, is json: JSON, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(value.pageValue == json, sourceLocation: sourceLocation)
    #expect(Value(pageValue: json) == value, sourceLocation: sourceLocation)
  }

  @Test("bindable values are the same after a round trip through the page")
  func roundTrip() {
    Self.expect("x", is: .string("x"))
    Self.expect(true, is: .bool(true))
    Self.expect(-5, is: .integer(-5))
    Self.expect(UInt8(255), is: .integer(255))
    Self.expect(UInt64.max / 2, is: .integer(.max))
    Self.expect(1.5, is: .number(1.5))
    Self.expect(Float(0.25), is: .number(0.25))
    Self.expect(Float(0.1), is: .number(0.1))
    Self.expect(Float.greatestFiniteMagnitude, is: .number(3.4028235e38))
    Self.expect(Int?.none, is: .null)
    Self.expect(Int?.some(3), is: .integer(3))
    Self.expect(Kind.lamp, is: .string("lamp"))
    Self.expect(Level.high, is: .integer(2))
    #expect([1, 2].pageValue == .array([.integer(1), .integer(2)]))
    #expect(UInt64.max.pageValue == .number(Double(UInt64.max)))
  }

  @Test("bindable values are parsed from the texts of fields; other texts are refused")
  func texts() {
    #expect(Int(pageValue: .string("12")) == 12)
    #expect(Int(pageValue: .number(12)) == 12)
    #expect(Int(pageValue: .number(1.5)) == nil)
    #expect(Int(pageValue: .string("")) == nil)
    #expect(Int(pageValue: .bool(true)) == nil)
    #expect(UInt8(pageValue: .integer(256)) == nil)
    #expect(UInt8(pageValue: .number(1e300)) == nil)
    #expect(Double(pageValue: .string("1.")) == 1)
    #expect(Double(pageValue: .integer(2)) == 2)
    #expect(Double(pageValue: .array([])) == nil)
    #expect(Int?(pageValue: .string("")) == .some(.none))
    #expect(Int?(pageValue: .string("x")) == nil)
    #expect(Kind(pageValue: .string("car")) == nil)
    #expect(Level(pageValue: .string("2")) == .high)
    #expect([Int](pageValue: .array([])) == nil)
    #expect(String(pageValue: .integer(1)) == nil)
    #expect(Bool(pageValue: .integer(1)) == nil)
  }
}

public import Foundation

/// An element of a page; valid while the page has it.
public struct Element: Codable, Hashable, Sendable {
  fileprivate var reference: String

  // What the standard calls the web element identifier.
  private enum CodingKeys: String, CodingKey {
    case reference = "element-6066-11e4-a52e-4f735466cecf"
  }
}

/// Where an element is, in CSS pixels.
public struct Rectangle: Codable, Hashable, Sendable {
  /// From the left of the page.
  public var x: Double
  /// From the top of the page.
  public var y: Double
  /// How wide it is.
  public var width: Double
  /// How high it is.
  public var height: Double
}

extension Browser {
  /// The first element for a CSS selector.
  ///
  /// - Throws: ``WebDriverError`` with the code `no such element`.
  public func find(_ selector: String) async throws -> Element {
    try await send(
      "POST", "element", ["using": "css selector", "value": selector], as: Element.self)
  }

  /// All elements for a CSS selector, in the order of the document.
  public func findAll(_ selector: String) async throws -> [Element] {
    try await send(
      "POST", "elements", ["using": "css selector", "value": selector], as: [Element].self)
  }

  /// Scrolls to the element and clicks in its middle.
  ///
  /// - Throws: ``WebDriverError`` with the code `element click intercepted` if something covers it.
  public func click(_ element: Element) async throws {
    try await send("POST", "element/\(element.reference)/click", Empty())
  }

  /// Focuses the element and presses keys, at the end of what a field has.
  ///
  /// - Parameter text: Characters, and ``Key/text`` for other keys.
  public func type(_ text: String, into element: Element) async throws {
    try await send("POST", "element/\(element.reference)/value", ["text": text])
  }

  /// Empties a field.
  public func clear(_ element: Element) async throws {
    try await send("POST", "element/\(element.reference)/clear", Empty())
  }

  /// The text of an element, as it is rendered.
  public func text(of element: Element) async throws -> String {
    try await send("GET", "element/\(element.reference)/text", as: String.self)
  }

  /// A property of the element's object in JavaScript, such as `value` or `checked`.
  public func property<Value: Decodable>(
    _ name: String, of element: Element, as type: Value.Type = Value.self
  ) async throws -> Value {
    try await send("GET", "element/\(element.reference)/property/\(name)", as: type)
  }

  /// Whether the element can be seen.
  public func isDisplayed(_ element: Element) async throws -> Bool {
    try await send("GET", "element/\(element.reference)/displayed", as: Bool.self)
  }

  /// Whether the control can be used.
  public func isEnabled(_ element: Element) async throws -> Bool {
    try await send("GET", "element/\(element.reference)/enabled", as: Bool.self)
  }

  /// Where the element is.
  public func rectangle(of element: Element) async throws -> Rectangle {
    try await send("GET", "element/\(element.reference)/rect", as: Rectangle.self)
  }

  /// The element that has the focus of the keyboard.
  public func focusedElement() async throws -> Element {
    try await send("GET", "element/active", as: Element.self)
  }

  /// The accessibility role, by Chromium's computation.
  public func computedRole(of element: Element) async throws -> String {
    try await send("GET", "element/\(element.reference)/computedrole", as: String.self)
  }

  /// The accessible name, by Chromium's computation.
  public func computedLabel(of element: Element) async throws -> String {
    try await send("GET", "element/\(element.reference)/computedlabel", as: String.self)
  }

  /// What an element looks like, as a PNG file.
  public func screenshot(of element: Element) async throws -> Data {
    try await send("GET", "element/\(element.reference)/screenshot", as: Data.self)
  }
}

#if Messaging
  /// An element that an extension defines, as a typed value.
  package protocol XMPPExtension: Hashable, Sendable {
    /// Reads the value; nil if the element is another one, or if what it must have is missing or malformed.
    init?(_ element: XMLElement)
    var element: XMLElement { get }
  }

  extension XMPPExtension {
    /// The first element of a list that is this extension.
    package static func first(in elements: [XMLElement]) -> Self? {
      for element in elements {
        if let value = Self(element) { return value }
      }
      return nil
    }

    /// The first child of an element that is this extension, without a list of its children.
    package static func first(inside element: XMLElement) -> Self? {
      for case .element(let child) in element.content {
        if let value = Self(child) { return value }
      }
      return nil
    }
  }
#endif

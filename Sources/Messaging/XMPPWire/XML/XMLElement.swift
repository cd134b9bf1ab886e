#if Messaging
  /// An element of XML with its namespace, as a value.
  ///
  /// Prefixes are not kept: a parser resolves them, and a writer declares namespaces where they change. The depth of
  /// parsed elements is limited by ``XMLLimits``.
  package struct XMLElement: Hashable, Sendable {
    /// An attribute. Most have no namespace; `xml:lang` has one.
    package struct Attribute: Hashable, Sendable {
      package var name: String
      /// Empty for an attribute without a prefix.
      package var namespace: String
      package var value: String

      package init(_ name: String, namespace: String = "", _ value: String) {
        self.name = name
        self.namespace = namespace
        self.value = value
      }
    }

    /// A part of an element's content, in its order.
    package enum Content: Hashable, Sendable {
      case text(String)
      case element(XMLElement)
    }

    /// The name without a prefix.
    package var name: String
    package var namespace: String
    package var attributes: [Attribute]
    package var content: [Content]

    /// Creates an element. Attributes whose value is nil are left out.
    package init(
      _ name: String, _ namespace: String, _ attributes: KeyValuePairs<String, String?> = [:],
      text: String? = nil, children: [XMLElement] = []
    ) {
      self.name = name
      self.namespace = namespace
      self.attributes = attributes.compactMap { pair in
        pair.value.map { Attribute(pair.key, $0) }
      }
      content = text.map { [.text($0)] } ?? []
      content += children.map(Content.element)
    }

    /// Whether the element has this name in this namespace.
    package func has(_ name: String, _ namespace: String) -> Bool {
      self.name == name && self.namespace == namespace
    }

    /// The value of an attribute without a namespace.
    package subscript(_ attribute: String) -> String? {
      get { attributes.first { $0.name == attribute && $0.namespace.isEmpty }?.value }
      set {
        attributes.removeAll { $0.name == attribute && $0.namespace.isEmpty }
        if let newValue { attributes.append(Attribute(attribute, newValue)) }
      }
    }

    /// The value of `xml:lang`.
    package var language: String? {
      attributes.first { $0.name == "lang" && $0.namespace == Namespace.xml }?.value
    }

    /// The text directly inside the element, without that of its children.
    package var text: String {
      var text = ""
      for case .text(let part) in content { text += part }
      return text
    }

    /// The child elements in their order.
    package var children: [XMLElement] {
      content.compactMap { part in
        if case .element(let child) = part { child } else { nil }
      }
    }

    /// The first child with a name and namespace; the name may be left out.
    package func child(_ name: String?, _ namespace: String) -> XMLElement? {
      for case .element(let child) in content
      where child.namespace == namespace && (name == nil || child.name == name) {
        return child
      }
      return nil
    }

    /// Appends a child element.
    package mutating func append(_ child: XMLElement) { content.append(.element(child)) }
  }
#endif

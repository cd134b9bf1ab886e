import Essentials

/// Compares the paths in a page with the schema of its view model.
package struct PageCheck {
  /// A mistake in a page: a path that its view model doesn't have, or of another kind.
  package struct Finding: Hashable, Sendable {
    package var line: Int
    /// The mistake, as a sentence without a full stop.
    package var reason: String
  }

  /// A template that is read: pages show a copy of its first element for each row.
  private struct Template {
    /// The index of its list; nil for one of no list.
    var list: Int?
    /// The attribute that names the list.
    var attribute: PageElement.Attribute?
    /// The number of its elements that are in no other one.
    var elementCount = 0
    /// The elements without an end tag so far, from the outermost one.
    var open: [String] = []
  }

  private let schema: BindingSchema
  private let modelName: String
  /// The templates around, from the outermost one.
  private var templates: [Template] = []
  private var findings: [Finding] = []

  private init(schema: BindingSchema, modelName: String) {
    self.schema = schema
    self.modelName = modelName
  }

  /// The problems of a page, in the order of its lines.
  package static func findings(
    in page: [UInt8], schema: BindingSchema, modelName: String
  ) -> [Finding] {
    var check = PageCheck(schema: schema, modelName: modelName)
    for tag in PageScanner.tags(of: page) {
      switch tag {
      case .start(let element):
        check.enter(element)
        if element.name == "template" {
          let attribute = element["data-each"] ?? element["data-row"]
          check.templates.append(
            Template(list: attribute.flatMap { check.list($0) }, attribute: attribute))
        } else {
          check.look(at: element)
        }
      case .end("template"): check.endTemplate()
      case .end(let name): check.leave(name)
      }
    }
    while !check.templates.isEmpty { check.endTemplate() }
    return check.findings
  }

  // MARK: Templates

  /// Elements that have no content, and no end tag.
  private static let voidElements: Set = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track",
    "wbr",
  ]

  /// Counts the elements of a template. One whose end tag is left out seems to contain those after it, so that a
  /// page that browsers understand isn't refused.
  private mutating func enter(_ element: PageElement) {
    guard let last = templates.indices.last else { return }
    if templates[last].open.isEmpty {
      templates[last].elementCount += 1
      if templates[last].list != nil, templates[last].elementCount == 2,
        let attribute = templates[last].attribute
      {
        report(
          attribute, "a row is one element, and <\(element.name)> would be a second one",
          line: element.line)
      }
    }
    // A template is an entry of its own.
    if element.name != "template", !Self.voidElements.contains(element.name) {
      templates[last].open.append(element.name)
    }
  }

  private mutating func leave(_ name: String) {
    guard let last = templates.indices.last,
      let start = templates[last].open.lastIndex(of: name)
    else { return }
    templates[last].open.removeSubrange(start...)
  }

  private mutating func endTemplate() {
    guard let template = templates.popLast(), template.list != nil, template.elementCount == 0,
      let attribute = template.attribute
    else { return }
    report(attribute, "a row is one element, and the template has none")
  }

  // MARK: Elements

  private mutating func look(at element: PageElement) {
    for attribute in element.attributes {
      switch attribute.name {
      case "data-text", "data-show", "data-enabled", "data-arg": value(attribute, attribute.value)
      case "data-bind": bind(attribute, element)
      case "data-class":
        for (_, path) in pairs(attribute) { value(attribute, path) }
      case "data-attr":
        for (name, path) in pairs(attribute) {
          if Self.isCode(name) {
            report(attribute, "the attribute \(name) may hold code and can't be bound")
          }
          value(attribute, path)
        }
      case "data-on":
        for (_, path) in pairs(attribute) { action(attribute, path, element["data-arg"] != nil) }
      case "data-each", "data-row": report(attribute, "a list is shown by a template")
      case "data-upload": upload(attribute, element)
      case "data-when":
        if !["off", "refused", "denied"].contains(attribute.value) {
          report(attribute, "the connection is off, refused or denied")
        }
      case "data-query": query(attribute, element)
      case "data-debounce":
        if element["data-bind"] == nil || UInt32(attribute.value) == nil {
          report(attribute, "it takes milliseconds, beside data-bind")
        }
      default: break
      }
    }
  }

  /// Attributes that browsers run.
  private static func isCode(_ name: String) -> Bool {
    name.lowercased().hasPrefix("on") || ["srcdoc", "style"].contains(name.lowercased())
  }

  private mutating func list(_ attribute: PageElement.Attribute) -> Int? {
    // In the template of a list, it is one of the row's lists.
    guard let template = templates.last else {
      return list(attribute, among: schema.lists.map(\.name))
    }
    guard let outer = template.list else { return nil }
    let names = schema.listNames(inRowsOf: outer)
    guard !names.isEmpty else {
      report(attribute, "a row has no lists of its own")
      return nil
    }
    return list(attribute, among: names, in: schema.lists[outer].name + ".")
  }

  private mutating func list(
    _ attribute: PageElement.Attribute, among names: [String], in prefix: String = ""
  ) -> Int? {
    if names.contains(attribute.value) { return schema.list(named: prefix + attribute.value) }
    unknown(attribute, attribute.value, "list", names)
    return nil
  }

  private mutating func bind(_ attribute: PageElement.Attribute, _ element: PageElement) {
    guard ["input", "select", "textarea"].contains(element.name) else {
      return report(attribute, "only input, select and textarea can be typed into")
    }
    guard let found = value(attribute, attribute.value), !found.isTwoWay else { return }
    report(attribute, "\(modelName) declares it one-way: the page can't set it")
  }

  private mutating func upload(
    _ attribute: PageElement.Attribute, _ element: PageElement
  ) {
    guard element.name == "input", element["type"]?.value.lowercased() == "file" else {
      return report(attribute, "files are chosen by an input of the type file")
    }
    let ofRows = templates.compactMap(\.list).flatMap { schema.uploadNames(inRowsOf: $0) }
    let names = ofRows + schema.uploads
    guard !names.contains(attribute.value) else { return }
    unknown(attribute, attribute.value, "upload", names)
  }

  private mutating func query(_ attribute: PageElement.Attribute, _ element: PageElement) {
    guard element.name == "html" else {
      return report(attribute, "the address is the page's: it belongs to the html element")
    }
    for (_, path) in pairs(attribute) {
      guard let found = value(attribute, path), !found.isTwoWay else { continue }
      report(attribute, "\(modelName) declares “\(path)” one-way: the address can't set it")
    }
  }

  /// Finds a value, in the row first and then in the page.
  @discardableResult
  private mutating func value(
    _ attribute: PageElement.Attribute, _ path: String
  ) -> BindingScope.Value? {
    for scope in scopes {
      if let index = scope.value(named: path) { return scope.values[index] }
    }
    let isAction = scopes.contains { $0.action(named: path) != nil }
    if isAction {
      report(
        attribute, "“\(path)” is an action; its values are \(path).enabled, .executing, .error")
    } else {
      unknown(attribute, path, "value", scopes.flatMap { $0.values.map(\.name) })
    }
    return nil
  }

  private mutating func action(
    _ attribute: PageElement.Attribute, _ path: String, _ hasArgument: Bool
  ) {
    for scope in scopes {
      guard let index = scope.action(named: path) else { continue }
      let takesArgument = scope.actions[index].takesArgument
      if takesArgument && !hasArgument {
        report(attribute, "“\(path)” takes an argument: data-arg is missing")
      } else if hasArgument && !takesArgument {
        report(attribute, "“\(path)” takes no argument: data-arg is too much")
      }
      return
    }
    unknown(attribute, path, "action", scopes.flatMap { $0.actions.map(\.name) })
  }

  /// Where names are looked for: the row, the rows around it, then the page.
  private var scopes: [BindingScope] {
    let rows = templates.reversed().compactMap(\.list).map { schema.lists[$0].row }
    return rows + [schema.page]
  }

  /// `name:path` and another, with blanks between.
  private mutating func pairs(_ attribute: PageElement.Attribute) -> [(String, String)] {
    attribute.value.split(whereSeparator: \.isWhitespace).compactMap { part in
      guard let colon = part.firstIndex(of: ":"), colon > part.startIndex else {
        report(attribute, "“\(part)” isn't of the form name:path")
        return nil
      }
      return (String(part[..<colon]), String(part[part.index(after: colon)...]))
    }
  }

  // MARK: Findings

  private mutating func unknown(
    _ attribute: PageElement.Attribute, _ name: String, _ kind: String, _ known: [String]
  ) {
    let hint =
      Spelling.nearest(to: name, in: known).map { "did you mean “\($0)”?" }
      ?? (known.isEmpty
        ? "it declares none" : "it declares \(known.sorted().joined(separator: ", "))")
    report(attribute, "\(modelName) declares no \(kind) “\(name.prefix(64))”; \(hint)")
  }

  private mutating func report(
    _ attribute: PageElement.Attribute, _ reason: String, line: Int? = nil
  ) {
    findings.append(
      Finding(
        line: line ?? attribute.line,
        reason: "\(attribute.name)=\"\(attribute.value.prefix(64))\": \(reason)"))
  }
}

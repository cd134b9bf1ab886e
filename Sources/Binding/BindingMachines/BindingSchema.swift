package import JSONWire

/// The values, lists and actions of a view model that its page may use.
package struct BindingSchema: Hashable, Sendable {
  /// A list and the members of its rows.
  package struct List: Hashable, Sendable {
    package var name: String
    package var row: BindingScope

    package init(name: String, row: BindingScope) {
      self.name = name
      self.row = row
    }
  }

  /// The members of the page itself.
  package var page: BindingScope
  package var lists: [List]
  /// The names of uploads. Each has a list of the same name.
  package var uploads: [String]
  /// The uploads of rows: the name of their list, a dot, and their own. Each has a list of the same name.
  package var rowUploads: [String]

  package init(
    page: BindingScope = BindingScope(), lists: [List] = [], uploads: [String] = [],
    rowUploads: [String] = []
  ) {
    self.page = page
    self.lists = lists
    self.uploads = uploads
    self.rowUploads = rowUploads
  }

  /// The number of an upload: its index, those of rows after those of the page.
  func upload(named name: String) -> Int? {
    uploads.firstIndex(of: name) ?? rowUploads.firstIndex(of: name).map { $0 + uploads.count }
  }

  /// The index of the list with this name; nil if the schema has no such list.
  package func list(named name: String) -> Int? { lists.firstIndex { $0.name == name } }

  /// The names of the lists of a list's rows, as their templates have them, without those of rows in these.
  func listNames(inRowsOf list: Int) -> [String] { names(lists.map(\.name), inRowsOf: list) }

  /// The names of the uploads of a list's rows, as their templates have them.
  func uploadNames(inRowsOf list: Int) -> [String] { names(rowUploads, inRowsOf: list) }

  private func names(_ names: [String], inRowsOf list: Int) -> [String] {
    let prefix = lists[list].name + "."
    let nested = lists.map { $0.name + "." }.filter { $0.hasPrefix(prefix) && $0 != prefix }
    return names.filter { $0.hasPrefix(prefix) && !nested.contains(where: $0.hasPrefix) }
      .map { String($0.dropFirst(prefix.count)) }
  }
}

/// The values and actions of a page, or of a row of a list.
package struct BindingScope: Hashable, Sendable {
  package struct Value: Hashable, Sendable {
    package var name: String
    /// Whether the page may set the value.
    package var isTwoWay: Bool
    /// The name as the key of an object in JSON, with its colon.
    let key: [UInt8]

    package init(name: String, isTwoWay: Bool) {
      self.name = name
      self.isTwoWay = isTwoWay
      key = Array("\(JSON.quoted(name)):".utf8)
    }
  }

  package struct Action: Hashable, Sendable {
    package var name: String
    package var takesArgument: Bool

    package init(name: String, takesArgument: Bool) {
      self.name = name
      self.takesArgument = takesArgument
    }
  }

  package private(set) var values: [Value] = []
  package private(set) var actions: [Action] = []
  private var valueIndices: [String: Int] = [:]
  private var actionIndices: [String: Int] = [:]

  package init() {}

  /// Adds a value.
  ///
  /// - Returns: Its index; nil if the name is already used.
  @discardableResult
  package mutating func add(_ value: Value) -> Int? {
    guard valueIndices[value.name] == nil else { return nil }
    valueIndices[value.name] = values.count
    values.append(value)
    return values.count - 1
  }

  /// Adds an action.
  ///
  /// - Returns: Its index; nil if the name is already used.
  @discardableResult
  package mutating func add(_ action: Action) -> Int? {
    guard actionIndices[action.name] == nil else { return nil }
    actionIndices[action.name] = actions.count
    actions.append(action)
    return actions.count - 1
  }

  package func value(named name: String) -> Int? { valueIndices[name] }
  package func action(named name: String) -> Int? { actionIndices[name] }
}

/// The scope that a member belongs to: the page, or a row.
package enum BindingPlace: Hashable, Sendable {
  case page
  case row(list: Int, key: String)
}

/// The path of a value: its place, and its index in the scope of that place.
package struct ValuePath: Hashable, Sendable {
  package var place: BindingPlace
  package var index: Int

  package init(_ place: BindingPlace = .page, _ index: Int) {
    self.place = place
    self.index = index
  }

  func isRow(of list: Int) -> Bool {
    if case .row(list, _) = place { true } else { false }
  }
}

/// An operation of a client on a view model.
package enum BindingOperation: Hashable, Sendable {
  /// Sets a two-way value. The JSON may be of a kind that the value doesn't accept.
  case set(ValuePath, JSON)
  /// Executes an action, given by its place and its index in the scope of that place.
  case call(BindingPlace, Int, JSON?)
}

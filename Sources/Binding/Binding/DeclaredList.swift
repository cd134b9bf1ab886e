internal import BindingMachines

/// A list among the members of a view model, or of the rows of one of its lists.
@MainActor
struct DeclaredList<Model> {
  typealias Attachment = (Model, @escaping Mark) -> any AttachedList

  /// The name with those of the lists around it: `rooms.lamps`. Empty in a member, which has the name.
  var name = ""
  /// The number of lists around it.
  var depth = 0
  let row: () -> BindingScope
  /// The names of the uploads of each row.
  let uploads: () -> [String]
  /// The lists of its rows, given the number of lists that these are in.
  let nested: (Int) -> [DeclaredList]
  let attach: Attachment

  init(
    name: String = "", depth: Int = 0, row: @escaping () -> BindingScope,
    uploads: @escaping () -> [String] = { [] },
    nested: @escaping (Int) -> [DeclaredList] = { _ in [] }, attach: @escaping Attachment
  ) {
    self.name = name
    self.depth = depth
    self.row = row
    self.uploads = uploads
    self.nested = nested
    self.attach = attach
  }

  /// The same list of a part, as one of the whole.
  func through<Whole>(_ path: KeyPath<Whole, Model>) -> DeclaredList<Whole> {
    DeclaredList<Whole>(
      name: name, depth: depth, row: row, uploads: uploads,
      nested: { [nested] depth in nested(depth).map { $0.through(path) } },
      attach: { [attach] model, mark in attach(model[keyPath: path], mark) })
  }
}

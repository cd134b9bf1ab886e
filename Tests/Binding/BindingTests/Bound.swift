import Binding
import BindingMachines
import JSONWire
import Synchronization

/// A view model with its state, as the server has it, without one.
@MainActor
final class Bound {
  let schema: BindingSchema
  let model: BoundModel
  private(set) var state: PageState
  let changes = Changes()
  private(set) var problems: [Problems.Problem] = []

  /// Counts change callbacks, on any thread.
  final class Changes: Sendable {
    private let count = Mutex(0)
    func add() { count.withLock { $0 += 1 } }
    var value: Int { count.withLock { $0 } }
  }

  init<Model: ViewModel>(_ viewModel: Model) {
    var report: ((Problems.Problem) -> Void)?
    schema = Model.bindings.schema
    model = BoundModel(viewModel, problems: Problems { report?($0) }) { [changes] in changes.add() }
    state = PageState(schema: schema)
    report = { [unowned self] in problems.append($0) }
    capture()
  }

  /// Captures the changes; false if there were none.
  @discardableResult
  func capture() -> Bool {
    model.capture(into: &state)
    return state.commit()
  }

  private func path(_ name: String, _ row: (list: String, key: String)?) -> ValuePath? {
    guard let row else { return schema.page.value(named: name).map { ValuePath(.page, $0) } }
    guard let list = schema.list(named: row.list) else { return nil }
    return schema.lists[list].row.value(named: name)
      .map { ValuePath(.row(list: list, key: row.key), $0) }
  }

  /// The shown value of a name; that of a row if a list and a key are given.
  subscript(_ name: String, row: (list: String, key: String)? = nil) -> JSON? {
    path(name, row).flatMap { state.value(at: $0) }
  }

  func keys(of list: String) -> [String]? {
    schema.list(named: list).map { state.order(of: $0) }
  }

  func set(_ name: String, _ value: JSON, row: (list: String, key: String)? = nil) {
    guard let path = path(name, row) else { return }
    model.perform(.set(path, value))
  }

  func call(_ name: String, _ argument: JSON? = nil, row: (list: String, key: String)? = nil) {
    var (scope, place) = (schema.page, BindingPlace.page)
    if let row, let list = schema.list(named: row.list) {
      (scope, place) = (schema.lists[list].row, .row(list: list, key: row.key))
    }
    guard let index = scope.action(named: name) else { return }
    model.perform(.call(place, index, argument))
  }
}

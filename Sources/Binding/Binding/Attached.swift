package import BindingMachines
internal import JSONWire
internal import Reactive

/// A value of a particular view model.
struct AttachedValue {
  var read: () -> JSON
  /// Sets it, unless it takes no such value.
  var write: ((JSON) -> Void)?
  /// Ends the observation.
  var observation: (any Disposable)?
  /// Why the page's last value was refused, where a page can see that.
  var refusal: MutableProperty<String?>?

  init(read: @escaping () -> JSON, observation: (any Disposable)? = nil) {
    self.read = read
    self.observation = observation
  }

  static func observing<P: PropertyProtocol>(_ property: P, _ mark: @escaping Mark) -> AttachedValue
  where P.Value: BindableValue {
    AttachedValue(
      read: { property.value.pageValue }, observation: property.observeChanges(mark))
  }

  /// The text of an action's last failure, until it is started again.
  static func observingErrors<Input, Output, Failure>(
    of action: Action<Input, Output, Failure>, _ text: KeyPath<Failure, String>?,
    _ mark: @escaping Mark
  ) -> AttachedValue {
    let last = MutableProperty<String?>(nil)
    let observations = CompositeDisposable()
    observations += action.isExecuting.signal.observeValues { isExecuting in
      if isExecuting { last.value = nil }
    }
    // Key paths don't change.
    nonisolated(unsafe) let text = text
    observations += action.errors.observeValues { error in
      last.value = text.map { error[keyPath: $0] } ?? "\(error)"
    }
    observations += last.signal.observeValues { _ in mark() }
    return AttachedValue(read: { last.value.pageValue }, observation: observations)
  }
}

extension PropertyProtocol {
  /// Marks each change, on the thread that makes it.
  func observeChanges(_ mark: @escaping Mark) -> (any Disposable)? {
    signal.observeValues { _ in mark() }
  }
}

/// An action of a particular view model.
struct AttachedAction {
  /// Starts it, unless it is disabled or takes no such argument.
  var start: (JSON?) -> Void
}

/// Changes of a list: the order of all keys, nil if it is unchanged, and the values of changed rows.
struct RowChanges {
  var order: [String]?
  var rows: [(key: String, values: [JSON])] = []
}

/// A list of a particular view model.
@MainActor
protocol AttachedList: AnyObject {
  /// Takes the list's changes since the last call.
  func takeChanges(reporting problems: Problems) -> RowChanges
  /// Sets a value of a row, if the row is there.
  func set(_ value: JSON, at index: Int, ofRow key: String)
  /// Starts an action of a row, if the row is there.
  func call(_ index: Int, _ argument: JSON?, ofRow key: String)
  /// An upload of a row; nil if the row is not there.
  func upload(_ index: Int, ofRow key: String) -> Upload?
  /// Ends the observations.
  func detach()
}

extension AttachedList {
  func upload(_ index: Int, ofRow key: String) -> Upload? { nil }
}

/// The values and actions of a page or a row.
@MainActor
final class AttachedScope {
  let values: [AttachedValue]
  let actions: [AttachedAction]

  /// - Parameter mark: Called with the index of a value that has changed, from any thread.
  init<Model>(
    _ model: Model, _ bindings: Bindings<Model>, mark: @escaping @Sendable (Int) -> Void
  ) {
    var values: [AttachedValue] = []
    var actions: [AttachedAction] = []
    values.reserveCapacity(bindings.valueCount)
    for (_, member) in bindings.members {
      switch member {
      case .value(_, let attach):
        let index = values.count
        values.append(attach(model, { mark(index) }))
      case .refusal:
        let index = values.count
        let refusal = values.last?.refusal ?? MutableProperty(nil)
        values.append(.observing(refusal) { mark(index) })
      case .action(_, let attach): actions.append(attach(model))
      case .list, .upload: break
      }
    }
    self.values = values
    self.actions = actions
  }

  func detach() {
    for value in values { value.observation?.dispose() }
  }
}

extension Bindings {
  /// The values and actions, in the order in which they are declared.
  var scope: BindingScope {
    var scope = BindingScope()
    for (name, member) in members {
      switch member {
      case .value(let isTwoWay, _):
        scope.add(BindingScope.Value(name: name, isTwoWay: isTwoWay))
      case .refusal: scope.add(BindingScope.Value(name: name, isTwoWay: false))
      case .action(let takesArgument, _):
        scope.add(BindingScope.Action(name: name, takesArgument: takesArgument))
      case .list, .upload: break
      }
    }
    return scope
  }

  var valueCount: Int { scope.values.count }

  /// The lists of the page, each with those of its rows after it, in the order in which they are declared.
  var lists: [DeclaredList<Model>] { lists(inRowsOf: 0) }

  /// The lists of a row.
  ///
  /// - Parameter depth: The number of lists that the row is in.
  func lists(inRowsOf depth: Int) -> [DeclaredList<Model>] {
    members.flatMap { name, member -> [DeclaredList<Model>] in
      guard case .list(var list) = member else { return [] }
      precondition(
        depth < BindingLimits.listDepthMax,
        "\(Model.self).\(name) is a list in more than \(BindingLimits.listDepthMax - 1) others")
      list.name = name
      let nested = list.nested(depth + 1).map { nested in
        var nested = nested
        nested.name = name + "." + nested.name
        return nested
      }
      return [list] + nested
    }
  }

  /// The uploads, in the order in which they are declared.
  var uploads: [(name: String, find: (Model) -> Upload)] {
    members.compactMap { name, member in
      guard case .upload(let find) = member else { return nil }
      return (name, find)
    }
  }

  /// The uploads of rows: their full name, the index of their list, and theirs among the row's uploads.
  var rowUploads: [(name: String, list: Int, index: Int)] {
    lists.enumerated().flatMap { index, list in
      list.uploads().enumerated().map { (list.name + "." + $1, index, $0) }
    }
  }

  /// The values, lists and actions that pages may name.
  package var schema: BindingSchema {
    BindingSchema(
      page: scope,
      lists: lists.map { .init(name: $0.name, row: $0.row()) }, uploads: uploads.map(\.name),
      rowUploads: rowUploads.map(\.name))
  }
}

package import BindingMachines
internal import Essentials
internal import JSONWire

/// Connects a view model with its pages: reads its changes, and performs the pages' operations on
/// it.
@MainActor
package final class BoundModel {
  private let scope: AttachedScope
  private let lists: [any AttachedList]
  private let changes: DirtySet
  private let problems: Problems
  /// Keeps what the closures of its bindings read.
  private let model: any ViewModel
  /// The uploads of the page, in the order of the schema.
  package let uploads: [Upload]
  /// The list of each upload of rows, and the index among the row's uploads.
  private let rowUploads: [(name: String, list: Int, index: Int)]

  /// Observes a view model. At first, all of its members count as changed.
  ///
  /// - Parameters:
  ///   - problems: The receiver of problems with values that pages can't show.
  ///   - onChange: Called at the first change after each ``capture(into:)``, on the thread that
  ///     makes the change. It must return at once.
  package init<Model: ViewModel>(
    _ model: Model, problems: Problems, onChange: @escaping @Sendable () -> Void
  ) {
    self.model = model
    self.problems = problems
    let bindings = Model.bindings
    uploads = bindings.uploads.map { $0.find(model) }
    rowUploads = bindings.rowUploads
    let attachments = bindings.lists.map(\.attach)
    let valueCount = bindings.valueCount
    let changes = DirtySet(count: valueCount + attachments.count, notify: onChange)
    scope = AttachedScope(model, bindings) { changes.mark($0) }
    lists = attachments.enumerated().map { index, attach in
      attach(model) { changes.mark(valueCount + index) }
    }
    self.changes = changes
  }

  /// The upload with a number of the schema; nil if the row is not there.
  ///
  /// - Parameter row: The key of the row, for an upload of rows.
  package func upload(_ number: Int, row: String) -> Upload? {
    guard number >= uploads.count else { return uploads[number] }
    let upload = rowUploads[number - uploads.count]
    return lists[upload.list].upload(upload.index, ofRow: row)
  }

  /// Tells the view model that a page shows it.
  package func appear() { model.appeared() }

  /// Tells the view model that no page shows it any more.
  package func disappear() { model.disappeared() }

  /// Ends all observations. The view model itself remains usable.
  package func detach() {
    scope.detach()
    for list in lists { list.detach() }
    for upload in uploads { upload.onRemove(nil) }
  }

  /// Whether something has changed since the last capture.
  package var hasChanges: Bool { changes.hasMarks }

  /// Writes the changes since the last capture into a state.
  package func capture(into state: inout PageState) {
    let valueCount = scope.values.count
    for index in changes.take(count: valueCount + lists.count) {
      if index < valueCount {
        state.set(problems.bounded(scope.values[index].read()), at: index)
      } else {
        let list = index - valueCount
        let changes = lists[list].takeChanges(reporting: problems)
        state.setRows(of: list, order: changes.order, rows: changes.rows)
      }
    }
  }

  /// Performs an operation of a page. Ignores operations on removed rows, and values that a
  /// property doesn't accept.
  package func perform(_ operation: BindingOperation) {
    switch operation {
    case .set(let path, let value):
      switch path.place {
      case .page: scope.values[path.index].write?(value)
      case .row(let list, let key): lists[list].set(value, at: path.index, ofRow: key)
      }
    case .call(.page, let index, let argument): scope.actions[index].start(argument)
    case .call(.row(let list, let key), let index, let argument):
      lists[list].call(index, argument, ofRow: key)
    }
  }
}

/// Problems with values that pages can't show. Each kind is reported only once while the program
/// runs.
@MainActor
package final class Problems {
  package enum Problem: Hashable, Sendable {
    /// A list has more rows than a page can have; the first ones are shown.
    case tooManyRows(Int)
    /// Two rows have the same identity, and the first one is shown; or an identity is too long.
    case badKey(String)
    /// A text is too long; its beginning is shown.
    case longText(Int)
    /// An array has too many elements; the first ones are shown.
    case longArray(Int)

    /// The case without its number.
    fileprivate var kind: Int {
      switch self {
      case .tooManyRows: 0
      case .badKey: 1
      case .longText: 2
      case .longArray: 3
      }
    }
  }

  private var reported: Set<Int> = []
  private let handle: (Problem) -> Void

  package init(_ handle: @escaping (Problem) -> Void) { self.handle = handle }

  func report(_ problem: Problem) {
    if reported.insert(problem.kind).inserted { handle(problem) }
  }

  /// A value that isn't too long.
  func bounded(_ value: JSON) -> JSON {
    switch value {
    case .string(let text):
      let count = text.utf8.count
      guard count > BindingLimits.textByteCountMax else { return value }
      report(.longText(count))
      let beginning = Array(text.utf8).utf8Prefix(BindingLimits.textByteCountMax - 3)
      return .string(String(decoding: beginning, as: UTF8.self) + "…")
    case .array(let elements):
      guard elements.count > BindingLimits.elementCountMax else {
        return .array(elements.map(bounded))
      }
      report(.longArray(elements.count))
      return .array(elements.prefix(BindingLimits.elementCountMax).map(bounded))
    case .object(let members):
      return .object(
        members.prefix(BindingLimits.elementCountMax)
          .map { JSON.Member(key: $0.key, value: bounded($0.value)) })
    case .null, .bool, .integer, .number: return value
    }
  }
}

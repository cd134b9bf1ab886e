internal import BindingMachines
internal import JSONWire
public import Reactive

/// The members of a view model that pages may use, by the names that pages use for them.
///
/// It is written as a dictionary. Because the values are key paths, the compiler checks that each
/// member exists and is of the right kind. Names begin with a letter and have letters, digits and
/// `_`.
@MainActor
public struct Bindings<Model>: ExpressibleByDictionaryLiteral {
  let members: [(name: String, member: Member.Part)]

  /// Creates bindings from members by name. A duplicate or invalid name is a programming error and
  /// traps.
  public init(dictionaryLiteral elements: (String, Member)...) {
    var members: [(name: String, member: Member.Part)] = []
    for (name, member) in elements {
      precondition(Self.isName(name), "“\(name)” is no name for a page: letters, digits and _")
      members += member.parts.map { (name + $0.suffix, $0.part) }
    }
    var names: Set<String> = []
    // An upload has the name of its list.
    for (name, part) in members where !part.isUpload {
      precondition(names.insert(name).inserted, "\(Model.self) declares “\(name)” twice")
    }
    self.members = members
  }

  private static func isName(_ text: String) -> Bool {
    let isFit = text.utf8.allSatisfy { byte in
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "_")
    }
    return isFit && text.utf8.first.map { $0 | 0x20 >= UInt8(ascii: "a") } == true
  }

  /// A member that pages may name: a value, a list or an action.
  @MainActor
  public struct Member {
    enum Part {
      case value(isTwoWay: Bool, (Model, @escaping Mark) -> AttachedValue)
      case action(takesArgument: Bool, (Model) -> AttachedAction)
      /// The reason why the value before it was refused.
      case refusal
      case list(DeclaredList<Model>)
      case upload((Model) -> Upload)

      var isUpload: Bool { if case .upload = self { true } else { false } }
    }

    let parts: [(suffix: String, part: Part)]

    private init(_ part: Part) { parts = [("", part)] }
    private init(_ parts: [(String, Part)]) { self.parts = parts }
    init(uploadParts parts: [(String, Part)]) { self.parts = parts }
  }
}

/// Notes that something has changed; from any thread.
typealias Mark = @Sendable () -> Void

// MARK: Values

extension Bindings.Member {
  /// A property that the page shows.
  public static func oneWay<P: PropertyProtocol>(
    _ path: KeyPath<Model, P>
  ) -> Self where P.Value: BindableValue {
    Self(.value(isTwoWay: false) { model, mark in .observing(model[keyPath: path], mark) })
  }

  /// A property that the page shows and sets.
  public static func twoWay<P: MutablePropertyProtocol>(
    _ path: KeyPath<Model, P>
  ) -> Self where P.Value: BindableValue {
    Self(
      .value(isTwoWay: true) { model, mark in
        let property = model[keyPath: path]
        var value = AttachedValue.observing(property, mark)
        value.write = { json in
          guard let newValue = P.Value(pageValue: json) else { return }
          property.value = newValue
        }
        return value
      })
  }

  /// A property that the page shows and sets, where a text may be no value of it, such as a number.
  ///
  /// The page can also use the value `name.refusal`: the reason if the text that was typed last is no value, else
  /// `null`. The typed text stays in its field.
  ///
  /// - Parameters:
  ///   - path: The view model's property.
  ///   - reason: The reason, for the user: `"Not a number"`.
  public static func twoWay<P: MutablePropertyProtocol>(
    _ path: KeyPath<Model, P>, refusal reason: String
  ) -> Self where P.Value: BindableValue {
    refusable { model, mark in
      let property = model[keyPath: path]
      let refusal = MutableProperty<String?>(nil)
      var value = AttachedValue.observing(property, mark)
      let change = property.signal.observeValues { _ in refusal.value = nil }
      value.observation = CompositeDisposable([value.observation, change])
      value.refusal = refusal
      value.write = { json in
        let newValue = P.Value(pageValue: json)
        refusal.value = newValue == nil ? reason : nil
        if let newValue { property.value = newValue }
      }
      return value
    }
  }

  /// A property that the page shows and sets, and that refuses some values.
  ///
  /// The page can also use the value `name.refusal`: the text of the error for the value that was set last,
  /// else `null`. The typed text stays in its field.
  ///
  /// - Parameters:
  ///   - path: The view model's property.
  ///   - text: Returns the text of an error.
  public static func twoWay<Value: BindableValue, Failure>(
    _ path: KeyPath<Model, ValidatingProperty<Value, Failure>>,
    refusal text: KeyPath<Failure, String>
  ) -> Self {
    refusable { model, mark in
      let property = model[keyPath: path]
      let refusal = MutableProperty<String?>(nil)
      // Key paths don't change.
      nonisolated(unsafe) let text = text
      var value = AttachedValue.observing(property, mark)
      let results = property.result.producer.startWithValues { result in
        refusal.value = result.error.map { $0[keyPath: text] }
      }
      value.observation = CompositeDisposable([value.observation, results])
      value.refusal = refusal
      value.write = { json in
        guard let newValue = Value(pageValue: json) else {
          refusal.value = "This is no value of the field."
          return
        }
        property.value = newValue
      }
      return value
    }
  }

  private static func refusable(
    _ attach: @escaping (Model, @escaping Mark) -> AttachedValue
  ) -> Self {
    Self([("", .value(isTwoWay: true, attach)), (".refusal", .refusal)])
  }

  /// A constant value that the page shows.
  public static func value<V: BindableValue>(_ path: KeyPath<Model, V>) -> Self {
    Self(
      .value(isTwoWay: false) { model, _ in
        AttachedValue(read: { model[keyPath: path].pageValue })
      })
  }
}

// MARK: Actions

extension Bindings.Member {
  /// An action that the page starts.
  ///
  /// The page can also use three values: `name.enabled`, `name.executing` and `name.error`, which
  /// is the text of the last failure, or `null` after the action is started again.
  ///
  /// - Parameters:
  ///   - path: The view model's action.
  ///   - text: Returns the text of an error; nil to use its description.
  public static func action<Output, Failure>(
    _ path: KeyPath<Model, Action<Void, Output, Failure>>,
    error text: KeyPath<Failure, String>? = nil
  ) -> Self {
    action(path, text, takesArgument: false) { action, _ in _ = action.apply().start() }
  }

  /// An action that the page starts with an argument, `data-arg`.
  ///
  /// Otherwise like the action without an argument. An argument that can't be converted to `Input`
  /// is ignored, and the action isn't started.
  ///
  /// - Parameters:
  ///   - path: The view model's action.
  ///   - text: Returns the text of an error; nil to use its description.
  public static func action<Input: BindableValue, Output, Failure>(
    _ path: KeyPath<Model, Action<Input, Output, Failure>>,
    error text: KeyPath<Failure, String>? = nil
  ) -> Self {
    action(path, text, takesArgument: true) { action, argument in
      guard let argument, let input = Input(pageValue: argument) else { return }
      action.apply(input).start()
    }
  }

  private static func action<Input, Output, Failure>(
    _ path: KeyPath<Model, Action<Input, Output, Failure>>, _ text: KeyPath<Failure, String>?,
    takesArgument: Bool, start: @escaping (Action<Input, Output, Failure>, JSON?) -> Void
  ) -> Self {
    Self([
      (
        "",
        .action(takesArgument: takesArgument) { model in
          let action = model[keyPath: path]
          return AttachedAction { start(action, $0) }
        }
      ),
      (".enabled", .value(isTwoWay: false) { .observing($0[keyPath: path].isEnabled, $1) }),
      (".executing", .value(isTwoWay: false) { .observing($0[keyPath: path].isExecuting, $1) }),
      (".error", .value(isTwoWay: false) { .observingErrors(of: $0[keyPath: path], text, $1) }),
    ])
  }
}

// MARK: Lists and groups

extension Bindings.Member {
  /// A list of values with an identity, such as structures that are `Identifiable` and `Equatable`.
  ///
  /// A row that has changed has the same identity and other values. Two rows with the same identity
  /// are a mistake: pages show the first one, and the server logs the problem.
  ///
  /// - Parameters:
  ///   - path: The view model's property with the rows.
  ///   - values: The values of each row that the page can use.
  public static func list<P: PropertyProtocol, Row: Identifiable & Equatable>(
    _ path: KeyPath<Model, P>, _ values: RowValues<Row>
  ) -> Self where P.Value == [Row], Row.ID: CustomStringConvertible {
    Self(
      .list(
        DeclaredList(row: { values.scope }) { model, mark in
          ValueRows(model[keyPath: path], values: values, mark: mark)
        }))
  }

  /// A list of view models with an identity. The page can use each row's own bindings.
  ///
  /// Rows may have lists and uploads, too: `data-each` and `data-upload` in the template of the row name
  /// them. All rows of such a list count together for the limit of a list's rows. Lists are in each other
  /// four deep at most, so that rows can't have rows of their own type without an end: more is a
  /// programming error and traps.
  public static func list<P: PropertyProtocol, Row: ViewModel & Identifiable>(
    _ path: KeyPath<Model, P>
  ) -> Self where P.Value == [Row], Row.ID: CustomStringConvertible, Model: ViewModel {
    Self(
      .list(
        DeclaredList(
          row: { Row.bindings.scope }, uploads: { Row.bindings.uploads.map(\.name) },
          nested: { depth in
            Row.bindings.lists(inRowsOf: depth).map { list in
              DeclaredList(
                name: list.name, depth: list.depth + 1, row: list.row, uploads: list.uploads
              ) { model, mark in
                NestedRows(model[keyPath: path], list.attach, depth: list.depth, mark: mark)
              }
            }
          }
        ) { model, mark in ModelRows(model[keyPath: path], mark: mark) }))
  }

  /// The bindings of another view model, which is a part of this one. Their names get a prefix with
  /// a dot: `search.text`.
  public static func group<Part: ViewModel>(_ path: KeyPath<Model, Part>) -> Self
  where Model: ViewModel {
    Self(Part.bindings.members.map { ("." + $0.name, through(path, $0.member)) })
  }

  /// A member of a part, as one of the whole.
  private static func through<Whole>(
    _ path: KeyPath<Model, Whole>, _ part: Bindings<Whole>.Member.Part
  ) -> Part {
    switch part {
    case .value(let isTwoWay, let attach):
      .value(isTwoWay: isTwoWay) { attach($0[keyPath: path], $1) }
    case .action(let takesArgument, let attach):
      .action(takesArgument: takesArgument) { attach($0[keyPath: path]) }
    case .refusal: .refusal
    case .upload(let find): .upload { find($0[keyPath: path]) }
    case .list(let list): .list(list.through(path))
    }
  }
}

/// The values of each row of a list that pages can use, by name.
///
///     "devices": .list(\.devices, ["name": .value(\.name), "strength": .value(\.strength)])
@MainActor
public struct RowValues<Row>: ExpressibleByDictionaryLiteral {
  /// One value of a row.
  @MainActor
  public struct Value {
    let read: (Row) -> JSON

    /// The value at a key path.
    public static func value<V: BindableValue>(_ path: KeyPath<Row, V>) -> Self {
      Self { $0[keyPath: path].pageValue }
    }
  }

  let scope: BindingScope
  let reads: [(Row) -> JSON]

  /// Creates the values by name. A duplicate name is a programming error and traps.
  public init(dictionaryLiteral elements: (String, Value)...) {
    var scope = BindingScope()
    for (name, _) in elements {
      let index = scope.add(BindingScope.Value(name: name, isTwoWay: false))
      precondition(index != nil, "\(Row.self) declares “\(name)” twice")
    }
    self.scope = scope
    reads = elements.map(\.1.read)
  }
}

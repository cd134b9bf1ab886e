import Binding
import BindingMachines
import Reactive
import Testing

@Suite("What a view model declares")
@MainActor
struct BindingsTests {
  private static func names(_ scope: BindingScope) -> [String] {
    scope.values.map { $0.name + ($0.isTwoWay ? "*" : "") }
      + scope.actions.map { $0.name + ($0.takesArgument ? "(…)" : "()") }
  }

  @Test("a view model declares the names that pages may use, with three values for each action")
  func schema() {
    let schema = SignIn.bindings.schema
    #expect(
      Self.names(schema.page) == [
        "email*", "password*", "isEmailValid", "name", "signIn.enabled", "signIn.executing",
        "signIn.error", "signIn()",
      ])
    #expect(schema.lists == [])
  }

  @Test("a view model has lists with the values of their rows, and groups with a dot")
  func listsAndGroups() {
    let devices = DeviceList.bindings.schema
    #expect(devices.lists.map(\.name) == ["devices"])
    #expect(Self.names(devices.lists[0].row) == ["id", "name", "strength", "kind"])
    #expect(Self.names(devices.page).last == "connect(…)")
    let toDo = ToDoList.bindings.schema
    #expect(toDo.lists.map(\.name) == ["items", "search.results"])
    #expect(
      Self.names(toDo.lists[0].row)
        == ["title", "isDone*", "finish.enabled", "finish.executing", "finish.error", "finish()"])
    #expect(Self.names(toDo.page) == ["search.text*", "search.isSearching"])
  }

  @Test("a view model is compared with a page when the server starts")
  func pages() {
    #expect(SignIn.problems(inPage: "<input data-bind=\"email\">", named: "a.html") == [])
    let problems = SignIn.problems(
      inPage: "<p>\n<input data-bind=\"emial\">", named: "sign-in.html")
    #expect(
      problems.map(\.description) == [
        "sign-in.html:2: data-bind=\"emial\": SignIn declares no value “emial”; did you mean “email”?"
      ])
  }

  final class Twice: ViewModel {
    let a = MutableProperty(1)
    static let bindings: Bindings<Twice> = ["a": .oneWay(\.a), "a": .twoWay(\.a)]
  }

  final class Odd: ViewModel {
    let a = MutableProperty(1)
    static let bindings: Bindings<Odd> = ["data-a": .oneWay(\.a)]
  }

  /// Its rows are of its own type, and so have rows without an end.
  final class Nested: ViewModel, Identifiable {
    let id = 1
    let rows = MutableProperty<[Nested]>([])
    static let bindings: Bindings<Nested> = ["rows": .list(\.rows)]
  }

  @Test("a name declared twice is a programming error")
  func twice() async {
    let end = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      await MainActor.run { _ = Twice.bindings }
    }
    let message = String(decoding: end?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("Twice declares “a” twice"))
  }

  @Test("a declaration under an invalid name is a programming error")
  func odd() async {
    let end = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      await MainActor.run { _ = Odd.bindings }
    }
    let message = String(decoding: end?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("“data-a” is no name for a page"))
  }

  @Test("rows that have rows of their own type are a programming error")
  func nested() async {
    let end = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      await MainActor.run { _ = Nested.bindings.schema }
    }
    let message = String(decoding: end?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("Nested.rows is a list in more than 3 others"))
  }
}

import Binding
import BindingMachines
import Dispatch
import JSONWire
import Reactive
import Testing

@Suite("A view model without a view")
@MainActor
struct BoundModelTests {
  private static func signIn(
    _ authenticate: @escaping @Sendable (Credentials) -> SignalProducer<String, SignInError> = {
      _ in .never
    }
  ) -> Bound {
    Bound(SignIn(authenticate: authenticate))
  }

  @Test("a bound model shows the view model as it is at first, all of it")
  func first() {
    let bound = Self.signIn()
    #expect(bound["email"] == .string(""))
    #expect(bound["isEmailValid"] == .bool(false))
    #expect(bound["name"] == .null)
    #expect(bound["signIn.enabled"] == .bool(false))
    #expect(bound["signIn.error"] == .null)
    #expect(bound.changes.value == 0)
  }

  @Test("a bound model takes typed text, and shows its consequences at once")
  func typing() {
    let bound = Self.signIn()
    bound.set("email", .string("ann@example.org"))
    bound.set("password", .string("open sesame"))
    #expect(bound.changes.value == 1, "once until it is captured")
    #expect(bound.capture())
    #expect(bound["email"] == .string("ann@example.org"))
    #expect(bound["isEmailValid"] == .bool(true))
    #expect(bound["signIn.enabled"] == .bool(true))
    #expect(!bound.capture())
    bound.set("email", .string("ann"))
    #expect(bound.changes.value == 2)
    bound.capture()
    #expect(bound["signIn.enabled"] == .bool(false))
  }

  @Test("a bound model doesn't take values of another kind")
  func kinds() {
    let bound = Self.signIn()
    bound.set("email", .integer(5))
    bound.set("email", .null)
    #expect(!bound.capture())
    #expect(bound["email"] == .string(""))
  }

  @Test("a bound model starts an action once: while it executes, it is disabled")
  func action() {
    let (answers, input) = Signal<String, SignInError>.pipe()
    let bound = Self.signIn { _ in answers.producer }
    bound.set("email", .string("ann@example.org"))
    bound.set("password", .string("open sesame"))
    bound.call("signIn")
    bound.call("signIn")
    bound.capture()
    #expect(bound["signIn.executing"] == .bool(true))
    #expect(bound["signIn.enabled"] == .bool(false))
    input.send(value: "Ann")
    input.sendCompleted()
    bound.capture()
    #expect(bound["name"] == .string("Ann"))
    #expect(bound["signIn.executing"] == .bool(false))
    #expect(bound["signIn.enabled"] == .bool(true))
  }

  @Test("a bound model shows the text of a failure until the action is started again")
  func failure() {
    let bound = Self.signIn { credentials in
      credentials.password == "open sesame" ? .never : SignalProducer(error: .wrongPassword)
    }
    bound.set("email", .string("ann@example.org"))
    bound.set("password", .string("wrong password"))
    bound.call("signIn")
    bound.capture()
    #expect(bound["signIn.error"] == .string("This is not the password."))
    bound.set("password", .string("open sesame"))
    bound.call("signIn")
    bound.capture()
    #expect(bound["signIn.error"] == .null)
  }

  @Test("a bound model answers the latest question, when typing pauses")
  func search() {
    let scheduler = TestScheduler()
    let (first, firstInput) = Signal<[Search.Hit], Never>.pipe()
    let bound = Bound(
      Search(
        find: { text in
          text == "lam" ? first.producer : SignalProducer(value: [.init(id: 2, title: text)])
        }, scheduler: scheduler))
    bound.set("text", .string("la"))
    scheduler.advance(by: 1)
    bound.set("text", .string("lam"))
    scheduler.advance(by: 1)
    bound.capture()
    #expect(bound["isSearching"] == .bool(true))
    bound.set("text", .string("lamp"))
    scheduler.advance(by: 1)
    firstInput.send(value: [.init(id: 1, title: "too late")])
    bound.capture()
    #expect(bound.keys(of: "results") == ["2"])
    #expect(bound["title", ("results", "2")] == .string("lamp"))
    #expect(bound["isSearching"] == .bool(false))
  }

  @Test("a bound model keeps the keys of rows with the same identity, and reads only changed rows")
  func rows() {
    let list = DeviceList()
    let bound = Bound(list)
    list.devices.value = [
      .init(id: 7, name: "Lamp", strength: -40, kind: .lamp),
      .init(id: 8, name: "Ann's", strength: -60.5, kind: .phone),
    ]
    bound.capture()
    #expect(bound.keys(of: "devices") == ["7", "8"])
    #expect(bound["kind", ("devices", "7")] == .string("lamp"))
    #expect(bound["strength", ("devices", "8")] == .number(-60.5))
    let revision = bound.state.revision
    list.devices.modify {
      $0.swapAt(0, 1)
      $0[0].strength = -61
    }
    bound.capture()
    #expect(bound.keys(of: "devices") == ["8", "7"])
    var state = bound.state
    let patch = String(decoding: state.patch(since: revision), as: UTF8.self)
    #expect(patch.contains(#"["upd","devices","8",{"strength":-61.0}]"#))
    #expect(!patch.contains("Lamp"))
    list.devices.value = []
    bound.capture()
    #expect(bound.keys(of: "devices") == [])
  }

  @Test("a bound model starts an action with an argument, and none if the argument is invalid")
  func argument() {
    let bound = Bound(DeviceList())
    bound.call("connect", .integer(7))
    bound.call("connect", .string("8"))
    bound.call("connect", .string("x"))
    bound.call("connect", .null)
    bound.capture()
    #expect(bound["connected"] == .array([.integer(7), .integer(8)]))
  }

  @Test("a bound model has rows that are view models, with two-way values and actions of their own")
  func rowModels() {
    let list = ToDoList()
    let items = ["a", "b", "c"].map { ToDoList.Item($0, title: $0.uppercased()) }
    list.items.value = items
    let bound = Bound(list)
    #expect(bound["title", ("items", "b")] == .string("B"))
    bound.set("isDone", .bool(true), row: ("items", "b"))
    #expect(items[1].isDone.value)
    bound.call("finish", row: ("items", "c"))
    bound.capture()
    #expect(bound["isDone", ("items", "b")] == .bool(true))
    #expect(bound["isDone", ("items", "c")] == .bool(true))
    #expect(bound["finish.enabled", ("items", "c")] == .bool(false))
    #expect(bound["isDone", ("items", "a")] == .bool(false))
    items[0].isDone.value = true
    #expect(bound.changes.value == 2)
    bound.capture()
    #expect(bound["isDone", ("items", "a")] == .bool(true))
  }

  @Test("a bound model observes a row only while it is in the list, and the one that replaces it")
  func rowsThatGo() {
    let list = ToDoList()
    let old = ToDoList.Item("a", title: "Old")
    list.items.value = [old]
    let bound = Bound(list)
    list.items.value = [ToDoList.Item("a", title: "New")]
    bound.capture()
    #expect(bound["title", ("items", "a")] == .string("New"))
    let count = bound.changes.value
    old.isDone.value = true
    #expect(bound.changes.value == count)
    #expect(bound["isDone", ("items", "a")] == .bool(false))
    list.items.value = []
    bound.capture()
    bound.set("isDone", .bool(true), row: ("items", "a"))
    bound.call("finish", row: ("items", "a"))
    #expect(!bound.capture())
  }

  @Test("a bound model prefixes the names of a part with its name and a dot")
  func group() {
    let bound = Bound(ToDoList())
    bound.set("search.text", .string("x"))
    bound.capture()
    #expect(bound["search.text"] == .string("x"))
    #expect(bound.keys(of: "search.results") == [])
  }

  @Test("a bound model records the changes of other threads, and loses none")
  func threads() async {
    let list = DeviceList()
    let bound = Bound(list)
    for round in 0..<50 {
      await withTaskGroup(of: Void.self) { group in
        for id in 0..<8 {
          let devices = list.devices
          group.addTask {
            devices.modify {
              $0.removeAll { $0.id == id }
              $0.append(.init(id: id, name: "\(round)", strength: 0, kind: .lamp))
            }
          }
        }
      }
      bound.capture()
      #expect(Set(bound.keys(of: "devices") ?? []) == Set((0..<8).map(String.init)))
      for id in 0..<8 { #expect(bound["name", ("devices", "\(id)")] == .string("\(round)")) }
    }
  }

  @Test("a bound model is neither observed nor kept once it is detached and released")
  func detaching() {
    let list = DeviceList()
    var bound: Bound? = Bound(list)
    let changes = bound?.changes
    bound?.model.detach()
    list.devices.value = [.init(id: 1, name: "", strength: 0, kind: .lamp)]
    #expect(changes?.value == 0)
    weak let weakly = bound
    bound = nil
    #expect(weakly == nil)

    weak var model: SignIn?
    do {
      let signIn = SignIn { _ in .empty }
      model = signIn
      let bound = Bound(signIn)
      bound.set("email", .string("a@b"))
      bound.model.detach()
    }
    #expect(model == nil)
  }

  @Test("a bound model forgets a row that has gone, also where another one can't be shown")
  func goneBesideRefused() {
    let list = ToDoList()
    let bound = Bound(list)
    let first = ToDoList.Item("a", title: "First")
    let refused = ToDoList.Item(
      String(repeating: "k", count: BindingLimits.keyByteCountMax + 1), title: "")
    let other = ToDoList.Item("c", title: "Other")
    for (items, keys) in [([first, refused], ["a"]), ([other, refused], ["c"]), ([first], ["a"])] {
      list.items.value = items
      bound.capture()
      #expect(bound.keys(of: "items") == keys)
    }
    #expect(bound["title", ("items", "a")] == .string("First"))
  }

  @Test("a bound model shows the first rows of too many, one of each identity, and logs so once")
  func tooMuch() {
    let list = DeviceList()
    let bound = Bound(list)
    list.devices.value = (0..<BindingLimits.rowCountMax + 5).map {
      .init(id: $0, name: "", strength: 0, kind: .lamp)
    }
    bound.capture()
    #expect(bound.keys(of: "devices")?.count == BindingLimits.rowCountMax)
    list.devices.value = [1, 2, 1].map { .init(id: $0, name: "\($0)", strength: 0, kind: .lamp) }
    bound.capture()
    #expect(bound.keys(of: "devices") == ["1", "2"])
    let long = String(repeating: "é", count: BindingLimits.textByteCountMax)
    list.devices.value = [.init(id: 1, name: long, strength: 0, kind: .lamp)]
    bound.capture()
    guard case .string(let shown) = bound["name", ("devices", "1")] else {
      Issue.record("there is no text")
      return
    }
    #expect(shown.hasSuffix("é…") && shown.utf8.count <= BindingLimits.textByteCountMax)
    #expect(
      bound.problems == [
        .tooManyRows(BindingLimits.rowCountMax + 5), .badKey("1"), .longText(long.utf8.count),
      ])
  }
}

#if BindingServer
  import Binding
  import BindingServer
  import Reactive

  /// A desk that notes when it appears and disappears.
  final class Watched: ViewModel {
    private let desk = Desk()
    let log = MutableProperty<[Bool]>([])

    static let bindings: Bindings<Watched> = [
      "text": .twoWay(\.desk.text), "upper": .oneWay(\.desk.upper),
      "count": .twoWay(\.desk.count), "isOn": .twoWay(\.desk.isOn),
      "rows": .list(\.desk.rows, ["id": .value(\.id), "name": .value(\.name)]),
      "clear": .action(\.desk.clear), "remove": .action(\.desk.remove),
    ]

    func appeared() {
      desk.text.value = "here"
      log.modify { $0.append(true) }
    }

    func disappeared() { log.modify { $0.append(false) } }
  }

  /// A view model for tests of the server: something of each kind.
  final class Desk: ViewModel {
    let text = MutableProperty("")
    let upper: Property<String>
    let count = MutableProperty(0)
    let isOn = MutableProperty(false)
    let rows = MutableProperty<[Row]>([])
    let clear: Action<Void, Void, Never>
    let remove: Action<String, Void, Never>

    struct Row: Identifiable, Equatable, Sendable {
      let id: String
      var name: String
    }

    static let bindings: Bindings<Desk> = [
      "text": .twoWay(\.text),
      "upper": .oneWay(\.upper),
      "count": .twoWay(\.count),
      "isOn": .twoWay(\.isOn),
      "rows": .list(\.rows, ["id": .value(\.id), "name": .value(\.name)]),
      "clear": .action(\.clear),
      "remove": .action(\.remove),
    ]

    init(rows keys: [String] = []) {
      let (text, rows) = (text, rows)
      upper = text.map { $0.uppercased() }
      clear = Action {
        SignalProducer { observer, _ in
          text.value = ""
          observer.sendCompleted()
        }
      }
      remove = Action { id in
        SignalProducer { observer, _ in
          rows.modify { $0.removeAll { $0.id == id } }
          observer.sendCompleted()
        }
      }
      rows.value = keys.map { Row(id: $0, name: "Row \($0)") }
    }

    /// Its page, and a second one of the same kind.
    nonisolated static let site = Site.files([
      "index.html": Array(html("Desk").utf8),
      "other.html": Array(
        html("Other").replacing("<html>", with: "<html data-page=\"other\">").utf8),
      "notes/a b.txt": Array("a note".utf8),
    ])

    nonisolated static func html(_ title: String) -> String {
      """
      <!doctype html>
      <html>
      <meta charset="utf-8">
      <title>\(title)</title>
      <link rel="icon" href="data:,">
      <link rel="stylesheet" href="/binding.css">
      <script type="module" src="/binding.js"></script>
      <body>
      <input id="text" data-bind="text"> <input id="again" data-bind="text">
      <input id="slow" data-bind="text" data-debounce="200">
      <input id="count" type="number" data-bind="count">
      <input id="on" type="checkbox" data-bind="isOn">
      <p id="upper" data-text="upper" data-class="on:isOn" data-attr="title:upper"></p>
      <p id="shown" data-show="isOn">on</p>
      <button id="clear" data-on="click:clear" data-enabled="isOn">Clear</button>
      <ul id="rows">
        <template data-each="rows">
          <li><b data-text="name"></b> <button data-on="click:remove" data-arg="id">x</button></li>
        </template>
      </ul>
      """
    }
  }
#endif

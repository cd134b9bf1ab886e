#if BindingServer
  import Binding
  import BindingServer
  import Reactive

  /// A view model with lists in rows, fields that refuse, and values that are in the address.
  final class Hotel: ViewModel {
    enum Refusal: Error {
      case tooMany
      var text: String { "At most nine" }
    }

    let floors = MutableProperty<[Floor]>([])
    let guests = ValidatingProperty<Int, Refusal>(2) { $0 > 9 ? .invalid(.tooMany) : .valid }
    let open = MutableProperty("")
    let isWide = MutableProperty(false)
    let house: String
    let show: Action<String, Never, Never>

    static let bindings: Bindings<Hotel> = [
      "floors": .list(\.floors), "guests": .twoWay(\.guests, refusal: \.text),
      "open": .twoWay(\.open), "isWide": .twoWay(\.isWide), "house": .value(\.house),
      "show": .action(\.show),
    ]

    init(_ house: String = "", rooms: [[String]] = []) {
      self.house = house
      floors.value = rooms.enumerated().map { Floor("\($0)", $1) }
      let open = open
      show = Action { id in
        SignalProducer { observer, _ in
          open.value = id
          observer.sendCompleted()
        }
      }
    }

    final class Floor: ViewModel, Identifiable {
      let id: String
      let rooms: MutableProperty<[Room]>

      static let bindings: Bindings<Floor> = ["id": .value(\.id), "rooms": .list(\.rooms)]

      init(_ id: String, _ rooms: [String]) {
        self.id = id
        self.rooms = MutableProperty(rooms.map { Room($0) })
      }
    }

    final class Room: ViewModel, Identifiable {
      let id: String
      let name: MutableProperty<String>

      static let bindings: Bindings<Room> = ["id": .value(\.id), "name": .twoWay(\.name)]

      init(_ id: String) {
        self.id = id
        name = MutableProperty(id)
      }
    }

    nonisolated static let html = """
      <!doctype html>
      <html data-page="hotel" data-query="room:open wide:isWide">
      <meta charset="utf-8">
      <title>Hotel</title>
      <link rel="icon" href="data:,">
      <link rel="stylesheet" href="/binding.css">
      <script type="module" src="/binding.js"></script>
      <body>
      <h1 data-text="house"></h1>
      <input id="guests" data-bind="guests"> <b id="why" data-text="guests.refusal"></b>
      <i id="held" data-text="guests"></i> <input id="place" data-bind="open">
      <input id="wide" type="checkbox" data-bind="isWide">
      <p id="open" data-text="open"></p>
      <ol>
        <template data-each="floors">
          <li><h2 data-text="id"></h2>
            <ul>
              <template data-each="rooms">
                <li><input data-bind="name"> <i data-text="house"></i>
                  <button data-on="click:show" data-arg="id" data-text="id"></button></li>
              </template>
            </ul></li>
        </template>
      </ol>
      """

    nonisolated static let site = Site.files(["hotel.html": Array(html.utf8)])
  }
#endif

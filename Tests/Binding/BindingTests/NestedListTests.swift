import Binding
import JSONWire
import Reactive
import Testing

@testable import Binding
@testable import BindingMachines

@Suite("Lists in the rows of a view model")
@MainActor
struct NestedListTests {
  private static func key(_ room: String, _ own: String) -> String {
    NestedRows<House.Room>.prefix(room) + own
  }

  @Test
  func `Rows of rows are in the order of the rows around them, and follow them`() throws {
    let (house, kitchen, hall) = (House(), House.Room("kitchen"), House.Room("hall"))
    kitchen.lamps.value = [House.Lamp("a"), House.Lamp("b")]
    hall.lamps.value = [House.Lamp("a")]
    hall.notes.value = [.init(id: "n", text: "Dark")]
    house.rooms.value = [kitchen, hall]
    let bound = Bound(house)
    let (ka, kb, ha) = (Self.key("kitchen", "a"), Self.key("kitchen", "b"), Self.key("hall", "a"))
    #expect(bound.keys(of: "rooms.lamps") == [ka, kb, ha])
    #expect(bound["text", ("rooms.notes", Self.key("hall", "n"))] == .string("Dark"))
    house.rooms.value = [hall, kitchen]
    bound.capture()
    #expect(bound.keys(of: "rooms.lamps") == [ha, ka, kb])
    kitchen.lamps.modify { $0.removeFirst() }
    hall.notes.value = [.init(id: "n", text: "Bright")]
    bound.capture()
    #expect(bound.keys(of: "rooms.lamps") == [ha, kb])
    #expect(bound["text", ("rooms.notes", Self.key("hall", "n"))] == .string("Bright"))
    house.rooms.value = [kitchen]
    bound.capture()
    #expect(bound.keys(of: "rooms.lamps") == [kb] && bound.keys(of: "rooms.notes") == [])
    #expect(!bound.capture())
  }

  @Test
  func `Operations reach the row of the row that its key names, and invented keys reach none`() {
    let (house, room, other) = (House(), House.Room("1:x"), House.Room("1"))
    let (lamp, otherLamp) = (House.Lamp("é:a"), House.Lamp("é:a"))
    room.lamps.value = [lamp]
    other.lamps.value = [otherLamp]
    house.rooms.value = [room, other]
    let bound = Bound(house)
    bound.call("turn", row: ("rooms.lamps", Self.key("1:x", "é:a")))
    #expect(lamp.isOn.value && !otherLamp.isOn.value)
    bound.set("isOn", .bool(true), row: ("rooms.lamps", Self.key("1", "é:a")))
    #expect(otherLamp.isOn.value)
    bound.capture()
    #expect(bound["isOn", ("rooms.lamps", Self.key("1", "é:a"))] == .bool(true))
    for key in ["", ":", "9:1é:a", "-1:1é:a", "1", "x:1", "99999999999999999999:1", "1:", "0:é:a"] {
      bound.call("turn", row: ("rooms.lamps", key))
    }
    #expect(lamp.isOn.value && otherLamp.isOn.value)
  }

  @Test
  func `Rows of rows beyond the limit are left out with a report, and come when there is room`() {
    let house = House()
    let rooms = (0..<3).map { House.Room("\($0)") }
    for room in rooms {
      room.notes.value = (0..<BindingLimits.rowCountMax / 2).map { .init(id: "\($0)", text: "") }
    }
    house.rooms.value = rooms
    let bound = Bound(house)
    #expect(bound.keys(of: "rooms.notes")?.count == BindingLimits.rowCountMax)
    #expect(bound["text", ("rooms.notes", Self.key("2", "0"))] == nil)
    rooms[0].notes.value = []
    bound.capture()
    #expect(bound["text", ("rooms.notes", Self.key("2", "0"))] == .string(""))
    #expect(bound["text", ("rooms.notes", Self.key("0", "0"))] == nil)
    rooms[1].notes.value = [.init(id: String(repeating: "k", count: 300), text: "")]
    bound.capture()
    #expect(bound.keys(of: "rooms.notes")?.count == BindingLimits.rowCountMax / 2)
  }

  /// The key of a row in rows, whose keys are given from the outermost on, as a page computes it.
  private static func key(_ around: [String], _ own: String) -> String {
    around.reduce("") { "\(($0 + $1).utf16.count):\($0)\($1)" } + own
  }

  @Test
  func `Rows are in rows of rows four lists deep, and pages change each of them`() {
    let (first, second) = (House.Room("1"), House.Room("1"))
    first.lamps.value = [House.Lamp("a")]
    second.lamps.value = [House.Lamp("a"), House.Lamp("2:b")]
    let town = Town([
      Town.Street("é", [Town.NumberedHouse("7", first)]),
      Town.Street("x", [Town.NumberedHouse("1:7"), Town.NumberedHouse("7", second)]),
    ])
    let bound = Bound(town)
    let names = bound.schema.lists.map(\.name)
    #expect(
      names == [
        "streets", "streets.houses", "streets.houses.inside.rooms",
        "streets.houses.inside.rooms.lamps", "streets.houses.inside.rooms.notes",
        "streets.houses.plans",
      ])
    let lamps = names[3]
    let keys = [
      Self.key(["é", "7", "1"], "a"), Self.key(["x", "7", "1"], "a"),
      Self.key(["x", "7", "1"], "2:b"),
    ]
    #expect(bound.keys(of: lamps) == keys)
    #expect(keys[0] == "7:4:1:é71a")
    bound.call("turn", row: (lamps, keys[2]))
    bound.set("isOn", .bool(true), row: (lamps, keys[0]))
    bound.set("name", .string("Hall"), row: (names[2], Self.key(["x", "7"], "1")))
    bound.capture()
    #expect(keys.map { bound["isOn", (lamps, $0)] } == [.bool(true), .bool(false), .bool(true)])
    #expect(second.name.value == "Hall" && first.name.value.isEmpty)
    second.lamps.modify { $0.swapAt(0, 1) }
    first.lamps.value = []
    bound.capture()
    #expect(bound.keys(of: lamps) == [keys[2], keys[1]])
    for key in ["", "1:", "9:4:1:é71a", "7:4:2:é71a", "7:4:1:x71a", "5:1:é7a", "4::::a"] {
      bound.call("turn", row: (lamps, key))
      #expect(bound.model.upload(0, row: key) == nil)
    }
    town.streets.value.removeLast()
    bound.capture()
    #expect(bound.keys(of: lamps) == [])
  }

  @Test
  func `Rows of rows have uploads of their own, as long as they are there`() {
    let (one, two) = (Town.NumberedHouse("1"), Town.NumberedHouse("2"))
    let town = Town([Town.Street("a", [one]), Town.Street("b", [two])])
    let bound = Bound(town)
    #expect(bound.schema.rowUploads == ["streets.houses.plans"])
    #expect(bound.model.upload(0, row: "1:b2") === two.plans)
    #expect(bound.model.upload(0, row: "1:a1") === one.plans)
    #expect(bound.model.upload(0, row: "1:a2") == nil)
    two.plans.put(Upload.File(id: "9", name: "plan.txt", byteCount: 10))
    bound.capture()
    #expect(bound.keys(of: "streets.houses.plans") == [Self.key(["b", "2"], "9")])
    #expect(bound["plans.receiving", ("streets.houses", "1:b2")] == .bool(true))
    bound.call("plans.cancel", .string("9"), row: ("streets.houses", "1:b2"))
    #expect(two.plans.files.value.isEmpty)
    town.streets.value.removeLast()
    bound.capture()
    #expect(bound.model.upload(0, row: "1:b2") == nil)
  }

  @Test
  func `A template names the lists and uploads of its own row, and not those of rows in it`() {
    let page = """
      <template data-each="streets"><ul>
        <template data-each="houses"><li><input type="file" data-upload="plans">
          <template data-each="plans"><i data-text="name"></i></template>
          <template data-each="inside.rooms"><p>
            <template data-each="lamps"><input type="checkbox" data-bind="isOn"></template>
            <input type="file" data-upload="plans">
          </p></template>
        </li></template>
      </ul></template>
      <template data-each="streets.houses"><input type="file" data-upload="plans"></template>
      """
    #expect(Town.problems(inPage: page, named: "p") == [])
    let wrong = """
      <template data-each="streets"><ul>
        <template data-each="houses.inside.rooms"></template>
        <input type="file" data-upload="houses.plans">
      </ul></template>
      """
    let problems = Town.problems(inPage: wrong, named: "p")
    #expect(problems.map(\.line) == [2, 3])
    #expect(problems[0].reason.contains("it declares houses"))
  }

  @Test
  func `A value that a property refuses has its reason beside the property, until one is accepted`()
  {
    let bound = Bound(Booking())
    #expect(bound["guests.refusal"] == .null)
    bound.set("guests", .string("12"))
    bound.set("age", .string("thirty"))
    bound.capture()
    #expect(bound["guests"] == .integer(2) && bound["age"] == .integer(30))
    #expect(bound["guests.refusal"] == .string("At most nine"))
    #expect(bound["age.refusal"] == .string("A whole number"))
    bound.set("guests", .string("9"))
    bound.set("age", .string("31"))
    bound.capture()
    #expect(bound["guests"] == .integer(9) && bound["age"] == .integer(31))
    #expect(bound["guests.refusal"] == .null && bound["age.refusal"] == .null)
    bound.set("guests", .bool(true))
    bound.capture()
    #expect(bound["guests.refusal"] == .string("This is no value of the field."))
  }

  @Test
  func `A page names the lists of a row in the template of the row, and nowhere else`() {
    let page = """
      <template data-each="rooms"><li data-text="name">
        <template data-each="lamps"><p>
          <input type="checkbox" data-bind="isOn" data-class="x:name">
          <button data-on="click:turn">Turn</button></p></template>
        <template data-each="notes"><p data-text="text"></p></template>
      </li></template>
      """
    #expect(House.problems(inPage: page, named: "p") == [])
    let wrong = """
      <template data-each="lamps"></template>
      <template data-each="rooms"><ul>
        <template data-each="lamp"></template>
        <template data-each="lamps"><template data-each="notes"></template></template>
      </ul></template>
      """
    let problems = House.problems(inPage: wrong, named: "p")
    #expect(problems.map(\.line) == [1, 3, 4])
    #expect(problems[1].reason.contains("did you mean “lamps”?"))
    #expect(problems[2].reason.contains("no lists of its own"))
  }
}

import Binding
import BindingMachines
import JSONWire
import Reactive
import Testing

@Suite("Uploads of view models")
@MainActor
struct UploadTests {
  private final class Letter: ViewModel {
    let attachments = Upload(byteCountMax: 1_500_000, countMax: 3, types: ["text/*"])
    static let bindings: Bindings<Letter> = ["attachments": .upload(\.attachments)]
  }

  /// A view model with a part that takes files.
  private final class Desk: ViewModel {
    let letter = Letter()
    static let bindings: Bindings<Desk> = ["letter": .group(\.letter)]
  }

  private static func file(_ id: String, _ byteCount: Int = 10) -> Upload.File {
    Upload.File(id: id, name: "\(id).txt", byteCount: byteCount)
  }

  @Test
  func `The page sees each file with its progress, and whether one is coming`() {
    let letter = Letter()
    let bound = Bound(letter)
    #expect(bound.schema.uploads == ["attachments"])
    #expect(bound["attachments.receiving"] == .bool(false))
    letter.attachments.put(Self.file("7"))
    letter.attachments.change("7") { $0.receivedByteCount = 5 }
    bound.capture()
    #expect(bound.keys(of: "attachments") == ["7"])
    #expect(bound["attachments.receiving"] == .bool(true))
    let row = ("attachments", "7")
    #expect(bound["name", row] == .string("7.txt"))
    #expect(bound["progress", row] == .number(0.5) && bound["isReceived", row] == .bool(false))
    letter.attachments.change("7") { $0.path = "/tmp/7" }
    bound.capture()
    #expect(bound["isReceived", row] == .bool(true))
    #expect(bound["attachments.receiving"] == .bool(false))
  }

  /// A list of view models that take files.
  private final class Office: ViewModel {
    let desks = MutableProperty<[Desk]>([])
    static let bindings: Bindings<Office> = ["desks": .list(\.desks)]

    final class Desk: ViewModel, Identifiable {
      let id: String
      let picture = Upload(byteCountMax: 1_000)
      let letters = Upload(byteCountMax: 1_000, countMax: 3)
      static let bindings: Bindings<Desk> = [
        "picture": .upload(\.picture), "letters": .upload(\.letters),
      ]

      init(_ id: String) { self.id = id }
    }
  }

  @Test
  func `The rows of a list have uploads of their own, as long as they are there`() {
    let office = Office()
    let bound = Bound(office)
    #expect(bound.schema.uploads == [])
    #expect(bound.schema.rowUploads == ["desks.picture", "desks.letters"])
    let (first, second) = (Office.Desk("a"), Office.Desk("b"))
    office.desks.value = [first, second]
    bound.capture()
    #expect(bound.model.upload(0, row: "b") === second.picture)
    #expect(bound.model.upload(1, row: "a") === first.letters)
    #expect(bound.model.upload(1, row: "c") == nil)
    second.letters.put(Self.file("7"))
    bound.capture()
    #expect(bound.keys(of: "desks.letters") == ["1:b7"])
    #expect(bound["progress", ("desks.letters", "1:b7")] == .number(0))
    #expect(bound["letters.receiving", ("desks", "b")] == .bool(true))
    #expect(bound["letters.receiving", ("desks", "a")] == .bool(false))
    office.desks.value = [first]
    bound.capture()
    #expect(bound.model.upload(1, row: "b") == nil)
    #expect(bound.keys(of: "desks.letters") == [])
  }

  @Test
  func `The page removes a file by its name, and no other; the server hears of it`() {
    let letter = Letter()
    let bound = Bound(letter)
    var removed: [String] = []
    letter.attachments.onRemove { removed.append($0) }
    for id in ["1", "2"] { letter.attachments.put(Self.file(id)) }
    bound.call("attachments.cancel", .string("2"))
    #expect(letter.attachments.files.value.map(\.id) == ["1"])
    bound.call("attachments.cancel", .integer(1))
    #expect(letter.attachments.files.value.map(\.id) == ["1"], "a name is a text")
    letter.attachments.removeAll()
    #expect(removed == ["2", "1"])
  }

  @Test
  func `An upload in a group has the prefix of its names, and is found with it`() {
    let desk = Desk()
    let bound = Bound(desk)
    #expect(bound.schema.uploads == ["letter.attachments"])
    desk.letter.attachments.put(Self.file("1"))
    bound.capture()
    #expect(bound.keys(of: "letter.attachments") == ["1"])
    bound.call("letter.attachments.cancel", .string("1"))
    #expect(desk.letter.attachments.files.value.isEmpty)
    #expect(bound.model.uploads.first === desk.letter.attachments)
  }

  @Test
  func `A refusal is shown until another file is taken, and sizes are written for people`() {
    let letter = Letter()
    let bound = Bound(letter)
    letter.attachments.refuse(.tooMany(countMax: 3))
    bound.capture()
    #expect(bound["attachments.error"] == .string("There are too many files: at most 3."))
    letter.attachments.put(Self.file("1"))
    bound.capture()
    #expect(bound["attachments.error"] == .null)
    let sizes = [(999, "999 bytes"), (1_500_000, "1.5 MB"), (2_000_000_000, "2 GB")]
    for (size, text) in sizes {
      #expect(
        UploadError(.tooLarge(byteCountMax: size)).description
          == "The file is too large: at most \(text).")
    }
  }

  @Test
  func `An empty file has come as soon as it is whole`() {
    var file = Self.file("1", 0)
    #expect(file.progress == 0)
    file.path = "/tmp/1"
    #expect(file.progress == 1)
  }
}

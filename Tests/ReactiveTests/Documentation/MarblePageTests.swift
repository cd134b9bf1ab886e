import Foundation
import Testing

@Suite("The marble diagrams of the documentation")
struct MarblePageTests {
  private static let drawings = DocumentationPage.all.flatMap { page in
    page.drawings.map { (page: page, drawing: $0) }
  }

  @Test("the diagrams show what their code does", arguments: DocumentationPage.all)
  func truth(_ page: DocumentationPage) {
    for drawing in page.drawings {
      let stage = Stage(drawing)
      stage.drawAll()
      for difference in stage.play() { Issue.record("\(page.name): \(difference)") }
    }
  }

  @Test("the diagrams are labelled with the code that is run")
  func labels() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
    let code = try ["DrawnOperators.swift", "DrawnProperties.swift"]
      .map { try String(contentsOf: folder.appending(path: $0), encoding: .utf8) }
      .joined().filter { !$0.isWhitespace }.replacing("\\\\.", with: "\\.")
    for match in code.matches(of: #/draw\("(?<label>[^"]*)",(?<rest>.*?)(?=draw\("|func|$)/#) {
      #expect(match.rest.hasPrefix(match.label), "\(match.label) is labelled otherwise")
    }
    #expect(code.matches(of: #/draw\("/#).count > 80)
  }

  @Test("the diagrams cover every operator")
  func completeness() throws {
    let checklist = URL(filePath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "API/reactive-api.tsv")
    let labels = Self.drawings.flatMap { $0.drawing.lines.map(\.label) }.joined(separator: "\n")
    let streams = ["Signal.", "SignalProducer.", "PropertyProtocol."]
    var names: Set<Substring> = []
    for line in try String(contentsOf: checklist, encoding: .utf8).split(separator: "\n") {
      let name = line.prefix { $0 != "\t" }
      guard name.contains("("), let stream = streams.first(where: name.hasPrefix) else { continue }
      names.insert(name.dropFirst(stream.count).prefix { $0 != "(" })
    }
    names.formUnion(["group", "replaceNil", "replacingNil", "lazyMap", "link"])
    for name in names.subtracting(Self.notOperators).sorted() where !name.contains(".") {
      #expect(labels.contains(".\(name)"), "there is no diagram of \(name)")
    }
    #expect(names.count > 70)
  }

  /// What starts and observes streams, or makes them of something else; and what blocks.
  private static let notOperators: Set<Substring> = [
    "init", "lift", "observe", "observeCompleted", "observeFailed", "observeInterrupted",
    "observeResult", "observeValues", "pipe", "reentrantUnserialized", "reentrantUnserializedPipe",
    "start", "startWithCompleted", "startWithFailed", "startWithInterrupted", "startWithResult",
    "startWithValues", "unserialized", "unserializedPipe", "first", "last", "single", "wait",
  ]

  @Test("a drawing that lies is found out, and so are one without code and a late start")
  func lies() {
    func differences(_ text: String...) -> Int {
      let stage = Stage(Drawing(text))
      stage.drawAll()
      return stage.play().count
    }
    let numbers = "numbers                 -1-2|"
    #expect(differences(numbers, "numbers.map { $0 * 2 }  -2-4|") == 0)
    #expect(differences(numbers, "numbers.map { $0 * 2 }  -2-2|") == 1)
    #expect(differences(numbers, "numbers.map { $0 * 7 }  -7-7|") == 1)
    #expect(differences(numbers, "numbers.map { $0 * 2 }   -2-4|") == 1)
    #expect(
      differences(
        "numbers                 -1|", "others                   -2|",
        "numbers.concat(others)  -1-2|") == 1)
  }
}

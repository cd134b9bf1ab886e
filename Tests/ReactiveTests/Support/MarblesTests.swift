import Reactive
import Testing

@Suite("Marble diagrams")
struct MarblesTests {
  @Test("a diagram shows which events happen in which frame")
  func parsing() {
    let events = Diagram("-a [long]-(bc|)").events
    #expect(events.map(\.frame) == [1, 2, 4, 4, 4])
    #expect(
      events.map(\.mark) == [
        .value("a"), .value("long"), .value("b"), .value("c"), .completed,
      ])
    #expect(Diagram("#").events == [.init(frame: 0, mark: .failed)])
    #expect(Diagram("--!").events == [.init(frame: 2, mark: .interrupted)])
  }

  @Test(
    "a diagram is drawn as it was read",
    arguments: ["", "-1-2-|", "-(ab)-[xyz]#", "(|)", "!"])
  func drawing(_ text: String) {
    #expect(Diagram(Diagram(text).description) == Diagram(text))
  }

  @Test("times between frames are written out")
  func betweenFrames() {
    let diagram = Diagram(events: [.init(frame: 1.5, mark: .value("a"))])
    #expect(diagram.description == "a at 1.5")
  }

  @Test("a source plays the diagram, and records when it was started and left")
  func source() {
    let marbles = Marbles()
    let source = marbles.source("-1-2-3-|")
    marbles.expect(source.producer).toBe("-1-2-3-|")
    #expect(source.runs == ["^------!"])
  }

  @Test("a run that is disposed of is interrupted, and its source left")
  func disposal() {
    let marbles = Marbles()
    let source = marbles.source("-1-2-3-|")
    marbles.expect(source.producer, disposedAt: 4).toBe("-1-2!")
    #expect(source.runs == ["^---!"])
  }

  @Test("a difference is an issue that shows both diagrams")
  func difference() {
    withKnownIssue {
      let marbles = Marbles()
      marbles.expect(marbles.source("-1|").producer).toBe("-2|")
    } matching: { issue in
      issue.comments.contains { $0.rawValue.contains("-2|") && $0.rawValue.contains("-1|") }
    }
  }

  @Test("a signal plays whether or not it is observed")
  func signal() {
    let marbles = Marbles()
    let signal = marbles.signal("-1-2-#")
    marbles.scheduler.advance(by: 2.0)
    marbles.expect(signal).toBe("---2-#")
  }
}

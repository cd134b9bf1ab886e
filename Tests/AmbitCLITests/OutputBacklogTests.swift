import Dispatch
import Testing

@testable import AmbitCLI

@Suite("Output whose reader takes nothing", .timeLimit(.minutes(5)))
struct OutputBacklogTests {
  /// A reader that takes nothing before its gate is open.
  private final class Reader: Sendable {
    let taken = Guarded<[String]>([])
    private let gate = DispatchSemaphore(value: 0)

    func open() { gate.signal() }

    func take(_ text: [UInt8]) {
      gate.wait()
      gate.signal()
      taken.update { $0.append(String(decoding: text, as: UTF8.self)) }
    }

    func backlog() -> OutputBacklog {
      OutputBacklog(write: { self.take($0) }, count: { "\($0) dropped\n" })
    }
  }

  @Test("no writer waits for the reader, which gets all in order when it goes on")
  func waiting() {
    let reader = Reader()
    let backlog = reader.backlog()
    let texts = (0..<1_000).map { "\($0)\n" }
    for text in texts { backlog.add(Array(text.utf8)) }
    #expect(reader.taken.value.isEmpty)
    reader.open()
    backlog.finish()
    #expect(reader.taken.value == texts)
  }

  @Test("texts beyond the bound are dropped, and the reader gets their count in their place")
  func bound() {
    let reader = Reader()
    let backlog = reader.backlog()
    let large = [UInt8](repeating: 0x2E, count: OutputBacklog.byteCountMax / 2)
    for _ in 0..<5 { backlog.add(large) }
    backlog.add(Array("small\n".utf8))
    reader.open()
    backlog.finish()
    let texts = reader.taken.value
    #expect(texts.map(\.utf8.count) == [large.count, large.count, "4 dropped\n".utf8.count])
    #expect(texts.last == "4 dropped\n")
    backlog.add(Array("small\n".utf8))
    backlog.finish()
    #expect(reader.taken.value.last == "small\n")
  }
}

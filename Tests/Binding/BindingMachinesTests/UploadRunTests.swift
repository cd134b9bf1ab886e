import Essentials
import Testing

@testable import BindingMachines

@Suite("Random uploads")
struct UploadRunTests {
  /// Pages that announce, send, repeat and give up files, a view model that removes some, a disk that is
  /// slow, full or broken, tabs that come and go, and time.
  private struct Run {
    let bench = LiveBench()
    var random: SeededGenerator
    /// Writes that the disk has not done.
    var writes: [(request: RequestID, id: UploadID)] = []
    var answered: [RequestID: Int] = [:]
    var requestCount = 0
    let tabs = ["a~1", "a~2", "b~1"]

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    func epoch(_ tab: String) -> String {
      TabName(tab).flatMap { bench.machine.sessions[$0]?.epoch } ?? "none"
    }

    mutating func step() throws {
      switch Int.random(in: 0..<20, using: &random) {
      case 0: bench.open(tabs.randomElement(using: &random) ?? "a~1")
      case 1: bench.handle(.left([try #require(TabName(tabs[0]))]))
      case 2: bench.advance(by: .seconds(.random(in: 0...200, using: &random)))
      case 3:
        let id = UploadID(number: .random(in: 1...40, using: &random))
        bench.handle(.uploadRemoved(id))
      case 4...8: write()
      default: try send()
      }
      take()
    }

    mutating func write() {
      guard !writes.isEmpty else { return }
      let write = writes.remove(at: .random(in: writes.indices, using: &random))
      let results: [LiveMachine.UploadWrite] = [.written, .written, .written, .noRoom, .failed]
      bench.handle(.uploadWritten(write.request, results.randomElement(using: &random) ?? .failed))
    }

    mutating func send() throws {
      let tab = tabs.randomElement(using: &random) ?? "a~1"
      let size = Int.random(in: 0...120, using: &random)
      let offset = Int.random(in: 0...size, using: &random)
      let isAnnouncement = Bool.random(using: &random)
      let part = UploadPart(
        [
          "tab": tab, "epoch": epoch(tab), "upload": "files",
          "file": "\(Int.random(in: 0...3, using: &random))",
          "at": "\(isAnnouncement ? 0 : offset)", "of": "\(size)",
          "end": Int.random(in: 0..<10, using: &random) == 0 ? "1" : "",
        ], byteCount: isAnnouncement ? 0 : .random(in: 0...(size - offset), using: &random))
      requestCount += 1
      bench.handle(
        .uploadReceived(RequestID(number: 10_000 + requestCount), try #require(part)))
    }

    /// Takes what the actions tell.
    mutating func take() {
      for action in bench.uploads {
        switch action {
        case .writeUpload(let request, let id, _): writes.append((request, id))
        case .answerUpload(let request, _): answered[request, default: 0] += 1
        default: break
        }
      }
      bench.uploads = []
    }
  }

  @Test(arguments: UInt64(1)...25)
  func `Each part is answered once, and the tables agree, whatever comes`(_ seed: UInt64) throws {
    var run = Run(seed: seed)
    for _ in 0..<400 {
      try run.step()
      let violations = run.bench.machine.violations()
      #expect(violations == [], "seed \(seed)")
      guard violations.isEmpty else { return }
    }
    while !run.writes.isEmpty {
      run.write()
      run.take()
    }
    #expect(run.answered.count == run.requestCount, "seed \(seed)")
    #expect(run.answered.values.allSatisfy { $0 == 1 }, "seed \(seed)")
    #expect(run.bench.machine.uploadWrites.isEmpty, "seed \(seed)")
    // All tabs go, and all files with them.
    let tabs = run.tabs.compactMap { TabName($0) }
    run.bench.handle(.left(tabs))
    for number in 1...100 { run.bench.handle(.streamClosed(StreamID(number: number))) }
    run.bench.advance(by: .seconds(3_600))
    #expect(run.bench.machine.uploads.isEmpty && run.bench.machine.uploadIDs.isEmpty)
  }

  @Test
  func `No text of a query makes a part that goes beyond its file, or has a path for a name`() {
    var random = SeededGenerator(seed: 7)
    let numbers = [
      "", "0", "1", "-1", "9223372036854775807", "9223372036854775808", "x", "1e3", " 1",
    ]
    let names = ["", "..", "/", "\\", "a/../b", "\u{202E}x", "%2F", "\u{0}", "ok.txt"]
    for _ in 0..<20_000 {
      func pick(_ texts: [String]) -> String { texts.randomElement(using: &random) ?? "" }
      let query = [
        "tab": pick(["t~1", "", "t t", "a.b.c"]), "epoch": pick(names), "upload": pick(names),
        "file": pick(names), "at": pick(numbers), "of": pick(numbers),
        "name": pick(names) + pick(names), "type": pick(names),
      ]
      let count = Int.random(in: 0...3, using: &random)
      guard let part = UploadPart(query, byteCount: count) else { continue }
      #expect(part.offset <= part.fileByteCount - part.byteCount, "\(query)")
      #expect(!part.name.isEmpty && !part.name.contains { "/\\".contains($0) }, "\(query)")
    }
  }
}

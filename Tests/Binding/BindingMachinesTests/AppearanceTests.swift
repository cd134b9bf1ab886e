import BindingMachines
import Essentials
import Testing

@Suite("View models that appear and disappear")
struct AppearanceTests {
  private static let first = ModelID(number: 1)

  @Test("a view model appears with its first tab, and disappears when its last one has been away")
  func shared() {
    let bench = LiveBench(isShared: true)
    let streams = ["a~1", "b~1"].map { bench.open($0) }
    #expect(bench.appearances[Self.first] == [true])
    bench.handle(.streamClosed(streams[0]))
    bench.advance(by: .seconds(60))
    #expect(bench.appearances[Self.first] == [true], "another tab shows it")
    bench.handle(.streamClosed(streams[1]))
    bench.advance(by: .seconds(2))
    #expect(bench.appearances[Self.first] == [true])
    bench.advance(by: .seconds(3))
    #expect(bench.appearances[Self.first] == [true, false])
    _ = bench.open("c~1")
    #expect(bench.appearances[Self.first] == [true, false, true])
    #expect(bench.machine.violations() == [])
  }

  @Test("a page that is loaded again, or whose browser opens a new stream, doesn't disappear")
  func reconnections() {
    let bench = LiveBench()
    var stream = bench.open("k~0")
    for number in 1..<20 {
      bench.handle(.streamClosed(stream))
      bench.advance(by: .milliseconds(1_900))
      stream = bench.open(number.isMultiple(of: 2) ? "k~\(number)" : "k~\(number - 1)")
    }
    // The newer stream may come before the older one has ended.
    _ = bench.open("k~18")
    bench.handle(.streamClosed(stream))
    bench.advance(by: .seconds(40))
    #expect(bench.appearances == [Self.first: [true]] && bench.models.count == 1)
  }

  @Test("a view model that is released has disappeared before, and only once")
  func release() throws {
    let bench = LiveBench()
    let stream = bench.open("k~1")
    bench.handle(.left([try #require(TabName("k~1"))]))
    bench.handle(.streamClosed(stream))
    bench.advance(by: .seconds(120))
    #expect(bench.appearances[Self.first] == [true, false] && bench.released == [Self.first])

    // Where there is no room for more tabs, one that has just gone is released at once.
    let tabs = (0..<BindingLimits.sessionCountMax).map { "t\($0)" }
    let streams = tabs.map { bench.open($0) }
    bench.handle(.streamClosed(streams[0]))
    _ = bench.open("more")
    let gone = ModelID(number: 2)
    #expect(bench.appearances[gone] == [true, false] && bench.released.last == gone)
  }

  @Test("view models whose tabs are left at one time disappear and are released in one order")
  func order() {
    let bench = LiveBench()
    let streams = (10..<40).map { bench.open("t\($0)") }
    for stream in streams.reversed() { bench.handle(.streamClosed(stream)) }
    bench.advance(by: .seconds(5))
    let models = (1...30).map { ModelID(number: $0) }
    #expect(bench.disappeared == models)
    bench.advance(by: .seconds(3_600))
    #expect(bench.released == models)
  }

  @Test("The same tabs make room for others where several wait for equally long")
  func room() {
    let bench = LiveBench()
    let tabs = (0..<BindingLimits.sessionCountMax).map { "t\(10_000 + $0)" }
    let streams = tabs.map { bench.open($0) }
    for stream in streams.reversed() { bench.handle(.streamClosed(stream)) }
    for number in 0..<10 { _ = bench.open("more\(number)") }
    #expect(bench.released == (1...10).map { ModelID(number: $0) })
  }
}

import Essentials
import JSONWire
import Testing

@testable import BindingMachines

@Suite("The invariants of pages, tabs and view models")
struct InvariantTests {
  private let first = ModelID(number: 1)

  @Test("a tab that its stream or its model doesn't have is found")
  func tabs() throws {
    let bench = LiveBench()
    let stream = bench.open("a")
    #expect(bench.machine.violations() == [])
    bench.machine.streams[existing: stream].tabs = []
    #expect(
      bench.machine.violations()
        == ["a stream has 0 tabs", "a isn't among the tabs of its stream"])
    let other = LiveBench()
    _ = other.open("a")
    other.machine.models[existing: first].tabs = []
    #expect(
      other.machine.violations()
        == ["a isn't among the tabs of its model 1", "model 1 has 0 tabs"])
  }

  @Test("a tab that follows a model that is gone is found")
  func model() {
    let bench = LiveBench()
    _ = bench.open("a")
    bench.machine.models = [:]
    #expect(bench.machine.violations() == ["a shows no model"])
  }

  @Test("a tab that has a revision that is still to come is found")
  func revision() throws {
    let bench = LiveBench()
    _ = bench.open("a")
    let tab = try #require(bench.machine.sessions.keys.first)
    bench.machine.sessions[existing: tab].sent = 99
    #expect(bench.machine.violations() == ["a has a revision that is still to come"])
    bench.machine.sessions[existing: tab].sent = nil
    bench.machine.sessions[existing: tab].corrections = [ValuePath(.page, 0)]
    #expect(
      bench.machine.violations() == ["a has values to get that no message has set"])
  }

  @Test("a shared model that its page doesn't have, and tabs that nothing wakes, are found")
  func shared() {
    let bench = LiveBench(isShared: true)
    _ = bench.open("a")
    #expect(bench.machine.violations() == [])
    bench.machine.sharedModels = [:]
    bench.machine.nextWake = nil
    #expect(
      bench.machine.violations()
        == ["model 1 is not the shared one", "no session ends, and no stream beats"])
  }
}

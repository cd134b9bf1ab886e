import BindingMachines
import Essentials
import PageClient
import Testing

@Suite("Signs of life between pages and their server")
struct SignOfLifeTests {
  @Test("a silent stream gets a sign of life each 10 seconds")
  func heartbeat() {
    let bench = LiveBench()
    let stream = bench.open("a")
    _ = bench.events(stream)
    for _ in 0..<4 {
      bench.advance(by: .milliseconds(11_100))
      let bytes = bench.written[stream] ?? []
      var reader = EventReader()
      #expect(reader.read(bytes).map(\.name) == ["beat"])
      #expect(reader.commentCount == 1)
      bench.written[stream] = nil
    }
  }

  @Test("a stream goes on while its browser gives signs of life, and ends 45 s after the last")
  func silence() {
    let bench = LiveBench()
    let stream = bench.open("a", "b")
    for _ in 0..<40 {
      #expect(bench.beat("a", "b") == .accepted)
      bench.advance(by: .seconds(15))
    }
    #expect(bench.ended == [])
    // Fifteen seconds have passed since the last one.
    bench.advance(by: .seconds(29))
    #expect(bench.ended == [])
    bench.advance(by: .seconds(3))
    #expect(bench.ended == [stream])
    #expect(bench.machine.counters.silent == 1)
    #expect(bench.machine.violations() == [])
    let next = bench.open("a", "b")
    #expect(bench.events(next).map(\.name) == ["snap", "snap"])
    #expect(bench.models.count == 2, "the tabs have their view models still")
  }

  @Test("a message counts as a sign of life")
  func message() throws {
    let bench = LiveBench()
    let client = PageClient(tab: "a")
    let stream = bench.open("a")
    client.connect()
    for event in bench.events(stream) { client.receive(event) }
    #expect(bench.beat("a") == .accepted)
    for _ in 0..<4 {
      bench.advance(by: .seconds(40))
      client.call(.page("clear"))
      let message = try #require(client.takeMessage())
      #expect(try bench.post(message.body) == .accepted)
      client.answered(message, status: 204)
    }
    #expect(bench.ended == [])
    bench.advance(by: .seconds(47))
    #expect(bench.ended == [stream])
  }

  @Test("a stream of a client that has given no sign of life doesn't end for want of one")
  func otherClients() {
    let bench = LiveBench()
    bench.open("a")
    bench.advance(by: .seconds(3_600))
    #expect(bench.ended == [])
  }

  @Test("a sign of life of tabs without a stream is answered with a conflict")
  func conflict() {
    let bench = LiveBench()
    #expect(bench.beat("a") == .conflict)
    let stream = bench.open("a")
    #expect(bench.beat("b") == .conflict && bench.beat("a", "b") == .accepted)
    bench.handle(.streamClosed(stream))
    #expect(bench.beat("a") == .conflict)
    #expect(bench.machine.counters.conflicts == 3)
  }
}

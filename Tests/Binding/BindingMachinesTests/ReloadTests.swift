import BindingMachines
import Essentials
import JSONWire
import PageClient
import Testing

/// The tab's key is before the `~`, and the number of its document after it.
@Suite("A tab whose page is loaded again")
struct ReloadTests {
  private static let first = ModelID(number: 1)

  /// A client of a document, with its snapshot.
  private static func document(_ tab: String, _ bench: LiveBench) -> (PageClient, StreamID) {
    let client = PageClient(tab: tab)
    let stream = bench.open(tab)
    client.connect()
    for event in bench.events(stream) { client.receive(event) }
    return (client, stream)
  }

  private static func click(_ client: PageClient, _ bench: LiveBench) throws {
    client.call(.page("clear"))
    let message = try #require(client.takeMessage())
    #expect(try bench.post(message.body) == .accepted)
    client.answered(message, status: 204)
  }

  @Test("a document gets the view model of the one before it in the tab, in a session of its own")
  func adoption() throws {
    let bench = LiveBench()
    let (old, stream) = Self.document("main.k~1", bench)
    try Self.click(old, bench)
    bench.change(Self.first) { $0.values[3] = .integer(7) }
    bench.handle(.streamClosed(stream))
    let (new, _) = Self.document("main.k~2", bench)
    #expect(new.values["clock"] == .integer(7) && new.model == old.model)
    #expect(new.epoch != old.epoch)
    try Self.click(new, bench)
    #expect(bench.models[Self.first]?.callCount == 2, "its first message is no repetition")
    #expect(bench.models.count == 1 && bench.machine.violations() == [])
  }

  @Test("a late message of the earlier document is performed, and the new one shows its effect")
  func lateMessage() throws {
    let bench = LiveBench()
    let (old, stream) = Self.document("k~1", bench)
    old.set(.page("text"), .string("late"))
    let late = try #require(old.takeMessage())
    bench.handle(.left([try #require(TabName("k~1"))]))
    // The stream of the earlier document is still open, as the server sees it.
    let (new, next) = Self.document("k~2", bench)
    #expect(try bench.post(late.body) == .accepted)
    bench.advance(by: .seconds(1))
    for event in bench.events(next) { new.receive(event) }
    #expect(new.values["text"] == .string("late"))
    try Self.click(new, bench)
    #expect(bench.models[Self.first]?.callCount == 1)
    bench.handle(.streamClosed(stream))
    bench.advance(by: .seconds(62))
    #expect(try bench.post(late.body) == .conflict, "the earlier document's session has ended")
    #expect(bench.released == [] && bench.machine.violations() == [])
  }

  @Test(
    "what a page sends when it is left holds, whichever of its last two messages arrives first",
    arguments: [[1, 2], [2, 1], [2], [2, 1, 2]])
  func lastMessages(order: [Int]) throws {
    let bench = LiveBench()
    let (client, stream) = Self.document("k~1", bench)
    let words = #"["set","text","one"],["call","clear",[]]"#
    let messages = [
      1: #""seq":1,"ops":[\#(words)]"#,
      2: #""seq":2,"ops":[["call","clear",[]],["set","text","two"]],"before":[\#(words)]"#,
    ]
    for number in order {
      let text = #"{"tab":"k~1","epoch":"\#(client.epoch ?? "")",\#(messages[number] ?? "")}"#
      #expect(try bench.post(Array(text.utf8)) == .accepted)
    }
    #expect(bench.models[Self.first]?.callCount == 2, "each is performed once")
    bench.advance(by: .seconds(1))
    for event in bench.events(stream) { client.receive(event) }
    #expect(client.values["text"] == .string("two"))
  }

  @Test("a message that repeats the one before it does not replace earlier ones")
  func olderMessages() throws {
    let bench = LiveBench()
    let (client, _) = Self.document("k~1", bench)
    let text =
      #"{"tab":"k~1","epoch":"\#(client.epoch ?? "")","seq":3,"ops":[],"before":[["call","clear",[]]]}"#
    #expect(try bench.post(Array(text.utf8)) == .conflict)
    #expect(bench.models[Self.first]?.callCount == 0)
  }

  @Test("a document that comes back from the browser's store has its view model still")
  func backForward() throws {
    let bench = LiveBench()
    let (old, stream) = Self.document("k~1", bench)
    bench.handle(.streamClosed(stream))
    old.disconnect()
    let (new, next) = Self.document("k~2", bench)
    try Self.click(new, bench)
    bench.handle(.streamClosed(next))
    bench.handle(.left([try #require(TabName("k~2"))]))
    bench.advance(by: .seconds(120))
    let again = bench.open("k~1")
    old.connect()
    for event in bench.events(again) { old.receive(event) }
    try Self.click(old, bench)
    #expect(bench.models[Self.first]?.callCount == 2 && bench.models.count == 1)
  }

  @Test("five hundred reloads leave one view model")
  func manyReloads() {
    let bench = LiveBench()
    for number in 0..<500 {
      let stream = bench.open("k~\(number)")
      bench.handle(.left(["k~\(number)"].compactMap { TabName($0) }))
      bench.handle(.streamClosed(stream))
    }
    #expect(bench.models.count == 1 && bench.released == [])
    #expect(bench.machine.violations() == [])
  }

  @Test("a stream ends when the last of its pages is left, as its browser may keep it open unread")
  func lastPage() throws {
    let bench = LiveBench()
    let stream = bench.open("a~1", "b~1")
    bench.handle(.left([try #require(TabName("a~1"))]))
    #expect(bench.ended == [])
    bench.handle(.left([try #require(TabName("b~1"))]))
    #expect(bench.ended == [stream])
    bench.advance(by: .seconds(62))
    #expect(bench.models.isEmpty && bench.machine.violations() == [])
  }

  @Test("a view model ends a minute after its page was left")
  func left() throws {
    let bench = LiveBench()
    let streams = ["a~1", "b~1"].map { bench.open($0) }
    // The page tells it before its stream ends, or after that.
    bench.handle(.left([try #require(TabName("a~1"))]))
    for stream in streams { bench.handle(.streamClosed(stream)) }
    bench.advance(by: .seconds(58))
    #expect(bench.released == [])
    bench.advance(by: .seconds(4))
    #expect(bench.released == [Self.first])
    bench.handle(.left([try #require(TabName("b~1"))]))
    bench.advance(by: .seconds(2))
    #expect(bench.released == [Self.first, ModelID(number: 2)])
    #expect(bench.machine.violations() == [])
  }

  @Test("a tab that was left and comes back keeps its view model for half an hour again")
  func returned() throws {
    let bench = LiveBench()
    let stream = bench.open("a")
    bench.handle(.left([try #require(TabName("a"))]))
    bench.handle(.streamClosed(stream))
    bench.advance(by: .seconds(30))
    bench.handle(.streamClosed(bench.open("a")))
    bench.advance(by: .seconds(29 * 60))
    #expect(bench.released == [])
    bench.advance(by: .seconds(120))
    #expect(bench.released == [Self.first])
  }

  @Test("the 256 latest view models of disconnected tabs are kept, and all of connected ones")
  func bound() {
    let bench = LiveBench()
    let connected = bench.open("connected")
    var streams: [StreamID] = []
    for number in 0..<300 { streams.append(bench.open("t\(number)")) }
    bench.advance(by: .seconds(5))
    #expect(bench.released == [])
    for stream in streams {
      bench.handle(.streamClosed(stream))
      bench.advance(by: .milliseconds(1))
    }
    bench.advance(by: .seconds(3))
    #expect(bench.released == (2..<46).map { ModelID(number: $0) })
    #expect(bench.events(connected).map(\.name).first == "snap")
    #expect(bench.machine.violations() == [])
  }

  @Test("the sessions of a shared view model are not among those that are bounded")
  func sharedBound() {
    let bench = LiveBench(isShared: true)
    for number in 0..<300 { bench.handle(.streamClosed(bench.open("t\(number)"))) }
    bench.advance(by: .seconds(60))
    let again = bench.open("t0")
    #expect(bench.events(again).first?.id.hasPrefix("1.1-") == true, "its session is the first one")
  }

  @Test("two documents of one tab have one view model, also on one stream")
  func twice() {
    let bench = LiveBench()
    let stream = bench.open("k~1", "k~2")
    #expect(bench.events(stream).map(\.name) == ["snap", "snap"])
    #expect(bench.models.count == 1 && bench.machine.violations() == [])
  }

  @Test("a full server has room for a tab that is loaded again")
  func full() {
    let bench = LiveBench()
    var streams: [StreamID] = []
    for number in 0..<BindingLimits.sessionCountMax { streams.append(bench.open("k\(number)~1")) }
    bench.handle(.streamClosed(streams[7]))
    let again = bench.open("k7~2")
    #expect(bench.refused[again] == nil && bench.events(again).map(\.name) == ["snap"])
    let other = bench.open("other~1")
    #expect(bench.refused[other] == .noRoom)
    #expect(bench.models.count == BindingLimits.sessionCountMax)
  }
}

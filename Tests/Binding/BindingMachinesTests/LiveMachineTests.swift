import BindingMachines
import Essentials
import JSONWire
import PageClient
import Testing

@Suite("The machine behind pages")
struct LiveMachineTests {
  private static let first = ModelID(number: 1)

  /// A bench with one tab that has its snapshot.
  private static func connected(isShared: Bool = false) -> (LiveBench, PageClient, StreamID) {
    let bench = LiveBench(isShared: isShared)
    let client = PageClient(tab: "a")
    let stream = bench.open("a")
    client.connect()
    for event in bench.events(stream) { client.receive(event) }
    return (bench, client, stream)
  }

  /// Posts a client's pending messages, and hands it the resulting events.
  private static func exchange(
    _ bench: LiveBench, _ client: PageClient, _ stream: StreamID
  ) throws {
    while let message = client.takeMessage() {
      let answer = try bench.post(message.body)
      client.answered(message, status: answer == .accepted ? 204 : 409)
      for event in bench.events(stream) { client.receive(event) }
    }
  }

  @Test("a tab gets a snapshot first, with the epoch and the revision in the event's id")
  func snapshot() {
    let bench = LiveBench()
    let stream = bench.open("a")
    let all = bench.events(stream)
    #expect(all.map(\.name) == ["snap"])
    #expect(all[0].id == "1.1-2")
    #expect(
      all[0].data.hasPrefix(#"{"tab":"a","epoch":"1.1","model":"1.1","a":0,"v":{"text":"","#))
  }

  @Test("typed text, its consequences and the acknowledgement come in one patch, at once")
  func transaction() throws {
    let (bench, client, stream) = Self.connected()
    client.set(.page("text"), .string("hi"))
    let message = try #require(client.takeMessage())
    #expect(try bench.post(message.body) == .accepted)
    let events = bench.events(stream)
    #expect(
      events.map(\.data) == [#"{"tab":"a","a":1,"v":{"text":"hi","upper":"HI"}}"#])
    #expect(bench.now == .zero)
  }

  @Test("a value that the model doesn't take is shown again as it is")
  func refused() throws {
    let (bench, client, stream) = Self.connected()
    client.set(.page("number"), .integer(3))
    client.set(.page("text"), .integer(5))
    try Self.exchange(bench, client, stream)
    #expect(client.values["number"] == .integer(0))
    #expect(client.values["text"] == .string(""))
    #expect(client.isSettled)
  }

  @Test("a message that comes again is accepted and not performed again")
  func duplicate() throws {
    let (bench, client, stream) = Self.connected()
    client.call(.page("clear"))
    let message = try #require(client.takeMessage())
    for _ in 0..<3 { #expect(try bench.post(message.body) == .accepted) }
    #expect(bench.models[Self.first]?.callCount == 1)
    #expect(bench.machine.counters.duplicates == 2)
    #expect(bench.events(stream).count == 3)
  }

  @Test("a message after one that never came, for another epoch or of an unknown tab is refused")
  func conflicts() throws {
    let (bench, _, _) = Self.connected()
    func body(_ tab: String, _ epoch: String, _ sequence: Int) -> [UInt8] {
      Array(
        #"{"tab":"\#(tab)","epoch":"\#(epoch)","seq":\#(sequence),"ops":[["set","text","x"]]}"#.utf8
      )
    }
    #expect(try bench.post(body("a", "1.1", 2)) == .conflict)
    #expect(try bench.post(body("a", "2.1", 1)) == .conflict)
    #expect(try bench.post(body("b", "1.1", 1)) == .conflict)
    #expect(bench.models[Self.first]?.values[0] == .string(""))
    #expect(try bench.post(body("a", "1.1", 1)) == .accepted)
  }

  @Test(
    "a message with an operation on a missing value is refused whole",
    arguments: [
      #"["set","upper","x"]"#, #"["set","nothing","x"]"#, #"["set","clear","x"]"#,
      #"["call","text",[]]"#, #"["call","clear",["x"]]"#, #"["call","remove",[]]"#,
      #"["set",["rows","k","count"],1]"#, #"["set",["text","k","note"],1]"#,
      #"["call",["rows","k","clear"],[]]"#, #"["call",["nothing","k","bump"],[]]"#,
    ])
  func malformed(_ operation: String) throws {
    let (bench, _, _) = Self.connected()
    let body = #"{"tab":"a","epoch":"1.1","seq":1,"ops":[["set","text","x"],\#(operation)]}"#
    guard case .malformed = try bench.post(Array(body.utf8)) else {
      Issue.record("it was accepted")
      return
    }
    #expect(bench.models[Self.first]?.values[0] == .string(""))
  }

  @Test("an operation on a row that has gone is accepted and changes nothing")
  func goneRow() throws {
    let (bench, client, stream) = Self.connected()
    client.call(.row(list: "rows", key: "gone", name: "bump"))
    client.set(.row(list: "rows", key: "gone", name: "note"), .string("x"))
    try Self.exchange(bench, client, stream)
    #expect(client.isSettled && client.faults == [])
  }

  @Test("operations on missing rows, or of a tab without a stream, use no memory")
  func forgedRows() throws {
    let (bench, client, stream) = Self.connected()
    bench.advance(by: .seconds(1))
    bench.change(Self.first) { $0.rows = [("there", [.string(""), .integer(0)])] }
    for event in bench.events(stream) { client.receive(event) }
    bench.writesAtOnce = false
    bench.change(Self.first) { $0.values[3] = .integer(1) }
    bench.advance(by: .seconds(1))
    #expect(bench.writing == [stream], "nothing more is taken")
    func post(_ sequence: Int, _ keys: [String]) throws {
      let sets = keys.map { #"["set",["rows","\#($0)","note"],"x"]"# }.joined(separator: ",")
      let body = #"{"tab":"a","epoch":"1.1","seq":\#(sequence),"ops":[\#(sets)]}"#
      #expect(try bench.post(Array(body.utf8)) == .accepted)
    }
    try post(1, (0..<200).map { "k\($0)" })
    #expect(bench.machine.correctionCount == 0)
    try post(2, ["there"])
    #expect(bench.machine.correctionCount == 1)
    bench.handle(.streamClosed(stream))
    try post(3, ["there"])
    bench.writesAtOnce = true
    let next = bench.open("a")
    #expect(bench.events(next).first?.data.contains(#""note":"x""#) == true)
    #expect(bench.machine.correctionCount == 0)
  }

  @Test("the first change leaves at once; those after it are merged, 30 patches a second")
  func pace() {
    let (bench, client, stream) = Self.connected()
    bench.advance(by: .seconds(1))
    bench.change(Self.first) { $0.values[3] = .integer(1) }
    #expect(bench.events(stream).count == 1)
    var count = 0
    for step in 0..<2_000 as Range<Int64> {
      bench.change(Self.first) { $0.values[3] = .integer(step) }
      bench.advance(by: .milliseconds(1))
      for event in bench.events(stream) {
        client.receive(event)
        count += 1
      }
    }
    #expect((55...62).contains(count), "\(count) patches in two seconds")
    #expect(bench.captureCount <= 64)
    bench.advance(by: .milliseconds(100))
    for event in bench.events(stream) { client.receive(event) }
    #expect(client.values["clock"] == .integer(1_999))
  }

  @Test("an acknowledgement need not wait for its turn among changes")
  func urgency() throws {
    let (bench, client, stream) = Self.connected()
    bench.advance(by: .seconds(1))
    bench.change(Self.first) { $0.values[3] = .integer(1) }
    #expect(bench.events(stream).count == 1)
    for text in ["a", "ab", "abc"] {
      bench.advance(by: .milliseconds(5))
      client.set(.page("text"), .string(text))
      let message = try #require(client.takeMessage())
      #expect(try bench.post(message.body) == .accepted)
      client.answered(message, status: 204)
      #expect(bench.events(stream).map(\.name) == ["patch"])
    }
  }

  @Test("five hundred clients get 12,000 patches a second together, and typed text at once")
  func rest() throws {
    let bench = LiveBench(isShared: true)
    let streams = (0..<500).map { bench.open("t\($0)") }
    let client = PageClient(tab: "t7")
    client.connect()
    for event in bench.events(streams[7]) { client.receive(event) }
    let before = bench.machine.counters.patches
    var least = Int.max
    for second in 1...3 {
      for step in 0..<1_000 as Range<Int64> {
        bench.change(Self.first) { $0.values[3] = .integer(step) }
        bench.advance(by: .milliseconds(1))
      }
      let counts = streams.map { bench.events($0).count }
      least = min(least, counts.min() ?? 0)
      let count = bench.machine.counters.patches - before
      #expect(count <= second * 12_000 + 1_000, "\(count) patches in \(second) s")
    }
    #expect(least >= 20, "\(least) patches in the worst second")
    for text in ["a", "ab", "abc"] {
      bench.change(Self.first) { $0.values[3] = .integer(-1) }
      bench.advance(by: .milliseconds(5))
      client.set(.page("text"), .string(text))
      let message = try #require(client.takeMessage())
      #expect(try bench.post(message.body) == .accepted)
      client.answered(message, status: 204)
      #expect(bench.events(streams[7]).last?.data.contains(text.uppercased()) == true)
    }
  }

  @Test("a patch for many tabs of one stream counts as one")
  func manyTabs() {
    let bench = LiveBench(isShared: true)
    var streams: [StreamID] = []
    for number in 0..<10 {
      let stream = StreamID(number: 1_000 + number)
      let tabs = (0..<64).compactMap { TabName("t\(number)x\($0)") }
      bench.handle(.streamOpened(stream, tabs))
      streams.append(stream)
    }
    bench.advance(by: .seconds(1))
    for stream in streams { _ = bench.events(stream) }
    for step in 0..<1_000 as Range<Int64> {
      bench.change(Self.first) { $0.values[3] = .integer(step) }
      bench.advance(by: .milliseconds(1))
    }
    for stream in streams { #expect((27...32).contains(bench.events(stream).count / 64)) }
  }

  @Test(
    "typing of one in five hundred clients costs no more than changes, and delays no other client")
  func typingAmongMany() throws {
    let bench = LiveBench(isShared: true)
    let streams = (0..<500).map { bench.open("t\($0)") }
    let client = PageClient(tab: "t7")
    client.connect()
    for event in bench.events(streams[7]) { client.receive(event) }
    bench.advance(by: .seconds(1))
    let before = bench.machine.counters.patches
    for step in 0..<300 {
      client.set(.page("text"), .string("\(step)"))
      let message = try #require(client.takeMessage())
      #expect(try bench.post(message.body) == .accepted)
      client.answered(message, status: 204)
      for event in bench.events(streams[7]) { client.receive(event) }
      #expect(client.isSettled)
      bench.advance(by: BindingLimits.patchInterval)
    }
    let count = bench.machine.counters.patches - before
    #expect(count <= 10 * 12_000 + 300 + 500, "\(count) patches in ten seconds")
    for stream in streams { _ = bench.events(stream) }
    for step in 0..<1_000 as Range<Int64> {
      bench.change(Self.first) { $0.values[3] = .integer(step) }
      bench.advance(by: .milliseconds(1))
    }
    let least = streams.map { bench.events($0).count }.min() ?? 0
    #expect(least >= 20, "\(least) patches in the second after it")
  }

  @Test("one client among thousands that are silent gets thirty patches a second")
  func silentOthers() {
    let bench = LiveBench()
    for number in 0..<3_000 { bench.open("t\(number)") }
    let stream = bench.open("busy")
    guard let model = bench.models.keys.max(by: { $0.number < $1.number }) else { return }
    bench.advance(by: .seconds(1))
    _ = bench.events(stream)
    for step in 0..<1_000 as Range<Int64> {
      bench.change(model) { $0.values[3] = .integer(step) }
      bench.advance(by: .milliseconds(1))
    }
    #expect((27...32).contains(bench.events(stream).count))
  }

  @Test("a client that has got nothing for a while waits for no others")
  func quietAmongMany() {
    let bench = LiveBench(isShared: true)
    for number in 0..<500 { bench.open("t\(number)") }
    let quiet = bench.open("other.q")
    guard let own = bench.models.keys.max(by: { $0.number < $1.number }) else { return }
    bench.advance(by: .seconds(1))
    _ = bench.events(quiet)
    bench.change(Self.first) { $0.values[3] = .integer(1) }
    bench.change(own) { $0.values[3] = .integer(1) }
    #expect(bench.events(quiet).map(\.name) == ["patch"])
  }

  @Test("a client that doesn't read costs nothing more, and gets the difference when it does")
  func slowClient() {
    let (bench, client, stream) = Self.connected()
    bench.advance(by: .seconds(1))
    bench.writesAtOnce = false
    bench.change(Self.first) { $0.values[3] = .integer(-1) }
    #expect(bench.writing == [stream])
    let captures = bench.captureCount
    for step in 0..<500 as Range<Int64> {
      bench.change(Self.first) { $0.values[3] = .integer(step) }
      bench.change(Self.first) { $0.rows = [("k\(step % 7)", [.null, .integer(step)])] }
      bench.advance(by: .milliseconds(10))
    }
    #expect(bench.captureCount == captures, "nobody could have got it")
    bench.writesAtOnce = true
    bench.finishWrite(stream)
    for event in bench.events(stream) { client.receive(event) }
    #expect(bench.models[Self.first]?.isShown(by: client) == true)
    #expect(client.patchCount == 2)
  }

  @Test("a client that doesn't read for half a minute loses its stream, and keeps its model")
  func stalledClient() {
    let (bench, _, stream) = Self.connected()
    bench.writesAtOnce = false
    bench.change(Self.first) { $0.values[3] = .integer(1) }
    bench.advance(by: .seconds(29))
    #expect(bench.ended == [])
    bench.advance(by: .seconds(3))
    #expect(bench.ended == [stream])
    #expect(bench.machine.counters.stalled == 1)
    bench.writesAtOnce = true
    let next = bench.open("a")
    #expect(bench.events(next).first?.data.contains(#""clock":1"#) == true)
  }

  @Test("a tab that comes back in time finds its model; later, another one of a new epoch")
  func idle() {
    let (bench, _, stream) = Self.connected()
    bench.change(Self.first) { $0.values[3] = .integer(7) }
    bench.handle(.streamClosed(stream))
    bench.advance(by: .seconds(29 * 60))
    let again = bench.open("a")
    let events = bench.events(again)
    #expect(events.first?.id.hasPrefix("1.1-") == true)
    #expect(events.first?.data.contains(#""clock":7"#) == true)
    bench.handle(.streamClosed(again))
    bench.advance(by: .seconds(31 * 60))
    #expect(bench.released == [Self.first])
    #expect(bench.machine.violations() == [])
    let last = bench.open("a")
    #expect(bench.events(last).first?.id.hasPrefix("1.2-") == true)
  }

  @Test("a tab that was away for long is heard at once where the model is shared")
  func sharedIdle() throws {
    let (bench, client, stream) = Self.connected(isShared: true)
    client.set(.page("text"), .string("mine"))
    try Self.exchange(bench, client, stream)
    bench.handle(.streamClosed(stream))
    client.disconnect()
    bench.change(Self.first) { $0.set(.string("another's"), at: 0) }
    bench.advance(by: .seconds(31 * 60))
    let again = bench.open("a")
    client.connect()
    for event in bench.events(again) { client.receive(event) }
    #expect(client.epoch == "1.2" && client.model == "1.1")
    // Acknowledged text isn't typed again: another client has changed it since.
    #expect(client.values["text"] == .string("another's"))
    client.call(.page("clear"))
    try Self.exchange(bench, client, again)
    #expect(bench.models[Self.first]?.callCount == 1)
    #expect(client.isSettled && client.faults == [])
  }

  @Test("a model without tabs is not read, and a snapshot has the present values")
  func unseen() {
    let (bench, _, stream) = Self.connected(isShared: true)
    bench.handle(.streamClosed(stream))
    let captures = bench.captureCount
    for step in 0..<100 as Range<Int64> {
      bench.change(Self.first) { $0.values[3] = .integer(step) }
      bench.advance(by: .seconds(1))
    }
    #expect(bench.captureCount == captures)
    let next = bench.open("b")
    #expect(bench.events(next).first?.data.contains(#""clock":99"#) == true)
  }

  @Test("tabs of one stream have models of their own, and each event names its tab")
  func severalTabs() throws {
    let bench = LiveBench()
    let stream = bench.open("a", "b", "other.c")
    #expect(bench.models.count == 3)
    let snapshots = bench.events(stream)
    #expect(snapshots.map(\.name) == ["snap", "snap", "snap"])
    bench.advance(by: .seconds(1))
    bench.change(ModelID(number: 2)) { $0.values[3] = .integer(1) }
    #expect(bench.events(stream).map(\.data) == [#"{"tab":"b","v":{"clock":1}}"#])
  }

  @Test("a stream that loses a tab to another one ends, so that its browser connects again for all")
  func moving() {
    let bench = LiveBench()
    // The browser has opened the stream for one tab first, which it has closed: it is seen late.
    let new = bench.open("a", "b")
    let late = bench.open("a")
    #expect(bench.ended == [new])
    #expect(bench.machine.violations() == [])
    bench.handle(.streamClosed(new))
    bench.handle(.streamClosed(late))
    let last = bench.open("a", "b")
    #expect(bench.events(last).map(\.name) == ["snap", "snap"])
    #expect(bench.models.count == 2)
    #expect(bench.machine.violations() == [])
  }

  @Test("text of a message that is refused stays, isn't sent again, and holds up nothing else")
  func refusedMessage() throws {
    let (bench, client, stream) = Self.connected()
    client.set(.page("text"), .string("too long"))
    let message = try #require(client.takeMessage())
    client.set(.page("number"), .integer(4))
    client.call(.page("clear"))
    client.answered(message, status: 413)
    #expect(!client.needsSnapshot)
    try Self.exchange(bench, client, stream)
    #expect(bench.models[Self.first]?.values[2] == .integer(4))
    #expect(bench.models[Self.first]?.callCount == 1)
    bench.handle(.streamClosed(stream))
    let next = bench.open("a")
    client.connect()
    for event in bench.events(next) { client.receive(event) }
    #expect(client.values["text"] == .string("too long") && client.takeMessage() == nil)
    client.set(.page("text"), .string("shorter"))
    try Self.exchange(bench, client, next)
    #expect(bench.models[Self.first]?.values[0] == .string("shorter"))
    #expect(client.isSettled && client.faults == [])
  }

  @Test("typed text is kept while access is denied, and typed into the next server")
  func lockedOut() throws {
    let (_, client, _) = Self.connected()
    client.set(.page("text"), .string("kept"))
    let message = try #require(client.takeMessage())
    client.answered(message, status: 401)
    #expect(client.needsSnapshot && client.takeMessage() == nil)
    let next = LiveBench(epoch: 2)
    let stream = next.open("a")
    client.connect()
    for event in next.events(stream) { client.receive(event) }
    try Self.exchange(next, client, stream)
    #expect(next.models[Self.first]?.values[0] == .string("kept"))
    #expect(client.isSettled && client.faults == [])
  }

  @Test(
    "text and clicks during an absence of the server come in several messages of limited size")
  func severalMessages() throws {
    let (bench, client, stream) = Self.connected()
    let rows = (0..<6).map { (key: "k\($0)", values: [JSON.string(""), .integer(0)]) }
    bench.advance(by: .seconds(1))
    bench.change(Self.first) { $0.rows = rows }
    for event in bench.events(stream) { client.receive(event) }
    for row in rows {
      let text = String(repeating: row.key, count: 30_000)
      client.set(.row(list: "rows", key: row.key, name: "note"), .string(text))
    }
    for _ in 0..<300 { client.call(.page("clear")) }
    try Self.exchange(bench, client, stream)
    #expect(bench.machine.counters.messages == 8)
    #expect(bench.models[Self.first]?.callCount == 300)
    #expect(bench.models[Self.first]?.isShown(by: client) == true)
    #expect(client.isSettled && client.faults == [])
  }

  @Test("all tabs of a shared model get the same patches, also those of what one of them types")
  func shared() throws {
    let (bench, client, stream) = Self.connected(isShared: true)
    let other = bench.open("b")
    #expect(bench.models.count == 1)
    #expect(bench.events(other).map(\.name) == ["snap"])
    bench.advance(by: .seconds(1))
    client.set(.page("text"), .string("x"))
    let message = try #require(client.takeMessage())
    #expect(try bench.post(message.body) == .accepted)
    #expect(bench.events(stream).first?.data.contains(#""a":1"#) == true)
    #expect(bench.events(other).map(\.data) == [#"{"tab":"b","v":{"text":"x","upper":"X"}}"#])
  }

  @Test("streams without tabs, with too many, with one twice or of an unknown page are refused")
  func refusals() {
    let bench = LiveBench()
    bench.handle(.streamOpened(StreamID(number: 90), []))
    let many = (0...BindingLimits.tabCountMax).compactMap { TabName("t\($0)") }
    bench.handle(.streamOpened(StreamID(number: 91), many))
    #expect(bench.open("a", "a") == StreamID(number: 1))
    bench.open("nowhere.a")
    #expect(
      bench.refused == [
        StreamID(number: 90): .badTabs, StreamID(number: 91): .badTabs,
        StreamID(number: 1): .badTabs, StreamID(number: 2): .unknownPage,
      ])
    #expect(bench.models.isEmpty)
  }

  @Test("the tab that was away longest makes room for a new one; connected tabs don't")
  func room() {
    let bench = LiveBench()
    var streams: [StreamID] = []
    for index in 0..<BindingLimits.sessionCountMax { streams.append(bench.open("t\(index)")) }
    let refused = bench.open("more")
    #expect(bench.refused[refused] == .noRoom)
    bench.handle(.streamClosed(streams[5]))
    bench.advance(by: .seconds(1))
    bench.handle(.streamClosed(streams[2]))
    let accepted = bench.open("more")
    #expect(bench.refused[accepted] == nil)
    #expect(bench.released == [ModelID(number: 6)])
    #expect(bench.machine.violations() == [])
  }
}

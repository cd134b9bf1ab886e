import ConnectionMachines
import Essentials
import Testing

@Suite("The end of a connection, in virtual time")
struct EndingTests {
  typealias Machine = ConnectionRig.Machine

  private let reset = ConnectionError.posix(104)
  private let cancelled = "\(ConnectionError.cancelled)"

  @Test("a connection that is cancelled before it is ready ends at once", arguments: 0..<4)
  func cancelInEachState(number: Int) {
    var rig = ConnectionRig(started: number > 0, connected: false)
    if number == 2 { rig.handle(.exhausted(reset)) }
    if number == 3 { rig.handle(.connected(nil)) }
    if number != 3 { rig.send(1, [1]) }
    rig.receive(2)
    _ = rig.news()
    rig.handle(.cancel)
    #expect(rig.machine.state == .cancelled && rig.socket.isClosed)
    let sends = number == 3 ? [] : ["1: \(cancelled)"]
    #expect(rig.news() == ["close"] + sends + ["2: 0 end \(cancelled)"])
    let states = rig.states
    rig.handle(.cancel)
    rig.handle(.forceCancel)
    rig.handle(.start)
    rig.handle(.connected(nil))
    rig.handle(.exhausted(reset))
    rig.handle(.ended(reset))
    #expect(rig.states == states && rig.news() == [] && rig.machine.nextWake == nil)
  }

  @Test("a cancelled connection sends its pending data first, and takes no other")
  func lingers() {
    var rig = ConnectionRig()
    rig.socket.room = 1
    rig.send(1, [1, 2])
    rig.receive(2)
    _ = rig.news()
    rig.handle(.cancel)
    #expect(rig.machine.state == .ready && rig.machine.isLingering && rig.news() == [])
    rig.send(3, [3])
    rig.receive(4)
    #expect(rig.news() == ["3: \(cancelled)", "4: 0 end \(cancelled)"])
    // What arrives is received no more.
    rig.arrive([9])
    #expect(rig.news() == [] && rig.socket.input == [9])
    rig.pass(.seconds(29))
    rig.makeRoom(9)
    #expect(rig.news() == ["1: sent", "close", "2: 0 end \(cancelled)"])
    #expect(rig.states.last == .cancelled && rig.socket.output == [1, 2])
  }

  @Test func `A receive that waits for more gets what has come when the connection fails`() {
    var rig = ConnectionRig()
    rig.receive(1, 10)
    rig.receive(2)
    rig.arrive([1, 2])
    _ = rig.news()
    rig.handle(.ended(reset))
    #expect(rig.news() == ["close", "1: 2 end \(reset)", "2: 0 end \(reset)"])
    // One that the app has ended itself has no content.
    rig = ConnectionRig()
    rig.receive(1, 10)
    rig.arrive([1, 2])
    _ = rig.news()
    rig.handle(.cancel)
    #expect(rig.news() == ["close", "1: 0 end \(cancelled)"])
  }

  @Test("a peer that reads nothing holds a cancelled connection for thirty seconds")
  func lingersInVain() {
    var rig = ConnectionRig()
    rig.socket.room = 0
    rig.send(1, [1])
    _ = rig.news()
    rig.handle(.cancel)
    rig.handle(.cancel)
    rig.pass(.milliseconds(29_999))
    #expect(rig.news() == [] && rig.machine.state == .ready)
    rig.pass(.milliseconds(1))
    #expect(rig.news() == ["close", "1: \(cancelled)"] && rig.machine.state == .cancelled)
  }

  @Test("a forced cancellation does not wait for pending data")
  func forced() {
    var rig = ConnectionRig()
    rig.socket.room = 0
    rig.send(1, [1])
    rig.handle(.cancel)
    rig.handle(.forceCancel)
    #expect(rig.machine.state == .cancelled && rig.machine.nextWake == nil)
    #expect(rig.machine.pendingCount == 0)
  }

  @Test("an error fails the connection and everything that is pending, once")
  func fails() {
    var rig = ConnectionRig()
    rig.socket.room = 0
    rig.send(1, [1])
    rig.receive(2)
    _ = rig.news()
    rig.handle(.ended(reset))
    rig.handle(.ended(reset))
    #expect(rig.machine.state == .failed(reset) && rig.machine.path == nil)
    #expect(rig.news() == ["close", "1: \(reset)", "2: 0 end \(reset)"])
    rig.send(3, [1])
    rig.receive(4)
    let gone = "\(ConnectionError.notConnected)"
    #expect(rig.news() == ["3: \(gone)", "4: 0 end \(gone)"])
    rig.handle(.cancel)
    #expect(rig.machine.state == .cancelled)
  }

  @Test("an error while a cancelled connection sends the rest ends it as cancelled")
  func failsWhileLingering() {
    var rig = ConnectionRig()
    rig.socket.room = 0
    rig.send(1, [1])
    rig.handle(.cancel)
    _ = rig.news()
    rig.handle(.ended(reset))
    #expect(rig.machine.state == .cancelled && rig.news() == ["close", "1: \(reset)"])
  }

  @Test("a connection that has ended before the start returns fails")
  func endedBeforeStart() {
    var rig = ConnectionRig(connected: false)
    rig.handle(.ended(reset))
    #expect(rig.states == [.preparing, .failed(reset)])
    var impossible = ConnectionRig(connected: false)
    impossible.handle(.rejected(.posix(22)))
    impossible.handle(.connected(nil))
    #expect(impossible.states == [.preparing, .failed(.posix(22))])
  }

  @Test("the answer to a read or a write that comes after the end is ignored")
  func lateAnswers() {
    var machine = Machine()
    var actions: [Machine.Action] = []
    let events: [Machine.Event] = [
      .start, .connected(nil), .send(1, [1, 2], isFinal: false),
      .receive(2, minimum: 1, maximum: 9), .forceCancel,
    ]
    for event in events { machine.handle(event, now: .zero, into: &actions) }
    actions = []
    machine.handle(.wrote(1), now: .zero, into: &actions)
    machine.handle(.received([1], isEnd: false, error: nil), now: .zero, into: &actions)
    machine.handle(.readable, now: .zero, into: &actions)
    machine.handle(.writable, now: .zero, into: &actions)
    #expect(actions.isEmpty)
  }

  @Test(
    "whatever happens, in any order, each operation is completed once and bytes keep their order")
  func anyOrder() {
    for seed in 1...2_000 as ClosedRange<UInt64> {
      var rng = SeededGenerator(seed: seed)
      var rig = ConnectionRig(started: false)
      var sent: [UInt8] = []
      var (lastID, operationCount): (UInt64, Int) = (0, 0)
      func roll(_ sides: UInt64) -> UInt64 { rng.next(upperBound: sides) }
      for _ in 0..<60 {
        lastID += 1
        switch roll(16) {
        case 0: rig.handle(.start)
        case 1: rig.handle(.connected(rig.path))
        case 2: rig.handle(.exhausted(reset))
        case 3: rig.handle(.networkChanged)
        case 4: rig.handle(.restart)
        case 5, 6, 7:
          let bytes = (0..<roll(9)).map { _ in UInt8(roll(256)) }
          rig.send(lastID, bytes, isFinal: roll(20) == 0)
          sent += bytes
          operationCount += 1
        case 8, 9:
          rig.receive(lastID, 2, 5)
          operationCount += 1
        case 10: rig.arrive([1, 2, 3], isEnd: roll(10) == 0)
        case 11, 12: rig.makeRoom(Int(roll(12)))
        case 13: rig.pass(.seconds(20))
        case 14: if roll(8) == 0 { rig.handle(.cancel) }
        default: if roll(20) == 0 { rig.handle(.ended(reset)) }
        }
        #expect(rig.machine.violations() == [], "seed \(seed)")
      }
      rig.handle(.forceCancel)
      #expect(rig.completions.count == operationCount, "seed \(seed)")
      #expect(rig.completions.values.allSatisfy { $0 == 1 }, "seed \(seed)")
      #expect(rig.machine.pendingCount == 0 && rig.machine.nextWake == nil, "seed \(seed)")
      #expect(sent.starts(with: rig.socket.output), "seed \(seed)")
      #expect(rig.states.filter(\.isFinal).count <= 2, "seed \(seed)")
    }
  }
}

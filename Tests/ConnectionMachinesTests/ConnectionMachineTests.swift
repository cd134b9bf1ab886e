import ConnectionMachines
import Essentials
import Testing

@Suite("A connection's machine, in virtual time")
struct ConnectionMachineTests {
  typealias Machine = ConnectionRig.Machine

  private let refused = ConnectionError.posix(111)
  private let reset = ConnectionError.posix(104)

  @Test("the path is known and reported when the connection becomes ready")
  func becomesReady() {
    var rig = ConnectionRig(connected: false)
    #expect(rig.states == [.preparing] && rig.machine.path == nil)
    rig.handle(.connected(.init("eth0", isViable: true, hasBetterPath: true)))
    #expect(rig.states == [.preparing, .ready] && rig.machine.path?.path == "eth0")
    #expect(rig.news() == ["open", "path eth0", "viable true", "better true"])
  }

  @Test("only changes of the path are reported, and none while it is not established")
  func pathChanges() {
    var rig = ConnectionRig()
    _ = rig.news()
    rig.handle(.networkChanged)
    #expect(rig.news() == [])
    rig.path = .init("lo", isViable: true, hasBetterPath: true)
    rig.handle(.networkChanged)
    #expect(rig.news() == ["better true"])
    rig.path = .init("none", isViable: false, hasBetterPath: false)
    rig.handle(.networkChanged)
    #expect(rig.news() == ["path none", "viable false", "better false"])
    rig.handle(.path(nil))
    #expect(rig.news() == [] && rig.machine.path?.path == "none")
    rig.handle(.cancel)
    rig.handle(.path(rig.path))
    #expect(rig.machine.path == nil)
  }

  @Test("a connection that no address answers waits, and tries again on request and on changes")
  func waitsAndComesBack() {
    var rig = ConnectionRig(connected: false)
    rig.handle(.exhausted(refused))
    rig.handle(.exhausted(refused))
    #expect(rig.states == [.preparing, .waiting(refused)])
    rig.handle(.restart)
    rig.handle(.exhausted(reset))
    rig.handle(.networkChanged)
    #expect(
      rig.states == [
        .preparing, .waiting(refused), .preparing, .waiting(reset), .preparing,
      ])
    #expect(rig.news() == ["open", "search", "search"])
    // An address became known that answers, while it waits.
    rig.handle(.exhausted(refused))
    rig.handle(.connected(rig.path))
    #expect(rig.machine.state == .ready)
    rig.handle(.restart)
    rig.handle(.exhausted(refused))
    #expect(rig.machine.state == .ready)
  }

  @Test("a change of the network during an attempt leads to one more attempt, not to two")
  func changesMeanwhile() {
    var rig = ConnectionRig(connected: false)
    rig.handle(.networkChanged)
    rig.handle(.networkChanged)
    rig.handle(.exhausted(refused))
    #expect(rig.states == [.preparing, .waiting(refused), .preparing])
    rig.handle(.exhausted(refused))
    #expect(rig.machine.state == .waiting(refused))
  }

  @Test("operations requested before the connection is ready are done in order once it is")
  func early() {
    var rig = ConnectionRig(started: false)
    rig.receive(1)
    rig.send(2, [1, 2])
    rig.send(3, [])
    rig.send(4, [3], isFinal: true)
    #expect(rig.news() == [] && rig.machine.pendingCount == 4)
    rig.socket.input = [9]
    rig.handle(.start)
    rig.handle(.connected(nil))
    #expect(rig.socket.output == [1, 2, 3] && rig.socket.isOutputClosed)
    #expect(rig.news() == ["open", "2: sent", "3: sent", "4: sent", "1: 1"])
    #expect(rig.machine.pendingCount == 0)
  }

  @Test("a slow peer's sends are completed one after the other as it makes room")
  func slowPeer() {
    var rig = ConnectionRig()
    _ = rig.news()
    rig.socket.room = 3
    rig.send(1, [1, 2])
    rig.send(2, [3, 4])
    rig.send(3, [5])
    #expect(rig.news() == ["1: sent"] && rig.socket.output == [1, 2, 3])
    // Room is reported although there isn't any.
    rig.makeRoom(0)
    #expect(rig.news() == [])
    rig.makeRoom(1)
    #expect(rig.news() == ["2: sent"])
    rig.makeRoom(9)
    #expect(rig.news() == ["3: sent"] && rig.socket.output == [1, 2, 3, 4, 5])
  }

  @Test("readiness that is reported before the answer to a read or a write is not lost")
  func readinessMeanwhile() {
    var machine = Machine()
    var actions: [Machine.Action] = []
    func run(_ events: Machine.Event...) -> String {
      actions = []
      for event in events { machine.handle(event, now: .zero, into: &actions) }
      return actions.map { "\($0)".prefix { $0 != "(" } }.joined(separator: " ")
    }
    _ = run(.start, .connected(nil))
    #expect(run(.send(1, [1], isFinal: false)) == "write")
    #expect(run(.writable, .wrote(0)) == "write")
    #expect(run(.wrote(0)) == "" && run(.writable) == "write")
    #expect(run(.receive(2, minimum: 1, maximum: 1)) == "read")
    let nothing = Machine.Event.received([], isEnd: false, error: nil)
    #expect(run(.readable, nothing) == "read")
    #expect(run(nothing) == "" && run(.readable) == "read")
  }

  @Test("a huge send is written in bounded parts, between which receives go on")
  func hugeSend() {
    var rig = ConnectionRig()
    _ = rig.news()
    let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 >> 8) }
    rig.socket.room = 1_000_000
    rig.send(1, bytes)
    rig.socket.input = [7]
    rig.receive(2)
    #expect(rig.news() == ["2: 1"])
    rig.makeRoom(5_000_000)
    #expect(rig.news() == ["1: sent"] && rig.socket.output == bytes)
    #expect(rig.socket.largestWrite == Machine.Limits.writeByteCountMax)
  }

  @Test("a receive waits for its minimum, and takes its maximum and no more")
  func bounds() {
    var rig = ConnectionRig()
    _ = rig.news()
    rig.receive(1, 3, 4)
    rig.arrive([1, 2])
    #expect(rig.news() == [])
    rig.arrive([3, 4, 5, 6])
    #expect(rig.news() == ["1: 4"] && rig.socket.input == [5, 6])
    // Limits that make no sense are made to.
    rig.receive(2, -5, -1)
    rig.receive(3, 9, 1)
    #expect(rig.news() == ["2: 1", "3: 1"])
  }

  @Test("a receive without a maximum is completed although the peer goes on sending")
  func floodedReceive() {
    var rig = ConnectionRig()
    _ = rig.news()
    rig.socket.input = [UInt8](repeating: 0, count: 200_000)
    rig.receive(1, 1, .max)
    #expect(rig.news() == ["1: 65536"])
  }

  @Test("nothing is read without a receive, so that the peer's window closes")
  func backPressure() {
    var rig = ConnectionRig()
    rig.arrive([1, 2, 3])
    #expect(rig.socket.input == [1, 2, 3])
  }

  @Test("a receive at the end of input gets the rest; later ones get nothing, at once")
  func endOfInput() {
    var rig = ConnectionRig()
    _ = rig.news()
    rig.receive(1, 5, 10)
    rig.arrive([1, 2], isEnd: true)
    #expect(rig.news() == ["1: 2 end"])
    rig.receive(2)
    rig.receive(3)
    #expect(rig.news() == ["2: 0 end", "3: 0 end"])
    // The other direction still works.
    rig.send(4, [1], isFinal: true)
    #expect(rig.news() == ["4: sent"] && rig.machine.state == .ready)
  }

  @Test("input that ended while nothing was received is found by the next receive")
  func endBeforeReceive() {
    var rig = ConnectionRig()
    _ = rig.news()
    rig.receive(1)
    rig.arrive([1])
    rig.arrive([], isEnd: true)
    rig.receive(2)
    #expect(rig.news() == ["1: 1", "2: 0 end"])
  }

  @Test("a message is everything up to the end, or an error if that is too much")
  func message() {
    for (count, expected) in [(0, "1: 0 end"), (5, "1: 5 end")] {
      var rig = ConnectionRig()
      _ = rig.news()
      rig.handle(.receiveMessage(1, byteCountMax: 5))
      rig.arrive([UInt8](repeating: 1, count: count))
      #expect(rig.news() == [])
      rig.arrive([], isEnd: true)
      #expect(rig.news() == [expected])
    }
    var rig = ConnectionRig()
    _ = rig.news()
    rig.handle(.receiveMessage(1, byteCountMax: 5))
    rig.arrive([1, 2, 3, 4, 5, 6, 7])
    #expect(rig.news() == ["1: 0 \(ConnectionError.messageTooLong)"])
  }

  @Test("a send after the final one fails, and the connection goes on")
  func sendAfterFinal() {
    var rig = ConnectionRig()
    rig.send(1, [1], isFinal: true)
    _ = rig.news()
    rig.send(2, [2])
    #expect(rig.news() == ["2: \(ConnectionError.brokenPipe)"])
    rig.receive(3)
    rig.arrive([1])
    #expect(rig.news() == ["3: 1"] && rig.machine.state == .ready)
  }
}

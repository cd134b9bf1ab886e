import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines
@testable import GATTMachines

@Suite("Several bearers of one attribute protocol")
struct EnhancedBearerTests {
  /// A client and a server whose owner keeps six values and answers when a test lets it.
  private static func pair(bearers: UInt16 = 3) throws -> (GATTPair, [UInt16]) {
    var pair = GATTPair()
    pair.exchangeMTU()
    let service = try pair.publish(
      ServiceDefinition(
        uuid: 0x180D,
        characteristics: (UInt16(0)..<6).map {
          CharacteristicDefinition(
            uuid: BluetoothUUID(0x2A50 + $0), properties: [.read, .write, .writeWithoutResponse],
            permissions: [.readable, .writeable])
        }))
    let handles = service.characteristics.map(\.valueHandle)
    for handle in handles { pair.values[handle] = [UInt8(handle)] }
    for number in 0..<bearers { pair.openBearer(0x40 + number) }
    pair.holdsRequests = true
    return (pair, handles)
  }

  @Test(
    "reads run side by side, one over each bearer, and end in the order in which they were asked")
  func sideBySide() throws {
    var (pair, handles) = try Self.pair()
    let ids = handles.map { pair.start(.read($0)) }
    #expect(pair.held.count == 4 && pair.bearersWantedCount == 0)
    pair.answerHeld(3)
    pair.answerHeld(2)
    // Their bearers are free for the next two, and their results wait for the first two.
    #expect(pair.held.count == 4 && pair.ended.isEmpty)
    while !pair.held.isEmpty { pair.answerHeld(pair.held.count - 1) }
    #expect(pair.ended == ids)
    for (id, handle) in zip(ids, handles) {
      #expect(try pair.results[id]?.get() == .value([UInt8(handle)]))
    }
  }

  @Test("a write waits for the reads before it, and the reads after it wait for the write")
  func writeIsABarrier() throws {
    var (pair, handles) = try Self.pair()
    pair.start(.read(handles[0]))
    pair.start(.read(handles[1]))
    pair.start(.write(handles[2], [7]))
    let last = pair.start(.read(handles[2]))
    #expect(pair.held.count == 2)
    pair.answerHeld(1)
    #expect(pair.held.count == 1)
    pair.answerHeld(0)
    guard case .write? = pair.held.first?.kind else {
      Issue.record("no write: \(pair.held)")
      return
    }
    #expect(pair.held.count == 1)
    pair.answerHeld(0)
    pair.answerHeld(0)
    #expect(try pair.results[last]?.get() == .value([7]))
  }

  @Test("a read behind a write without response goes over the same bearer, and alone")
  func readBehindACommand() throws {
    var (pair, handles) = try Self.pair()
    pair.start(.writeWithoutResponse(handles[0], [8]))
    pair.held = []
    pair.pduCounts = [:]
    let ids = handles.prefix(3).map { pair.start(.read($0)) }
    #expect(pair.held.count == 1 && pair.pduCounts == [.fixed: 1])
    pair.answerHeld(0)
    // Its answer shows that the command has arrived.
    #expect(pair.held.count == 2)
    pair.answerHeld(1)
    pair.answerHeld(0)
    #expect(pair.ended.suffix(3) == ids)
  }

  @Test("a request over a bearer that ends is repeated over the fixed channel")
  func bearerEnds() throws {
    var (pair, handles) = try Self.pair(bearers: 2)
    let ids = handles.map { pair.start(.read($0)) }
    #expect(pair.held.count == 3)
    pair.closeBearer(0x40)
    pair.closeBearer(0x41)
    // Late answers go nowhere.
    while !pair.held.isEmpty { pair.answerHeld(0) }
    #expect(pair.ended == ids && pair.bearerError == nil)
    for (id, handle) in zip(ids, handles) {
      #expect(try pair.results[id]?.get() == .value([UInt8(handle)]))
    }
  }

  @Test(
    "a bearer without an answer in 30 s is closed, and its read is repeated over another")
  func bearerStalls() throws {
    var (pair, handles) = try Self.pair(bearers: 1)
    pair.losesErrors()
    pair.start(.read(handles[0]))
    let stalled = pair.start(.read(handles[1]))
    pair.answerHeld(0)
    pair.now = pair.now + .seconds(20)
    let later = pair.start(.read(handles[2]))
    pair.answerHeld(1)
    #expect(pair.ended.count == 1)
    while pair.closedBearers.isEmpty, pair.advance() {}
    #expect(pair.closedBearers == [ATTBearer(rawValue: 0x40)] && pair.bearerError == nil)
    // Of the two requests for it, the second one counts.
    pair.answerHeld(pair.held.count - 1)
    while pair.results[later] == nil, pair.advance() {}
    #expect(try pair.results[stalled]?.get() == .value([UInt8(handles[1])]))
    #expect(pair.ended.suffix(2) == [stalled, later])
  }

  @Test("the fixed channel without an answer is the end of the link, whatever other bearers do")
  func fixedStalls() throws {
    var (pair, handles) = try Self.pair(bearers: 1)
    pair.losesErrors()
    let ids = handles.prefix(2).map { pair.start(.read($0)) }
    pair.answerHeld(1)
    _ = pair.advance()
    while pair.bearerError == nil, pair.advance() {}
    #expect(pair.bearerError == .attTimeout && pair.ended == ids)
  }

  @Test("a long value is read over one bearer, in parts as long as its MTU")
  func longValue() throws {
    var (pair, handles) = try Self.pair(bearers: 1)
    pair.holdsRequests = false
    let long = (0..<300).map { UInt8(truncatingIfNeeded: $0) }
    pair.values[handles[1]] = long
    pair.holdsRequests = true
    pair.start(.read(handles[0]))
    let id = pair.start(.read(handles[1]))
    pair.pduCounts = [:]
    while pair.held.count > 1 { pair.answerHeld(1) }
    #expect(pair.pduCounts == [ATTBearer(rawValue: 0x40): 3])
    pair.answerHeld(0)
    #expect(try pair.results[id]?.get() == .value(long))
  }

  @Test("bearers are asked for when the peer takes them and a read has to wait for another")
  func wanted() throws {
    var (pair, handles) = try Self.pair(bearers: 0)
    let now = pair.now
    for handle in handles { pair.start(.read(handle)) }
    #expect(pair.bearersWantedCount == 0)
    while !pair.held.isEmpty { pair.answerHeld(0) }
    #expect(pair.server.clientConfiguration(of: GATTPair.peer)?.features == nil)
    pair.withClient { $0.learnFeatures(now: now, into: &$1) }
    #expect(pair.server.clientConfiguration(of: GATTPair.peer)?.features == 0b110)
    pair.start(.write(handles[0], [1]))
    pair.start(.read(handles[1]))
    #expect(pair.bearersWantedCount == 0)
    pair.start(.read(handles[2]))
    pair.answerHeld(0)
    #expect(pair.bearersWantedCount == 1)
    while !pair.held.isEmpty { pair.answerHeld(0) }
  }

  @Test("a server that takes none, or knows nothing of features, is not asked for bearers")
  func notWanted() {
    for serves in [true, false] {
      var pair = GATTPair()
      pair.server = GATTServer(
        name: "", appearance: 0, mtuMax: 64, takesEnhancedBearers: false)
      pair.server.linkOpened(GATTPair.peer)
      if !serves { pair.tamper = { _ in [0x01, 0x08, 0x01, 0x00, 0x0A] } }
      pair.withClient { $0.learnFeatures(now: .zero, into: &$1) }
      pair.tamper = { _ in nil }
      pair.start(.read(3))
      pair.start(.read(3))
      #expect(pair.bearersWantedCount == 0)
    }
  }
}

@Suite("A server with several bearers")
struct EnhancedBearerServerTests {
  private static let first = ATTBearer(rawValue: 0x40)
  private static let second = ATTBearer(rawValue: 0x41)

  private static func bench() throws -> (ServerBench, UInt16) {
    var bench = ServerBench()
    let service = try bench.add(
      ServiceDefinition(
        uuid: 0x180D,
        characteristics: [
          CharacteristicDefinition(
            uuid: 0x2A37, properties: [.read, .write, .notify],
            permissions: [.readable, .writeable])
        ]))
    bench.server.bearerOpened(first, mtu: 64, ServerBench.peer)
    bench.server.bearerOpened(second, mtu: 64, ServerBench.peer)
    return (bench, service.characteristics[0].valueHandle)
  }

  private static func hex(_ handle: UInt16) -> String {
    Hexadecimal.string([UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)])
  }

  @Test("one request waits over each bearer, and a second over the same is ignored")
  func oneForEach() throws {
    var (bench, handle) = try Self.bench()
    for bearer in [ATTBearer.fixed, Self.first, Self.second, Self.first] {
      #expect(bench.receive("0A" + Self.hex(handle), over: bearer).isEmpty)
    }
    #expect(bench.requests.count == 3 && bench.server.ignoredCount == 1)
    #expect(bench.receive("0A" + Self.hex(handle), over: ATTBearer(rawValue: 0x50)).isEmpty)
    #expect(bench.requests.count == 3)
    bench.server.bearerClosed(Self.first, ServerBench.peer)
    let id = bench.requests[1].id
    let late = bench.act {
      $0.respond(id, .success([1]), from: ServerBench.owner, now: $1, into: &$2)
    }
    #expect(late.isEmpty)
  }

  @Test("no MTU is exchanged over an enhanced bearer, whose channel has one")
  func noMTUExchange() throws {
    var (bench, _) = try Self.bench()
    #expect(bench.receive("021702", over: Self.first) == ["0102000006"])
    #expect(bench.receive("021702") == ["034000"])
  }

  @Test("values prepared over several bearers are one queue, which any of them executes")
  func preparedWrites() throws {
    var (bench, handle) = try Self.bench()
    #expect(!bench.receive("16" + Self.hex(handle) + "0000AA", over: Self.first).isEmpty)
    #expect(!bench.receive("16" + Self.hex(handle) + "0100BB", over: .fixed).isEmpty)
    #expect(bench.receive("1801", over: Self.second).isEmpty)
    guard case .write(let writes)? = bench.requests.last?.kind else {
      Issue.record("no write")
      return
    }
    #expect(writes.map(\.value) == [[0xAA], [0xBB]])
  }

  @Test(
    "a client that learns over one bearer that it is out of sync learns it over the others, too")
  func outOfSync() throws {
    var (bench, handle) = try Self.bench()
    // Robust caching.
    let features = bench.receive("0801 00FFFF292B".filter { $0 != " " })
    let featuresHandle = try #require(features.first).dropFirst(4).prefix(4)
    #expect(bench.receive("12" + featuresHandle + "03") == ["13"])
    try bench.add(
      ServiceDefinition(
        uuid: 0x1815,
        characteristics: [
          CharacteristicDefinition(
            uuid: 0x2A56, properties: .read, permissions: .readable, value: [1])
        ]))
    let read = "0A" + Self.hex(handle)
    let error = "010a" + Self.hex(handle) + "12"
    #expect(bench.receive(read, over: Self.first) == [error])
    // On its way before the client had the error.
    #expect(bench.receive(read, over: Self.second) == [error])
    #expect(bench.receive(read, over: Self.first).isEmpty && bench.requests.count == 1)
    #expect(bench.receive(read, over: Self.second).isEmpty && bench.requests.count == 2)
  }

  @Test("values that wait for the controller go out together to a client that takes them so")
  func multipleValues() throws {
    for takesThem in [true, false] {
      var (bench, handle) = try Self.bench()
      if takesThem {
        let features = bench.receive("080100FFFF292B")
        let featuresHandle = try #require(features.first).dropFirst(4).prefix(4)
        #expect(bench.receive("12" + featuresHandle + "04") == ["13"])
      }
      #expect(bench.receive("12" + Self.hex(handle + 1) + "0100") == ["13"])
      var sent: [String] = []
      for number in UInt8(1)...8 {
        sent += bench.act {
          $0.updateValue(
            handle: handle, value: [number], peers: nil,
            token: RequestToken(rawValue: UInt64(number)), owner: ServerBench.owner, now: $1,
            into: &$2)
        }
      }
      #expect(sent.count == (takesThem ? 4 : 8))
      #expect(bench.updates.isEmpty)
      while let tag = bench.tags.first {
        bench.tags.removeFirst()
        sent += bench.act { server, _, outputs in
          server.sent(tag, to: ServerBench.peer, into: &outputs)
        }
      }
      #expect(bench.updates.count == 8)
      guard takesThem else { continue }
      // MTU 23: four values of one byte, five bytes each.
      let together = (5...8).map { Self.hex(handle) + "01000\($0)" }.joined()
      #expect(sent.suffix(sent.count - 4).joined() == "23" + together)
    }
  }

  @Test("values that wait go nowhere when the client no longer wants them, or is gone")
  func multipleValuesEnd() throws {
    for isGone in [true, false] {
      var (bench, handle) = try Self.bench()
      let features = bench.receive("080100FFFF292B")
      let featuresHandle = try #require(features.first).dropFirst(4).prefix(4)
      bench.receive("12" + featuresHandle + "04")
      bench.receive("12" + Self.hex(handle + 1) + "0100")
      for number in UInt64(1)...6 {
        bench.act {
          $0.updateValue(
            handle: handle, value: [9], peers: nil, token: RequestToken(rawValue: number),
            owner: ServerBench.owner, now: $1, into: &$2)
        }
      }
      if isGone {
        bench.act { $0.linkClosed(ServerBench.peer, now: $1, into: &$2) }
        #expect(bench.updates.count == 6)
      } else {
        bench.receive("12" + Self.hex(handle + 1) + "0000")
        #expect(bench.updates.count == 2)
      }
    }
  }
}

extension GATTPair {
  /// Loses the errors with which the server answers in place of its clients, as if it had stalled.
  fileprivate mutating func losesErrors() {
    tamper = { $0.first == ATTOpcode.errorResponse.rawValue ? nil : $0 }
  }
}

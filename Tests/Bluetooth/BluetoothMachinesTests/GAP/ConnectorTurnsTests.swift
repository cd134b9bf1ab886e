import BluetoothInterface
import Testing

@testable import BluetoothMachines
@testable import GATTMachines

@Suite("Programs that want more links than a controller looks for at a time")
struct ConnectorTurnsTests {
  private func program(_ number: UInt64) -> Requester { .program(ProgramID(rawValue: number)) }

  @Test("a program that wants a thousand links leaves another one its place in each turn")
  func share() {
    var turns = ConnectorTurns()
    let peers = [[Requester]](repeating: [program(1)], count: 1_000) + [[program(2)]]
    var tried: Set<Int> = []
    for _ in 0..<67 {
      let batch = turns.batch(16, of: peers)
      #expect(batch.count == 16 && Set(batch).count == 16)
      #expect(batch.contains(1_000))
      tried.formUnion(batch)
      turns.advance(16, of: peers)
    }
    #expect(tried.count == 1_001)
  }

  @Test("peers of one program are looked for in the order of requests, and begin again")
  func order() {
    var turns = ConnectorTurns()
    let peers = [[Requester]](repeating: [program(1)], count: 5)
    var batches: [[Int]] = []
    for _ in 0..<4 {
      batches.append(turns.batch(2, of: peers))
      turns.advance(2, of: peers)
    }
    #expect(batches == [[0, 1], [2, 3], [4, 0], [1, 2]])
  }

  @Test("more programs than the list has entries take turns")
  func manyPrograms() {
    var turns = ConnectorTurns()
    let peers = (0..<30).map { [program(UInt64($0 % 10))] }
    var turnCounts = [Int](repeating: 0, count: 10)
    for _ in 0..<10 {
      for peer in turns.batch(4, of: peers) { turnCounts[peer % 10] += 1 }
      turns.advance(4, of: peers)
    }
    #expect(turnCounts == [Int](repeating: 4, count: 10))
  }

  @Test("a peer that two programs want is looked for once at a time")
  func sharedPeer() {
    let turns = ConnectorTurns()
    let peers: [[Requester]] = [
      [program(1), program(2)], [program(1)], [program(2)], [program(2)],
    ]
    #expect(turns.batch(3, of: peers) == [0, 2, 1])
    #expect(turns.batch(9, of: peers).sorted() == [0, 1, 2, 3])
  }

  @Test("a program that ends between two turns leaves its place to the others")
  func ended() {
    var turns = ConnectorTurns()
    turns.advance(2, of: [[program(1)], [program(2)], [program(1)], [program(2)]])
    #expect(turns.batch(2, of: [[program(2)], [program(2)]]).sorted() == [0, 1])
    #expect(turns.batch(2, of: []).isEmpty)
  }
}

import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines
@testable import GATTMachines
@testable import L2CAPMachines

/// A client of several programs, at a peer that answers when a test lets it.
private struct HeldPrograms {
  struct Sent: Equatable {
    let pdu: [UInt8]
    let bearer: ATTBearer
  }

  static let refusal = ATTErrorCode.insufficientEncryption

  var client = GATTClient(mtuMax: 100)
  /// The time of all events.
  var now = Instant.zero
  /// The PDUs that wait for the peer, oldest first.
  var sent: [Sent] = []
  /// The operations in the order of their ends, by their numbers.
  var ended: [UInt64] = []
  var results: [UInt64: Result<HostReply, HostError>] = [:]
  var protectionsWanted = 0
  private var lastNumber: UInt64 = 0

  static func program(_ number: UInt64) -> Requester { .program(ProgramID(rawValue: number)) }

  mutating func with(_ body: (inout GATTClient, Instant, inout [GATTClient.Output]) -> Void) {
    var outputs: [GATTClient.Output] = []
    body(&client, now, &outputs)
    var tags: [SendTag] = []
    for output in outputs {
      switch output {
      case .link(.send(let pdu, let tag, let bearer)):
        sent.append(Sent(pdu: pdu, bearer: bearer))
        if let tag { tags.append(tag) }
      case .completed(let id, let result):
        #expect(results[id.rawValue] == nil, "an operation ended twice")
        results[id.rawValue] = result
        ended.append(id.rawValue)
      case .link(.securityRequired): protectionsWanted += 1
      default: break
      }
    }
    #expect(client.violations() == [])
    for tag in tags { with { client, _, outputs in client.sent(tag, into: &outputs) } }
  }

  @discardableResult
  mutating func start(_ operation: GATTOperation, of program: UInt64) -> UInt64 {
    lastNumber += 1
    let id = OperationID(rawValue: lastNumber)
    with { $0.start(operation, id: id, for: Self.program(program), now: $1, into: &$2) }
    return lastNumber
  }

  mutating func secured(_ isSecured: Bool) {
    with { $0.secured(isSecured, now: $1, into: &$2) }
  }

  /// The peer answers a request, the oldest if none is named; with a value, or refuses it.
  mutating func answer(at index: Int = 0, refusing error: ATTErrorCode? = nil) {
    guard index < sent.count else {
      Issue.record("no request waits for an answer")
      return
    }
    let request = sent.remove(at: index)
    guard let opcode = request.pdu.first, opcode & 0x40 == 0 else { return }
    let isRead = opcode == ATTOpcode.readRequest.rawValue
    var pdu = isRead ? [opcode + 1, 7] : [opcode + 1]
    if let error { pdu = [0x01, opcode] + request.pdu[1...2] + [error.rawValue] }
    with { $0.receive(pdu[...], over: request.bearer, now: $1, into: &$2) }
  }

  /// The opcodes and handles that were sent and wait for the peer.
  var requests: [[UInt8]] { sent.map { Array($0.pdu.prefix(2)) } }
}

@Suite("Programs of a GATT client whose operations wait for the link's protection")
struct HeldProgramTests {
  private let read = ATTOpcode.readRequest.rawValue
  private let write = ATTOpcode.writeRequest.rawValue
  private let command = ATTOpcode.writeCommand.rawValue

  @Test("A refused operation holds its own program until the link is secured, and no other one")
  func others() {
    var held = HeldPrograms()
    let refused = held.start(.read(1), of: 1)
    let own = held.start(.write(2, [1]), of: 1)
    let others = (3...5).map { held.start(.read(UInt16($0)), of: 2) }
    held.answer(refusing: HeldPrograms.refusal)
    let ownCommand = held.start(.writeWithoutResponse(6, [1]), of: 1)
    let othersCommand = held.start(.writeWithoutResponse(7, [1]), of: 2)
    #expect(held.requests == [[read, 3], [command, 7]])
    #expect(held.ended == [othersCommand])
    held.sent.removeLast()
    for _ in others { held.answer() }
    #expect(held.ended == [othersCommand] + others && held.sent.isEmpty)
    held.secured(true)
    #expect(held.requests == [[read, 1]])
    held.answer()
    held.answer()
    #expect(held.requests == [[command, 6]])
    #expect(held.ended.suffix(3) == [refused, own, ownCommand])
    #expect(held.results.values.allSatisfy { if case .success = $0 { true } else { false } })
  }

  @Test(
    "Two programs whose operations are refused share a pairing, and both operations are repeated")
  func shared() {
    var held = HeldPrograms()
    let first = held.start(.read(1), of: 1)
    let second = held.start(.read(2), of: 2)
    held.answer(refusing: HeldPrograms.refusal)
    held.answer(refusing: HeldPrograms.refusal)
    let third = held.start(.read(3), of: 3)
    held.answer()
    #expect(held.ended == [third] && held.protectionsWanted == 2)
    held.secured(true)
    held.answer()
    #expect(held.requests == [[read, 2]])
    held.answer()
    #expect(held.ended == [third, first, second])
  }

  @Test("A failed pairing fails the refused operations, and those behind them go on")
  func failure() throws {
    var held = HeldPrograms()
    let refused = (1...2).map { held.start(.read(UInt16($0)), of: UInt64($0)) }
    let behind = held.start(.read(3), of: 1)
    for _ in refused { held.answer(refusing: HeldPrograms.refusal) }
    held.secured(false)
    #expect(held.ended == refused && held.requests == [[read, 3]])
    for id in refused {
      #expect(throws: HostError.self) { try held.results[id]?.get() }
    }
    held.answer()
    #expect(try held.results[behind]?.get() == .value([7]))
  }

  @Test(
    "An operation that was sent before the link was secured for another program is sent once more")
  func sentBefore() throws {
    var held = HeldPrograms()
    held.start(.read(1), of: 1)
    held.answer(refusing: HeldPrograms.refusal)
    let before = held.start(.read(2), of: 2)
    held.secured(true)
    held.answer(refusing: .insufficientAuthentication)
    #expect(held.protectionsWanted == 1)
    #expect(held.requests == [[read, 2]])
    held.answer()
    held.answer()
    #expect(try held.results[before]?.get() == .value([7]))
    // A refusal over the secured link needs another pairing.
    held.start(.read(3), of: 2)
    held.answer(refusing: .insufficientAuthentication)
    #expect(held.protectionsWanted == 2)
  }

  @Test("Operations of a client that is gone end while they wait, and those of its program go on")
  func gone() {
    var held = HeldPrograms()
    let refused = held.start(.read(1), of: 1)
    let waiting = held.start(.write(2, [1]), of: 1)
    let kept = held.start(.read(3), of: 1)
    held.answer(refusing: HeldPrograms.refusal)
    let waitingCommand = held.start(.writeWithoutResponse(4, [1]), of: 1)
    let gone = Set([refused, waiting, waitingCommand].map { OperationID(rawValue: $0) })
    held.with { $0.cancelHeld(where: gone.contains, now: $1, into: &$2) }
    #expect(held.ended.sorted() == [refused, waiting, waitingCommand].sorted())
    #expect(held.requests == [[read, 3]])
    held.answer()
    #expect(held.ended.last == kept)
    // The pairing goes on, and nothing waits for it.
    held.secured(true)
    #expect(held.sent.isEmpty)
    held.start(.writeWithoutResponse(5, [1]), of: 1)
    #expect(held.requests == [[command, 5]])
  }

  @Test("The end of the link ends the operations of each program in their order")
  func disconnection() {
    var held = HeldPrograms()
    let first = [held.start(.read(1), of: 1), held.start(.read(2), of: 1)]
    let second = [held.start(.read(3), of: 2), held.start(.read(4), of: 2)]
    held.answer(refusing: HeldPrograms.refusal)
    held.with { client, _, outputs in client.close(.notConnected, into: &outputs) }
    #expect(held.ended.filter(first.contains) == first)
    #expect(held.ended.filter(second.contains) == second)
    #expect(held.client.pendingCount == 0)
  }

  @Test("Results that wait for a pairing take none of the bearers and turns of other programs")
  func bearers() {
    var held = HeldPrograms()
    for number in UInt16(0)..<3 {
      let bearer = ATTBearer(rawValue: 0x40 + number)
      held.with { $0.bearerOpened(bearer, mtu: 100, now: $1, into: &$2) }
    }
    let refused = held.start(.read(1), of: 1)
    // The answer to the first is the last one.
    let ends = (2...4).map { held.start(.read(UInt16($0)), of: 1) }
    for _ in ends { held.answer(at: 1) }
    held.answer(refusing: HeldPrograms.refusal)
    #expect(held.ended.isEmpty)
    let write = held.start(.write(5, [1]), of: 2)
    held.answer()
    let reads = (6...9).map { held.start(.read(UInt16($0)), of: 2) }
    #expect(held.sent.count == 4)
    for _ in reads { held.answer() }
    #expect(held.ended == [write] + reads)
    held.secured(true)
    held.answer()
    #expect(held.ended.suffix(4) == [refused] + ends)
  }

  @Test("A signed write without a key waits with its program for the link's protection")
  func signedWrite() {
    for isSecured in [true, false] {
      var held = HeldPrograms()
      let signed = held.start(.signedWrite(1, [1]), of: 1)
      let own = held.start(.read(2), of: 1)
      let other = held.start(.read(3), of: 2)
      held.answer()
      #expect(held.ended == [other] && held.sent.isEmpty)
      held.secured(isSecured)
      #expect(held.requests == (isSecured ? [[command, 1], [read, 2]] : [[read, 2]]))
      while !held.sent.isEmpty { held.answer() }
      #expect(held.ended == [other, signed, own])
    }
  }

  @Test(
    "Random programs: each operation ends once, in its program's order, and no other one is held")
  func random() {
    for seed in UInt64(1)...400 {
      var run = RandomHeldPrograms(seed: seed)
      for _ in 0..<60 { run.step() }
      run.finish()
    }
  }
}

/// Operations of four programs, some of which the peer refuses over a link that isn't secured.
private struct RandomHeldPrograms {
  private var held = HeldPrograms()
  private var random: SeededGenerator
  private let seed: UInt64
  private var orders: [UInt64: [UInt64]] = [:]
  private var isSecured = false
  private var isPairing = false
  private var commands: Set<UInt64> = []

  init(seed: UInt64) {
    self.seed = seed
    random = SeededGenerator(seed: seed)
    for number in UInt16(0)..<UInt16.random(in: 0...3, using: &random) {
      let bearer = ATTBearer(rawValue: 0x40 + number)
      held.with { $0.bearerOpened(bearer, mtu: 100, now: $1, into: &$2) }
    }
  }

  /// The peer protects handles from 100 on.
  private mutating func answer() {
    let index = Int.random(in: 0..<held.sent.count, using: &random)
    let pdu = held.sent[index].pdu
    let isRefused = !isSecured && pdu.count > 1 && pdu[1] >= 100
    held.answer(at: index, refusing: isRefused ? HeldPrograms.refusal : nil)
    isPairing = isPairing || (held.protectionsWanted > 0 && !isSecured)
  }

  mutating func step() {
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<4:
      let program = UInt64.random(in: 1...4, using: &random)
      // Only the first two programs use protected values.
      let handle = UInt16.random(in: program <= 2 ? 95...104 : 1...9, using: &random)
      let operation: GATTOperation =
        switch Int.random(in: 0..<4, using: &random) {
        case 0: .write(handle, [1])
        case 1: .writeWithoutResponse(handle, [1])
        default: .read(handle)
        }
      let id = held.start(operation, of: program)
      if operation.commandValue != nil {
        commands.insert(id)
      } else {
        orders[program, default: []].append(id)
      }
    case 4..<8:
      if !held.sent.isEmpty { answer() }
    case 8:
      guard isPairing else { return }
      (isPairing, isSecured) = (false, true)
      held.secured(true)
    default:
      guard isPairing else { return }
      isPairing = false
      held.secured(false)
    }
    checkOthers()
  }

  /// Where the peer owes no answer, only programs that were refused wait.
  private mutating func checkOthers() {
    guard held.sent.isEmpty else { return }
    for program in UInt64(3)...4 {
      let waits = orders[program, default: []].contains { held.results[$0] == nil }
      #expect(!waits, "program \(program) waits, with seed \(seed)")
    }
  }

  mutating func finish() {
    for _ in 0..<400 {
      while !held.sent.isEmpty { answer() }
      guard held.client.pendingCount > 0 else { break }
      (isPairing, isSecured) = (false, true)
      held.secured(true)
    }
    #expect(held.client.pendingCount == 0, "seed \(seed)")
    for (program, order) in orders {
      #expect(held.ended.filter(order.contains) == order, "program \(program), seed \(seed)")
    }
    #expect(commands.allSatisfy { held.results[$0] != nil }, "seed \(seed)")
  }
}

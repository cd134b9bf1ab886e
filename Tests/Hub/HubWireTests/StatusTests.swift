import BluetoothInterface
import Essentials
import Testing

@testable import HubWire

@Suite("The state of a hub in a message")
struct StatusTests {
  private static let name = String(repeating: "n", count: HubStatus.nameByteCountMax)

  /// A state in which everything has its greatest size.
  private static func largest(programCount: Int, linkCount: Int, userCount: Int) -> HubStatus {
    let text = String(repeating: "t", count: HubProtocol.textByteCountMax)
    var program = HubStatus.Program(
      connection: .max, app: name, processID: .max, userID: .max,
      age: TimeSpan(nanoseconds: .min))
    for path in counts { program[keyPath: path] = .max }
    program.lastUse = RadioUse(.scan, age: TimeSpan(nanoseconds: .min))
    program.keptFor = TimeSpan(nanoseconds: .min)
    program.unit = name
    var link = HubStatus.Link(
      peer: name, name: name, role: .peripheral, stage: name,
      users: [UInt64](repeating: .max, count: userCount))
    link.queuedByteCount = .max
    link.operationCount = .max
    var network = HubStatus.NetworkProgram(processID: .max, userID: .max, name: name)
    for path in networkCounts { network[keyPath: path] = .max }
    return HubStatus(
      version: name, processID: .max, uptime: TimeSpan(nanoseconds: .min),
      radio: HubStatus.Radio(
        name: text, state: .poweredOff, address: text, problem: text, isSimulated: true),
      programs: [HubStatus.Program](repeating: program, count: programCount),
      links: [HubStatus.Link](repeating: link, count: linkCount),
      networkPrograms: [HubStatus.NetworkProgram](repeating: network, count: programCount),
      networkProblem: text, bondFile: HubStatus.BondFile(path: text, problem: text, bondCount: .max)
    )
  }

  private static let networkCounts:
    [any WritableKeyPath<HubStatus.NetworkProgram, Int> & Sendable] = [
      \.serviceCount, \.recordCount, \.browserCount, \.queryCount, \.waitingByteCount,
    ]

  private static let counts: [any WritableKeyPath<HubStatus.Program, Int> & Sendable] = [
    \.sessionCount, \.scanCount, \.advertisementCount, \.linkCount, \.subscriptionCount,
    \.serviceCount, \.listenerCount, \.channelCount, \.requestCount, \.waitingByteCount,
    \.unhandledEventCount, \.droppedCount, \.lateCount,
  ]

  @Test("the largest state fits in a message after it was cut, and what is left out is counted")
  func largest() throws {
    var status = Self.largest(
      programCount: HubStatus.programCountMax + 3, linkCount: HubStatus.linkCountMax + 2,
      userCount: HubStatus.userCountMax + 1)
    #expect(throws: HubWireError.self) { try HubMessage.status(.max, status).frame }
    status.cut()
    guard case .status(_, let read)? = try HubMessage.decode(HubMessage.status(.max, status).body)
    else {
      Issue.record("no state")
      return
    }
    let programCount = HubStatus.programCountMax + 3
    #expect(read.programs.count > 2_000)
    #expect(read.programs.count + read.counts.otherProgramCount == programCount)
    #expect(
      read.networkPrograms.count + read.counts.refusals.otherNetworkProgramCount == programCount)
    #expect(read.counts.otherLinkCount == 2)
    #expect(read.links.count == HubStatus.linkCountMax)
    #expect(
      read.links.allSatisfy {
        $0.users.count == HubStatus.userCountMax && $0.userCount == HubStatus.userCountMax + 1
      })
  }

  @Test("a status has room for all programs that a hub serves, with names as programs have them")
  func usual() throws {
    var status = Self.largest(
      programCount: HubStatus.programCountMax, linkCount: 32, userCount: 8)
    for index in status.programs.indices {
      status.programs[index].app = "museum-guide-2"
      status.programs[index].unit = "user@1000.service/museum-guide-2.service"
      status.networkPrograms[index].name = "museum-guide-2"
    }
    let expected = status
    status.cut()
    #expect(status == expected)
    #expect(try HubMessage.status(.max, status).frame.count < HubProtocol.messageByteCountMax)
  }

  @Test("a state that has room is not changed by cutting it")
  func room() {
    var sampler = Sampler(seed: 1)
    for _ in 0..<20 {
      let status = sampler.hubStatus()
      var cut = status
      cut.cut()
      #expect(cut == status)
    }
  }

  @Test("names are cut between two characters, and a longer one that arrives is refused")
  func names() throws {
    let long = String(repeating: "ü", count: HubStatus.nameByteCountMax)
    var status = Self.largest(programCount: 1, linkCount: 0, userCount: 0)
    status.programs[0].app = long
    let message = try HubMessage.decode(HubMessage.status(1, status).body)
    guard case .status(_, let read)? = message else {
      Issue.record("no state")
      return
    }
    #expect(read.programs[0].app == String(long.prefix(HubStatus.nameByteCountMax / 2)))
    // Number 1, then a version of 129 bytes.
    let hostile: [UInt8] = [0x04, 1, 0x81, 0x01] + [UInt8](repeating: 0x61, count: 129)
    #expect(throws: HubWireError.tooMany(count: 129, max: HubStatus.nameByteCountMax)) {
      try HubMessage.decode(hostile[...])
    }
  }

  @Test("a hub of an earlier version refuses the question, and a program of one skips the answer")
  func earlierVersions() throws {
    // The reader's rule for numbers that it doesn't know (OtherVersionTests).
    #expect(AppMessage.Number.status.rawValue >= HubProtocol.mustUnderstand)
    #expect(HubMessage.Number.status.rawValue < HubProtocol.mustUnderstand)
  }

  @Test("fields that a later version adds to the radio are skipped")
  func laterFields() throws {
    var bytes = Array(
      try HubMessage.status(
        1,
        HubStatus(
          version: "", processID: 0, uptime: .zero,
          radio: HubStatus.Radio(name: "", state: .poweredOn, isSimulated: false))
      ).body)
    let expected = try HubMessage.decode(bytes[...])
    // Kind, number, version, process and uptime precede the length of the radio's fields.
    #expect(bytes[5..<8] == [5, 0, 0])
    bytes[5] += 2
    bytes.insert(contentsOf: [0xFF, 0xFF], at: 13)
    #expect(try HubMessage.decode(bytes[...]) == expected)
  }
}

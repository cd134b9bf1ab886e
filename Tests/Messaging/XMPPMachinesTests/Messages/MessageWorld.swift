#if Messaging
  import Essentials

  @testable import XMPPMachines
  import XMPPWire

  /// Devices, a server and a network with faults, in virtual time. One seed is one run.
  struct MessageWorld: Sendable {
    enum Happening: Sendable {
      /// A stanza of a device reaches the server.
      case toServer(connection: Int, position: UInt64, TestStanza)
      /// The server routes a stanza that it has confirmed.
      case route(TestStanza, from: Int, serverLife: Int)
      case archive(TestStanza, account: String, serverLife: Int)
      case toDevice(connection: Int, count: UInt64, TestStanza)
      /// The server's count reaches a device.
      case confirmed(connection: Int, count: UInt64)
      case deviceConfirms(connection: Int, count: UInt64)
      case expire(session: String, connection: Int)
      case page(device: Int, life: Int, ArchiveRequest)
      case write(device: Int, life: Int)
      case wake(device: Int, life: Int)
      case connect(device: Int, life: Int)
      case start(device: Int)
      case appSends(device: Int, peer: String)
      case appTakes(device: Int, life: Int)
      case fault
    }

    struct Scheduled: Sendable {
      var at: Instant
      var number: Int
      var happening: Happening
    }

    var random: SeededGenerator
    var now = Instant.zero
    var number = 0
    var heap: [Scheduled] = []
    var devices: [TestDevice] = []
    var server: TestServer
    var accepted: [Accepted] = []
    var faultEnd: Instant
    var faults: Set<Fault>
    /// The device and the session of each connection.
    var connections: [Int: (device: Int, session: String)] = [:]
    var lastConnection = 0
    var restoredCount = 0
    var killedCount = 0
    var resumedCount = 0
    var reports: [String: Int] = [:]
    var serverLife = 0
    /// FIFO of each connection and direction.
    var lastArrival: [String: Instant] = [:]
    var findings: [String] = []
    var limits: MessageLimits

    enum Fault: Hashable, CaseIterable, Sendable {
      case cut, killDevice, killServer, loseConfirmed, restoreCopy, doubleDelivery, slowArchive
    }

    struct Accepted: Hashable, Sendable {
      var device: Int
      var peer: String
      var text: String
      var row: RowID
      /// The store in which the row is was replaced by a copy without it.
      var isOptional = false
    }

    init(seed: UInt64, accounts: [String], faults: Set<Fault>, limits: MessageLimits) {
      random = SeededGenerator(seed: seed)
      self.faults = faults
      self.limits = limits
      faultEnd = .zero + .seconds(120)
      server = TestServer(
        answersUnknownWithLater: random.next() % 2 == 0, pageCountMax: 3 + random.below(40))
      for (index, account) in accounts.enumerated() {
        devices.append(TestDevice(index: index, account: account))
        at(.milliseconds(Int64(random.below(500))), .start(device: index))
      }
    }

    var wall: WallTime { 1_700_000_000_000 + now.nanoseconds / 1_000_000 }

    // MARK: Time

    mutating func at(_ delay: TimeSpan, _ happening: Happening) {
      number += 1
      heap.append(Scheduled(at: now + delay, number: number, happening: happening))
      var child = heap.count - 1
      while child > 0, isBefore(child, (child - 1) / 2) {
        heap.swapAt(child, (child - 1) / 2)
        child = (child - 1) / 2
      }
    }

    private func isBefore(_ a: Int, _ b: Int) -> Bool {
      (heap[a].at, heap[a].number) < (heap[b].at, heap[b].number)
    }

    private mutating func pop() -> Scheduled? {
      guard let first = heap.first else { return nil }
      let last = heap.removeLast()
      if heap.isEmpty { return first }
      heap[0] = last
      var parent = 0
      while true {
        var least = parent
        for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
          if isBefore(child, least) { least = child }
        }
        if least == parent { return first }
        heap.swapAt(parent, least)
        parent = least
      }
    }

    /// A delay such that one direction of a connection keeps its order.
    mutating func inOrder(_ lane: String, milliseconds: Int = 40) -> TimeSpan {
      let arrival = max(
        now + .milliseconds(Int64(1 + random.below(milliseconds))), lastArrival[lane] ?? now)
      lastArrival[lane] = arrival
      return arrival - now
    }

    mutating func run(until end: Instant) {
      var count = 0
      while let next = heap.first, next.at <= end {
        guard let scheduled = pop() else { return }
        count += 1
        if count > 400_000 {
          findings.append("the run doesn't end")
          return
        }
        now = scheduled.at
        perform(scheduled.happening)
      }
      now = end
    }

    private mutating func perform(_ happening: Happening) {
      switch happening {
      case .toServer(let connection, let position, let stanza):
        reachServer(connection, position, stanza)
      case .route(let stanza, let device, let life): route(stanza, from: device, life)
      case .archive(let stanza, let account, let life):
        guard !isLost(life) else { return }
        _ = server.archive(stanza, for: account, date: wall)
      case .toDevice(let connection, let count, let stanza): reachDevice(connection, count, stanza)
      case .confirmed(let connection, let count): confirmed(connection, count)
      case .deviceConfirms(let connection, let count): deviceConfirms(connection, count)
      case .expire(let session, let connection):
        if server.sessions[session]?.connection == connection { server.sessions[session] = nil }
      case .page(let device, let life, let query): answer(query, device, life)
      case .write(let device, let life):
        guard devices[device].life == life else { return }
        write(device)
      case .wake(let device, let life):
        guard devices[device].life == life else { return }
        wake(device)
      case .connect(let device, let life):
        guard devices[device].life == life, devices[device].machine != nil else { return }
        connect(device)
      case .start(let device): start(device)
      case .appSends(let device, let peer): appSends(device, peer: peer)
      case .appTakes(let device, let life):
        guard devices[device].life == life else { return }
        appTakes(device)
      case .fault: fault()
      }
    }
  }

  extension SeededGenerator {
    mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }
  }
#endif

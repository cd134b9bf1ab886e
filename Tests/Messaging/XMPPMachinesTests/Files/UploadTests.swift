#if Messaging
  import Essentials
  import Testing
  @testable import XMPPMachines
  import XMPPWire

  @Suite("Uploads")
  struct UploadTests {
    @Test func `A file is stored before anything leaves, and its message follows the file`() throws
    {
      var run = try UploadRun()
      let id = run.add()
      #expect(run.stored.rows.map(\.id) == [id] && run.requests.isEmpty)
      run.handle(.connected(isResumed: false))
      try run.serveAll()
      let job = try #require(run.jobs.first)
      #expect(job.path == "/tmp/a.jpg" && run.messages.isEmpty)
      run.handle(.progress(id, attempt: job.attempt, byteCount: 3))
      #expect(run.states[id] == .uploading(byteCount: 3, of: 7))
      run.finish(.status(201))
      let (row, content) = try #require(run.messages.first)
      #expect(row.id == id && content.body == job.slot.get.description)
      #expect(SharedFile.files(in: content.elements).first?.metadata.name == "a.jpg")
      #expect(run.states[id] == .sent(RowID(rawValue: 1)))
      #expect(run.stored.rows.map(\.outcome) == [.sent(RowID(rawValue: 1))])
    }

    @Test func `A file whose message can't be sent fails with the reason, and others go on`() throws
    {
      var run = try UploadRun()
      run.hasRoom = false
      let id = run.add()
      run.handle(.connected(isResumed: false))
      try run.serveAll()
      run.finish(.status(201))
      #expect(run.states[id] == .waiting(reason: "too many messages wait to be sent"))
      run.handle(.messageRefused(id, "the account has left the room"))
      let failure = UploadFailure.refused("the account has left the room")
      #expect(run.states[id] == .failed(failure))
      #expect(run.stored.rows.map(\.outcome) == [.failed(failure)])
      // A late answer changes nothing.
      run.handle(.messageStored(id, RowID(rawValue: 5)))
      #expect(run.states[id] == .failed(failure) && run.machine.nextWake == nil)
    }

    @Test func `Each attempt has a slot of its own, and pauses grow`() throws {
      var run = try UploadRun()
      let id = run.add()
      run.handle(.connected(isResumed: false))
      var addresses: Set<String> = []
      var pauses: [TimeSpan] = []
      for end in [UploadEnd.broken("cut"), .status(503), .status(507), .broken("cut")] {
        try run.serveAll()
        addresses.insert(try #require(run.jobs.first).slot.put.description)
        run.finish(end)
        #expect(run.jobs.isEmpty && run.requests.isEmpty)
        let due = try #require(run.machine.nextWake)
        pauses.append(due - run.now)
        run.wait(due - run.now)
      }
      try run.serveAll()
      run.finish(.status(200))
      #expect(addresses.count == 4 && run.messages.count == 1)
      #expect(zip(pauses, pauses.dropFirst()).allSatisfy { $0 < $1 })
      #expect(run.stored.rows.first?.outcome == .sent(RowID(rawValue: 1)) && id.rawValue == 1)
    }

    @Test(arguments: [
      (UploadEnd.status(413), UploadFailure.tooLarge(byteCountMax: nil)), (.changed, .changed),
      (.unreadable("gone"), .unreadable("gone")),
    ])
    func `A file that can't be sent fails at once`(end: UploadEnd, failure: UploadFailure) throws {
      var run = try UploadRun()
      let id = run.add()
      run.handle(.connected(isResumed: false))
      try run.serveAll()
      run.finish(end)
      #expect(run.states[id] == .failed(failure) && run.machine.nextWake == nil)
      #expect(run.stored.rows.first?.outcome == .failed(failure) && run.messages.isEmpty)
    }

    @Test(arguments: [403, 404, 302, 100])
    func `A service that refuses its own slots is tried three times`(status: Int) throws {
      var run = try UploadRun()
      let id = run.add()
      run.handle(.connected(isResumed: false))
      for _ in 0..<3 {
        try run.serveAll()
        run.finish(.status(status))
        run.wait(.seconds(60))
      }
      #expect(run.states[id] == .failed(.refused("status \(status)")))
    }

    @Test(arguments: [StanzaError.Condition.remoteServerNotFound, .itemNotFound, .gone])
    func `A service that is gone is searched for again, and the file goes to its successor`(
      condition: StanzaError.Condition
    ) throws {
      var run = try UploadRun()
      let id = run.add()
      run.handle(.connected(isResumed: false))
      while let request = run.requests.first, request[SlotRequest.self] == nil {
        try run.serve(request)
      }
      run.refuse(condition)
      #expect(run.states[id] == .waiting(reason: "the upload service is gone"))
      run.wait(.seconds(10))
      #expect(run.requests.contains { $0[DiscoItems.self] != nil })
      try run.serveAll()
      run.finish(.status(201))
      #expect(run.messages.count == 1)
    }

    @Test func `A service that always is gone fails the file after three searches`() throws {
      var run = try UploadRun()
      let id = run.add()
      run.handle(.connected(isResumed: false))
      for _ in 0..<3 {
        while let request = run.requests.first, request[SlotRequest.self] == nil {
          try run.serve(request)
        }
        run.refuse(.serviceUnavailable)
        run.wait(.seconds(60))
      }
      #expect(run.states[id] == .failed(.refused("service-unavailable")))
    }

    @Test func `Files that a service which is gone refuses go to its successor together`() throws {
      var run = try UploadRun()
      for number in 1...2 { _ = run.add("/tmp/\(number).jpg", to: "peer\(number)@chat.example") }
      run.handle(.connected(isResumed: false))
      while let request = run.requests.first, request[SlotRequest.self] == nil {
        try run.serve(request)
      }
      #expect(run.requests.count == 2)
      while !run.requests.isEmpty { run.refuse(.gone) }
      let reason = UploadState.waiting(reason: "the upload service is gone")
      #expect(run.states.count == 2 && run.states.values.allSatisfy { $0 == reason })
      run.wait(.seconds(10))
      #expect(run.requests.count { $0[DiscoItems.self] != nil } == 1)
      try run.serveAll()
      #expect(run.jobs.count == 2)
    }

    @Test func `A file waits while the server has no successor of a service that is gone`() throws {
      var run = try UploadRun()
      let id = run.add()
      run.handle(.connected(isResumed: false))
      while let request = run.requests.first, request[SlotRequest.self] == nil {
        try run.serve(request)
      }
      run.refuse(.remoteServerNotFound)
      run.wait(.seconds(10))
      try run.serveAll(isUploader: false)
      #expect(run.states[id] == .waiting(reason: "the server has not told its upload service"))
      run.wait(.seconds(10))
      try run.serveAll()
      run.finish(.status(201))
      #expect(run.messages.count == 1)
    }

    @Test func `A service that doesn't answer is searched for again`() throws {
      var run = try UploadRun()
      _ = run.add()
      run.handle(.connected(isResumed: false))
      while let request = run.requests.first, request[SlotRequest.self] == nil {
        try run.serve(request)
      }
      run.requests = []
      run.wait(.seconds(30))
      run.wait(.seconds(10))
      try run.serveAll()
      run.finish(.status(201))
      #expect(run.messages.count == 1)
    }

    @Test func `A file beyond the service's size is not offered to it`() throws {
      var run = try UploadRun()
      let id = run.add(byteCount: 1_001)
      let other = run.add(byteCount: 1_000)
      run.handle(.connected(isResumed: false))
      try run.serveAll()
      #expect(run.states[id] == .failed(.tooLarge(byteCountMax: 1_000)))
      #expect(run.jobs.map(\.id) == [other])
    }

    @Test func `Refusals of a slot fail, wait for the quota, or are tried again`() throws {
      func refused(_ payload: [XMLElement]) throws -> UploadRun {
        var run = try UploadRun()
        _ = run.add()
        run.handle(.connected(isResumed: false))
        while let request = run.requests.first, request[SlotRequest.self] == nil {
          try run.serve(request)
        }
        run.answer(try #require(run.requests.first), payload, isError: true)
        return run
      }
      let id = UploadID(rawValue: 1)
      var error = StanzaError(.modify, .notAcceptable).element
      let most = XMLElement("max-file-size", Namespace.upload, text: "5")
      error.append(XMLElement("file-too-large", Namespace.upload, children: [most]))
      #expect(try refused([error]).states[id] == .failed(.tooLarge(byteCountMax: 5)))
      let forbidden = StanzaError(.auth, .forbidden).element
      #expect(try refused([forbidden]).states[id] == .failed(.refused("forbidden")))
      #expect(
        try refused([StanzaError(.wait, .internalServerError).element]).machine.nextWake != nil)
      var quota = StanzaError(.wait, .resourceConstraint).element
      quota.append(
        XMLElement(
          "retry", Namespace.upload, ["stamp": Timestamp(milliseconds: 3_600_000).description]))
      let run = try refused([quota])
      #expect(run.machine.nextWake == run.now + .seconds(3_600))
      #expect(
        run.states[id] == .waiting(reason: "the quota of the upload service is used up"))
    }

    @Test func `A slot without addresses of https is refused`() throws {
      var run = try UploadRun()
      let id = run.add()
      run.handle(.connected(isResumed: false))
      while let request = run.requests.first, request[SlotRequest.self] == nil {
        try run.serve(request)
      }
      let put = XMLElement("put", Namespace.upload, ["url": "http://127.0.0.1/"])
      let request = try #require(run.requests.first)
      run.answer(request, [XMLElement("slot", Namespace.upload, children: [put])])
      #expect(run.states[id] == .failed(.refused("no slot with addresses of https")))
    }

    @Test func `A server without a service fails the file, and a silent one is asked again`() throws
    {
      var run = try UploadRun()
      let id = run.add()
      run.handle(.connected(isResumed: false))
      try run.serveAll(isUploader: false)
      #expect(run.states[id] == .failed(.unsupported))

      run = try UploadRun()
      _ = run.add()
      run.handle(.connected(isResumed: false))
      let count = run.requests.count
      run.wait(.seconds(30))
      #expect(
        run.states[id] == .waiting(reason: "the server has not told its upload service"))
      run.requests = []
      run.wait(.seconds(3))
      #expect(run.requests.count == count)
      try run.serveAll()
      #expect(run.jobs.count == 1)
    }

    @Test func `Answers of another sender are ignored`() throws {
      var run = try UploadRun()
      _ = run.add()
      run.handle(.connected(isResumed: false))
      while let request = run.requests.first, request[SlotRequest.self] == nil {
        try run.serve(request)
      }
      let request = try #require(run.requests.first)
      let address = try #require(HTTPSAddress("https://evil.example/"))
      var forged = IQStanza(
        .result, id: request.id, payload: [UploadSlot(put: address, get: address).element])
      for sender in [JID("mallory@chat.example"), JID("chat.example"), nil] {
        forged.from = sender
        run.handle(.received(forged.element))
      }
      #expect(run.jobs.isEmpty)
      try run.serve(request)
      #expect(run.jobs.count == 1)
    }

    @Test func `Two files are under way, one of a conversation`() throws {
      var run = try UploadRun()
      let peers = ["bob@chat.example", "bob@chat.example", "eve@chat.example", "joe@chat.example"]
      let ids = peers.map { run.add(to: $0) }
      run.handle(.connected(isResumed: false))
      try run.serveAll()
      #expect(run.jobs.map(\.id) == [ids[0], ids[2]])
      run.finish(.status(201))
      try run.serveAll()
      #expect(run.jobs.map(\.id) == [ids[2], ids[1]])
    }

    @Test func `A file that waits for another one after its pause wakes nothing`() throws {
      var run = try UploadRun()
      let ids = [run.add("/a"), run.add("/b")]
      run.handle(.connected(isResumed: false))
      try run.serveAll()
      run.finish(.broken("cut"))
      try run.serveAll()
      run.wait(.seconds(3_600))
      #expect(run.jobs.map(\.id) == [ids[1]] && run.machine.nextWake == nil)
      run.finish(.status(201))
      try run.serveAll()
      #expect(run.jobs.map(\.id) == [ids[0]])
    }

    @Test func `A canceled file and one whose deadline has passed are not sent`() throws {
      var run = try UploadRun()
      let first = run.add(patience: .seconds(5))
      let second = run.add(to: "eve@chat.example")
      run.handle(.connected(isResumed: false))
      try run.serveAll()
      run.handle(.cancel(second))
      run.wait(.seconds(5))
      #expect(run.states[first] == .failed(.deadline))
      #expect(run.states[second] == .failed(.cancelled))
      #expect(run.stopped == [second, first] && run.messages.isEmpty)
    }

    @Test func `A file waits for room in the outbox`() throws {
      var run = try UploadRun()
      let id = run.add()
      run.hasRoom = false
      run.handle(.connected(isResumed: false))
      try run.serveAll()
      run.finish(.status(201))
      #expect(run.states[id] == .waiting(reason: "too many messages wait to be sent"))
      run.hasRoom = true
      run.wait(.seconds(30))
      #expect(run.messages.count == 1 && run.jobs.isEmpty)
    }

    @Test func `Tables are bounded`() throws {
      var limits = UploadLimits()
      limits.waitingMax = 3
      limits.endedMax = 2
      var run = try UploadRun(limits: limits)
      for _ in 0..<5 { _ = run.add() }
      #expect(run.accepted.count == 3 && run.refusedCount == 2)
      for id in run.accepted { run.handle(.cancel(id)) }
      #expect(run.stored.rows.map(\.id) == Array(run.accepted.suffix(2)))
    }

    @Test(arguments: 0..<40)
    func `Each file becomes one message or fails, whatever happens`(round: UInt64) throws {
      let seed = UInt64.random(in: 0...UInt64.max) ^ round
      var chance = SeededGenerator(seed: seed)
      var run = try UploadRun(seed: seed)
      let peers = ["bob@chat.example", "eve@chat.example"]
      var originIDs: Set<String> = []
      for step in 0..<200 {
        switch Int.random(in: 0..<11, using: &chance) {
        case 0 where run.accepted.count < 10:
          _ = run.add("/\(step)", to: peers[step & 1])
          originIDs.insert(run.stored.rows.last?.originID ?? "")
        case 1: run.handle(.connected(isResumed: Bool.random(using: &chance)))
        case 2:
          run.handle(.disconnected)
          if Bool.random(using: &chance) { run.requests = [] }
        case 3:
          run.restart()
        case 4: run.finish(.broken("cut"))
        case 5: run.refuse(.internalServerError, .wait)
        case 6: run.wait(.seconds(Int64.random(in: 0..<90, using: &chance)))
        case 7: run.hasRoom.toggle()
        case 8, 9:
          if let request = run.requests.randomElement(using: &chance) { try run.serve(request) }
        default: run.finish(.status(201))
        }
      }
      run.hasRoom = true
      run.handle(.connected(isResumed: false))
      for _ in 0..<200 {
        try run.serveAll()
        run.finish(.status(201))
        run.wait(.seconds(60))
      }
      #expect(run.messages.map(\.0.originID).count == originIDs.count, "seed \(seed)")
      #expect(Set(run.messages.map(\.0.originID)) == originIDs, "seed \(seed)")
      #expect(run.stored.rows.allSatisfy { $0.outcome != nil }, "seed \(seed)")
    }
  }
#endif

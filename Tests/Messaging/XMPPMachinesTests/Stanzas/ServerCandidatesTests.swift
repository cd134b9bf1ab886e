#if Messaging
  import Essentials
  import Testing

  @testable import XMPPMachines

  @Suite("The servers of a domain")
  struct ServerCandidatesTests {
    private func order(
      _ plain: ServerCandidates.Answer, _ direct: ServerCandidates.Answer = .absent,
      seed: UInt64 = 1
    ) -> [ServerEndpoint] {
      var chance = SeededGenerator(seed: seed)
      return ServerCandidates.order(
        domain: "chat.example", plain: plain, direct: direct, using: &chance)
    }

    private func record(
      _ priority: UInt16, _ weight: UInt16, _ target: String, port: UInt16 = 5_222
    ) -> ServerCandidates.Record {
      ServerCandidates.Record(priority: priority, weight: weight, port: port, target: target)
    }

    @Test("the domain itself is the server where there are no records, or no name server answers")
    func fallback() {
      let own = ServerEndpoint(host: "chat.example", port: 5_222, encryption: .startTLS)
      #expect(order(.absent) == [own])
      #expect(order(.failed, .failed) == [own])
    }

    @Test("the records of both services are tried by priority")
    func priorities() {
      let found = order(
        .records([record(20, 0, "b"), record(5, 0, "a")]),
        .records([record(10, 0, "tls", port: 5_223)]))
      #expect(found.map(\.host) == ["a", "tls", "b"])
      #expect(found.map(\.encryption) == [.startTLS, .directTLS, .startTLS])
    }

    @Test(
      "Servers that have failed are tried after the others, the oldest failure first, until one is of use"
    )
    func failures() {
      let all = ["a", "b", "c"].map {
        ServerEndpoint(host: $0, port: 5_222, encryption: .startTLS)
      }
      var failed = FailedServers()
      #expect(failed.order(all) == all && failed.leave(all))
      failed.add(all[0])
      failed.add(all[1])
      #expect(failed.order(all).map(\.host) == ["c", "a", "b"])
      failed.add(all[2])
      #expect(!failed.leave(all))
      failed.add(all[0])
      #expect(failed.order(all).map(\.host) == ["b", "c", "a"])
      failed.forget()
      #expect(failed.order(all) == all)
      for port in UInt16(0)..<1_000 {
        failed.add(ServerEndpoint(host: "x", port: port, encryption: .startTLS))
      }
      #expect(failed.order(all) == all)
    }

    @Test("a domain whose only record is the root denies the service")
    func denial() {
      #expect(order(.records([record(0, 0, "", port: 0)])).isEmpty)
    }

    @Test("records of one priority come first as often as their weights demand")
    func weights() {
      var firsts: [String: Int] = [:]
      for seed in 1...4_000 {
        let found = order(
          .records([record(0, 30, "a"), record(0, 10, "b"), record(0, 0, "c")]), seed: UInt64(seed))
        #expect(Set(found.map(\.host)) == ["a", "b", "c"])
        firsts[found[0].host, default: 0] += 1
      }
      #expect((2_800...3_200).contains(firsts["a"] ?? 0), "\(firsts)")
      #expect((firsts["c"] ?? 0) <= 10, "\(firsts)")
    }

    @Test("a domain with thousands of records has its first sixteen tried")
    func bound() {
      let many = (0..<5_000).map { record(UInt16($0), 0, "host\($0)") }
      #expect(order(.records(many)).map(\.host) == (0..<16).map { "host\($0)" })
    }
  }
#endif

#if BindingServer
  import BindingMachines
  import BindingServer
  import Foundation
  import JSONWire
  import NIOCore
  import PageClient
  import Reactive
  import Testing

  @Suite("The stream of a page server")
  struct StreamTests {
    /// Runs a test beside a server whose page shows one view model in all tabs.
    private static func withShared(
      _ body: (RunningServer, RawHTTP, Desk) async throws -> Void
    ) async throws {
      let desk = await Desk(rows: ["a", "b"])
      try await withServer(
        site: Desk.site, pages: { [Page("index.html", sharing: desk)] }
      ) { try await body($0, RawHTTP(port: $0.port), desk) }
    }

    @Test("a stream begins with a snapshot, and has headers against caching and buffering")
    func beginning() async throws {
      try await Self.withShared { _, http, _ in
        try await http.stream("/live?tab=t") { stream in
          #expect(stream.status == 200)
          #expect(stream.fields["content-type"] == "text/event-stream")
          #expect(stream.fields["cache-control"] == "no-store")
          #expect(stream.fields["x-accel-buffering"] == "no")
          let first = try #require(try await stream.next())
          #expect(stream.retry == 500)
          #expect(first.name == "snap")
          let members = try #require(try JSON(parsing: Array(first.data.utf8)).members)
          guard case .string(let epoch) = members["epoch"] else {
            Issue.record("\(first)")
            return
          }
          #expect(first.id.hasPrefix(epoch + "-"))
          #expect(members["tab"] == .string("t") && members["a"] == .integer(0))
          #expect(members["v"]?.members?["count"] == .integer(0))
          #expect(first.data.contains(#"["all","rows",[["a",{"id":"a","name":"Row a"}],"#))
        }
      }
    }

    @Test("a stream brings changes from any thread, and acknowledges messages with their effects")
    func changes() async throws {
      try await Self.withShared { _, http, desk in
        let client = PageClient(tab: "t")
        try await http.stream("/live?tab=t") { stream in
          client.connect()
          client.receive(try #require(try await stream.next()))
          let count = desk.count
          await Task.detached { count.value = 5 }.value
          client.receive(try #require(try await stream.next()))
          #expect(client.values["count"] == .integer(5))
          client.set(.page("text"), .string("hello"))
          let message = try #require(client.takeMessage())
          let answer = try await http.post(String(decoding: message.body, as: UTF8.self))
          client.answered(message, status: answer.status)
          client.receive(try #require(try await stream.next()))
          #expect(client.values["upper"] == .string("HELLO"))
          #expect(client.isSettled && client.faults == [])
        }
      }
    }

    @Test(
      "a stream ends when the server shuts down, without waiting for a limit",
      .timeLimit(.minutes(5)))
    func shutdown() async throws {
      let desk = await Desk()
      let server = try await RunningServer.start(
        site: Desk.site, pages: { [Page("index.html", sharing: desk)] },
        configure: {
          $0.times.shutdown = .seconds(3_600)
          $0.times.streamEnd = .seconds(3_600)
        })
      let http = RawHTTP(port: server.port)
      try await http.stream("/live?tab=t") { stream in
        _ = try await stream.next()
        async let stopping: Void = server.stop()
        #expect(try await stream.next() == nil)
        try await stopping
      }
    }

    /// Runs a test beside a server whose page has more than any system keeps of it, with a client that
    /// has asked for its stream and doesn't read.
    private static func withStalled(
      _ body: (RunningServer, StalledClient) async throws -> Void
    ) async throws {
      let desk = await Desk()
      desk.rows.value = (0..<200).map {
        .init(id: "\($0)", name: String(repeating: "x", count: 60_000))
      }
      let server = try await RunningServer.start(
        site: Desk.site, pages: { [Page("index.html", sharing: desk)] },
        // The time for the end of a stream is the only short one.
        configure: {
          $0.times.shutdown = .seconds(3_600)
          $0.times.write = .seconds(3_600)
        })
      let client = try StalledClient(
        "GET /live?tab=t HTTP/1.1\r\nHost: localhost\r\n\r\n", port: server.port)
      await expectSoon("its snapshot is made") {
        server.server.live.snapshots == 1
      }
      // Another write, which waits for the first one.
      desk.count.value = 1
      try await body(server, client)
    }

    @Test(
      "a stream that its client doesn't read doesn't keep the server from ending",
      .timeLimit(.minutes(5)))
    func stalledShutdown() async throws {
      try await Self.withStalled { server, client in
        #expect(try client.isOpenAtServer)
        try await server.stop()
      }
    }

    @Test("a stream that its client doesn't read is closed once it has ended")
    func stalledEnd() async throws {
      try await Self.withStalled { server, client in
        #expect(try client.isOpenAtServer)
        // The same tab comes by another stream: the first one ends.
        try await RawHTTP(port: server.port).stream("/live?tab=t") { _ async throws in
          #expect(try await client.isClosed())
          await expectSoon("one is left") { server.server.live.streams == 1 }
        }
        try await server.stop()
      }
    }

    @Test("a stream brings all events before its end to a slow client, and serves nothing after it")
    func slowEnd() async throws {
      let desk = await Desk()
      desk.rows.value = (0..<200).map {
        .init(id: "\($0)", name: String(repeating: "x", count: 60_000))
      }
      try await withServer(
        site: Desk.site, pages: { [Page("index.html", sharing: desk)] },
        configure: { $0.times.streamEnd = .seconds(30) }
      ) { server in
        let http = RawHTTP(port: server.port)
        try await http.connected(receiveBuffer: 4_096) { inbound, outbound in
          let heads = ["/live?tab=t", "/"].map { "GET \($0) HTTP/1.1\r\nHost: localhost\r\n\r\n" }
          try await outbound.write(ByteBuffer(string: heads.joined()))
          await expectSoon("its snapshot is made") {
            server.server.live.snapshots == 1
          }
          // The same tab comes by another stream: the first one ends.
          try await http.stream("/live?tab=t") { _ async throws in
            var received: [UInt8] = []
            for try await part in inbound { received += part.readableBytesView }
            let isWhole = received.suffix(8).elementsEqual("\n\r\n0\r\n\r\n".utf8)
            #expect(isWhole && received.count > 200 * 60_000)
            let text = String(decoding: received, as: UTF8.self)
            let answerCount = text.components(separatedBy: "HTTP/1.1 200").count - 1
            #expect(answerCount == 1)
          }
        }
      }
    }

    @Test("a stream whose client closes or half-closes the connection ends")
    func closing() async throws {
      try await Self.withShared { server, http, _ in
        try await http.stream("/live?tab=a") { stream in
          _ = try await stream.next()
          await expectSoon("one is open") { server.server.live.streams == 1 }
        }
        await expectSoon("it is closed") { server.server.live.streams == 0 }
        // Half of the connection is closed: a client that can't be heard any more.
        try await http.connected { inbound, outbound in
          let head = "GET /live?tab=b HTTP/1.1\r\nHost: localhost\r\n\r\n"
          try await outbound.write(ByteBuffer(string: head))
          var iterator = inbound.makeAsyncIterator()
          _ = try await iterator.next()
          await expectSoon("one is open") { server.server.live.streams == 1 }
          outbound.finish()
          await expectSoon("it is closed") { server.server.live.streams == 0 }
          while try await iterator.next() != nil {}
        }
      }
    }

    @Test(
      "a stream goes on for others while a client doesn't read, which gets only the latest state")
    func slowReader() async throws {
      try await Self.withShared { server, http, desk in
        let slow = PageClient(tab: "slow")
        let quick = PageClient(tab: "quick")
        try await http.stream("/live?tab=slow", receiveBuffer: 4_096) { slowStream in
          slow.connect()
          slow.receive(try #require(try await slowStream.next()))
          try await http.stream("/live?tab=quick") { stream in
            quick.connect()
            quick.receive(try #require(try await stream.next()))
            // The slow one is stuck when the quick one has got fifteen patches more than both did.
            var (number, slowCount, since) = (0, 0, 0)
            while since < 15, number < 1_000 {
              number += 1
              let text = "\(number) " + String(repeating: "x", count: 60_000)
              desk.text.value = text
              while quick.values["text"] != .string(text) {
                quick.receive(try #require(try await stream.next()))
              }
              let patches = await server.server.live.patches - quick.patchCount
              since = patches == slowCount ? since + 1 : 0
              slowCount = patches
            }
            #expect(since == 15, "the slow one was never stuck")
            let last = quick.values["text"]
            while slow.values["text"] != last {
              slow.receive(try #require(try await slowStream.next()))
            }
            // A value may come in several patches on a busy machine, to both.
            #expect(slow.patchCount < quick.patchCount, "the patches of the stuck time were merged")
            #expect(slow.faults == [] && quick.faults == [])
          }
        }
      }
    }

    @Test(
      "a thousand streams each get their snapshot and the change, and all their ends are noticed")
    func thousand() async throws {
      try await Self.withShared { server, http, desk in
        let ready = AsyncStream<Void>.makeStream()
        await withTaskGroup(of: Bool.self) { group in
          for index in 0..<1_000 {
            group.addTask {
              let result = try? await http.stream("/live?tab=c\(index)") { stream in
                let first = try await stream.next()
                ready.continuation.yield()
                let second = try await stream.next()
                return first?.name == "snap"
                  && second?.data == #"{"tab":"c\#(index)","v":{"count":7}}"#
              }
              return result == true
            }
          }
          var count = 0
          for await _ in ready.stream {
            count += 1
            if count == 1_000 { break }
          }
          desk.count.value = 7
          var right = 0
          for await isRight in group where isRight { right += 1 }
          #expect(right == 1_000)
        }
        await expectSoon("all have gone") {
          server.server.live.streams == 0
        }
        #expect(await server.server.live.snapshots == 1_000)
      }
    }
  }
#endif

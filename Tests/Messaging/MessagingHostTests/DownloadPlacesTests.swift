#if Messaging
  import Essentials
  import Testing

  @testable import MessagingHost

  @Suite(.timeLimit(.minutes(5)))
  struct DownloadPlacesTests {
    /// Begins downloads that don't end before `held`, and returns when all of them run.
    private func hold(
      _ count: Int, _ places: DownloadPlaces, until held: AsyncStream<Void>,
      in group: inout TaskGroup<Void>
    ) async {
      let (begun, begin) = AsyncStream.makeStream(of: Void.self)
      for _ in 0..<count {
        group.addTask {
          await places.run {
            begin.yield()
            for await _ in held {}
          }
        }
      }
      var all = begun.makeAsyncIterator()
      for _ in 0..<count { await all.next() }
    }

    @Test func `Downloads that take long don't hold up others`() async {
      let places = DownloadPlaces(countMax: 2, slowCountMax: 4, time: .milliseconds(1))
      let (held, end) = AsyncStream.makeStream(of: Void.self)
      await withTaskGroup(of: Void.self) { group in
        await hold(4, places, until: held, in: &group)
        #expect(await places.run { true } == true)
        end.finish()
      }
    }

    @Test func `A download waits for a place while too many that take long go on`() async {
      let places = DownloadPlaces(countMax: 2, slowCountMax: 1, time: .milliseconds(1))
      let (held, end) = AsyncStream.makeStream(of: Void.self)
      let (order, entry) = AsyncStream.makeStream(of: String.self)
      await withTaskGroup(of: Void.self) { group in
        await hold(3, places, until: held, in: &group)
        group.addTask { await places.run { _ = entry.yield("the next one") } }
        entry.yield("the others end")
        end.finish()
        await group.waitForAll()
        entry.finish()
        #expect(await order.first { _ in true } == "the others end")
      }
    }

    @Test func `A download that is canceled waits for no place`() async {
      let places = DownloadPlaces(countMax: 1, slowCountMax: 0)
      let (held, end) = AsyncStream.makeStream(of: Void.self)
      await withTaskGroup(of: Void.self) { group in
        await hold(1, places, until: held, in: &group)
        let waiting = Task { await places.run { true } }
        waiting.cancel()
        #expect(await waiting.value == nil)
        end.finish()
      }
      #expect(await places.run { true } == true)
    }
  }
#endif

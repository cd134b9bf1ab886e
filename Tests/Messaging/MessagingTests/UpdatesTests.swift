#if Messaging
  import Testing

  @testable import Messaging

  @Suite("Sequences of changes")
  struct UpdatesTests {
    @Test(
      "a reader that pauses gets the latest value of each key, in the order of their first changes")
    func latest() async {
      let feed = UpdateFeed<Int, String>()
      let iterator = feed.updates().makeAsyncIterator()
      for (key, value) in [(1, "a"), (2, "b"), (1, "c")] { feed.send(value, for: key) }
      #expect(await iterator.next() == "c")
      #expect(await iterator.next() == "b")
      feed.send("d", for: 1)
      #expect(await iterator.next() == "d")
    }

    @Test("all readers get a change, also one that waits for it")
    func readers() async {
      let feed = UpdateFeed<Int, String>()
      let (first, second) = (feed.updates(), feed.updates())
      async let waiting = first.makeAsyncIterator().next()
      feed.send("a", for: 1)
      #expect(await second.makeAsyncIterator().next() == "a")
      #expect(await waiting == "a")
    }

    @Test("a sequence ends with the account, after what is left to read, and with its task")
    func end() async {
      let feed = UpdateFeed<Int, String>()
      let iterator = feed.updates().makeAsyncIterator()
      feed.send("a", for: 1)
      feed.end()
      #expect(await iterator.next() == "a")
      #expect(await iterator.next() == nil)
      let other = UpdateFeed<Int, String>()
      let task = Task { await other.updates().makeAsyncIterator().next() }
      task.cancel()
      #expect(await task.value == nil)
    }

    @Test("a reader that never reads costs a bounded amount of memory, and its sequence ends early")
    func bound() async {
      let feed = UpdateFeed<Int, Int>()
      let updates = feed.updates()
      for number in 0..<150_000 { feed.send(number, for: number) }
      var count = 0
      for await value in updates {
        #expect(value == count)
        count += 1
      }
      #expect(count == 100_000)
    }
  }
#endif

#if Messaging
  import Testing

  @testable import MessagingHost

  @Suite("Ids and nonces")
  struct RandomTextTests {
    @Test("The id of a message is a UUID of version 7 with the time, and no other has it")
    func id() {
      let ids = (0..<1_000).map { _ in RandomText.id(at: 0x0123_4567_89AB) }
      #expect(Set(ids).count == 1_000)
      for id in ids {
        #expect(
          id.wholeMatch(of: #/01234567-89ab-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/#) != nil)
      }
      #expect(RandomText.id(at: 5) < RandomText.id(at: 6))
    }

    @Test("The ids of a list are in its order, and no other list has them")
    func ids() {
      let lists = (0..<100).map { _ in RandomText.ids(20, at: 5) }
      #expect(Set(lists.joined()).count == 2_000 && RandomText.ids(0, at: 5).isEmpty)
      #expect(lists.allSatisfy { $0 == $0.sorted() })
      for id in lists.joined() {
        #expect(
          id.wholeMatch(of: #/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/#)
            != nil)
      }
    }

    @Test("A nonce of an exchange has 128 bits, and comes once")
    func nonce() {
      let nonces = (0..<1_000).map { _ in RandomText.nonce() }
      #expect(Set(nonces).count == 1_000)
      #expect(nonces.allSatisfy { $0.utf8.count == 32 })
    }
  }
#endif

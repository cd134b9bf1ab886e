import BluetoothInterface
import BluetoothWire
import HubWire
import Testing

@Suite("Hubs that are killed between two messages")
struct KilledHubTests {
  @Test(
    "an app whose hub is killed behind any message reaches its goal with the next hub",
    arguments: AppStory.allCases)
  func once(story: AppStory) {
    let count = Conversation.messageCount(of: story)
    #expect(count >= story.messageCountMin, "the conversation is too short to prove anything")
    for kill in 0...count {
      var conversation = Conversation(story, kills: [kill])
      conversation.run()
      #expect(conversation.problems.isEmpty, "\(story), killed behind message \(kill)")
    }
  }

  @Test(
    "an app whose next hub is killed, too, reaches its goal with the third one",
    arguments: AppStory.allCases)
  func twice(story: AppStory) {
    let count = Conversation.messageCount(of: story)
    // With a step of three, as it is all pairs of places otherwise.
    for first in stride(from: 0, through: count, by: 3) {
      // What the second hub restores may take more messages than the first hub's conversation.
      for second in 0...count + 4 {
        var conversation = Conversation(story, kills: [first, second])
        conversation.run()
        #expect(
          conversation.problems.isEmpty, "\(story), killed behind messages \(first) and \(second)")
      }
    }
  }
}

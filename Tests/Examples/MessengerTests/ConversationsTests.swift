import Testing

@testable import messenger

/// A message of Bob, or to him.
func bubble(_ key: Bubble.Key, _ text: String = "text", at time: Int64 = 0) -> Bubble {
  let isOwn = if case .received = key { false } else { true }
  return Bubble(
    key: key, peer: "bob@x", isOwn: isOwn, text: text, time: time,
    state: isOwn ? .waiting(nil) : nil)
}

@Suite("The conversations of the messenger")
struct ConversationsTests {
  @Test("A message that is handed over again after a crash is shown once")
  func repeatedMessage() {
    var all = Conversations()
    all.follow(.received(bubble(.received(1)))) { _ in false }
    all.follow(.received(bubble(.received(1)))) { _ in false }
    all.follow(.received(bubble(.received(2), "new", at: 5))) { _ in false }
    #expect(all.bubbles(of: "bob@x").map(\.key) == [.received(1), .received(2)])
    #expect(all.list == [.init(id: "bob@x", latest: "new", time: 5, unreadCount: 2)])
    all.markRead("bob@x")
    #expect(all.row(of: "bob@x")?.unreadText == nil)
  }

  @Test("A message of a conversation that is shown is read at once")
  func shownMessage() {
    var all = Conversations()
    all.follow(.received(bubble(.received(1)))) { $0 == "bob@x" }
    #expect(all.row(of: "bob@x")?.unreadCount == 0)
  }

  @Test("The history comes before what has come meanwhile, without repetitions")
  func history() {
    var all = Conversations()
    all.put(bubble(.received(3)), isRead: true)
    all.add(
      history: [bubble(.received(1)), bubble(.sent(1)), bubble(.received(3))], of: "bob@x")
    #expect(all.bubbles(of: "bob@x").map(\.key) == [.received(1), .sent(1), .received(3)])
  }

  @Test("A file becomes its message when it is uploaded, also if the message was known before")
  func upload() {
    var all = Conversations()
    var file = bubble(.upload(1), "")
    file.file = File(name: "a.png", place: .here(path: "/a.png"))
    all.put(file, isRead: true)
    all.follow(.state(.upload(1), .uploading(0.5))) { _ in true }
    #expect(all.bubbles(of: "bob@x").first?.stateText == "50 % sent")
    all.follow(.uploaded(.upload(1), as: .sent(7))) { _ in true }
    all.follow(.state(.sent(7), .received)) { _ in true }
    #expect(all.bubbles(of: "bob@x").map(\.key) == [.sent(7)])
    #expect(all.bubbles(of: "bob@x").first?.file?.name == "a.png")
    #expect(all.bubbles(of: "bob@x").first?.stateText == "received")

    all.put(bubble(.upload(2)), isRead: true)
    all.put(bubble(.sent(8)), isRead: true)
    all.follow(.uploaded(.upload(2), as: .sent(8))) { _ in true }
    #expect(all.bubbles(of: "bob@x").map(\.key) == [.sent(7), .sent(8)])
  }

  @Test("States that come before their message are its states")
  func earlyStates() {
    var all = Conversations()
    for state in [Bubble.State.atServer, .received] {
      all.follow(.state(.sent(1), state)) { _ in true }
    }
    for number in 0..<200 {
      all.follow(.state(.sent(2_000 + Int64(number)), .displayed)) { _ in true }
    }
    all.put(bubble(.sent(1)), isRead: true)
    #expect(all.bubbles(of: "bob@x").first?.stateText == "received")
    all.put(bubble(.upload(1)), isRead: true)
    all.follow(.state(.sent(3), .atServer)) { _ in true }
    all.follow(.uploaded(.upload(1), as: .sent(3))) { _ in true }
    #expect(all.bubbles(of: "bob@x").last?.stateText == "sent")
  }

  @Test("States only advance, and a late receipt replaces a failure")
  func states() {
    var all = Conversations()
    all.put(bubble(.sent(1)), isRead: true)
    let states: [Bubble.State] = [
      .atServer, .waiting(nil), .failed("late"), .atServer, .received, .failed("late"), .displayed,
      .received,
    ]
    let texts = states.map { state in
      all.follow(.state(.sent(1), state)) { _ in true }
      return all.bubbles(of: "bob@x").first?.stateText ?? ""
    }
    #expect(
      texts == [
        "sent", "sent", "not sent: late", "not sent: late", "received", "received", "read", "read",
      ])
  }

  @Test(
    "Messages and conversations in memory are bounded, and those of unknown keys change nothing")
  func bounds() {
    var all = Conversations()
    for number in 0..<600 { all.put(bubble(.received(Int64(number))), isRead: true) }
    #expect(all.bubbles(of: "bob@x").count == Conversations.bubbleCountMax)
    #expect(all.bubbles(of: "bob@x").last?.key == .received(599))
    for number in 0..<1_100 { all.add("\(number)@x") }
    #expect(all.list.count == Conversations.conversationCountMax)
    var late = bubble(.received(9_999))
    late.peer = "late@x"
    let before = all
    all.put(late, isRead: false)
    all.follow(.state(.sent(1), .received)) { _ in true }
    all.follow(.typing("nobody@x", true)) { _ in true }
    #expect(all.list == before.list)
    #expect(all.bubbles(of: "late@x").isEmpty)
  }

  @Test("Only pictures and recordings that browsers show are sent to the page")
  func shownTypes() {
    #expect(File.shownType(of: [0x89, 0x50, 0x4E, 0x47, 0x0D]) == "image/png")
    #expect(File.shownType(of: [0xFF, 0xD8, 0xFF, 0xE0]) == "image/jpeg")
    #expect(File.shownType(of: Array("RIFF....WEBP".utf8)) == "image/webp")
    #expect(File.shownType(of: Array("OggS".utf8)) == "audio/ogg")
    #expect(File.shownType(of: Array("....ftypM4A ".utf8)) == "audio/mp4")
    for text in ["<!doctype html>", "<svg xmlns=", "alert(1)", "", "RIFF", "\u{FEFF}<script>"] {
      #expect(File.shownType(of: Array(text.utf8)) == nil)
    }
  }
}

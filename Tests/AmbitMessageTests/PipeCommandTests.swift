#if Messaging
  import JSONWire
  import Messaging
  import Testing

  @testable import AmbitMessage

  @Suite("Commands of the pipe")
  struct PipeCommandTests {
    @Test("each command is read with its keys")
    func commands() throws {
      #expect(
        try PipeCommand(
          line: #"{"command":"send","to":"bob@x","body":"a\nb","reference":"1","deadline":2.5}"#)
          == .send(to: "bob@x", body: "a\nb", reference: "1", deadline: .milliseconds(2_500)))
      #expect(
        try PipeCommand(line: #"{"command":"send","to":"bob@x","body":""}"#)
          == .send(to: "bob@x", body: "", reference: nil, deadline: nil))
      #expect(try PipeCommand(line: #"{"command":"ack","row":7}"#) == .acknowledge(row: 7))
      #expect(try PipeCommand(line: #"{"command":"background"}"#) == .setInUse(false))
      #expect(try PipeCommand(line: #"{"command":"foreground"}"#) == .setInUse(true))
      #expect(try PipeCommand(line: #"{"command":"stats"}"#) == .statistics)
      #expect(try PipeCommand(line: #"{"command":"connect"}"#) == .setConnected(true))
      #expect(try PipeCommand(line: #"{"command":"disconnect"}"#) == .setConnected(false))
      #expect(
        try PipeCommand(line: #"{"command":"push-enable","to":"p.example","node":"7"}"#)
          == .setPush(service: "p.example", node: "7", isEnabled: true))
      #expect(
        try PipeCommand(line: #"{"command":"pushed","id":"7","from":"n@p","to":"b@x","body":"Hi"}"#)
          == .pushed(PushedMessage(id: "7", from: "n@p", to: "b@x", body: "Hi")))
      #expect(
        try PipeCommand(line: #"{"command":"typing","to":"b@x","state":"composing"}"#)
          == .setChatState(.composing, to: "b@x"))
      #expect(
        try PipeCommand(line: #"{"command":"displayed","peer":"b@x","origin":"m1"}"#)
          == .markDisplayed(originID: "m1", from: "b@x"))
      #expect(
        try PipeCommand(line: #"{"command":"presence","show":"dnd","status":"Busy"}"#)
          == .setAvailability(Availability(.doNotDisturb, status: "Busy")))
      #expect(try PipeCommand(line: #"{"command":"presence"}"#) == .setAvailability(Availability()))
    }

    @Test(
      "A line that makes no sense has its reference in the error",
      arguments: [
        (#"{"command":"send","to":"b@x","body":"a","reference":"r1","deadline":null}"#, "r1"),
        (#"{"command":"send-file","to":"b@x","reference":"r2"}"#, "r2"),
        (#"{"command":"send","to":"b@x","body":"a","deadline":-1}"#, nil),
        (#"{"command":"send","reference":7}"#, nil), ("no object", nil),
      ] as [(String, String?)])
    func reference(line: String, reference: String?) {
      #expect(throws: (any Error).self) { try PipeCommand(line: line) }
      #expect(PipeCommand.reference(in: line) == reference)
    }

    @Test
    func
      `The line breaks of a message are shown, and none of its lines looks like another message`()
    {
      #expect(
        MessageText.lines("a: one\r\ntwo\u{1B}[2J\nb: three")
          == "a: one\n    two\u{FFFD}[2J\n    b: three")
    }

    @Test func `Each reason of an outage is reported once`() {
      var outage = Outage()
      let silent = ConnectionState.offline(reason: "silent", isFinal: false)
      let refused = ConnectionState.offline(reason: "refused", isFinal: false)
      let news = [silent, .connecting, silent, refused, silent].map { outage.news($0) }
      #expect(news == ["silent", nil, nil, "refused", nil])
      #expect(outage.news(.online(address: "a@x/r", isResumed: true)) == nil)
      #expect(outage.news(silent) == "silent")
      #expect(outage.news(.offline(reason: "password", isFinal: true)) == nil)
    }

    @Test func `Commands about files are read with their keys`() throws {
      #expect(
        try PipeCommand(line: #"{"command":"send-file","to":"bob@x","path":"/a b","deadline":2}"#)
          == .sendFile(to: "bob@x", path: "/a b", reference: nil, deadline: .seconds(2)))
      #expect(try PipeCommand(line: #"{"command":"cancel-file","file":3}"#) == .cancelFile(3))
      let digest = String(repeating: "0a", count: 32)
      let attachment = Attachment(
        address: "https://x/a", name: "a.jpg", byteCount: 5,
        sha256: [UInt8](repeating: 10, count: 32))
      let line =
        #"{"command":"download","url":"https://x/a","name":"a.jpg","size":5,"sha256":"\#(digest)"}"#
      #expect(try PipeCommand(line: line) == .download(attachment, reference: nil))
    }

    @Test func `Commands about rooms are read with their keys`() throws {
      #expect(
        try PipeCommand(line: #"{"command":"room-join","to":"r@x","nickname":"Ann"}"#)
          == .joinRoom("r@x", nickname: "Ann", password: nil, isBookmarked: true))
      #expect(
        try PipeCommand(
          line:
            #"{"command":"room-join","to":"r@x","nickname":"A","password":"p","bookmark":false}"#)
          == .joinRoom("r@x", nickname: "A", password: "p", isBookmarked: false))
      #expect(
        try PipeCommand(line: #"{"command":"room-leave","to":"r@x"}"#) == .leaveRoom("r@x"))
      #expect(
        try PipeCommand(line: #"{"command":"room-send","to":"r@x","body":"b","reference":"1"}"#)
          == .sendToRoom("r@x", nickname: nil, body: "b", reference: "1"))
      #expect(throws: FileFault.self) {
        try PipeCommand(line: #"{"command":"room-enter","to":"r"}"#)
      }
    }

    @Test(
      "a line that makes no sense is refused with a reason",
      arguments: [
        "", "send", "[]", "{}", #"{"command":"sent"}"#, #"{"command":"send","to":"bob@x"}"#,
        #"{"command":"ack","row":0}"#, #"{"command":"ack","row":1.5}"#,
        #"{"command":"ack","row":"1"}"#,
        #"{"command":"stats","other":1}"#, #"{"command":"send","to":1,"body":"x"}"#,
        #"{"command":"send","to":"b@x","body":"x","deadline":-1}"#,
        #"{"command":"send-file","to":"b@x"}"#, #"{"command":"cancel-file","file":"1"}"#,
        #"{"command":"download","url":"https://x/","sha256":"0a"}"#,
        #"{"command":"download","url":"https://x/","size":-1}"#,
      ])
    func nonsense(_ line: String) {
      let error = #expect(throws: FileFault.self) { try PipeCommand(line: line) }
      #expect(error?.reason.isEmpty == false)
    }

    @Test("a line that is longer than any message is refused before it is parsed")
    func length() {
      let body = String(repeating: "x", count: 7 * MessagingAccount.bodyByteCountMax)
      #expect(throws: FileFault.self) {
        try PipeCommand(line: #"{"command":"send","to":"b@x","body":"\#(body)"}"#)
      }
    }
  }
#endif

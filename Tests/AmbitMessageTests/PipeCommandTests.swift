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
      "a line that makes no sense is refused with a reason",
      arguments: [
        "", "send", "[]", "{}", #"{"command":"sent"}"#, #"{"command":"send","to":"bob@x"}"#,
        #"{"command":"ack","row":0}"#, #"{"command":"ack","row":1.5}"#,
        #"{"command":"ack","row":"1"}"#,
        #"{"command":"stats","other":1}"#, #"{"command":"send","to":1,"body":"x"}"#,
        #"{"command":"send","to":"b@x","body":"x","deadline":-1}"#,
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

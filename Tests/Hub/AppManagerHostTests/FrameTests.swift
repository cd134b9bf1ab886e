import AppMachines
import AppSessions
import Foundation
import Testing

@Suite struct FrameTests {
  @Test func `Messages that come byte by byte, or glued together, are read`() throws {
    let messages = [
      AppProcessMessage.report(.launched), .report(.acknowledged(3)), .timeRemaining(7),
    ]
    let bytes = messages.flatMap { AppFrame.bytes(of: $0) }
    for step in [1, 2, 5, bytes.count] {
      var reader = AppFrame.Reader()
      var found: [AppProcessMessage] = []
      for start in stride(from: 0, to: bytes.count, by: step) {
        reader.append(bytes[start..<min(bytes.count, start + step)])
        while let message = try reader.next(AppProcessMessage.self) { found.append(message) }
      }
      #expect(found == messages)
    }
  }

  @Test func `The message of a gateway in the documentation is a remote notification`() throws {
    let text = #"""
      {"command":{"version":1,"_1":{"push":{"_0":{"target":{"app":{"_0":"com.example.news"}},
        "payload":"{\"aps\":{\"content-available\":1}}","identifier":"1"}}}}}
      """#
    var reader = AppFrame.Reader()
    reader.append([UInt8(text.utf8.count & 0xFF), UInt8(text.utf8.count >> 8), 0, 0])
    reader.append(text.utf8)
    guard case .command(1, .push(let push)) = try reader.next(AppManagerGreeting.self) else {
      Issue.record("it is another message")
      return
    }
    #expect(push.target == .app("com.example.news"))
    #expect(try push.notification().isSilent)
    let reply = AppFrame.bytes(of: AppCommandReply.pushed("com.example.news", .delivered))
    #expect(
      String(decoding: reply.dropFirst(4), as: UTF8.self).hasPrefix(#"{"pushed":{"_"#))
  }

  @Test func `The status of a manager that was not upgraded yet is read`() throws {
    let counts = String(decoding: try JSONEncoder().encode(AppCounts()), as: UTF8.self)
    let text = #"""
      {"apps":[{"identifier":"com.example.news","folder":"/news","state":"suspended",
        "waitingCount":0,"isForceQuit":false,"counts":\#(counts),"processorTime":0,
        "pendingConnectionCount":1,"connectionCount":0,"scanCount":0}],
        "freezer":"signals","droppedEventCount":0,"reports":[]}
      """#
    let status = try JSONDecoder().decode(AppManagerStatus.self, from: Data(text.utf8))
    #expect(status.memory == "none")
    #expect(status.apps.first?.pendingConnectionCount == 1)
    #expect(status.apps.first?.wakes == [])
  }

  @Test func `A message that is too long, or no message, is an error`() {
    var reader = AppFrame.Reader(byteCountMax: 10)
    reader.append([11, 0, 0, 0])
    #expect(throws: AppFrameError.tooLong) { try reader.next(AppProcessMessage.self) }
    var other = AppFrame.Reader()
    other.append([2, 0, 0, 0, 0x7B, 0x7D])
    #expect(throws: AppFrameError.malformed) { try other.next(AppProcessMessage.self) }
  }
}

import HubWire

extension FuzzTarget {
  /// What arrives over the socket between apps and the hub: streams of messages.
  static let hub: [FuzzTarget] = [
    FuzzTarget(name: "AppMessage") { check($0, AppMessage.self) { _ in true } },
    FuzzTarget(name: "HubMessage") {
      check($0, HubMessage.self) { message in
        // Events of a later version are skipped, and can't be written again.
        if case .events(_, let events) = message { events.unknown.isEmpty } else { true }
      }
    },
  ]

  private struct Stream<Message: HubWireMessage> {
    var messages: [Message] = []
    var skippedCount = 0
    var error: HubWireError?
  }

  /// A stream in pieces gives the messages of a whole one, and each can be written and read again.
  private static func check<Message: HubWireMessage>(
    _ bytes: [UInt8], _ type: Message.Type, isComplete: (Message) -> Bool
  ) {
    let whole = read(bytes, pieceByteCount: max(1, bytes.count), type)
    for pieceByteCount in [1, 7] {
      let cut = read(bytes, pieceByteCount: pieceByteCount, type)
      precondition(cut.messages == whole.messages, "pieces changed the messages")
      precondition(cut.skippedCount == whole.skippedCount, "pieces changed what is skipped")
      precondition(cut.error == whole.error, "pieces changed the error")
    }
    for message in whole.messages {
      var writer = HubFrameWriter()
      guard (try? writer.append(message)) != nil else {
        preconditionFailure("\(message) can't be written")
      }
      let again = read(writer.bytes, pieceByteCount: writer.byteCount, type)
      precondition(again.messages.count == 1 && again.error == nil, "\(message) can't be read")
      guard isComplete(message) else { continue }
      precondition(again.messages[0] == message, "\(message) came back as \(again.messages)")
    }
  }

  private static func read<Message: HubWireMessage>(
    _ bytes: [UInt8], pieceByteCount: Int, _ type: Message.Type
  ) -> Stream<Message> {
    var reader = HubFrameReader()
    var stream = Stream<Message>()
    var rest = bytes[...]
    while !rest.isEmpty, stream.error == nil {
      reader.append(rest.prefix(pieceByteCount))
      rest = rest.dropFirst(pieceByteCount)
      do throws(HubWireError) {
        while let message = try reader.next(type) { stream.messages.append(message) }
      } catch {
        stream.error = error
      }
    }
    stream.skippedCount = reader.skippedCount
    precondition(reader.byteCount <= bytes.count, "more is stored than arrived")
    return stream
  }
}

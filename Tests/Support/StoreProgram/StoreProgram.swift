#if Messaging
  import Glibc
  import MessagingHost
  import XMPPMachines
  import XMPPWire

  /// Writes commits into a store, for a test that ends this process at any write:
  /// `store-program PATH COUNT BYTES` makes COUNT commits and prints the number of each; BYTES is the
  /// maximum size of a file, beyond which a write ends the process. 0: no limit.
  @main
  enum StoreProgram {
    static func main() {
      let arguments = CommandLine.arguments
      guard arguments.count == 4, let count = Int64(arguments[2]),
        let byteCount = UInt(arguments[3])
      else { exit(64) }
      if byteCount > 0 {
        // A process inherits what the process before it has blocked and ignored.
        signal(SIGXFSZ, SIG_DFL)
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGXFSZ)
        sigprocmask(SIG_UNBLOCK, &signals, nil)
        var limit = rlimit(rlim_cur: byteCount, rlim_max: byteCount)
        guard setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { exit(70) }
      }
      do {
        let store = try MessageStore(path: arguments[1])
        let first = try store.load().lastOutgoing + 1
        for number in first..<first + count {
          try store.apply(changes(number))
          print(number)
          fflush(nil)
        }
      } catch {
        print("error: \(error)")
        exit(1)
      }
    }

    /// Everything in a commit has its number.
    private static func changes(_ number: Int64) -> [MessageChange] {
      let stream = OrderStreamID(high: 1, low: 2)
      let content = MessageContent(body: String(repeating: "\(number) ", count: 300))
      let order = OrderElement(stream: stream, number: UInt64(number))
      var outgoing = OutgoingRow(
        id: RowID(rawValue: number), peer: "b@x", originID: "\(number)", order: order,
        content: content, date: number)
      outgoing.position = UInt64(number)
      var incoming = IncomingRow(
        id: RowID(rawValue: number), kind: .message, peer: "b@x", date: number)
      incoming.order = order
      incoming.content = content
      return [
        .setSession(
          StoredSession(
            id: "s", jid: "a@x/1", location: nil, inboundCount: UInt64(number), outboundCount: 0)),
        .insertOutgoing(outgoing), .insertIncoming(incoming), .addKey(.archive("\(number)")),
        .release(RowID(rawValue: number), sequence: number, .inOrder),
        .setOutgoingStream(OutgoingStream(peer: "b@x", stream: stream, next: UInt64(number) + 1)),
        .setArchiveMarks([ArchiveMark(id: "\(number)", date: number)]),
      ]
    }
  }
#else
  @main
  enum StoreProgram {
    static func main() {}
  }
#endif

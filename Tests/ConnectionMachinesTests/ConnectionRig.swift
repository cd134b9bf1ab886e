import ConnectionMachines
import Essentials

/// A machine over a scripted socket, in virtual time.
struct ConnectionRig {
  typealias Machine = ConnectionMachine<String>

  /// The socket's side.
  struct Socket {
    /// How many bytes the socket takes before the peer reads.
    var room = Int.max
    /// What the peer sent and was not read.
    var input: [UInt8] = []
    var isInputEnded = false
    var error: ConnectionError?
    /// The bytes written.
    var output: [UInt8] = []
    var isOutputClosed = false
    var isClosed = false
    var largestWrite = 0
  }

  var machine = Machine()
  var socket = Socket()
  var now = Instant.zero
  var states: [Machine.State] = []
  /// The callbacks of the application and the host, in order.
  var log: [String] = []
  var received: [UInt64: [UInt8]] = [:]
  var completions: [UInt64: Int] = [:]
  var path: Machine.PathReport? = .init("lo", isViable: true, hasBetterPath: false)

  init(started: Bool = true, connected: Bool = true) {
    if started { handle(.start) }
    if started && connected { handle(.connected(path)) }
  }

  mutating func handle(_ event: Machine.Event) {
    var actions: [Machine.Action] = []
    machine.handle(event, now: now, into: &actions)
    perform(actions)
  }

  mutating func pass(_ span: TimeSpan) {
    let end = now + span
    while let due = machine.nextWake, due <= end {
      now = due
      var actions: [Machine.Action] = []
      machine.wake(now: now, into: &actions)
      perform(actions)
    }
    now = end
  }

  mutating func send(_ id: UInt64, _ bytes: [UInt8], isFinal: Bool = false) {
    handle(.send(id, bytes, isFinal: isFinal))
  }

  mutating func receive(_ id: UInt64, _ minimum: Int = 1, _ maximum: Int = 100) {
    handle(.receive(id, minimum: minimum, maximum: maximum))
  }

  /// The peer sends.
  mutating func arrive(_ bytes: [UInt8], isEnd: Bool = false) {
    socket.input += bytes
    socket.isInputEnded = socket.isInputEnded || isEnd
    handle(.readable)
  }

  /// The peer reads.
  mutating func makeRoom(_ byteCount: Int) {
    socket.room = byteCount
    handle(.writable)
  }

  private mutating func perform(_ actions: [Machine.Action]) {
    for action in actions {
      switch action {
      case .open: log.append("open")
      case .search: log.append("search")
      case .evaluatePath: handle(.path(path))
      case .write(let bytes):
        precondition(!socket.isClosed && !socket.isOutputClosed, "written to a closed socket")
        let count = min(bytes.count, socket.room)
        socket.largestWrite = max(socket.largestWrite, bytes.count)
        if socket.room != .max { socket.room -= count }
        socket.output += bytes.prefix(count)
        handle(.wrote(count))
      case .closeOutput: socket.isOutputClosed = true
      case .read(let byteCountMax):
        precondition(!socket.isClosed && byteCountMax > 0, "read without need")
        let bytes = Array(socket.input.prefix(byteCountMax))
        socket.input.removeFirst(bytes.count)
        let isEnd = socket.isInputEnded && socket.input.isEmpty && bytes.isEmpty
        handle(.received(bytes, isEnd: isEnd, error: socket.error))
      case .close:
        socket.isClosed = true
        log.append("close")
      case .stateChanged(let state): states.append(state)
      case .pathChanged(let path): log.append("path \(path)")
      case .viabilityChanged(let isViable): log.append("viable \(isViable)")
      case .betterPathChanged(let hasBetter): log.append("better \(hasBetter)")
      case .completeSend(let id, let error): complete(id, error.map { "\($0)" } ?? "sent")
      case .completeReceive(let id, let content, let isComplete, let error):
        received[id] = content
        let end = isComplete ? " end" : ""
        complete(id, "\(content?.count ?? 0)\(end)" + (error.map { " \($0)" } ?? ""))
      }
    }
  }

  private mutating func complete(_ id: UInt64, _ text: String) {
    completions[id, default: 0] += 1
    log.append("\(id): \(text)")
  }

  /// The log since the last call.
  mutating func news() -> [String] {
    defer { log = [] }
    return log
  }
}
